//! Tick marks with their text: one unit for a whole axis and no digit that the step does not need.

use super::axis::step_ticks;
use sim_core::quantity::Unit;

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// In the axis' base unit: bytes or seconds.
    pub value: f64,
    pub text: String,
}

/// The unit of a memory axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryScale {
    /// Bytes in one.
    pub bytes: f64,
    pub name: &'static str,
}

impl MemoryScale {
    /// The unit in which an axis that shows `bytes` reads best.
    pub fn of(bytes: f64, unit: Unit) -> Self {
        let (step, names) = match unit {
            Unit::Gib => (1024.0_f64, ["KiB", "MiB", "GiB", "TiB", "PiB"]),
            Unit::Gb => (1000.0, ["kB", "MB", "GB", "TB", "PB"]),
        };
        let power = (1..=5).rev().find(|power| bytes >= 2.0 * step.powi(*power)).unwrap_or(1);
        Self { bytes: step.powi(power), name: names[power as usize - 1] }
    }
}

/// Marks of a memory axis from zero to `end` bytes; the last one names the unit.
pub fn memory_ticks(end: f64, scale: MemoryScale, most: usize) -> Vec<Tick> {
    let (values, step) = step_ticks(0.0, end / scale.bytes, most);
    let last = values.len().saturating_sub(1);
    let decimals = decimals(step);
    values
        .into_iter()
        .enumerate()
        .map(|(i, value)| Tick {
            value: value * scale.bytes,
            text: if i == last && i > 0 {
                format!("{value:.decimals$}\u{a0}{}", scale.name)
            } else {
                format!("{value:.decimals$}")
            },
        })
        .collect()
}

/// Marks of a time axis that shows `from..to` seconds.
pub fn time_ticks(from: f64, to: f64, most: usize) -> Vec<Tick> {
    let (values, step) = step_ticks(from, to, most);
    values.into_iter().map(|value| Tick { value, text: time_text(value, step) }).collect()
}

/// An instant in the digits that tell it from the one `step` seconds later.
pub fn time_text(value: f64, step: f64) -> String {
    let (seconds, name) = match step {
        step if step >= 0.009_9 => (1.0, "s"),
        step if step >= 0.000_009_9 => (1e-3, "ms"),
        _ => (1e-6, "µs"),
    };
    // Zero has no decimals to tell it from.
    let decimals = if value.abs() < step / 2.0 { 0 } else { decimals(step / seconds) };
    format!("{:.decimals$}\u{a0}{name}", value / seconds)
}

/// Decimals that tell multiples of `step` apart.
fn decimals(step: f64) -> usize {
    // The tolerance keeps 0.1, whose logarithm is not quite −1, at one decimal.
    (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: &[Tick]) -> Vec<String> {
        ticks.iter().map(|tick| tick.text.replace('\u{a0}', " ")).collect()
    }

    #[test]
    fn a_memory_axis_names_its_unit_once() {
        let end = 100.0 * 1024.0_f64.powi(3);
        let scale = MemoryScale::of(end, Unit::Gib);
        assert_eq!(texts(&memory_ticks(end, scale, 5)), ["0", "20", "40", "60", "80", "100 GiB"]);
        assert_eq!(MemoryScale::of(2e16, Unit::Gb).name, "PB");
        assert_eq!(MemoryScale::of(0.0, Unit::Gb).name, "kB");
        assert_eq!(texts(&memory_ticks(0.5e9, MemoryScale::of(0.5e9, Unit::Gb), 2))[1], "500 MB");
    }

    #[test]
    fn a_time_axis_has_the_digits_it_needs() {
        assert_eq!(texts(&time_ticks(0.0, 1.92, 4)), ["0 s", "0.5 s", "1.0 s", "1.5 s"]);
        assert_eq!(texts(&time_ticks(0.0, 0.3, 3)), ["0 s", "0.1 s", "0.2 s", "0.3 s"]);
        assert_eq!(texts(&time_ticks(1.234, 1.236, 2)), ["1234 ms", "1235 ms", "1236 ms"]);
        assert_eq!(texts(&time_ticks(0.06, 0.09, 3)), ["0.06 s", "0.07 s", "0.08 s", "0.09 s"]);
        assert_eq!(texts(&time_ticks(1e-6, 2e-6, 2)), ["1.0 µs", "1.5 µs", "2.0 µs"]);
        assert_eq!(time_text(1.891_234, 1e-4).replace('\u{a0}', " "), "1891.2 ms");
    }
}
