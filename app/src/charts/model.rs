//! A simulation as charts see it: bytes and seconds of every rank class and lane, prepared once.

use super::geometry::{CurveIndex, LaneSpans, MemoryScale, Stack, memory_axis_max};
use sim_core::Simulation;
use sim_core::engine::{MemoryPoint, TaskId};
use sim_core::quantity::{Bytes, Unit};
use sim_core::report::{Breakdown, MemoryReport};
use sim_core::trace::{Category, Phase, Span, Trace};
use std::sync::{Arc, OnceLock};

/// Bytes by category.
pub type Amounts = [f64; Category::COUNT];

/// One rank class at its peak.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassPeak {
    /// Pipeline stage, from 0.
    pub stage: u64,
    /// How many ranks are of this class.
    pub ranks: u64,
    pub bytes: Amounts,
    /// What the driver counts, in bytes.
    pub total: f64,
    /// Seconds.
    pub at: f64,
}

/// The spans of one lane.
#[derive(Debug)]
pub struct LaneData {
    pub spans: LaneSpans,
    /// The task of every span.
    pub tasks: Vec<TaskId>,
    /// Passes of micro-batches, on the compute lane.
    pub passes: Vec<Pass>,
}

/// Spans of one micro-batch in one direction that follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// Seconds.
    pub start: f64,
    pub end: f64,
    pub micro_batch: u32,
    pub is_backward: bool,
    /// How many there are.
    pub spans: u32,
}

/// A simulation prepared for drawing. What costs a pass over a lane or a curve is done when it is
/// first asked for.
pub struct ChartModel {
    simulation: Arc<Simulation>,
    classes: Vec<ClassPeak>,
    capacity: f64,
    groups: Vec<Vec<usize>>,
    lanes: Vec<OnceLock<LaneData>>,
    curves: Vec<OnceLock<CurveIndex>>,
}

impl ChartModel {
    pub fn new(simulation: Arc<Simulation>) -> Self {
        let trace = &simulation.trace;
        let memory = simulation.report.memory.as_ref();
        let classes = class_peaks(trace, memory);
        let mut groups = vec![Vec::new(); classes.len()];
        for (i, lane) in trace.lanes().iter().enumerate() {
            groups[lane.class].push(i);
        }
        Self {
            capacity: memory.map_or(0.0, |memory| Bytes::gib(memory.capacity_gib).get()),
            lanes: trace.lanes().iter().map(|_| OnceLock::new()).collect(),
            curves: classes.iter().map(|_| OnceLock::new()).collect(),
            classes,
            groups,
            simulation,
        }
    }

    pub fn trace(&self) -> &Trace {
        &self.simulation.trace
    }

    /// True for a served batch instead of a training step.
    pub fn serves(&self) -> bool {
        self.simulation.plan.serving.is_some()
    }

