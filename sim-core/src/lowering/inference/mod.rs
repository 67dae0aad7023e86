//! A serving job becomes a trace: the steps of one batch of requests on one replica.
//!
//! The first steps and the last are simulated operator by operator; what lies between is one span of
//! the length that those steps add up to.

mod price;
mod stage;
mod units;

use super::builder::{Special, TraceBuilder};
use super::compiled::Tables;
use crate::cost::{Cost, CostModel};
use crate::engine::{Moment, TaskId};
use crate::plan::Plan;
use crate::quantity::{Secs, signed_bytes};
use crate::serving::{Serving, StepKind, StepSpec, Steps, step_context};
use crate::trace::{Bound, Category, Phase, Pricing, TaskInfo, Trace};
use price::Pricer;
use stage::StageEmitter;
use units::StepUnits;

pub use price::assumptions;

/// Most operations that are simulated one by one.
const MAX_OPERATIONS: u64 = 60_000;
/// Most steps that are simulated one by one, and the fewest.
const MAX_STEPS: u64 = 64;
const MIN_STEPS: u64 = 4;
/// Most of them for prompts.
const MAX_PREFILL_STEPS: u64 = 8;

/// Simulates a batch of requests of a serving job.
pub fn lower_serving(plan: &Plan, serving: &Serving, cost: &CostModel) -> Trace {
    let mut builder = TraceBuilder::with_capacity(1 << 12);
    let pricer = Pricer::new(plan, serving, cost);
    let stages = (0..plan.stages.len())
        .map(|number| StageEmitter::new(plan, serving, cost, number, &mut builder))
        .collect();
    let mut run = Run { plan, serving, cost, pricer, stages, builder, end: None, number: 0 };
    let budget = run.steps_in_detail();
    let prefill = Steps::prefill(serving);
    run.steps(&prefill, (budget / 2).clamp(2, MAX_PREFILL_STEPS));
    for stage in &mut run.stages {
        stage.prefill_done();
    }
    let decode = Steps::decode(serving);
    let used = prefill.count().min(MAX_PREFILL_STEPS);
    run.steps(&decode, budget.saturating_sub(used).max(2));
    let seeds = run.stages.iter().map(|stage| stage.seed(plan)).collect();
    run.builder.finish(seeds)
}

struct Run<'a> {
    plan: &'a Plan,
    serving: &'a Serving,
    cost: &'a CostModel,
    pricer: Pricer<'a>,
    stages: Vec<StageEmitter<'a>>,
    builder: TraceBuilder,
    /// The last task of the newest step.
    end: Option<TaskId>,
    /// Steps so far, for their names.
    number: u32,
}

impl Run<'_> {
    /// How many steps are simulated one by one.
    fn steps_in_detail(&mut self) -> u64 {
        let units = self.units(Steps::prefill(self.serving).at(0));
        let tasks = units.tasks(self.plan) as u64;
        (MAX_OPERATIONS / tasks.max(1)).clamp(MIN_STEPS, MAX_STEPS)
    }

    fn units(&mut self, step: StepSpec) -> StepUnits {
        StepUnits::compile(&self.pricer, step, &mut self.builder.tables)
    }

    /// Emits `steps`, at most `detailed` of them one by one: all but the last at the beginning.
    fn steps(&mut self, steps: &Steps, detailed: u64) {
        let count = steps.count();
        if count <= detailed {
            for index in 0..count {
                self.step(steps.at(index));
            }
            return;
        }
        let first = detailed - 1;
        let mut shown = 0.0;
        for index in 0..first {
            shown += self.step(steps.at(index));
        }
        let bends: Vec<u64> = self
            .plan
            .model
            .layer_groups()
            .into_iter()
            .filter_map(|group| group.kind.window)
            .collect();
        let all = steps.sum(&bends, |step| self.duration(step));
        let last = self.duration(steps.at(count - 1));
        self.between(steps.at(count - 1), libm::fmax(all - shown - last, 0.0));
        self.step(steps.at(count - 1));
    }

    /// Seconds of a step: its operators one after the other on all stages.
    fn duration(&mut self, step: StepSpec) -> f64 {
        // Operations that no span shows are not listed.
        let units = StepUnits::compile(&self.pricer, step, &mut Tables::default());
        let sends: f64 = (1..self.stages.len())
            .map(|stage| self.cost.pipeline_send(stage - 1, self.boundary_bytes(step)).time.get())
            .sum();
        units.seconds(self.plan) + sends
    }

    fn boundary_bytes(&self, step: StepSpec) -> u64 {
        let context = step_context(self.plan, self.serving, step, None);
        context.stream_tokens() * self.plan.model.hidden * context.stream_size()
    }

    /// One step over all stages; gives back its duration.
    fn step(&mut self, step: StepSpec) -> f64 {
        let units = self.units(step);
        let mut seconds = units.seconds(self.plan);
        let bytes = self.boundary_bytes(step);
        for number in 0..self.stages.len() {
            if number > 0 {
                let cost = self.cost.pipeline_send(number - 1, bytes);
                seconds += cost.time.get();
                self.send(number, bytes, cost);
            }
            let start = self.end.take();
            let stage = &mut self.stages[number];
            self.end = stage.step(&mut self.builder, &units, step, self.number, start);
        }
        // The next step needs this one's tokens: nothing of it starts before.
        self.number = self.number.saturating_add(1);
        seconds
    }

    fn send(&mut self, to: usize, bytes: u64, cost: Cost) {
        let lane = self.stages[to - 1].to_next.expect("neighbours have a lane");
        let name = "send-activations";
        let special = Special { name, phase: Phase::SendReceive, bytes: bytes as f64, cost };
        let task = self.builder.special(lane, special, TaskInfo::NONE, self.number);
        if let Some(end) = self.end {
            self.builder.graph.wait_for(end);
        }
        let delta = signed_bytes(bytes);
        for (stage, moment, sign) in [(to, Moment::Start, 1), (to - 1, Moment::End, -1)] {
            let stage = &self.stages[stage];
            if stage.counts_activations() {
                let category = Category::Activations;
                self.builder.change(stage.pool, moment, category, "layer-input", sign * delta);
            }
        }
        self.end = Some(task);
    }

    /// One span on every compute lane for the steps that are not shown.
    fn between(&mut self, next: StepSpec, seconds: f64) {
        let name = match next.kind {
            StepKind::Prefill => "more-prefill",
            StepKind::Decode => "more-decoding",
        };
        let cost =
            Cost { time: Secs::new(seconds), bound: Bound::Memory, pricing: Pricing::Formula };
        let special = Special { name, phase: Phase::Forward, bytes: 0.0, cost };
        let start = self.end.take();
        for stage in &mut self.stages {
            let task = self.builder.special(stage.compute, special, TaskInfo::NONE, self.number);
            if let Some(start) = start {
                self.builder.graph.wait_for(start);
            }
            stage.grow(&mut self.builder, next.past);
            self.end = Some(task);
        }
        self.number = self.number.saturating_add(1);
    }
}
