//! The stretch of time that a timeline shows.

/// How far one can zoom in: a millionth of the whole.
const DEEPEST: f64 = 1e-6;

/// A window on the time from zero to a limit, in seconds; it never leaves that range and is never
/// empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewport {
    from: f64,
    to: f64,
    limit: f64,
}

impl Viewport {
    /// The whole time.
    pub fn fit(limit: f64) -> Self {
        let limit = if limit.is_finite() && limit > 0.0 { limit } else { 1.0 };
        Self { from: 0.0, to: limit, limit }
    }

    /// `from..to`, moved into the whole time.
    pub fn window(from: f64, to: f64, limit: f64) -> Self {
        let whole = Self::fit(limit);
        if !(from.is_finite() && to.is_finite()) {
            return whole;
        }
        let span = (to - from).clamp(whole.limit * DEEPEST, whole.limit);
        let from = from.clamp(0.0, whole.limit - span);
        Self { from, to: (from + span).min(whole.limit), limit: whole.limit }
    }

    /// The first instant shown.
    pub fn from(self) -> f64 {
        self.from
    }

    /// The last instant shown.
    pub fn to(self) -> f64 {
        self.to
    }

    /// Seconds shown.
    pub fn span(self) -> f64 {
        self.to - self.from
    }

    /// The end of the whole time.
    pub fn limit(self) -> f64 {
        self.limit
    }

    /// True when the whole time is shown.
    pub fn is_fit(self) -> bool {
        self.span() >= self.limit * (1.0 - 1e-9)
    }

    /// Shows `factor` times less (more below 1) and keeps the instant `at` where it is, as far as the
    /// ends allow.
    pub fn zoom(self, at: f64, factor: f64) -> Self {
        if !(factor.is_finite() && factor > 0.0 && at.is_finite()) {
            return self;
        }
        let span = (self.span() / factor).clamp(self.limit * DEEPEST, self.limit);
        let share = ((at - self.from) / self.span()).clamp(0.0, 1.0);
        let from = self.from + (self.span() - span) * share;
        Self::window(from, from + span, self.limit)
    }

    /// Shows what lies `by` seconds later.
    pub fn pan(self, by: f64) -> Self {
        if by.is_finite() { Self::window(self.from + by, self.to + by, self.limit) } else { self }
    }

    /// The same window on another whole time; what showed everything still does.
    pub fn with_limit(self, limit: f64) -> Self {
        if self.is_fit() { Self::fit(limit) } else { Self::window(self.from, self.to, limit) }
    }

    /// Moves as little as needed to show the instant `at`.
    pub fn reveal(self, at: f64) -> Self {
        if at < self.from {
            self.pan(at - self.from)
        } else if at > self.to {
            self.pan(at - self.to)
        } else {
            self
        }
    }

    /// Where an instant lies, in pixels from the left; outside of `0..=width` when it is not shown.
    pub fn x(self, time: f64, width: f64) -> f64 {
        (time - self.from) / self.span() * width
    }

    /// The instant at a pixel, held within what is shown.
    pub fn time(self, x: f64, width: f64) -> f64 {
        let share = x / width;
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        self.from + share * self.span()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn valid(view: Viewport) -> bool {
        view.from >= 0.0 && view.to <= view.limit && view.span() >= view.limit * DEEPEST * 0.999
    }

    #[test]
    fn zooming_keeps_the_instant_under_the_pointer() {
        let view = Viewport::fit(10.0).zoom(4.0, 2.0);
        assert_eq!((view.from(), view.to()), (2.0, 7.0));
        assert_eq!(view.x(4.0, 100.0), 40.0);
        assert_eq!(view.time(40.0, 100.0), 4.0);
    }

    #[test]
    fn a_longer_step_is_shown_whole_when_the_shorter_one_was() {
        assert_eq!(Viewport::fit(2.0).with_limit(5.0), Viewport::fit(5.0));
        let zoomed = Viewport::window(1.0, 1.5, 2.0);
        assert_eq!(zoomed.with_limit(5.0), Viewport::window(1.0, 1.5, 5.0));
        assert_eq!(zoomed.with_limit(1.2), Viewport::window(0.7, 1.2, 1.2));
    }

    #[test]
    fn nonsense_shows_the_whole_time() {
        assert_eq!(Viewport::fit(f64::NAN), Viewport::fit(1.0));
        assert_eq!(Viewport::window(f64::NAN, 1.0, 3.0), Viewport::fit(3.0));
        let view = Viewport::fit(3.0);
        assert_eq!(view.zoom(1.0, f64::NAN), view);
        assert_eq!(view.zoom(1.0, 0.0), view);
        assert_eq!(view.pan(f64::INFINITY), view);
        assert_eq!(view.time(5.0, 0.0), 0.0);
    }

    #[test]
    fn revealing_moves_as_little_as_needed() {
        let view = Viewport::window(2.0, 3.0, 10.0);
        assert_eq!(view.reveal(2.5), view);
        assert_eq!(view.reveal(1.0).from(), 1.0);
        assert_eq!(view.reveal(5.0).to(), 5.0);
    }

    proptest! {
        #[test]
        fn zooming_in_and_out_returns(limit in 1e-3_f64..1e3, at in 0.0_f64..1.0, factor in 1.0_f64..1e4) {
            let view = Viewport::fit(limit);
            let back = view.zoom(at * limit, factor).zoom(at * limit, 1.0 / factor);
            prop_assert!((back.from() - view.from()).abs() < limit * 1e-6);
            prop_assert!((back.to() - view.to()).abs() < limit * 1e-6);
        }

        #[test]
        fn no_gesture_leaves_the_whole_time(
            limit in prop::num::f64::ANY,
            gestures in prop::collection::vec((prop::bool::ANY, prop::num::f64::ANY, prop::num::f64::ANY), 0..20),
        ) {
            let mut view = Viewport::fit(limit);
            for (zoom, a, b) in gestures {
                view = if zoom { view.zoom(a, b) } else { view.pan(a) };
                prop_assert!(valid(view), "{view:?}");
            }
        }

        #[test]
        fn a_pixel_and_its_instant_agree(x in 0.0_f64..1000.0, from in 0.0_f64..9.0) {
            let view = Viewport::window(from, from + 1.0, 10.0);
            prop_assert!((view.x(view.time(x, 1000.0), 1000.0) - x).abs() < 1e-6);
        }
    }
}
