//! One pipeline stage: its lanes, its memory, and the tasks of its forwards and backwards.

use super::builder::{ClassSeed, TraceBuilder};
use super::compiled::{CompiledStep, Unit};
use super::fsdp::Fsdp;
use super::gradients::{GradientPolicy, placeholder_gradients};
use crate::cost::CostModel;
use crate::engine::{Moment, PoolId, ResourceId, TaskId};
use crate::operators::{ByKind, ParameterKind, Parameters};
use crate::plan::Plan;
use crate::quantity::signed_bytes as signed;
use crate::scenario::Framework;
use crate::trace::{Category, LaneKind, TaskInfo};

/// A unit of a stage: which program, and which layer it is.
#[derive(Clone, Copy, Debug)]
pub struct UnitRef {
    /// Index into the units of the model.
    pub unit: usize,
    /// Layer number, or [`TaskInfo::NONE`].
    pub layer: u32,
}

/// Lanes of one rank.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    pub compute: ResourceId,
    pub tensor: Option<ResourceId>,
    pub expert: Option<ResourceId>,
    pub context: Option<ResourceId>,
    pub data: Option<ResourceId>,
    /// Between ranks with the same shard.
    pub replicas: Option<ResourceId>,
    /// Activations to the next stage.
    pub to_next: Option<ResourceId>,
    /// Gradients to the stage before.
    pub to_previous: Option<ResourceId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// What ends with the last step of a unit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ending {
    /// Bytes of gathered parameters that are freed.
    pub gathered: u64,
    /// Bytes of all-gather outputs that are freed.
    pub buffers: u64,
    /// The micro-batch's whole backward ends too.
    of_backward: bool,
}

/// The state of a stage while its tasks are emitted.
pub struct StageEmitter<'a> {
    pub(super) plan: &'a Plan,
    pub(super) cost: &'a CostModel,
    pub(super) units: &'a [Unit],
    pub(super) order: Vec<UnitRef>,
    pub(super) policy: GradientPolicy,
    /// Parameters on this rank before data-parallel sharding.
    pub parameters: ByKind<Parameters>,
    /// Ranks that hold the same parameters.
    pub(super) replicas: ByKind<u64>,
    pub lanes: Lanes,
    pub pool: PoolId,
    pub stage: u64,
    pub(super) gathers: bool,
    pub(super) fsdp: Option<Fsdp>,
    /// The last compute task of the newest unit and of the one before.
    pub(super) unit_ends: [Option<TaskId>; 2],
    /// The newest task on the compute lane.
    pub(super) last_compute: Option<TaskId>,
    /// The newest task on the data-parallel lane.
    pub(super) last_data: Option<TaskId>,
    /// Reductions of the two newest buckets.
    pub(super) buckets: [Option<TaskId>; 2],
    /// The last unit's parameters are still gathered from forward.
    pub(super) turned: bool,
    /// Parameters whose gradients wait for their reduction.
    pub(super) pending: ByKind<u64>,
    /// Parameters whose gradients of this micro-batch wait to be added to the kept ones.
    pub(super) to_add: u64,
    pub(super) gradients_exist: bool,
    /// A message that the newest kernel runs beside.
    pub(super) beside: Option<TaskId>,
    /// What the stage's next task waits for: its input from a neighbour.
    pub(super) received: Option<TaskId>,
    /// What the next compute task waits for.
    pub(super) carried_waits: Vec<TaskId>,
    /// What the next compute task allocates.
    pub(super) carried_allocations: Vec<(Category, &'static str, u64)>,
    /// Where the previous action's compute began: when a receive for the next may be posted.
    pub previous_action_end: [Option<TaskId>; 2],
    /// The sum of a tied table's gradients over the first and the last stage.
    pub embedding_sum: Option<TaskId>,
    pub last_forward: Option<TaskId>,
    pub optimizer: Option<TaskId>,
}

