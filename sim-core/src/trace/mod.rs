//! What happens in a step: spans on lanes and the memory of every rank class over time.
//!
//! Everything shown is read from here: bars are [`Trace::breakdown_at`] an instant, the peak is the
//! highest point of the curve.

mod category;
mod span;

pub use category::Category;
pub use span::{Bound, LaneKind, OperationInfo, Phase, Pricing, Span};

use crate::engine::{MemoryCurve, MemoryPoint, Schedule, TaskGraph, TaskId};

/// Ranks that all do and hold the same; one of them is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct RankClass {
    /// Pipeline stage, from 0.
    pub stage: u64,
    /// How many ranks are of this class.
    pub ranks: u64,
    /// When the last forward of the step ends here, in seconds.
    pub forward_end: f64,
    /// Bytes allocated when the last forward of the step has ended here and nothing else has begun.
    pub after_forward_bytes: i64,
    /// When the optimizer step starts here, in seconds.
    pub optimizer_start: f64,
}

/// A queue of operations on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Index into [`Trace::classes`].
    pub class: usize,
    pub kind: LaneKind,
    /// Display name of the link it runs over (`NVLink 3`); none for compute.
    pub link: Option<&'static str>,
}

/// What a task of the graph stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Index into the operations.
    pub operation: u32,
    /// Layer number, or [`TaskInfo::NONE`].
    pub layer: u32,
    /// Micro-batch number, or [`TaskInfo::NONE`].
    pub micro_batch: u32,
}

impl TaskInfo {
    /// No layer, or no micro-batch.
    pub const NONE: u32 = u32::MAX;
}

/// One simulated step.
#[derive(Clone, Debug)]
pub struct Trace {
    pub(crate) graph: TaskGraph,
    pub(crate) schedule: Schedule,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) classes: Vec<RankClass>,
    pub(crate) tasks: Vec<TaskInfo>,
    pub(crate) operations: Vec<OperationInfo>,
    pub(crate) curves: Vec<MemoryCurve>,
    pub(crate) labels: Vec<&'static str>,
    /// Tasks of each lane, in order of time.
    pub(crate) lane_tasks: Vec<Vec<TaskId>>,
}

impl Trace {
    /// The rank classes, by pipeline stage.
    pub fn classes(&self) -> &[RankClass] {
        &self.classes
    }

    /// All lanes, those of a rank class side by side.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Duration of the step, in seconds.
    pub fn duration(&self) -> f64 {
        self.schedule.makespan()
    }

    /// Number of spans on all lanes.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// True without spans.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The spans of a lane that overlap `from..to` seconds, in order of time.
    pub fn spans(&self, lane: usize, from: f64, to: f64) -> impl Iterator<Item = Span<'_>> {
        let tasks = &self.lane_tasks[lane];
        let first = tasks.partition_point(|&task| self.schedule.end(task) <= from);
        tasks[first..]
            .iter()
            .take_while(move |&&task| self.schedule.start(task) < to)
            .map(|&task| self.span(task))
    }

    /// One span.
    pub fn span(&self, task: TaskId) -> Span<'_> {
        let info = self.tasks[task.0 as usize];
        let number = |n: u32| (n != TaskInfo::NONE).then_some(n);
        Span {
            task,
            lane: self.graph.resource(task).0 as usize,
            start: self.schedule.start(task),
            end: self.schedule.end(task),
            operation: &self.operations[info.operation as usize],
            layer: number(info.layer),
            micro_batch: number(info.micro_batch),
        }
    }

    /// The span that `task` waited for last: the one whose end let it start, on its own lane or on
    /// another.
    pub fn waited_for(&self, task: TaskId) -> Option<TaskId> {
        let start = self.schedule.start(task);
        let others = self.graph.dependencies(task).iter().copied();
        let lane = &self.lane_tasks[self.graph.resource(task).0 as usize];
        let own = lane.iter().position(|&t| t == task).and_then(|i| i.checked_sub(1));
        others
            .chain(own.map(|i| lane[i]))
            .find(|&other| self.schedule.end(other) >= start && start > 0.0)
    }

    /// The memory of a rank class over time.
    pub fn memory(&self, class: usize) -> &MemoryCurve {
        &self.curves[class]
    }

    /// Bytes by category of a rank class at an instant, in seconds; at the peak without one.
    pub fn breakdown_at(&self, class: usize, time: Option<f64>) -> [i64; Category::COUNT] {
        let curve = &self.curves[class];
        let points = match time {
            Some(time) => curve.points_until(time),
            None => curve.points_to_peak(),
        };
        let all = MemoryCurve::breakdown(points);
        std::array::from_fn(|i| all[i])
    }

    /// What a point of a memory curve allocates or frees: a key of the texts `tensor.<name>`.
    pub fn tensor(&self, point: &MemoryPoint) -> &'static str {
        self.labels[point.label as usize]
    }

    /// What is alive in a category of a rank class at an instant (at the peak without one): name and
    /// bytes, largest first. The name is a key of the texts `tensor.<name>`.
    pub fn live_at(
        &self,
        class: usize,
        category: Category,
        time: Option<f64>,
    ) -> Vec<(&'static str, i64)> {
        let curve = &self.curves[class];
        let points = match time {
            Some(time) => curve.points_until(time),
            None => curve.points_to_peak(),
        };
        MemoryCurve::live(points)
            .into_iter()
            .filter(|row| row.0 == category as u8)
            .map(|(_, label, bytes)| (self.labels[label as usize], bytes))
            .collect()
    }
}
