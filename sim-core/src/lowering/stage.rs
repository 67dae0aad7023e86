//! One pipeline stage: its lanes, its memory, and the tasks of its forwards and backwards.

use super::builder::{ClassSeed, Special, TraceBuilder};
use super::compiled::{CompiledStep, Unit};
use super::gradients::GradientPolicy;
use crate::cost::CostModel;
use crate::engine::{Moment, PoolId, ResourceId, TaskId};
use crate::operators::{Collective, CollectiveKind};
use crate::plan::Plan;
use crate::trace::{Category, LaneKind, Phase, TaskInfo};

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
    pub data: Option<ResourceId>,
    pub pipeline: Option<ResourceId>,
}

/// The state of a stage while its tasks are emitted.
pub struct StageEmitter<'a> {
    plan: &'a Plan,
    cost: &'a CostModel,
    units: &'a [Unit],
    order: Vec<UnitRef>,
    policy: GradientPolicy,
    /// Parameters on this rank before data-parallel sharding.
    pub parameters: u64,
    pub lanes: Lanes,
    pub pool: PoolId,
    pub stage: u64,
    gathers: bool,
    /// The last compute task of the newest unit and of the one before.
    unit_ends: [Option<TaskId>; 2],
    /// The newest task on the compute lane.
    last_compute: Option<TaskId>,
    /// The newest task on the data-parallel lane.
    last_data: Option<TaskId>,
    /// Reductions of the two newest buckets.
    buckets: [Option<TaskId>; 2],
    pending: u64,
    gradients_exist: bool,
    /// What the next compute task waits for.
    carried_waits: Vec<TaskId>,
    /// What the next compute task allocates.
    carried_allocations: Vec<(Category, &'static str, u64)>,
    /// Where the previous action's compute began: when a receive for the next may be posted.
    pub previous_action_end: [Option<TaskId>; 2],
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
        let parameters = order.iter().map(|unit| units[unit.unit].parameters).sum();
        let lanes = Lanes {
            compute: builder.add_lane(class, LaneKind::Compute, None),
            tensor: (plan.tp > 1).then(|| {
                builder.add_lane(class, LaneKind::TensorParallel, Some(cost.tensor_link()))
            }),
            data: (plan.dp > 1)
                .then(|| builder.add_lane(class, LaneKind::DataParallel, Some(cost.data_link()))),
            pipeline: (plan.pp > 1)
                .then(|| builder.add_lane(class, LaneKind::Pipeline, Some(cost.pipeline_link()))),
        };
        Self {
            plan,
            cost,
            units,
            order,
            policy: GradientPolicy::new(plan, parameters),
            parameters,
            lanes,
            pool: builder.graph.add_pool(),
            stage,
            gathers: plan.zero >= 3 && plan.dp > 1,
            unit_ends: [None; 2],
            last_compute: None,
            last_data: None,
            buckets: [None; 2],
            pending: 0,
            gradients_exist: false,
            carried_waits: Vec::new(),
            carried_allocations: Vec::new(),
            previous_action_end: [None; 2],
            last_forward: None,
            optimizer: None,
        }
    }

    pub fn seed(&self) -> ClassSeed {
        ClassSeed {
            stage: self.stage,
            ranks: self.plan.dp * self.plan.tp,
            pool: self.pool,
            last_forward: self.last_forward,
            optimizer: self.optimizer,
        }
    }

    fn shard(&self, parameters: u64) -> u64 {
        parameters.div_ceil(self.plan.dp)
    }

    /// What exists before the step begins.
    fn permanent(&mut self) -> Vec<(Category, &'static str, u64)> {
        let states = self.cost.model_states(self.parameters);
        let master = self.cost.master_bytes(self.parameters);
        let mut permanent = vec![
            (Category::Weights, "weights", states.weights),
            (Category::Optimizer, "master-weights", master),
            (Category::Optimizer, "moments", states.optimizer - master),
            (Category::Transient, "gradient-buckets", self.policy.permanent_buffers),
        ];
        if self.policy.preallocated || self.plan.zero >= 3 {
            permanent.push((Category::Gradients, "gradients", states.gradients));
            self.gradients_exist = true;
        }
        permanent
    }

    /// Adds a compute task with what has been carried to it.
    fn compute(
        &mut self,
        builder: &mut TraceBuilder,
        operation: (u32, f64),
        at: (u32, u32),
    ) -> TaskId {
        if self.last_compute.is_none() {
            self.carried_allocations = self.permanent();
        }
        let task = builder.task(self.lanes.compute, operation.0, operation.1, at.0, at.1);
        for wait in self.carried_waits.drain(..) {
            builder.graph.wait_for(wait);
        }
        for (category, name, bytes) in self.carried_allocations.drain(..) {
            builder.change(self.pool, Moment::Start, category, name, signed(bytes));
        }
        self.last_compute = Some(task);
        task
    }

    /// Adds a collective of the tensor-parallel group between two compute tasks.
    fn tensor_collective(
        &mut self,
        builder: &mut TraceBuilder,
        step: &CompiledStep,
        at: (u32, u32),
    ) -> TaskId {
        let lane = self.lanes.tensor.expect("tensor collectives need tensor parallelism");
        let task = builder.task(lane, step.operation, step.duration, at.0, at.1);
        if let Some(compute) = self.last_compute {
            builder.graph.wait_for(compute);
        }
        // A pending wait of the compute lane, such as for gathered parameters, stays pending.
        self.carried_waits.push(task);
        task
    }

    /// Emits the steps of a unit and gives back the last task, which frees `gathered` bytes of
    /// parameters.
    fn steps(
        &mut self,
        builder: &mut TraceBuilder,
        steps: &[CompiledStep],
        at: (u32, u32),
        backward: bool,
        gathered: u64,
    ) -> Option<TaskId> {
        let mut last = None;
        for (i, step) in steps.iter().enumerate() {
            let task = if step.is_collective {
                self.tensor_collective(builder, step, at)
            } else {
                self.compute(builder, (step.operation, step.duration), at)
            };
            builder.apply(self.pool, &step.effects);
            let made = step.parameters + step.shared_parameters;
            if backward && made > 0 {
                self.make_gradients(builder, step);
            }
            if i + 1 == steps.len() {
                let name = "gathered-parameters";
                let freed = -signed(gathered);
                builder.change(self.pool, Moment::End, Category::Transient, name, freed);
            }
            if backward && self.reduces(at.1) {
                self.pending += made;
                if self.pending >= self.policy.bucket {
                    self.reduce(builder, task, at.0, at.1);
                    // Two buckets take turns: the next is filled when the one before the newest
                    // has been reduced.
                    self.carried_waits.extend(self.buckets[0]);
                }
            }
            last = Some(task);
        }
        last
    }

    fn reduces(&self, micro_batch: u32) -> bool {
        self.plan.dp > 1
            && (self.policy.every_micro_batch
                || u64::from(micro_batch) + 1 == self.plan.micro_batches)
    }

    /// The newest task makes the gradients of `step`'s parameters.
    fn make_gradients(&mut self, builder: &mut TraceBuilder, step: &CompiledStep) {
        let policy = self.policy;
        let made = signed((step.parameters + step.shared_parameters) * policy.fresh);
        let pool = self.pool;
        let mut temporary = |category, name| {
            builder.change(pool, Moment::Start, category, name, made);
            builder.change(pool, Moment::End, category, name, -made);
        };
        if policy.sharded {
            // Copied into the bucket, or into the shard's buffer when there is one replica.
            temporary(Category::Gradients, "unreduced-gradients");
        } else if policy.preallocated {
            // Kernels add to the buffer.
        } else if self.gradients_exist || step.shared_parameters > 0 {
            temporary(Category::Gradients, "micro-batch-gradients");
            if !self.gradients_exist {
                let kept = signed(step.parameters * policy.kept);
                builder.change(pool, Moment::Start, Category::Gradients, "gradients", kept);
            }
        } else {
            if policy.fresh != policy.kept {
                temporary(Category::Gradients, "micro-batch-gradients");
            }
            let kept = signed(step.parameters * policy.kept);
            builder.change(pool, Moment::Start, Category::Gradients, "gradients", kept);
        }
    }

    /// Sends the pending gradients into the data-parallel group.
    fn reduce(
        &mut self,
        builder: &mut TraceBuilder,
        after: TaskId,
        layer: u32,
        micro_batch: u32,
    ) -> Option<TaskId> {
        let lane = self.lanes.data?;
        if self.pending == 0 {
            return None;
        }
        let bytes = self.pending * self.policy.wire;
        let (kind, phase) = if self.plan.zero == 0 {
            (CollectiveKind::AllReduce, Phase::AllReduce)
        } else {
            (CollectiveKind::ReduceScatter, Phase::ReduceScatter)
        };
        let cost = self.cost.data_collective(Collective { kind, bytes });
        let special = Special { name: "reduce-gradients", phase, bytes: bytes as f64, cost };
        let task = builder.special(lane, special, layer, micro_batch);
        builder.graph.wait_for(after);
        if self.policy.copies_bucket {
            self.temporary(builder, "gradient-buckets", bytes);
        }
        self.pending = 0;
        self.last_data = Some(task);
        self.buckets = [self.buckets[1], Some(task)];
        Some(task)
    }

    fn temporary(&self, builder: &mut TraceBuilder, name: &'static str, bytes: u64) {
        let bytes = signed(bytes);
        builder.change(self.pool, Moment::Start, Category::Transient, name, bytes);
        builder.change(self.pool, Moment::End, Category::Transient, name, -bytes);
    }

    /// Gathers a unit's parameters, at the earliest when the unit before the newest is done: one
    /// unit computes, one is on its way.
    fn gather(&mut self, builder: &mut TraceBuilder, unit: UnitRef, micro_batch: u32) -> TaskId {
        let lane = self.lanes.data.expect("gathering needs replicas");
        let bytes = self.units[unit.unit].parameters * self.policy.fresh;
        let kind = CollectiveKind::AllGather;
        let cost = self.cost.data_collective(Collective { kind, bytes });
        let special = Special {
            name: "gather-parameters",
            phase: Phase::AllGather,
            bytes: bytes as f64,
            cost,
        };
        let task = builder.special(lane, special, unit.layer, micro_batch);
        if let Some(before) = self.unit_ends[0] {
            builder.graph.wait_for(before);
        }
        let bytes = signed(bytes);
        builder.change(
            self.pool,
            Moment::Start,
            Category::Transient,
            "gathered-parameters",
            bytes,
        );
        self.last_data = Some(task);
        task
    }

    /// Runs all units forward or backward for a micro-batch.
    fn run_units(
        &mut self,
        builder: &mut TraceBuilder,
        micro_batch: u32,
        received: Option<TaskId>,
        backward: bool,
    ) -> TaskId {
        let units = self.units;
        let count = self.order.len();
        let unit_at = |this: &Self, i: usize| {
            this.order[if backward { count - 1 - i } else { i }]
        };
        self.carried_waits.extend(received);
        let mut gathered = None;
        let mut end = None;
        for i in 0..count {
            let unit = unit_at(self, i);
            let program = &units[unit.unit];
            let mut bytes = 0;
            if self.gathers {
                bytes = program.parameters * self.policy.fresh;
                let own =
                    gathered.take().unwrap_or_else(|| self.gather(builder, unit, micro_batch));
                self.carried_waits.push(own);
                if i + 1 < count {
                    let next = unit_at(self, i + 1);
                    gathered = Some(self.gather(builder, next, micro_batch));
                }
            }
            let steps = if backward { &program.backward } else { &program.forward };
            let last = self.steps(builder, steps, (unit.layer, micro_batch), backward, bytes);
            self.unit_ends = [self.unit_ends[1], last];
            end = last.or(end);
        }
        end.expect("a stage has at least one unit with work")
    }

    /// Forward of a micro-batch; `received` brings its input from the stage before.
    pub fn forward(
        &mut self,
        builder: &mut TraceBuilder,
        micro_batch: u32,
        received: Option<TaskId>,
    ) -> TaskId {
        let end = self.run_units(builder, micro_batch, received, false);
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
        let end = self.run_units(builder, micro_batch, received, true);
        let units = self.units;
        for unit in &self.order {
            builder.apply(self.pool, &units[unit.unit].after_backward);
        }
        if self.reduces(micro_batch) {
            self.reduce(builder, end, TaskInfo::NONE, micro_batch);
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

    /// Allocates what backward needs as a whole: bucket buffers and the gradients' shard.
    fn begin_backward(&mut self) {
        let buffers = self.policy.backward_buffers;
        self.carried_allocations.push((Category::Transient, "gradient-buckets", buffers));
        if self.policy.sharded && !self.gradients_exist {
            self.gradients_exist = true;
            let bytes = self.shard(self.parameters) * self.policy.kept;
            self.carried_allocations.push((Category::Gradients, "gradients", bytes));
        }
    }

    /// The optimizer step, and the gathering of new weights where optimizer states are sharded.
    pub fn optimize(&mut self, builder: &mut TraceBuilder) {
        let sharded = self.plan.zero >= 1;
        let parameters =
            if sharded { self.shard(self.parameters) } else { self.parameters };
        let (cost, bytes) = self.cost.optimizer_step(parameters);
        let operation =
            builder.tables.operation("optimizer-step", Phase::Optimizer, 0.0, bytes, cost);
        self.carried_waits.extend(self.last_data);
        let at = (TaskInfo::NONE, TaskInfo::NONE);
        let task = self.compute(builder, (operation, cost.time.get()), at);
        self.optimizer = Some(task);
        for (name, bytes) in self.cost.optimizer_temporaries(parameters) {
            self.temporary(builder, name, bytes);
        }
        let states = self.cost.model_states(self.parameters);
        let permanent = self.policy.preallocated || self.plan.zero >= 3;
        if !permanent {
            let bytes = signed(states.gradients);
            builder.change(self.pool, Moment::End, Category::Gradients, "gradients", -bytes);
        }
        let gathers_weights = self.plan.dp > 1 && (1..=2).contains(&self.plan.zero);
        if gathers_weights {
            let lane = self.lanes.data.expect("replicas have a data-parallel lane");
            let bytes = self.parameters * self.policy.fresh;
            let kind = CollectiveKind::AllGather;
            let cost = self.cost.data_collective(Collective { kind, bytes });
            let special = Special {
                name: "gather-weights",
                phase: Phase::AllGather,
                bytes: bytes as f64,
                cost,
            };
            builder.special(lane, special, TaskInfo::NONE, TaskInfo::NONE);
            builder.graph.wait_for(task);
        }
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).expect("checked scenarios stay far below 2^63 bytes")
}
