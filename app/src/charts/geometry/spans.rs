//! Spans of one lane, and the runs of pixels in which they are drawn.

use super::{Viewport, pixel};
use sim_core::trace::Phase;
use std::ops::Range;

/// Number of kinds of spans that are told apart, by colour: the phases.
const KINDS: usize = Phase::ALL.len();

/// Spans between two stored sums: a larger stride needs less memory and more adding.
const STRIDE: usize = 64;

/// A span at least this wide is drawn by itself.
const OWN_RUN_PX: f64 = 2.0;

/// Steps in which the strength of a density strip is told apart.
const STRENGTHS: f64 = 16.0;

/// The spans of a lane in order of time, with what is needed to draw a million of them in time
/// proportional to the pixels.
#[derive(Clone, Debug, Default)]
pub struct LaneSpans {
    starts: Vec<f64>,
    ends: Vec<f64>,
    kinds: Vec<u8>,
    /// Busy seconds by kind before every `STRIDE`th span.
    busy_before: Vec<[f64; KINDS]>,
    busy_total: [f64; KINDS],
}

/// Pixels of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub left: i32,
    pub right: i32,
    pub kind: u8,
    /// Share of the time that is busy, above 0 to 1; below 1 only for several spans together.
    pub strength: f32,
    /// Which spans it stands for.
    pub spans: Range<usize>,
}

impl Run {
    /// True when it stands for several spans that are too narrow to be drawn alone.
    pub fn is_merged(&self) -> bool {
        self.spans.len() > 1
    }
}

impl LaneSpans {
    /// From (start, end, kind) in order of time; instants that are out of order or not numbers are
    /// moved to where the span before ends.
    pub fn new(spans: impl Iterator<Item = (f64, f64, u8)>) -> Self {
        let mut lane = Self::default();
        let (mut start_before, mut end_before) = (0.0_f64, 0.0_f64);
        let mut busy = [0.0; KINDS];
        for (start, end, kind) in spans {
            // `max` and not `clamp`: it turns what is not a number into the other operand.
            let start = if start.is_finite() { start.max(start_before) } else { end_before };
            let end = if end.is_finite() {
                end.max(start).max(end_before)
            } else {
                start.max(end_before)
            };
            if lane.starts.len().is_multiple_of(STRIDE) {
                lane.busy_before.push(busy);
            }
            let kind = usize::from(kind).min(KINDS - 1);
            busy[kind] += end - start;
            lane.starts.push(start);
            lane.ends.push(end);
            lane.kinds.push(kind as u8);
            (start_before, end_before) = (start, end);
        }
        lane.busy_total = busy;
        lane
    }

    /// Number of spans.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The start of a span, in seconds.
    pub fn start(&self, span: usize) -> f64 {
        self.starts[span]
    }

    /// The end of a span, in seconds.
    #[cfg(test)]
    pub fn end(&self, span: usize) -> f64 {
        self.ends[span]
    }

    /// Busy seconds of the whole lane by kind.
    pub fn busy_total(&self) -> [f64; KINDS] {
        self.busy_total
    }

    /// The spans that touch `from..to`.
    pub fn overlapping(&self, from: f64, to: f64) -> Range<usize> {
        let first = self.ends.partition_point(|end| *end < from);
        let last = self.starts.partition_point(|start| *start < to);
        first..last.max(first)
    }

    /// The span that runs at `time`.
    pub fn at(&self, time: f64) -> Option<usize> {
        let next = self.starts.partition_point(|start| *start <= time);
        next.checked_sub(1).filter(|span| self.ends[*span] > time)
    }

    /// The first span that starts after `time`.
    pub fn after(&self, time: f64) -> Option<usize> {
        Some(self.starts.partition_point(|start| *start <= time))
            .filter(|span| *span < self.count())
    }

    /// The last span that starts before `time`.
    pub fn before(&self, time: f64) -> Option<usize> {
        self.starts.partition_point(|start| *start < time).checked_sub(1)
    }

    /// What a pointer at `time` means when it may be off by `slack` seconds: the span there, else the
    /// nearest one.
    pub fn near(&self, time: f64, slack: f64) -> Option<usize> {
        self.at(time).or_else(|| {
            let distance =
                |span: usize| (self.starts[span] - time).max(time - self.ends[span]).max(0.0);
            [self.before(time), self.after(time)]
                .into_iter()
                .flatten()
                .filter(|span| distance(*span) <= slack)
                .min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
        })
    }

