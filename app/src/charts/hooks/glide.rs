//! A number that moves to its next value instead of jumping there.

use crate::platform::canvas::prefers_reduced_motion;
use crate::platform::clock::now_ms;
use crate::platform::frame::after_paint;
use leptos::prelude::*;

/// How long a move takes.
const MOVE_MS: f64 = 150.0;

/// Follows `target` within 150 ms; at once for readers who want no movement, and from zero.
pub fn glide(target: Signal<f64>) -> Signal<f64> {
    let shown = RwSignal::new(target.get_untracked());
    Effect::new(move |_| {
        let to = target.get();
        let from = shown.get_untracked();
        if same(from, to) {
            return;
        }
        if from <= 0.0 || prefers_reduced_motion() {
            shown.set(to);
        } else {
            step(shown, target, Move { from, to, start: now_ms() });
        }
    });
    shown.into()
}

#[derive(Clone, Copy)]
struct Move {
    from: f64,
    to: f64,
    start: f64,
}

impl Move {
    /// Fast first, slow at the end.
    fn at(self, now: f64) -> f64 {
        let progress = ((now - self.start) / MOVE_MS).clamp(0.0, 1.0);
        let eased = 1.0 - (1.0 - progress).powi(3);
        if progress < 1.0 { self.from + (self.to - self.from) * eased } else { self.to }
    }
}

fn step(shown: RwSignal<f64>, target: Signal<f64>, moving: Move) {
    // Not in the frame that has set the target: at its beginning a move is where it was, and every
    // chart would be drawn twice.
    after_paint(move || {
        // A newer target has its own move; a chart that has gone needs none.
        if target.try_get_untracked().is_none_or(|target| !same(target, moving.to)) {
            return;
        }
        let value = moving.at(now_ms());
        let is_alive = shown.try_set(value).is_none();
        if is_alive && !same(value, moving.to) {
            step(shown, target, moving);
        }
    });
}

/// Bit for bit: targets are set, not computed.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_begins_and_ends_where_it_should() {
        let moving = Move { from: 100.0, to: 125.0, start: 1000.0 };
        assert!(same(moving.at(1000.0), 100.0));
        assert!(moving.at(1050.0) > 115.0);
        assert!(same(moving.at(1200.0), 125.0));
    }
}