impl<'a> StageEmitter<'a> {
    pub fn new(
        plan: &'a Plan,
        cost: &'a CostModel,
        units: &'a [Unit],
        order: Vec<UnitRef>,
        stage: u64,
        builder: &mut TraceBuilder,
    ) -> Self {
        let class = usize::try_from(stage).expect("stages are few");
        let mut parameters: ByKind<Parameters> = ByKind::default();
        for unit in &order {
            parameters.add(&units[unit.unit].parameters, 1);
        }
        let replicas = plan.replicas();
        let has_routed_replicas = replicas.routed > 1 && parameters.routed.total() > 0;
        let lanes = Lanes {
            compute: builder.add_lane(class, LaneKind::Compute, None),
            tensor: (plan.tp > 1).then(|| {
                builder.add_lane(class, LaneKind::TensorParallel, Some(cost.tensor_link()))
            }),
            expert: (plan.ep > 1).then(|| {
                builder.add_lane(class, LaneKind::ExpertParallel, Some(cost.expert_link()))
            }),
            context: (plan.cp > 1).then(|| {
                builder.add_lane(class, LaneKind::ContextParallel, Some(cost.context_link()))
            }),
            data: (plan.shards > 1 || has_routed_replicas)
                .then(|| builder.add_lane(class, LaneKind::DataParallel, Some(cost.data_link()))),
            replicas: (plan.shards < replicas.common)
                .then(|| builder.add_lane(class, LaneKind::Replicas, Some(cost.replica_link()))),
            to_next: (stage + 1 < plan.pp).then(|| {
                let link = cost.pipeline_link(class);
                builder.add_lane(class, LaneKind::PipelineForward, Some(link))
            }),
            to_previous: (stage > 0).then(|| {
                let link = cost.pipeline_link(class - 1);
                builder.add_lane(class, LaneKind::PipelineBackward, Some(link))
            }),
        };
        let mut this = Self {
            plan,
            cost,
            units,
            fsdp: Fsdp::new(plan, units, &order),
            order,
            policy: GradientPolicy::new(plan, parameters.trained()),
            parameters,
            replicas,
            lanes,
            pool: builder.graph.add_pool(),
            stage,
            gathers: plan.zero >= 3 && (replicas.common > 1 || has_routed_replicas),
            unit_ends: [None; 2],
            last_compute: None,
            last_data: None,
            buckets: [None; 2],
            turned: false,
            pending: ByKind::default(),
            to_add: 0,
            beside: None,
            gradients_exist: false,
            received: None,
            carried_waits: Vec::new(),
            carried_allocations: Vec::new(),
            previous_action_end: [None; 2],
            embedding_sum: None,
            last_forward: None,
            optimizer: None,
        };
        this.hold_permanent(builder);
        this
    }

    pub fn seed(&self) -> ClassSeed {
        ClassSeed {
            stage: self.stage,
            ranks: self.replicas.common * self.plan.tp,
            pool: self.pool,
            last_forward: self.last_forward,
            optimizer: self.optimizer,
        }
    }

    /// What exists before the step begins.
    fn hold_permanent(&mut self, builder: &mut TraceBuilder) {
        let states = self.cost.model_states(&self.parameters);
        let master = self.cost.master_bytes(&self.parameters);
        let frozen = self.cost.frozen_bytes(&self.parameters);
        let placeholders = placeholder_gradients(self.plan, &self.parameters);
        let pool = self.pool;
        let mut hold = |category, name, bytes| builder.hold(pool, category, name, signed(bytes));
        hold(Category::Weights, "frozen-weights", frozen);
        hold(Category::Weights, "weights", states.weights - frozen);
        hold(Category::Optimizer, "master-weights", master);
        hold(Category::Optimizer, "moments", states.optimizer - master);
        hold(Category::Transient, "gradient-buckets", self.policy.permanent_buffers);
        hold(Category::Transient, "micro-batch-gradients", self.policy.own_gradients);
        hold(Category::Transient, "placeholder-gradients", placeholders);
        if self.keeps_gradients() {
            hold(Category::Gradients, "gradients", states.gradients);
            self.gradients_exist = true;
        }
    }

    /// True when the buffer of the gradients lives across steps.
    pub(super) fn keeps_gradients(&self) -> bool {
        self.policy.preallocated || self.plan.zero >= 3
    }

