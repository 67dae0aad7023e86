//! How long operators, collectives and the optimizer step take.
//!
//! One set of constants a device; each has a basis and a source, and all of them are listed by
//! [`CostModel::assumptions`].

mod collective;
mod compute;
mod optimizer;
mod timed;
mod topology;

pub use collective::{Exchange, Group};
pub use topology::{ClusterLink, Topology, timed_on};

use crate::hardware::{ComputeEfficiency, Device, efficiency_of};
use crate::memory::{OptimizerStates, StateBytes, held_by_kind};
use crate::operators::{
    ByKind, Collective, CollectiveKind, ParameterKind, Parameters, RankGroup, Work,
};
use crate::plan::Plan;
use crate::precision::MathMode;
use crate::quantity::{BytesPerSec, FlopsPerSec, Secs};
use crate::report::{Assumption, ModelStateBytes};
use crate::trace::{Bound, Pricing};
use optimizer::OptimizerStep;

/// A duration and what it is bound by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub time: Secs,
    pub bound: Bound,
    pub pricing: Pricing,
}

/// Prices the work of one rank of a plan.
#[derive(Clone, Debug)]
pub struct CostModel {
    efficiency: ComputeEfficiency,
    /// Dense peak of matrix products in the plan's precision.
    peak: FlopsPerSec,
    /// What the plan's products compute in.
    math: MathMode,
    timed: timed::TimedOperators,
    /// The job answers requests instead of training.
    serves: bool,
    /// Peak memory bandwidth.
    bandwidth: BytesPerSec,
    tensor: Group,
    expert: Exchange,
    context: Group,
    data: Group,
    /// Ranks that have the same experts.
    expert_data: Group,
    /// Ranks with the same shard under FSDP's hybrid mode.
    replicas: Group,
    pipeline: Vec<Group>,
    embedding: Group,
    states: StateBytes,
    step: OptimizerStep,
    device: Device,
    shards: ByKind<u64>,
    sharding_stage: u64,
    /// Gradients are freed one tensor after the other.
    in_backward: bool,
}

/// Dense peak of a device for matrix products; `None` where it has no such mode.
pub fn peak(device: &Device, math: MathMode) -> Option<FlopsPerSec> {
    let peaks = &device.peaks;
    let tflops = match math {
        MathMode::Fp32 => peaks.fp32_tflops,
        MathMode::Tf32 => peaks.tf32_tflops,
        MathMode::Fp16 => peaks.fp16_tflops,
        MathMode::Bf16 => peaks.bf16_tflops,
        MathMode::Fp8 => peaks.fp8_tflops,
        MathMode::Int8 => peaks.int8_tops,
    };
    tflops.map(FlopsPerSec::tera)
}

impl CostModel {
    /// The model of a plan.
    pub fn new(plan: &Plan) -> Self {
        let topology = &plan.topology;
        let stride = plan.tp * plan.cp * plan.dp;
        let states = StateBytes::new(plan.recipe, plan.kept_gradients(), plan.optimizer);
        let flat = plan.flattens_parameters();
        let states =
            StateBytes { optimizer: OptimizerStates { flat, ..states.optimizer }, ..states };
        Self {
            efficiency: efficiency_of(&plan.device),
            peak: peak(&plan.device, plan.precision.math())
                .expect("a checked plan has a precision that its device can run"),
            math: plan.precision.math(),
            timed: timed::TimedOperators::default(),
            serves: plan.serving.is_some(),
            bandwidth: BytesPerSec::gb(plan.device.memory_bandwidth_gb_per_s),
            tensor: topology.group(plan.tp, 1),
            data: topology.group(plan.shards, plan.tp),
            expert: topology.exchange(plan.ep, plan.expert_tp),
            context: topology.ring(plan.cp, plan.tp),
            expert_data: topology.group(plan.replicas().routed, plan.expert_tp * plan.ep),
            replicas: topology.group(plan.replicas().common / plan.shards, plan.tp * plan.shards),
            pipeline: (1..plan.pp)
                .map(|stage| topology.neighbour((stage - 1) * stride, stage * stride))
                .collect(),
            embedding: topology.neighbour(0, (plan.pp - 1) * stride),
            states,
            step: OptimizerStep::new(plan, states),
            device: plan.device,
            shards: plan.shards(),
            sharding_stage: plan.sharding_stage(),
            in_backward: plan.optimizer_in_backward,
        }
    }

    /// The dense peak that utilizations are shares of.
    pub fn peak(&self) -> FlopsPerSec {
        self.peak
    }

    /// An operator on the GPU.
    pub fn compute(&self, work: &Work) -> Cost {
        self.compute_in(self.math, work)
    }

    /// An operator on the GPU with arithmetic of its own; the device has it.
    pub fn compute_in(&self, math: MathMode, work: &Work) -> Cost {
        let peak = peak(&self.device, math).unwrap_or(self.peak);
        let formula = compute::cost(work, peak, self.bandwidth, &self.efficiency);
        match self.timed.seconds(&self.device, math, work) {
            Some(estimate) => Cost {
                time: Secs::new(estimate.seconds),
                pricing: timed::pricing(estimate.coverage),
                ..formula
            },
            None => formula,
        }
    }

