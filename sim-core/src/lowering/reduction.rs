//! Gradients and the optimizer step of a stage: where gradients are kept, when they are reduced, and
//! what the step needs for itself.

use super::builder::TraceBuilder;
use super::compiled::CompiledStep;
use super::stage::StageEmitter;
use crate::engine::{Moment, TaskId};
use crate::operators::{Backend, Collective, CollectiveKind, Parameters};
use crate::quantity::signed_bytes as signed;
use crate::trace::{Category, Phase, TaskInfo};

impl StageEmitter<'_> {
    pub(super) fn reduces(&self, micro_batch: u32) -> bool {
        self.plan.dp > 1
            && self.fsdp.is_none()
            && (self.policy.every_micro_batch
                || u64::from(micro_batch) + 1 == self.plan.micro_batches)
    }

    /// The newest task makes the gradients of `step`'s parameters.
    pub(super) fn make_gradients(&mut self, builder: &mut TraceBuilder, step: &CompiledStep) {
        let policy = self.policy;
        let made = signed((step.parameters + step.shared_parameters) * step.gradient_size);
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
        } else if policy.preallocated {
            // Kernels add to the buffer.
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

    /// Sends the pending gradients into the data-parallel group.
    pub(super) fn reduce(&mut self, builder: &mut TraceBuilder, after: TaskId, at: (u32, u32)) {
        if self.pending == 0 {
            return;
        }
        let bytes = self.pending * self.policy.wire;
        let kind = if self.plan.zero == 0 {
            CollectiveKind::AllReduce
        } else {
            CollectiveKind::ReduceScatter
        };
        let collective = Collective { kind, bytes };
        let task = self.data_collective(builder, "reduce-gradients", collective, at);
        builder.graph.wait_for(after);
        if self.policy.copies_bucket {
            self.temporary(builder, "gradient-buckets", bytes);
        }
        self.pending = 0;
        self.buckets = [self.buckets[1], Some(task)];
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
            let bytes = self.shard(self.parameters.trained()) * self.policy.kept;
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
        let task = self.step(builder, &step.updated, at);
        let freed = -signed(step.reduced_parameters * self.policy.kept);
        builder.change(self.pool, Moment::End, Category::Gradients, "gradients", freed);
        task
    }

    /// An optimizer step over `parameters` and what it needs for itself.
    fn step(
        &mut self,
        builder: &mut TraceBuilder,
        parameters: &Parameters,
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
        let gathers_weights = self.plan.dp > 1 && (1..=2).contains(&self.plan.zero);
        if gathers_weights {
            let bytes = self.parameters.trained() * self.policy.weights;
            let collective = Collective { kind: CollectiveKind::AllGather, bytes };
            self.data_collective(builder, "gather-weights", collective, at);
            builder.graph.wait_for(task);
        }
    }
}