    /// Adds a compute task with what has been carried to it.
    pub(super) fn compute(
        &mut self,
        builder: &mut TraceBuilder,
        operation: (u32, f64),
        at: (u32, u32),
    ) -> TaskId {
        let task = builder.task(self.lanes.compute, operation.0, operation.1, at.0, at.1);
        for wait in self.received.take().into_iter().chain(self.carried_waits.drain(..)) {
            builder.graph.wait_for(wait);
        }
        for (category, name, bytes) in self.carried_allocations.drain(..) {
            builder.change(self.pool, Moment::Start, category, name, signed(bytes));
        }
        self.carried_waits.extend(self.beside.take());
        self.last_compute = Some(task);
        task
    }

    /// Emits the steps of a unit and gives back the last task, with which `ending` happens.
    fn steps(
        &mut self,
        builder: &mut TraceBuilder,
        steps: &[CompiledStep],
        at: (u32, u32),
        direction: Direction,
        ending: &Ending,
    ) -> Option<TaskId> {
        let backward = direction == Direction::Backward;
        let mut last = None;
        for (i, step) in steps.iter().enumerate() {
            let mut task = match step.group {
                Some(group) => self.collective(builder, step, group, at),
                None => self.compute(builder, (step.operation, step.duration), at),
            };
            builder.apply(self.pool, &step.effects);
            let made = step.parameters + step.shared_parameters;
            if backward && made > 0 {
                self.make_gradients(builder, step);
                if self.plan.optimizer_in_backward && step.reduced_parameters > 0 {
                    task = self.update(builder, step, at);
                }
            }
            if i + 1 == steps.len() {
                let name = "gathered-parameters";
                let freed = -signed(ending.gathered);
                builder.change(self.pool, Moment::End, Category::Transient, name, freed);
                let freed = -signed(ending.buffers);
                let name = "all-gather-output";
                builder.change(self.pool, Moment::End, Category::Transient, name, freed);
                if ending.of_backward {
                    self.end_backward(builder);
                }
            }
            let kind = step.parameter_kind;
            if backward && self.reduces(kind, at.1) {
                *self.pending.of_mut(kind) += step.reduced_parameters;
                if *self.pending.of(kind) >= self.policy.bucket {
                    self.reduce(builder, kind, task, at);
                    if self.policy.takes_turns {
                        self.carried_waits.extend(self.buckets[0]);
                    }
                }
            }
            last = Some(task);
        }
        last
    }

    /// The newest task frees what a micro-batch's backward keeps to its end.
    pub(super) fn end_backward(&self, builder: &mut TraceBuilder) {
        for unit in &self.order {
            builder.apply(self.pool, &self.units[unit.unit].after_backward);
        }
    }

    /// Runs all units forward or backward for a micro-batch. `turns` says that the stage's next
    /// action is this micro-batch's backward: the last unit's parameters stay gathered for it.
    fn run_units(
        &mut self,
        builder: &mut TraceBuilder,
        micro_batch: u32,
        received: Option<TaskId>,
        direction: Direction,
        turns: bool,
    ) -> TaskId {
        let units = self.units;
        let mut order: Vec<(usize, UnitRef)> = self.order.iter().copied().enumerate().collect();
        if direction == Direction::Backward {
            // Frozen embeddings have none.
            order.reverse();
            order.retain(|(_, unit)| !units[unit.unit].backward.is_empty());
        }
        let count = order.len();
        self.received = received;
        let mut gathered = None;
        let mut end = None;
        for i in 0..count {
            let (position, unit) = order[i];
            let program = &units[unit.unit];
            let is_last = i + 1 == count;
            let is_backward = direction == Direction::Backward;
            let mut ending = Ending { of_backward: is_last && is_backward, ..Ending::default() };
            if let Some(mut fsdp) = self.fsdp.take() {
                let place = (position, i == 0);
                fsdp.before_unit(self, builder, place, micro_batch, direction);
                ending =
                    if is_backward { Ending::default() } else { fsdp.ending(position, is_last) };
                self.fsdp = Some(fsdp);
            }
            if self.gathers {
                if i == 0 && self.turned {
                    self.turned = false;
                } else {
                    // Not ordered ahead: it has the room of the unit before the newest.
                    let room = self.unit_ends[0];
                    let own = gathered
                        .take()
                        .unwrap_or_else(|| self.gather(builder, unit, micro_batch, room));
                    self.carried_waits.push(own);
                }
                if is_last && turns {
                    self.turned = true;
                } else {
                    ending.gathered = program.gathered_bytes(self.policy.weights);
                }
                if !is_last {
                    let (_, next) = order[i + 1];
                    gathered = Some(self.gather(builder, next, micro_batch, self.unit_ends[1]));
                }
            }
            let steps = match direction {
                Direction::Forward => &program.forward,
                Direction::Backward => &program.backward,
            };
            let last = self.steps(builder, steps, (unit.layer, micro_batch), direction, &ending);
            self.unit_ends = [self.unit_ends[1], last];
            end = last.or(end);
            if is_backward && let Some(mut fsdp) = self.fsdp.take() {
                fsdp.after_backward(self, builder, (position, is_last), micro_batch);
                self.fsdp = Some(fsdp);
            }
        }
        end.expect("a stage has at least one unit with work")
    }

