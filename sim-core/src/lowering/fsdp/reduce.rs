//! The reduction of a group's gradients, and of the shards between nodes.

use super::{Fsdp, change};
use crate::engine::Moment;
use crate::lowering::builder::{Special, TraceBuilder};
use crate::lowering::stage::StageEmitter;
use crate::operators::{Collective, CollectiveKind, ParameterKind};
use crate::quantity::signed_bytes as signed;
use crate::trace::{Category, Phase};

impl Fsdp {
    /// Frees a group's parameters and reduces its gradients; `closes` the micro-batch's backward.
    pub(super) fn reduce(
        &mut self,
        stage: &mut StageEmitter<'_>,
        builder: &mut TraceBuilder,
        group: usize,
        micro_batch: u32,
        closes: bool,
    ) {
        let is_root = group == self.root();
        let parameters = self.parameters[group];
        let unreduced = std::mem::take(&mut self.unreduced[usize::from(is_root)]);
        let input = parameters * stage.policy.wire;
        let at = (stage.layer_of(group), micro_batch);
        stage.carried_waits.extend(self.reduction);
        stage.copy(builder, "copy-in-gradients", Phase::Backward, unreduced + input, at);
        if std::mem::take(&mut self.gathered[group]) {
            let bytes = signed(self.gathered_bytes[group]);
            change(stage, builder, Moment::Start, "gathered-parameters", -bytes);
        }
        let previous = std::mem::replace(&mut self.reduce_input, input);
        change(stage, builder, Moment::Start, "reduce-scatter-input", -signed(previous));
        change(stage, builder, Moment::Start, "reduce-scatter-input", signed(input));
        let kept_back = if is_root { self.last_gradient.min(unreduced) } else { 0 };
        let gradients = Category::Gradients;
        let name = "unreduced-gradients";
        let freed = signed(unreduced - kept_back);
        builder.change(stage.pool, Moment::End, gradients, name, -freed);
        self.shard_gradients(stage, builder, parameters);
        builder.change(stage.pool, Moment::End, gradients, name, -signed(kept_back));
        if closes {
            stage.end_backward(builder);
        }
        if input > 0 {
            self.communicate(stage, builder, input, at);
        }
        if closes {
            change(stage, builder, Moment::End, "reduce-scatter-input", -signed(input));
            let outputs = std::mem::take(&mut self.held_outputs);
            change(stage, builder, Moment::End, "reduced-gradients", -signed(outputs));
            self.reduce_input = 0;
            self.reduced = 0;
            stage.carried_waits.extend(self.reduction);
            stage.carried_waits.extend(self.replica_reduction);
        }
    }

    /// The newest task allocates the output of a reduction and makes the gradients' shard of it.
    fn shard_gradients(
        &mut self,
        stage: &StageEmitter<'_>,
        builder: &mut TraceBuilder,
        parameters: u64,
    ) {
        let policy = stage.policy;
        let before = self.reduced.div_ceil(stage.plan.shards);
        self.reduced += parameters;
        let shard = self.reduced.div_ceil(stage.plan.shards) - before;
        let output = shard * policy.wire;
        let kept = signed(shard * policy.kept);
        let casts = policy.wire != policy.kept;
        let pool = stage.pool;
        if casts {
            change(stage, builder, Moment::End, "reduced-gradients", signed(output));
        }
        builder.change(pool, Moment::End, Category::Gradients, "gradients", kept);
        if casts && stage.lanes.replicas.is_some() {
            self.held_outputs += output;
        } else if casts {
            change(stage, builder, Moment::End, "reduced-gradients", -signed(output));
        }
        if stage.gradients_exist {
            // Added to what the micro-batches before have left.
            builder.change(pool, Moment::End, Category::Gradients, "gradients", -kept);
        }
    }

    /// The reduce-scatter, and the all-reduce between the ranks with the same shard.
    fn communicate(
        &mut self,
        stage: &mut StageEmitter<'_>,
        builder: &mut TraceBuilder,
        bytes: u64,
        at: (u32, u32),
    ) {
        let mut ready = stage.last_compute;
        if stage.plan.shards > 1 {
            let collective = Collective { kind: CollectiveKind::ReduceScatter, bytes };
            let task = stage.data_collective(
                builder,
                "reduce-gradients",
                ParameterKind::Common,
                collective,
                at,
            );
            ready.into_iter().for_each(|wait| builder.graph.wait_for(wait));
            self.reduction = Some(task);
            ready = Some(task);
        }
        if let Some(lane) = stage.lanes.replicas {
            let bytes = bytes.div_ceil(stage.plan.shards);
            let kind = CollectiveKind::AllReduce;
            let special = Special {
                name: "reduce-gradients",
                phase: kind.phase(),
                bytes: bytes as f64,
                cost: stage.cost.replica_collective(Collective { kind, bytes }),
            };
            let task = builder.special(lane, special, at.0, at.1);
            ready.into_iter().for_each(|wait| builder.graph.wait_for(wait));
            self.replica_reduction = Some(task);
        }
    }
}
