//! How long the page takes from an input event until what it changed has been painted.

use std::fmt;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::Page;

/// Latencies of one drag, in milliseconds, in the order in which they happened.
pub struct Latencies {
    milliseconds: Vec<f64>,
    moves: u32,
}

impl Latencies {
    /// Drags a slider to and fro, a value a move, and times each `input` event it sends.
    ///
    /// A time runs from the first listener (the capture phase of `window`) over the page's own handlers to
    /// the first task after the next frame.
    /// The frame itself is `requestAnimationFrame`; a message posted there arrives when it has been painted.
    pub fn of_slider(page: &mut Page, selector: &str, moves: u32) -> Result<Self> {
        page.wait_for(selector)?;
        let values = page.slider_intervals(selector)?.min(moves).max(1);
        let start = page.slider_point(selector, 0.0)?;
        let end = page.slider_point(selector, 1.0)?;
        // From the far end, so that the first step is as large as the others.
        page.click_at(start)?;
        page.settle()?;
        page.eval(RECORD)?;
        page.press_mouse(start)?;
        for step in 1..=moves {
            let place = f64::from(zigzag(step, values)) / f64::from(values);
            page.drag_on(start.toward(end, place))?;
        }
        page.release_mouse(
            start.toward(end, f64::from(zigzag(moves, values)) / f64::from(values)),
        )?;
        // The last event's time is taken after the next frame.
        page.settle()?;
        page.settle()?;
        let times = page.eval("headroomLatency.stop(), headroomLatency.times")?;
        let milliseconds: Vec<f64> =
            times.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        ensure!(!milliseconds.is_empty(), "dragging {selector} sent no input event");
        Ok(Self { milliseconds, moves })
    }

    /// The value that this share of the latencies does not exceed (nearest rank).
    pub fn percentile(&self, share: f64) -> f64 {
        let mut sorted = self.milliseconds.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted[rank.clamp(1, sorted.len()) - 1]
    }

    pub fn count(&self) -> usize {
        self.milliseconds.len()
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} input events from {} moves: p50 {:.1} ms, p95 {:.1} ms, max {:.1} ms (first {:.1} ms)",
            self.count(),
            self.moves,
            self.percentile(0.50),
            self.percentile(0.95),
            self.percentile(1.0),
            self.milliseconds[0],
        )
    }
}

/// 0, 1, … top, top − 1, … 0, 1, …
fn zigzag(step: u32, top: u32) -> u32 {
    let phase = step % (2 * top);
    phase.min(2 * top - phase)
}

const RECORD: &str = "window.headroomLatency = (() => {
    const times = [];
    const onInput = () => {
        const start = performance.now();
        requestAnimationFrame(() => {
            const channel = new MessageChannel();
            channel.port1.onmessage = () => { times.push(performance.now() - start); channel.port1.close(); };
            channel.port2.postMessage(0);
        });
    };
    addEventListener('input', onInput, true);
    return { times, stop: () => removeEventListener('input', onInput, true) };
})(), 0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zigzag_turns_at_both_ends() {
        let places: Vec<u32> = (0..8).map(|step| zigzag(step, 3)).collect();
        assert_eq!(places, [0, 1, 2, 3, 2, 1, 0, 1]);
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let milliseconds = (1..=100).rev().map(f64::from).collect();
        let latencies = Latencies { milliseconds, moves: 100 };
        assert_eq!(latencies.percentile(0.50), 50.0);
        assert_eq!(latencies.percentile(0.95), 95.0);
        assert_eq!(latencies.percentile(1.0), 100.0);
        let one = Latencies { milliseconds: vec![7.0], moves: 1 };
        assert_eq!(one.percentile(0.5), 7.0);
    }
}
