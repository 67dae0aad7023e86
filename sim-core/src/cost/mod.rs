//! How long operators, collectives and the optimizer step take.
//!
//! One set of constants a device; each has a basis and a source, and all of them are listed by
//! [`CostModel::assumptions`].

mod collective;
mod compute;
mod optimizer;
mod topology;

pub use collective::Group;
pub use topology::{ClusterLink, Topology};

use crate::hardware::{ComputeEfficiency, Device, efficiency_of};
use crate::memory::{OptimizerStates, StateBytes, held_states};
use crate::operators::{Collective, CollectiveKind, Parameters, Work};
use crate::plan::Plan;
use crate::precision::MathMode;
use crate::quantity::{BytesPerSec, FlopsPerSec, Secs};
use crate::report::{Assumption, ModelStateBytes};
use crate::trace::Bound;
use optimizer::OptimizerStep;

/// A duration and what it is bound by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub time: Secs,
    pub bound: Bound,
}

/// Prices the work of one rank of a plan.
#[derive(Clone, Debug)]
pub struct CostModel {
    efficiency: ComputeEfficiency,
    /// Dense peak of matrix products in the plan's precision.
    peak: FlopsPerSec,
    /// Peak memory bandwidth.
    bandwidth: BytesPerSec,
    tensor: Group,
    data: Group,
    /// Ranks with the same shard under FSDP's hybrid mode.
    replicas: Group,
    pipeline: Vec<Group>,
    embedding: Group,
    states: StateBytes,
    step: OptimizerStep,
    device: Device,
    shards: u64,
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
        let stride = plan.tp * plan.dp;
        let states = StateBytes::new(plan.recipe, plan.kept_gradients(), plan.optimizer);
        let flat = plan.flattens_parameters();
        let states =
            StateBytes { optimizer: OptimizerStates { flat, ..states.optimizer }, ..states };
        Self {
            efficiency: efficiency_of(&plan.device),
            peak: peak(&plan.device, plan.precision.math())
                .expect("a checked plan has a precision that its device can run"),
            bandwidth: BytesPerSec::gb(plan.device.memory_bandwidth_gb_per_s),
            tensor: topology.group(plan.tp, 1),
            data: topology.group(plan.shards, plan.tp),
            replicas: topology.group(plan.dp / plan.shards, plan.tp * plan.shards),
            pipeline: (1..plan.pp)
                .map(|stage| topology.neighbour((stage - 1) * stride, stage * stride))
                .collect(),
            embedding: topology.neighbour(0, (plan.pp - 1) * stride),
            states,
            step: OptimizerStep::new(plan, states),
            device: plan.device,
            shards: plan.shards,
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
        compute::cost(work, self.peak, self.bandwidth, &self.efficiency)
    }

    /// An operator on the GPU whose arithmetic has another peak.
    pub fn compute_at(&self, work: &Work, peak: FlopsPerSec) -> Cost {
        compute::cost(work, peak, self.bandwidth, &self.efficiency)
    }

    /// A collective of the tensor-parallel group.
    pub fn tensor_collective(&self, collective: Collective) -> Cost {
        self.tensor.collective(collective)
    }

    /// A collective of the data-parallel group.
    pub fn data_collective(&self, collective: Collective) -> Cost {
        self.data.collective(collective)
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

    /// Name of the link of the data-parallel group.
    pub fn data_link(&self) -> &'static str {
        self.data.link
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
    pub fn model_states(&self, parameters: &Parameters) -> ModelStateBytes {
        let states = held_states(self.states, parameters, self.shards, self.sharding_stage);
        if self.in_backward {
            let gradients = self.states.gradients * parameters.largest();
            return ModelStateBytes { gradients, ..states };
        }
        states
    }

    /// The frozen part of the weights, in bytes.
    pub fn frozen_bytes(&self, parameters: &Parameters) -> u64 {
        parameters.frozen_bytes.div_ceil(if self.sharding_stage >= 3 { self.shards } else { 1 })
    }

    /// The master copy's part of the optimizer states, in bytes.
    pub fn master_bytes(&self, parameters: &Parameters) -> u64 {
        let shards = if self.sharding_stage >= 1 { self.shards } else { 1 };
        parameters.trained().div_ceil(shards) * self.states.optimizer.master
    }

    /// The optimizer step over `parameters`, its operations and the bytes it moves.
    pub fn optimizer_step(&self, parameters: &Parameters) -> (Cost, Work) {
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
    pub fn optimizer_temporaries(&self, parameters: &Parameters) -> Vec<(&'static str, u64)> {
        self.step.temporaries(parameters)
    }

    /// Every constant that prices rest on.
    pub fn assumptions(&self) -> Vec<Assumption> {
        let mut list =
            compute::assumptions(self.peak, self.bandwidth, &self.efficiency, &self.device);
        for group in [&self.tensor, &self.data, &self.replicas].into_iter().chain(&self.pipeline) {
            list.extend(group.assumptions());
        }
        list
    }
}
