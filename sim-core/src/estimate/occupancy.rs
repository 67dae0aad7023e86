//! How busy lanes are: exposed communication and pipeline bubbles.

use crate::trace::{LaneKind, Trace};

/// What the lanes of a trace add up to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy {
    /// Seconds in which the first rank class computes.
    pub compute_s: f64,
    /// Seconds in which the first rank class communicates (within the groups of its stage) and does
    /// not compute.
    pub exposed_comm_s: f64,
    /// Average share of the step in which a rank class neither computes nor communicates within its
    /// groups: it waits for its neighbours.
    pub bubble_fraction: f64,
}

/// Measures a trace.
pub fn measure(trace: &Trace) -> Occupancy {
    let (mut compute_s, mut exposed_comm_s) = (0.0, 0.0);
    let mut idle_share = 0.0;
    let duration = trace.duration();
    for class in 0..trace.classes().len() {
        let compute = busy(trace, class, |kind| kind == LaneKind::Compute);
        let all = busy(trace, class, |kind| kind == LaneKind::Compute || kind.is_group());
        if class == 0 {
            compute_s = compute;
            exposed_comm_s = all - compute;
        }
        idle_share += 1.0 - all / duration;
    }
    let bubble_fraction = idle_share / trace.classes().len() as f64;
    Occupancy { compute_s, exposed_comm_s, bubble_fraction }
}

/// Seconds in which at least one of the lanes of a class is busy.
fn busy(trace: &Trace, class: usize, counts: fn(LaneKind) -> bool) -> f64 {
    let mut lanes: Vec<_> = trace
        .lanes()
        .iter()
        .enumerate()
        .filter(|(_, lane)| lane.class == class && counts(lane.kind))
        .map(|(index, _)| trace.spans(index, f64::NEG_INFINITY, f64::INFINITY).peekable())
        .collect();
    let (mut total, mut until) = (0.0, 0.0);
    loop {
        let next = lanes
            .iter_mut()
            .enumerate()
            .filter_map(|(index, spans)| spans.peek().map(|span| (span.start, index)))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let Some((_, lane)) = next else { return total };
        let span = lanes[lane].next().expect("a span was just seen");
        if span.end > until {
            total += span.end - libm::fmax(span.start, until);
            until = span.end;
        }
    }
}