    /// A collective of a tape.
    pub fn collective(&self, collective: Collective) -> Cost {
        match collective.kind.group() {
            RankGroup::Tensor => self.tensor.collective(collective),
            RankGroup::Expert => self.expert.all_to_all(collective.bytes),
            RankGroup::Context => self.context.collective(collective),
        }
    }

    /// A collective of the ranks that hold the same parameters of a kind.
    pub fn data_collective(&self, kind: ParameterKind, collective: Collective) -> Cost {
        match kind {
            ParameterKind::Common => self.data.collective(collective),
            ParameterKind::Routed => self.expert_data.collective(collective),
        }
    }

    /// A collective between the ranks that hold the same shard.
    pub fn replica_collective(&self, collective: Collective) -> Cost {
        self.replicas.collective(collective)
    }

    /// A message over the boundary between pipeline stages `boundary` and `boundary + 1`.
    pub fn pipeline_send(&self, boundary: usize, bytes: u64) -> Cost {
        self.pipeline[boundary].send(bytes)
    }

    /// The sum of a tied table's gradients on the first and the last pipeline stage.
    pub fn embedding_reduction(&self, bytes: u64) -> Cost {
        self.embedding.collective(Collective { kind: CollectiveKind::AllReduce, bytes })
    }

    /// Name of the link of the tensor-parallel group.
    pub fn tensor_link(&self) -> &'static str {
        self.tensor.link
    }

    /// Name of the link of the expert-parallel group.
    pub fn expert_link(&self) -> &'static str {
        self.expert.link()
    }

    /// Name of the link of the context-parallel ring.
    pub fn context_link(&self) -> &'static str {
        self.context.link
    }

    /// Name of the link of the data-parallel group.
    pub fn data_link(&self) -> &'static str {
        if self.data.ranks > 1 { self.data.link } else { self.expert_data.link }
    }

    /// Name of the link between the ranks that hold the same shard.
    pub fn replica_link(&self) -> &'static str {
        self.replicas.link
    }

    /// Name of the link over the boundary between pipeline stages `boundary` and `boundary + 1`.
    pub fn pipeline_link(&self, boundary: usize) -> &'static str {
        self.pipeline[boundary].link
    }

    /// How the model states are kept.
    pub fn state_bytes(&self) -> StateBytes {
        self.states
    }

    /// What a rank with `parameters` keeps of the model states.
    pub fn model_states(&self, parameters: &ByKind<Parameters>) -> ModelStateBytes {
        let states = held_by_kind(self.states, parameters, self.shards, self.sharding_stage);
        if self.in_backward {
            let largest = parameters.common.largest().max(parameters.routed.largest());
            return ModelStateBytes { gradients: self.states.gradients * largest, ..states };
        }
        states
    }

    /// The frozen part of the weights, in bytes.
    pub fn frozen_bytes(&self, parameters: &ByKind<Parameters>) -> u64 {
        let ranks = self.shards_from(3);
        let of = |kind| parameters.of(kind).frozen_bytes.div_ceil(*ranks.of(kind));
        of(ParameterKind::Common) + of(ParameterKind::Routed)
    }

    /// Ranks that share each kind of parameters where it is sharded from a ZeRO stage on.
    fn shards_from(&self, stage: u64) -> ByKind<u64> {
        if self.sharding_stage >= stage { self.shards } else { ByKind { common: 1, routed: 1 } }
    }

    /// The master copy's part of the optimizer states, in bytes.
    pub fn master_bytes(&self, parameters: &ByKind<Parameters>) -> u64 {
        parameters.trained_shard(self.shards_from(1)) * self.states.optimizer.master
    }

    /// The optimizer step over `parameters`, its operations and the bytes it moves.
    pub fn optimizer_step(&self, parameters: &ByKind<Parameters>) -> (Cost, Work) {
        let kernels = self.step.work(parameters);
        let mut total = kernels[0];
        let mut cost = self.compute(&total);
        for work in &kernels[1..] {
            cost.time += self.compute(work).time;
            total.flops += work.flops;
            total.bytes += work.bytes;
            total.launches += work.launches;
        }
        (cost, total)
    }

    /// Names and bytes of what the optimizer step over `parameters` needs for itself.
    pub fn optimizer_temporaries(
        &self,
        parameters: &ByKind<Parameters>,
    ) -> Vec<(&'static str, u64)> {
        self.step.temporaries(parameters)
    }

    /// Every constant that prices rest on.
    pub fn assumptions(&self) -> Vec<Assumption> {
        let mut list =
            compute::assumptions(self.peak, self.bandwidth, &self.efficiency, &self.device);
        let own = [&self.tensor, &self.context, &self.data, &self.expert_data, &self.replicas];
        for group in own.into_iter().chain(&self.pipeline) {
            list.extend(group.assumptions());
        }
        list.extend(self.expert.assumptions());
        list.extend(self.timed.assumptions(&self.device, self.math, self.serves));
        list
    }
}