    /// DeepSpeed's pipeline engine keeps what a stage sent until its backward has run, and runs
    /// forward on a copy of what it received (`pipe_buffers` of `PipelineEngine`).
    pub fn keeps_boundaries(&self) -> bool {
        self.plan.framework == Framework::DeepSpeed && self.plan.pp > 1
    }

    /// Bytes of a boundary between stages.
    fn boundary(&self) -> u64 {
        let context = self.plan.context();
        context.stream_tokens() * self.plan.model.hidden * context.stream_size()
    }

    /// Forward of a micro-batch; `received` brings its input from the stage before, `turns` says
    /// that its backward is the stage's next action.
    pub fn forward(
        &mut self,
        builder: &mut TraceBuilder,
        micro_batch: u32,
        received: Option<TaskId>,
        turns: bool,
    ) -> TaskId {
        if self.keeps_boundaries() && self.stage > 0 {
            let copied = (Category::Activations, "received-copy", self.boundary());
            self.carried_allocations.push(copied);
        }
        let end = self.run_units(builder, micro_batch, received, Direction::Forward, turns);
        self.last_forward = Some(end);
        self.previous_action_end = [self.previous_action_end[1], Some(end)];
        end
    }

    /// Backward of a micro-batch; `received` brings the gradient from the stage after.
    pub fn backward(
        &mut self,
        builder: &mut TraceBuilder,
        micro_batch: u32,
        received: Option<TaskId>,
    ) -> TaskId {
        self.begin_backward();
        let mut end = self.run_units(builder, micro_batch, received, Direction::Backward, false);
        if self.policy.adds_after_backward {
            end = self.add_gradients(builder, micro_batch);
        }
        if self.keeps_boundaries() {
            // With the newest task of backward.
            let freed = -signed(self.boundary());
            let mut free = |name| {
                builder.change(self.pool, Moment::End, Category::Activations, name, freed);
            };
            if self.stage > 0 {
                free("received-copy");
            }
            if self.stage + 1 < self.plan.pp {
                free("layer-input");
            }
        }
        for kind in ParameterKind::ALL {
            if self.reduces(kind, micro_batch) {
                self.reduce(builder, kind, end, (TaskInfo::NONE, micro_batch));
            }
        }
        if self.policy.backward_buffers > 0 {
            // DeepSpeed synchronizes at the end of backward: the next one has buffers of its own.
            self.carried_waits.extend(self.last_data);
        }
        // The newest task is the last reduction, or the last kernel where nothing is reduced.
        let freed = -signed(self.policy.backward_buffers);
        builder.change(self.pool, Moment::End, Category::Transient, "gradient-buckets", freed);
        if !self.policy.sharded {
            self.gradients_exist = true;
        }
        self.previous_action_end = [self.previous_action_end[1], Some(end)];
        end
    }
}
