//! A scenario that has passed its checks: nothing missing, nothing contradictory.

use crate::cost::Topology;
use crate::hardware::Device;
use crate::model::ModelShape;
use crate::operators::{
    Adapters, Backend, ByKind, Context, Kernels, Parameters, Tied, embedding_tape, head_tape,
    layer_tape,
};
use crate::precision::{DType, Precision, Recipe};
use crate::scenario::{
    AttentionKernel, CrossEntropy, Framework, FsdpMode, Optimizer, OptimizerImplementation,
    Recompute, Scenario, ScheduleName,
};
use crate::serving::Serving;

/// What a pipeline stage holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    pub first_layer: u64,
    pub layers: u64,
    pub has_embedding: bool,
    pub has_head: bool,
}

/// A checked job.
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
    /// Ranks that split each sequence.
    pub cp: u64,
    /// Ranks that split the experts of a layer.
    pub ep: u64,
    /// Ranks that split each expert's matrices: `tp`, or 1 where experts spread over all ranks.
    pub expert_tp: u64,
    pub stages: Vec<Stage>,
    pub schedule: ScheduleName,
    pub sequence_parallel: bool,
    /// 0 to 3; 0 under FSDP.
    pub zero: u64,
    pub fsdp: Option<FsdpMode>,
    /// Ranks that sharded model states are split over: `dp`, or those within a node.
    pub shards: u64,
    pub recompute: Recompute,
    pub sequence: u64,
    pub micro_batch: u64,
    /// Micro-batches of a replica in a step.
    pub micro_batches: u64,
    /// Samples of all replicas in a step.
    pub global_batch: u64,
    pub precision: Precision,
    /// Formats of what trains.
    pub recipe: Recipe,
    /// Formats of the model's own weights: those of `recipe` unless they are frozen.
    pub model_recipe: Recipe,
    /// Adapters beside a frozen model; `None` where all of it trains.
    pub adapters: Option<Adapters>,
    pub gradient_dtype: DType,
    pub optimizer: Optimizer,
    pub optimizer_implementation: OptimizerImplementation,
    /// Each parameter is updated when its gradient is there.
    pub optimizer_in_backward: bool,
    pub attention: AttentionKernel,
    pub cross_entropy: CrossEntropy,
    pub dropout: bool,
    pub framework: Framework,
    pub compile: bool,
    /// A GPU, unless a trace is compared.
    pub backend: Backend,
    /// What is served, where the job is no training: then nothing reads the fields of training.
    pub serving: Option<Serving>,
}

impl Plan {
    /// All GPUs.
    pub fn devices(&self) -> u64 {
        self.dp * self.cp * self.tp * self.pp
    }

    /// Ranks that hold the same parameters: those that split a sequence are replicas too.
    pub fn replicas(&self) -> ByKind<u64> {
        let common = self.dp * self.cp;
        let routed = common * self.tp / (self.ep * self.expert_tp);
        ByKind { common, routed: routed.max(1) }
    }

    /// Ranks that share the model states of each kind of parameters, where they are sharded.
    pub fn shards(&self) -> ByKind<u64> {
        ByKind { common: self.shards, ..self.replicas() }
    }

    /// True where routed experts have fewer replicas than the rest.
    pub fn has_two_kinds(&self) -> bool {
        let replicas = self.replicas();
        replicas.common != replicas.routed
    }

    /// The ZeRO stage whose model states a rank keeps. FSDP2 keeps shards of everything between
    /// steps, in all of its modes.
    pub fn sharding_stage(&self) -> u64 {
        if self.fsdp.is_some() { 3 } else { self.zero }
    }

