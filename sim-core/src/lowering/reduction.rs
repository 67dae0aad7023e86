//! Gradients and the optimizer step of a stage: where gradients are kept, when they are reduced, and
//! what the step needs for itself.

use super::builder::TraceBuilder;
use super::compiled::CompiledStep;
use super::stage::StageEmitter;
use crate::engine::{Moment, TaskId};
use crate::operators::{
    Backend, ByKind, Collective, CollectiveKind, ParameterKind, Parameters, Work,
};
use crate::quantity::signed_bytes as signed;
use crate::trace::{Category, Phase, TaskInfo};

impl StageEmitter<'_> {
    /// True when gradients of a kind are reduced in a micro-batch.
    pub(super) fn reduces(&self, kind: ParameterKind, micro_batch: u32) -> bool {
        *self.replicas.of(kind) > 1
            && self.fsdp.is_none()
            && (self.policy.every_micro_batch
                || u64::from(micro_batch) + 1 == self.plan.micro_batches)
    }

    /// The newest task makes the gradients of `step`'s parameters.
    pub(super) fn make_gradients(&mut self, builder: &mut TraceBuilder, step: &CompiledStep) {
        let policy = self.policy;
        let made = (step.parameters + step.shared_parameters) * step.gradient_size;
        let made = signed(made.div_ceil(step.parts));
        let pool = self.pool;
        let temporary = |builder: &mut TraceBuilder, category, name, bytes: i64| {
            builder.change(pool, Moment::Start, category, name, bytes);
            builder.change(pool, Moment::End, category, name, -bytes);
        };
        if let Some(fsdp) = &mut self.fsdp {
            let fresh = step.parameters * step.gradient_size;
            fsdp.add_gradients(fresh);
            // What a second use of a parameter makes is added to the first; under a tracer the sum
            // is a third tensor.
            let second = signed(step.shared_parameters * step.gradient_size)
                * if self.plan.backend == Backend::Traced { 2 } else { 1 };
            let (category, name) = (Category::Gradients, "unreduced-gradients");
            builder.change(pool, Moment::Start, category, name, signed(fresh) + second);
            builder.change(pool, Moment::End, category, name, -second);
        } else if policy.sharded {
            // Copied into the bucket, or into the shard's buffer when there is one replica. That
            // of a tied table waits for its second part.
            let name = "unreduced-gradients";
            let waiting = step.parameters.saturating_sub(step.reduced_parameters) * policy.weights;
            let joined = step.shared_parameters * policy.weights;
            temporary(builder, Category::Gradients, name, made);
            let (waiting, joined) = (signed(waiting), signed(joined));
            builder.change(pool, Moment::End, Category::Gradients, name, waiting - joined);
        } else if policy.adds_after_backward {
            let name = "micro-batch-gradients";
            let second = step.shared_parameters * step.gradient_size;
            builder.change(pool, Moment::Start, Category::Gradients, name, made);
            builder.change(pool, Moment::End, Category::Gradients, name, -signed(second));
            self.to_add += step.parameters;
        } else if policy.preallocated {
            // Kernels of matrices add to the buffer. The head's do too and hand autograd an empty
            // tensor of its size; all others make a gradient that is then added.
            if !step.is_matrix && policy.own_gradients == 0 {
                temporary(builder, Category::Gradients, "micro-batch-gradients", made);
            }
        } else if self.gradients_exist || step.shared_parameters > 0 {
            let (category, name) = (Category::Gradients, "micro-batch-gradients");
            let shared = signed(step.shared_parameters * step.gradient_size);
            // Before there are gradients to add to, only a tied table's has a partner.
            let second = if self.gradients_exist { made } else { shared };
            temporary(builder, category, name, second);
            if self.plan.backend == Backend::Traced {
                temporary(builder, category, name, shared);
            }
            if !self.gradients_exist {
                let kept = signed(step.parameters * policy.kept);
                builder.change(pool, Moment::Start, Category::Gradients, "gradients", kept);
            }
        } else {
            let kept = signed(step.parameters * policy.kept);
            let mut change = |moment, name, bytes| {
                builder.change(pool, moment, Category::Gradients, name, bytes);
            };
            if step.gradient_size == policy.kept {
                change(Moment::Start, "gradients", kept);
            } else {
                // Cast when the kernels are done and what they needed is free.
                change(Moment::Start, "micro-batch-gradients", made);
                change(Moment::End, "gradients", kept);
                change(Moment::End, "micro-batch-gradients", -made);
            }
        }
    }

    /// Sends the pending gradients of a kind to the ranks that hold the same parameters.
    pub(super) fn reduce(
        &mut self,
        builder: &mut TraceBuilder,
        kind: ParameterKind,
        after: TaskId,
        at: (u32, u32),
    ) {
        let pending = std::mem::take(self.pending.of_mut(kind));
        if pending == 0 {
            return;
        }
        let bytes = pending * self.policy.wire;
        let collective = if self.plan.zero == 0 {
            Collective { kind: CollectiveKind::AllReduce, bytes }
        } else {
            Collective { kind: CollectiveKind::ReduceScatter, bytes }
        };
        let task = self.data_collective(builder, "reduce-gradients", kind, collective, at);
        builder.graph.wait_for(after);
        if self.policy.copies_bucket {
            self.temporary(builder, "gradient-buckets", bytes);
        }
        self.buckets = [self.buckets[1], Some(task)];
    }

    /// Adds what a micro-batch's backward made to the kept gradients and frees it.
    pub(super) fn add_gradients(&mut self, builder: &mut TraceBuilder, micro_batch: u32) -> TaskId {
        let added = std::mem::take(&mut self.to_add);
        let size = self.policy.weights;
        let traffic = added * (size + 2 * self.policy.kept);
        let work = Work::stream(traffic, self.parameters.tensors());
        let cost = self.cost.compute(&work);
        let (name, phase) = ("accumulate-gradient", Phase::WeightGradient);
        let operation = builder.tables.operation(name, phase, work.flops, work.bytes, cost);
        let at = (TaskInfo::NONE, micro_batch);
        let task = self.compute(builder, (operation, cost.time.get()), at);
        let (category, freed) = (Category::Gradients, -signed(added * size));
        builder.change(self.pool, Moment::End, category, "micro-batch-gradients", freed);
        task
    }

    fn temporary(&self, builder: &mut TraceBuilder, name: &'static str, bytes: u64) {
        let bytes = signed(bytes);
        builder.change(self.pool, Moment::Start, Category::Transient, name, bytes);
        builder.change(self.pool, Moment::End, Category::Transient, name, -bytes);
    }

    /// Allocates what backward needs as a whole: bucket buffers and the gradients' shard.
    pub(super) fn begin_backward(&mut self) {
        let buffers = self.policy.backward_buffers;
        self.carried_allocations.push((Category::Transient, "gradient-buckets", buffers));
        if self.policy.sharded && !self.gradients_exist {
            self.gradients_exist = true;
            let bytes = self.parameters.trained_shard(self.replicas) * self.policy.kept;
            self.carried_allocations.push((Category::Gradients, "gradients", bytes));
        }
    }

    /// Updates the parameters whose gradients `step` has made, and frees those.
    pub(super) fn update(
        &mut self,
        builder: &mut TraceBuilder,
        step: &CompiledStep,
        at: (u32, u32),
    ) -> TaskId {
        let mut updated = ByKind::<Parameters>::default();
        *updated.of_mut(step.parameter_kind) = step.updated.clone();
        let task = self.step(builder, &updated, at);
        let freed = -signed(step.reduced_parameters * self.policy.kept);
        builder.change(self.pool, Moment::End, Category::Gradients, "gradients", freed);
        task
    }

    /// An optimizer step over `parameters` and what it needs for itself.
    fn step(
        &mut self,
        builder: &mut TraceBuilder,
        parameters: &ByKind<Parameters>,
        at: (u32, u32),
    ) -> TaskId {
        let (cost, work) = self.cost.optimizer_step(parameters);
        let (flops, bytes) = (work.flops, work.bytes);
        let operation =
            builder.tables.operation("optimizer-step", Phase::Optimizer, flops, bytes, cost);
        let task = self.compute(builder, (operation, cost.time.get()), at);
        self.optimizer = Some(task);
        for (name, bytes) in self.cost.optimizer_temporaries(parameters) {
            self.temporary(builder, name, bytes);
        }
        task
    }

    /// The optimizer step, and the gathering of new weights where optimizer states are sharded.
    pub fn optimize(&mut self, builder: &mut TraceBuilder) {
        if self.plan.optimizer_in_backward {
            return;
        }
        self.carried_waits.extend(self.last_data);
        self.carried_waits.extend(self.embedding_sum);
        let at = (TaskInfo::NONE, TaskInfo::NONE);
        let task = self.step(builder, &self.parameters.clone(), at);
        let states = self.cost.model_states(&self.parameters);
        if !self.keeps_gradients() {
            let bytes = signed(states.gradients);
            builder.change(self.pool, Moment::End, Category::Gradients, "gradients", -bytes);
        }
        let gathers_weights = (1..=2).contains(&self.plan.zero);
        for kind in ParameterKind::ALL {
            let count = self.parameters.of(kind).trained();
            if gathers_weights && *self.replicas.of(kind) > 1 && count > 0 {
                let bytes = count * self.policy.weights;
                let collective = Collective { kind: CollectiveKind::AllGather, bytes };
                self.data_collective(builder, "gather-weights", kind, collective, at);
                builder.graph.wait_for(task);
            }
        }
    }
}