    /// Busy seconds of some spans by kind.
    pub fn busy(&self, spans: Range<usize>) -> [f64; KINDS] {
        let (from, to) = (self.busy_until(spans.start), self.busy_until(spans.end));
        std::array::from_fn(|kind| (to[kind] - from[kind]).max(0.0))
    }

    fn busy_until(&self, span: usize) -> [f64; KINDS] {
        if span >= self.count() {
            return self.busy_total;
        }
        let mut busy = self.busy_before[span / STRIDE];
        for i in span / STRIDE * STRIDE..span {
            busy[usize::from(self.kinds[i])] += self.ends[i] - self.starts[i];
        }
        busy
    }

    /// The pixels of what `view` shows on a lane `width` pixels wide, from left to right.
    ///
    /// Every span that is shown lies in a run. The work is proportional to the pixels, not to the
    /// spans.
    pub fn runs(&self, view: Viewport, width: i32) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        if width <= 0 {
            return runs;
        }
        let x = |time: f64| view.x(time, f64::from(width));
        let shown = self.overlapping(view.from(), view.to());
        let mut next = shown.start;
        while next < shown.end {
            let (left, right) = (x(self.starts[next]), x(self.ends[next]));
            let run = if right - left >= OWN_RUN_PX {
                let left = pixel(left, 0, width - 1);
                let right = pixel(right, left + 1, width);
                Run { left, right, kind: self.kinds[next], strength: 1.0, spans: next..next + 1 }
            } else {
                self.density_run(next..shown.end, view, width)
            };
            next = run.spans.end;
            match runs.last_mut() {
                Some(last) if last.continues_in(&run) => {
                    last.right = last.right.max(run.right);
                    last.spans.end = run.spans.end;
                }
                _ => runs.push(run),
            }
        }
        runs
    }

    /// The narrow spans that start in the pixel column of the first one.
    fn density_run(&self, spans: Range<usize>, view: Viewport, width: i32) -> Run {
        let x = |time: f64| view.x(time, f64::from(width));
        let left = (x(self.starts[spans.start]).floor().clamp(0.0, f64::from(width - 1))) as i32;
        let column_end = view.time(f64::from(left + 1), f64::from(width));
        let rest = &self.starts[spans.start + 1..spans.end];
        let mut end = spans.start + 1 + rest.partition_point(|start| *start < column_end);
        let is_wide = |span: usize| x(self.ends[span]) - x(self.starts[span]) >= OWN_RUN_PX;
        if end > spans.start + 1 && is_wide(end - 1) {
            end -= 1;
        }
        let right = pixel(x(self.ends[end - 1]), left + 1, width);
        let busy = self.busy(spans.start..end);
        let share = busy.iter().sum::<f64>() / (view.span() / f64::from(width));
        let strength = (share * STRENGTHS).ceil().clamp(1.0, STRENGTHS) / STRENGTHS;
        let kind = (0..KINDS).max_by(|a, b| busy[*a].total_cmp(&busy[*b])).map_or(0, |kind| {
            // Spans without duration have no dominant kind; the first one's will do.
            if busy[kind] > 0.0 { kind as u8 } else { self.kinds[spans.start] }
        });
        Run { left, right, kind, strength: strength as f32, spans: spans.start..end }
    }
}