    /// A span of this trace; none for a task of another one.
    pub fn span(&self, task: TaskId) -> Option<Span<'_>> {
        ((task.0 as usize) < self.trace().len()).then(|| self.trace().span(task))
    }

    /// The span that another one waited for last.
    pub fn waited_for(&self, task: TaskId) -> Option<Span<'_>> {
        self.span(task)?;
        self.trace().waited_for(task).and_then(|task| self.span(task))
    }

    /// What a span allocates and what it frees, in bytes, by category.
    pub fn changes(&self, task: TaskId) -> Vec<(Category, f64)> {
        let Some(span) = self.span(task) else { return Vec::new() };
        let points = self.trace().memory(self.trace().lanes()[span.lane].class).points();
        let from = points.partition_point(|point| point.time < span.start);
        let mut changes = [[0_i64; 2]; Category::COUNT];
        for point in points[from..].iter().take_while(|point| point.time <= span.end) {
            if let Some(change) = changes.get_mut(usize::from(point.category))
                && point.task == Some(task)
            {
                change[usize::from(point.delta < 0)] += point.delta;
            }
        }
        let both = Category::ALL.into_iter().zip(changes);
        both.flat_map(|(category, change)| change.map(|bytes| (category, bytes as f64)))
            .filter(|(_, bytes)| bytes.abs() > 0.0)
            .collect()
    }

    /// The rank classes at their peaks.
    pub fn classes(&self) -> &[ClassPeak] {
        &self.classes
    }

    /// What one device offers, in bytes.
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// The lanes of every class, as indices into the trace's.
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// The class that needs the most memory.
    pub fn fullest_class(&self) -> usize {
        // The first of several equal ones, unlike `max_by`.
        let mut fullest = 0;
        for (i, class) in self.classes.iter().enumerate() {
            if class.total > self.classes[fullest].total {
                fullest = i;
            }
        }
        fullest
    }

    /// The end of a memory axis for all classes, in bytes: a round number of `unit`.
    pub fn memory_axis(&self, unit: Unit) -> f64 {
        let needed = self.classes.iter().map(|class| class.total).fold(0.0, f64::max);
        let scale = MemoryScale::of(needed.max(self.capacity), unit).bytes;
        memory_axis_max(self.capacity / scale, needed / scale) * scale
    }

    /// The spans of a lane.
    pub fn lane(&self, lane: usize) -> &LaneData {
        self.lanes[lane].get_or_init(|| LaneData::new(self.trace(), lane))
    }

    /// The memory curve of a class, without what the runtime holds all the time.
    pub fn curve(&self, class: usize) -> (&[MemoryPoint], &CurveIndex) {
        let points = self.trace().memory(class).points();
        (points, self.curves[class].get_or_init(|| CurveIndex::new(points)))
    }

    /// Bytes by category of a class at an instant; at its peak without one.
    pub fn amounts(&self, class: usize, time: Option<f64>) -> Amounts {
        match time {
            Some(time) => {
                let (points, index) = self.curve(class);
                self.with_runtime(class, &index.at(points, time))
            }
            None => self.classes[class].bytes,
        }
    }

    /// What a curve says, and what the runtime holds beside it.
    pub fn with_runtime(&self, class: usize, stack: &Stack) -> Amounts {
        let mut amounts = stack.map(|bytes| bytes.max(0) as f64);
        amounts[Category::Runtime as usize] = self.classes[class].bytes[Category::Runtime as usize];
        amounts
    }

    /// Categories that any class uses at any time.
    pub fn used(&self) -> [bool; Category::COUNT] {
        let mut used = [false; Category::COUNT];
        for (class, peak) in self.classes.iter().enumerate() {
            for (used, bytes) in used.iter_mut().zip(peak.bytes) {
                *used |= bytes > 0.0;
            }
            for point in self.trace().memory(class).points() {
                if let Some(used) = used.get_mut(usize::from(point.category)) {
                    *used |= point.delta > 0;
                }
            }
        }
        used
    }
}

impl LaneData {
    fn new(trace: &Trace, lane: usize) -> Self {
        let mut tasks = Vec::new();
        let mut passes: Vec<Pass> = Vec::new();
        // From before the beginning, so that spans without duration at zero count.
        let spans = trace.spans(lane, -1.0, f64::INFINITY).map(|span| {
            tasks.push(span.task);
            if let Some(micro_batch) = span.micro_batch
                && !span.operation.phase.is_communication()
            {
                let is_backward = span.operation.phase != Phase::Forward;
                match passes.last_mut() {
                    Some(pass)
                        if pass.micro_batch == micro_batch && pass.is_backward == is_backward =>
                    {
                        pass.end = span.end;
                        pass.spans += 1;
                    }
                    _ => passes.push(Pass {
                        start: span.start,
                        end: span.end,
                        micro_batch,
                        is_backward,
                        spans: 1,
                    }),
                }
            }
            (span.start, span.end, span.operation.phase as u8)
        });
        let spans = LaneSpans::new(spans);
        Self { spans, tasks, passes }
    }
}

fn class_peaks(trace: &Trace, memory: Option<&MemoryReport>) -> Vec<ClassPeak> {
    let ranks = memory.map_or(&[][..], |memory| &memory.per_rank);
    let peaks = trace.classes().iter().enumerate().map(|(i, class)| {
        let peak = ClassPeak { stage: class.stage, ranks: class.ranks, ..ClassPeak::default() };
        match ranks.get(i) {
            Some(rank) => ClassPeak {
                bytes: amounts_of(&rank.breakdown),
                total: Bytes::gib(rank.driver_total_gib).get(),
                at: rank.peak_at,
                ..peak
            },
            None => peak,
        }
    });
    peaks.collect()
}

fn amounts_of(breakdown: &Breakdown) -> Amounts {
    Category::ALL.map(|category| Bytes::gib(breakdown.of(category)).get())
}

#[cfg(test)]
mod tests;
