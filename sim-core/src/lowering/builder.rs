//! The task graph under construction, with what its tasks stand for.

use super::compiled::{CompiledEffect, Tables};
use crate::cost::Cost;
use crate::engine::{MemoryCurve, Moment, PoolId, ResourceId, TaskGraph, TaskId};
use crate::trace::{Category, Lane, LaneKind, Phase, RankClass, TaskInfo, Trace};

/// A graph that grows, and the tables that name its parts.
#[derive(Debug, Default)]
pub struct TraceBuilder {
    pub graph: TaskGraph,
    pub tables: Tables,
    lanes: Vec<Lane>,
    tasks: Vec<TaskInfo>,
}

/// Communication or an optimizer step: what is not copied from a program.
#[derive(Clone, Copy, Debug)]
pub struct Special {
    pub name: &'static str,
    pub phase: Phase,
    pub bytes: f64,
    pub cost: Cost,
}

impl TraceBuilder {
    pub fn with_capacity(tasks: usize) -> Self {
        Self {
            graph: TaskGraph::with_capacity(tasks),
            tasks: Vec::with_capacity(tasks),
            ..Self::default()
        }
    }

    /// A new lane of a rank class.
    pub fn add_lane(
        &mut self,
        class: usize,
        kind: LaneKind,
        link: Option<&'static str>,
    ) -> ResourceId {
        self.lanes.push(Lane { class, kind, link });
        self.graph.add_resource()
    }

    /// Adds a task that stands for `operation`.
    pub fn task(
        &mut self,
        lane: ResourceId,
        operation: u32,
        duration: f64,
        layer: u32,
        micro_batch: u32,
    ) -> TaskId {
        self.tasks.push(TaskInfo { operation, layer, micro_batch });
        self.graph.add_task(lane, duration)
    }

    /// Adds a task that is not part of a program.
    pub fn special(
        &mut self,
        lane: ResourceId,
        special: Special,
        layer: u32,
        micro_batch: u32,
    ) -> TaskId {
        let Special { name, phase, bytes, cost } = special;
        let operation = self.tables.operation(name, phase, 0.0, bytes, cost);
        self.task(lane, operation, cost.time.get(), layer, micro_batch)
    }

    /// The newest task changes a pool.
    pub fn change(
        &mut self,
        pool: PoolId,
        moment: Moment,
        category: Category,
        name: &'static str,
        delta: i64,
    ) {
        let label = self.tables.label(name);
        self.graph.change(pool, moment, category as u8, label, delta);
    }

    /// A pool holds memory from before the step on.
    pub fn hold(&mut self, pool: PoolId, category: Category, name: &'static str, bytes: i64) {
        let label = self.tables.label(name);
        self.graph.hold(pool, category as u8, label, bytes);
    }

    /// The newest task has the effects of a program's step.
    pub fn apply(&mut self, pool: PoolId, effects: &[CompiledEffect]) {
        for effect in effects {
            self.graph.change(
                pool,
                effect.moment,
                effect.category as u8,
                effect.label,
                effect.delta,
            );
        }
    }

    /// Runs the graph.
    pub fn finish(self, classes: Vec<ClassSeed>) -> Trace {
        let schedule = self.graph.schedule();
        let mut lane_tasks = vec![Vec::new(); self.lanes.len()];
        for (i, _) in self.tasks.iter().enumerate() {
            let task = TaskId(u32::try_from(i).expect("a graph has fewer than 2^32 tasks"));
            lane_tasks[self.graph.resource(task).0 as usize].push(task);
        }
        let curves = MemoryCurve::of_all_pools(&self.graph, &schedule);
        debug_assert!(
            classes.iter().enumerate().all(|(i, seed)| usize::from(seed.pool.0) == i),
            "a class has the pool of its own number"
        );
        let classes = classes
            .into_iter()
            .zip(&curves)
            .map(|(seed, curve)| {
                let forward_end = seed.last_forward.map_or(0.0, |task| schedule.end(task));
                let before = curve.points().iter().take_while(|point| {
                    let begun = |task| schedule.start(task) < forward_end;
                    point.time < forward_end || point.task.is_none_or(begun)
                });
                RankClass {
                    stage: seed.stage,
                    ranks: seed.ranks,
                    forward_end,
                    after_forward_bytes: before.map(|point| point.delta).sum(),
                    optimizer_start: seed.optimizer.map_or(0.0, |task| schedule.start(task)),
                }
            })
            .collect();
        Trace {
            graph: self.graph,
            schedule,
            lanes: self.lanes,
            classes,
            tasks: self.tasks,
            operations: self.tables.operations,
            curves,
            labels: self.tables.labels,
            lane_tasks,
        }
    }
}

/// What a rank class is known by before the graph has run.
#[derive(Clone, Copy, Debug)]
pub struct ClassSeed {
    pub stage: u64,
    pub ranks: u64,
    pub pool: PoolId,
    pub last_forward: Option<TaskId>,
    pub optimizer: Option<TaskId>,
}