    /// The format of the gradients that the optimizer reads. FSDP2 reduces them in
    /// `gradient_dtype` and keeps their shards in the format of the weights' shards.
    pub fn kept_gradients(&self) -> DType {
        if self.fsdp.is_some() { self.recipe.stored } else { self.gradient_dtype }
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
            cp: self.cp,
            ep: self.ep,
            expert_tp: self.expert_tp,
            sequence_parallel: self.sequence_parallel,
            recipe: self.model_recipe,
            adapters: self.adapters,
            attention: self.attention,
            dropout: self.dropout,
            kernels: Kernels {
                backend: self.backend,
                cross_entropy: self.cross_entropy,
                ..Kernels::of(self.scenario.workload.kernels(), self.compile)
            },
            cache: None,
        }
    }

    /// True when the optimizer sees flat buffers instead of matrices.
    pub fn flattens_parameters(&self) -> bool {
        self.recipe.has_master || self.sharding_stage() >= 1
    }

    /// The parameters of a stage on one rank, before data-parallel sharding; one kind where all have
    /// the same replicas.
    pub fn stage_parameters(&self, stage: usize) -> ByKind<Parameters> {
        let all = self.parameters_of(self.stages[stage], &self.context(), self.tied());
        if self.has_two_kinds() { all } else { all.as_one_kind() }
    }

    /// The parameters of the whole model and its adapters, each once.
    pub fn all_parameters(&self) -> Parameters {
        let whole = Stage {
            first_layer: 0,
            layers: self.model.depth(),
            has_embedding: true,
            has_head: true,
        };
        let tied = if self.ties_head() { Tied::OnThisStage } else { Tied::No };
        let context = Context { tp: 1, ep: 1, expert_tp: 1, ..self.context() };
        self.parameters_of(whole, &context, tied).together()
    }

    fn parameters_of(&self, stage: Stage, context: &Context, tied: Tied) -> ByKind<Parameters> {
        let mut all = ByKind::default();
        if stage.has_embedding {
            all.add(&embedding_tape(&self.model, context, tied).parameters(), 1);
        }
        for group in self.model.layer_groups() {
            let of_kind = |layer: &u64| self.model.layer_kind(*layer) == group.kind;
            let layers = stage.first_layer..stage.first_layer + stage.layers;
            let count = layers.filter(of_kind).count() as u64;
            if count > 0 {
                all.add(&layer_tape(&self.model, group.kind, context).parameters(), count);
            }
        }
        if stage.has_head {
            all.add(&head_tape(&self.model, context, tied).parameters(), 1);
        }
        all
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

/// Spreads the layers of `shape` over `stages` as `framework` does.
///
/// Megatron gives every stage as many; where L + 2 divides by the stages and L does not, the first
/// and the last have one less (its options that count embedding and loss as layers). nanotron
/// balances the compute of layers and head. The others, and what does not divide, spread the layers
/// evenly, the first stages taking one more.
pub fn split_layers(shape: &ModelShape, framework: Framework, stages: u64) -> Vec<Stage> {
    let layers = shape.depth();
    let (each, rest) = (layers / stages, layers % stages);
    let counts_ends = framework == Framework::Megatron
        && stages > 2
        && rest != 0
        && (layers + 2).is_multiple_of(stages);
    let counts: Vec<u64> = if counts_ends {
        let each = (layers + 2) / stages;
        (0..stages).map(|stage| each - u64::from(stage == 0 || stage + 1 == stages)).collect()
    } else if framework == Framework::Nanotron && stages <= layers {
        balance_compute(shape, stages)
    } else {
        (0..stages).map(|stage| each + u64::from(stage < rest)).collect()
    };
    let mut first_layer = 0;
    counts
        .into_iter()
        .zip(0..)
        .map(|(layers, stage)| {
            let this = Stage {
                first_layer,
                layers,
                has_embedding: stage == 0,
                has_head: stage + 1 == stages,
            };
            first_layer += layers;
            this
        })
        .collect()
}

/// nanotron's rule: blocks in order, the next stage begins when the compute so far exceeds the
/// stages' share of all; a layer costs 4·H·a·d + 3·H·F, the head V·H (`get_block_compute_costs`).
///
/// A stage that would have nothing takes a layer of the one before, which is idle in nanotron.
fn balance_compute(shape: &ModelShape, stages: u64) -> Vec<u64> {
    let attention = &shape.attention;
    let layer = shape.hidden * (4 * attention.heads * attention.head_dim + 3 * shape.mlp.ffn);
    let head = if shape.lm_head { shape.vocab * shape.hidden } else { 0 };
    let total = u128::from(shape.depth() * layer + head);
    let mut counts = vec![0; usize::try_from(stages).expect("stages are few")];
    let (mut stage, mut so_far) = (0, 0_u128);
    for _ in 0..shape.depth() {
        counts[stage] += 1;
        so_far += u128::from(layer);
        if so_far * u128::from(stages) > total * (stage as u128 + 1) && stage + 1 < counts.len() {
            stage += 1;
        }
    }
    for empty in 1..counts.len() - 1 {
        if counts[empty] == 0
            && let Some(giver) = (0..empty).rev().find(|&stage| counts[stage] > 1)
        {
            counts[giver] -= 1;
            counts[empty] += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalog;

    fn counts(id: &str, layers: u64, framework: Framework, stages: u64) -> Vec<u64> {
        let mut shape = catalog::find(id).expect("listed").shape.clone();
        shape.layers = layers;
        split_layers(&shape, framework, stages).iter().map(|stage| stage.layers).collect()
    }

    #[test]
    fn stages_cover_all_layers_once() {
        let mut shape = catalog::find("llama-2-7b").expect("listed").shape.clone();
        for framework in Framework::ALL {
            for (layers, stages) in [(32, 1), (32, 4), (126, 16), (7, 7), (13, 4), (28, 16)] {
                shape.layers = layers;
                let split = split_layers(&shape, *framework, stages);
                assert_eq!(split.iter().map(|s| s.layers).sum::<u64>(), layers);
                let follows = |w: &[Stage]| w[0].first_layer + w[0].layers == w[1].first_layer;
                assert!(split.windows(2).all(follows));
                assert!(split[0].has_embedding && split[split.len() - 1].has_head);
                assert!(split[..split.len() - 1].iter().all(|stage| stage.layers > 0));
            }
        }
    }

    #[test]
    fn megatron_takes_a_layer_from_both_ends_where_that_makes_the_rest_equal() {
        // The zero-bubble paper's models have 4·p − 2 layers (Qi et al. 2023, Table 3).
        assert_eq!(counts("gpt2", 30, Framework::Megatron, 8), [3, 4, 4, 4, 4, 4, 4, 3]);
        assert_eq!(counts("gpt2", 32, Framework::Megatron, 8), [4; 8]);
        assert_eq!(counts("gpt2", 30, Framework::DeepSpeed, 8), [4, 4, 4, 4, 4, 4, 3, 3]);
    }

    #[test]
    fn nanotron_counts_the_head_as_work() {
        // The head of Llama 3.2 1B weighs 3.9 of its 16 layers: 9.96 a stage.
        assert_eq!(counts("llama-3.2-1b", 16, Framework::Nanotron, 2), [10, 6]);
        assert_eq!(counts("llama-3.2-1b", 16, Framework::Nanotron, 4), [5, 5, 5, 1]);
    }
}
