//! A scenario that has passed its checks: nothing missing, nothing contradictory.

use crate::cost::Topology;
use crate::hardware::Device;
use crate::model::ModelShape;
use crate::operators::{Context, Kernels, Tied};
use crate::precision::{DType, Precision, Recipe};
use crate::scenario::{
    AttentionKernel, Framework, Optimizer, OptimizerImplementation, Recompute, Scenario,
    ScheduleName,
};

/// What a pipeline stage holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    pub first_layer: u64,
    pub layers: u64,
    pub has_embedding: bool,
    pub has_head: bool,
}

/// A checked training job.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The scenario with every default written out.
    pub scenario: Scenario,
    /// Display name of the model.
    pub model_name: String,
    pub model: ModelShape,
    pub device: Device,
    pub devices_per_node: u64,
    pub nodes: u64,
    pub topology: Topology,
    pub dp: u64,
    pub tp: u64,
    pub pp: u64,
    pub stages: Vec<Stage>,
    pub schedule: ScheduleName,
    pub sequence_parallel: bool,
    /// 0 to 3.
    pub zero: u64,
    pub recompute: Recompute,
    pub sequence: u64,
    pub micro_batch: u64,
    /// Micro-batches of a replica in a step.
    pub micro_batches: u64,
    /// Samples of all replicas in a step.
    pub global_batch: u64,
    pub precision: Precision,
    pub recipe: Recipe,
    pub gradient_dtype: DType,
    pub optimizer: Optimizer,
    pub optimizer_implementation: OptimizerImplementation,
    pub attention: AttentionKernel,
    pub dropout: bool,
    pub framework: Framework,
    pub compile: bool,
}

impl Plan {
    /// All GPUs.
    pub fn devices(&self) -> u64 {
        self.dp * self.tp * self.pp
    }

    /// Tokens of a step over all replicas.
    pub fn tokens_per_step(&self) -> u64 {
        self.global_batch * self.sequence
    }

    /// What the operators depend on.
    pub fn context(&self) -> Context {
        Context {
            batch: self.micro_batch,
            sequence: self.sequence,
            tp: self.tp,
            sequence_parallel: self.sequence_parallel,
            recipe: self.recipe,
            attention: self.attention,
            dropout: self.dropout,
            kernels: Kernels::of(self.framework, self.compile),
        }
    }

    /// True when the token table is the head's matrix too.
    pub fn ties_head(&self) -> bool {
        self.model.tied_embeddings && self.model.lm_head
    }

    /// Whether table and head are one matrix on one stage.
    pub fn tied(&self) -> Tied {
        if self.ties_head() && self.pp == 1 { Tied::OnThisStage } else { Tied::No }
    }
}

/// Spreads `layers` over `stages`; the first stages take one more where they don't divide.
pub fn split_layers(layers: u64, stages: u64) -> Vec<Stage> {
    let (each, rest) = (layers / stages, layers % stages);
    let mut first_layer = 0;
    (0..stages)
        .map(|stage| {
            let count = each + u64::from(stage < rest);
            let this = Stage {
                first_layer,
                layers: count,
                has_embedding: stage == 0,
                has_head: stage + 1 == stages,
            };
            first_layer += count;
            this
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_cover_all_layers_once() {
        for (layers, stages) in [(32, 1), (32, 4), (126, 16), (7, 7), (13, 4)] {
            let split = split_layers(layers, stages);
            assert_eq!(split.iter().map(|s| s.layers).sum::<u64>(), layers);
            assert!(split.windows(2).all(|w| w[0].first_layer + w[0].layers == w[1].first_layer));
            assert!(split[0].has_embedding && split[split.len() - 1].has_head);
        }
    }
}
