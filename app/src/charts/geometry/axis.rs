//! Ends and steps of axes: round numbers that change in steps, so that a chart stands still while
//! its values move.

/// Ends of a memory axis, per power of ten.
const MEMORY_LADDER: [f64; 11] = [1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];

/// Ends of a time axis, per power of ten: finer, so that little of the width stays empty.
const TIME_LADDER: [f64; 22] = [
    1.0, 1.1, 1.2, 1.35, 1.5, 1.65, 1.8, 2.0, 2.2, 2.5, 2.75, 3.0, 3.3, 3.6, 4.0, 4.5, 5.0, 5.5,
    6.0, 7.0, 8.0, 9.0,
];

/// Steps between ticks, per power of ten.
const TICK_LADDER: [f64; 3] = [1.0, 2.0, 5.0];

/// How much an axis shows beyond what a device offers.
const ROOM_BEYOND_CAPACITY: f64 = 1.25;

/// The end of a memory axis that shows `capacity` with room beyond it and all of `needed`, in their
/// unit.
pub fn memory_axis_max(capacity: f64, needed: f64) -> f64 {
    let capacity = positive_or(capacity, 0.0) * ROOM_BEYOND_CAPACITY;
    nice_ceil(capacity.max(positive_or(needed, 0.0)), &MEMORY_LADDER)
}

/// The end of a time axis that shows `duration`, in its unit.
pub fn time_axis_max(duration: f64) -> f64 {
    nice_ceil(duration, &TIME_LADDER)
}

/// The multiples of a round step that lie in `from..=to`, at most `most` of them, and the step.
pub fn step_ticks(from: f64, to: f64, most: usize) -> (Vec<f64>, f64) {
    let span = to - from;
    if !(span.is_finite() && from.is_finite() && span > 0.0) || most == 0 {
        return (Vec::new(), 1.0);
    }
    let step = nice_ceil(span / most as f64, &TICK_LADDER);
    // The tolerance keeps an end such as 3 × 0.1, which is a little more than 0.3.
    let first = (from / step - 1e-9).ceil();
    let count = ((to / step + 1e-9).floor() - first + 1.0).clamp(0.0, most as f64 + 1.0);
    ((0..count as usize).map(|i| (first + i as f64) * step).collect(), step)
}

/// The smallest number of the ladder, times a power of ten, that is not below `value`.
fn nice_ceil(value: f64, ladder: &[f64]) -> f64 {
    let value = positive_or(value, 1.0);
    let mut decade = 10.0_f64.powf(value.log10().floor());
    if !(decade > 0.0 && decade.is_finite()) {
        decade = 1.0;
    }
    // A value such as 100.000…01 is a hundred: an axis must not jump for a rounding error.
    let enough = value * (1.0 - 1e-9);
    ladder.iter().map(|step| step * decade).find(|end| *end >= enough).unwrap_or(10.0 * decade)
}

fn positive_or(value: f64, otherwise: f64) -> f64 {
    if value.is_finite() && value > 0.0 { value } else { otherwise }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_axis_ends_a_quarter_beyond_the_capacity() {
        assert_eq!(memory_axis_max(79.3, 40.0), 100.0);
        assert_eq!(memory_axis_max(24.0, 10.0), 30.0);
        assert_eq!(memory_axis_max(24.0, 112.4), 125.0);
        assert_eq!(memory_axis_max(f64::NAN, -1.0), 1.0);
    }

    #[test]
    fn ticks_are_round() {
        let (ticks, step) = step_ticks(0.0, 100.0, 6);
        assert_eq!((ticks, step), (vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0], 20.0));
        assert_eq!(step_ticks(0.13, 0.31, 4).1, 0.05);
        assert!(step_ticks(1.0, 1.0, 4).0.is_empty());
        assert!(step_ticks(f64::NAN, 1.0, 4).0.is_empty());
    }

    proptest! {
        #[test]
        fn a_time_axis_shows_all_and_wastes_little(duration in 1e-6_f64..1e6) {
            let end = time_axis_max(duration);
            prop_assert!(end >= duration * 0.999_999);
            prop_assert!(end <= duration * 1.2);
        }

        #[test]
        fn ticks_lie_on_the_axis(from in -1e3_f64..1e3, span in 1e-6_f64..1e4, most in 1_usize..20) {
            let (ticks, _) = step_ticks(from, from + span, most);
            prop_assert!(ticks.len() <= most + 1);
            prop_assert!(ticks.iter().all(|t| (from - span * 1e-6..=from + span * 1.000_001).contains(t)));
        }
    }
}