impl Run {
    /// True when `next` can be drawn as part of this density strip.
    fn continues_in(&self, next: &Self) -> bool {
        let is_strip = |run: &Self| run.right - run.left < OWN_RUN_PX as i32 || run.is_merged();
        self.kind == next.kind
            && (self.strength - next.strength).abs() < f32::EPSILON
            && next.left <= self.right
            && is_strip(self)
            && is_strip(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lane(spans: &[(f64, f64, u8)]) -> LaneSpans {
        LaneSpans::new(spans.iter().copied())
    }

    #[test]
    fn wide_spans_are_drawn_alone() {
        let lane = lane(&[(0.0, 4.0, 0), (4.0, 6.0, 1), (8.0, 10.0, 0)]);
        let runs = lane.runs(Viewport::fit(10.0), 100);
        let pixels: Vec<_> = runs.iter().map(|r| (r.left, r.right, r.kind)).collect();
        assert_eq!(pixels, [(0, 40, 0), (40, 60, 1), (80, 100, 0)]);
    }

    #[test]
    fn narrow_spans_merge_into_a_strip_whose_strength_is_their_share() {
        // A thousand spans of half a millisecond, one each millisecond, on ten pixels.
        let spans: Vec<_> = (0..1000).map(|i| (f64::from(i), f64::from(i) + 0.5, 2)).collect();
        let runs = lane(&spans).runs(Viewport::fit(1000.0), 10);
        assert_eq!(runs.len(), 1);
        assert_eq!((runs[0].left, runs[0].right, runs[0].kind), (0, 10, 2));
        assert!((runs[0].strength - 0.5).abs() < 0.07);
        assert_eq!(runs[0].spans, 0..1000);
    }

    #[test]
    fn a_lonely_instant_is_still_drawn() {
        let runs = lane(&[(5.0, 5.0, 3)]).runs(Viewport::fit(10.0), 10);
        assert_eq!((runs[0].left, runs[0].right, runs[0].kind), (5, 6, 3));
        assert!(runs[0].strength > 0.0);
    }

    #[test]
    fn the_span_under_the_pointer_is_found_with_some_slack() {
        let lane = lane(&[(1.0, 2.0, 0), (3.0, 4.0, 0)]);
        assert_eq!(lane.at(1.5), Some(0));
        assert_eq!(lane.at(2.5), None);
        assert_eq!(lane.near(2.1, 0.2), Some(0));
        assert_eq!(lane.near(2.9, 0.2), Some(1));
        assert_eq!(lane.near(2.5, 0.2), None);
        assert_eq!((lane.before(3.0), lane.after(1.0)), (Some(0), Some(1)));
    }

    #[test]
    fn nonsense_does_not_panic() {
        let lane = lane(&[(f64::NAN, 1.0, 9), (3.0, f64::INFINITY, 0), (2.0, 1.0, 0)]);
        assert_eq!(lane.count(), 3);
        assert!(lane.runs(Viewport::fit(4.0), 0).is_empty());
        assert!(lane.runs(Viewport::fit(4.0), -5).is_empty());
        assert!(!lane.runs(Viewport::fit(4.0), 7).is_empty());
        assert!(LaneSpans::default().runs(Viewport::fit(1.0), 10).is_empty());
    }

    #[test]
    fn a_million_spans_need_no_more_runs_than_pixels() {
        let spans = (0..1_000_000).map(|i| (f64::from(i), f64::from(i) + 0.9, (i / 300 % 2) as u8));
        let runs = LaneSpans::new(spans).runs(Viewport::fit(1e6), 1000);
        assert!(runs.len() <= 1001, "{}", runs.len());
    }

    prop_compose! {
        fn some_lane()(gaps in prop::collection::vec((0.0_f64..1.0, 0.0_f64..3.0, 0_u8..9), 1..300), scale in 1e-4_f64..10.0)
            -> LaneSpans {
            let mut time = 0.0;
            LaneSpans::new(gaps.into_iter().map(|(gap, length, kind)| {
                let start = time + gap * gap * scale;
                time = start + length * length * scale;
                (start, time, kind)
            }))
        }
    }

    proptest! {
        #[test]
        fn every_span_lies_in_a_run_and_no_run_outside(
            lane in some_lane(), width in 1_i32..400, a in 0.0_f64..1.0, b in 0.0_f64..1.0,
        ) {
            let limit = lane.end(lane.count() - 1).max(1e-9);
            let view = Viewport::window(a.min(b) * limit, a.max(b) * limit, limit);
            let runs = lane.runs(view, width);
            let mut next = lane.overlapping(view.from(), view.to()).start;
            for run in &runs {
                prop_assert!(0 <= run.left && run.left < run.right && run.right <= width, "{run:?}");
                prop_assert_eq!(run.spans.start, next);
                prop_assert!(run.strength > 0.0 && run.strength <= 1.0);
                next = run.spans.end;
                for span in run.spans.clone() {
                    let x = view.x(lane.start(span), f64::from(width));
                    let end = view.x(lane.end(span), f64::from(width));
                    prop_assert!(end >= f64::from(run.left) - 1.0 && x <= f64::from(run.right) + 1.0);
                }
            }
            prop_assert_eq!(next, lane.overlapping(view.from(), view.to()).end);
            prop_assert!(runs.len() <= 2 * width as usize + 2);
        }

        #[test]
        fn sums_agree_with_adding_up(lane in some_lane(), a in 0.0_f64..1.0, b in 0.0_f64..1.0) {
            let n = lane.count() as f64;
            let range = (a.min(b) * n) as usize..(a.max(b) * n) as usize;
            let sum: f64 = range.clone().map(|i| lane.end(i) - lane.start(i)).sum();
            prop_assert!((lane.busy(range).iter().sum::<f64>() - sum).abs() < 1e-6);
        }
    }
}
