//! What the operators of a model depend on beside its shape.

use super::{Adapters, BaseFormat};
use crate::formats::KvFormat;
use crate::precision::{Precision, Recipe};
use crate::scenario::{AttentionKernel, CrossEntropy, Framework};

/// Where PyTorch's kernels run, which decides what some of them keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Dropout keeps a mask of one byte a number, attention with dropout is fused, norm statistics
    /// are fp32, autocast runs norms, softmax and powers in fp32.
    #[default]
    Gpu,
    /// PyTorch's CPU kernels with fake tensors, as memory is traced without a GPU: dropout keeps its
    /// noise in the format of its input, attention with dropout is written out in fp32, and autograd,
    /// which adds in place to plain tensors only, makes a third tensor of two gradients.
    Traced,
}

/// Which operations a framework runs as one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernels {
    /// Norms save their input and its statistics; otherwise RMS norms are written out in tensor
    /// operations that save an fp32 copy and the normalized stream as well.
    pub fused_norm: bool,
    /// Gate, activation and product of a gated MLP in one kernel that saves its two inputs.
    pub fused_activation: bool,
    /// Query, key and value in one product, gate and up in one product.
    pub fused_projections: bool,
    /// The framework's own cross-entropy works in place on the fp32 logits and writes its gradient
    /// over them.
    pub in_place_cross_entropy: bool,
    /// In place of a copy: the fp32 logits less their maximum.
    pub shifts_logits_out_of_place: bool,
    pub cross_entropy: CrossEntropy,
    /// The model's output object keeps the logits until the step is over.
    pub retains_logits: bool,
    /// Recomputation ends at the last tensor that backward needs.
    pub recompute_stops_early: bool,
    pub backend: Backend,
    /// Fused attention wants values as wide as queries: narrower ones are padded with zeros.
    pub pads_values: bool,
    /// All experts of a rank in one grouped product; otherwise one expert after another.
    pub grouped_experts: bool,
    /// The router's weights are applied inside the experts' activation instead of to their outputs,
    /// which then need not be kept.
    pub weighs_inside: bool,
}

impl Kernels {
    /// The kernels of a framework, with a compiler in front of it or not.
    ///
    /// Hugging Face modules run under PyTorch, FSDP and DeepSpeed; Megatron and nanotron have
    /// kernels of their own.
    pub const fn of(framework: Framework, compiled: bool) -> Self {
        match framework {
            Framework::Megatron | Framework::Nanotron => Self {
                fused_norm: true,
                fused_activation: matches!(framework, Framework::Megatron),
                fused_projections: true,
                in_place_cross_entropy: true,
                shifts_logits_out_of_place: matches!(framework, Framework::Nanotron),
                cross_entropy: CrossEntropy::Default,
                retains_logits: false,
                recompute_stops_early: false,
                backend: Backend::Gpu,
                pads_values: false,
                grouped_experts: true,
                weighs_inside: true,
            },
            Framework::Pytorch | Framework::Fsdp | Framework::DeepSpeed => Self {
                fused_norm: compiled,
                fused_activation: compiled,
                fused_projections: false,
                in_place_cross_entropy: false,
                shifts_logits_out_of_place: false,
                cross_entropy: CrossEntropy::Default,
                retains_logits: true,
                recompute_stops_early: !matches!(framework, Framework::DeepSpeed),
                backend: Backend::Gpu,
                pads_values: true,
                grouped_experts: false,
                weighs_inside: false,
            },
        }
    }
}

/// Sizes and choices that turn a shape into operators on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// Samples in a micro-batch.
    pub batch: u64,
    /// Tokens in a sample.
    pub sequence: u64,
    pub tp: u64,
    /// Ranks that split each sequence.
    pub cp: u64,
    /// Ranks that split the experts of a layer.
    pub ep: u64,
    /// Ranks that split each expert's matrices: `tp` or 1.
    pub expert_tp: u64,
    pub sequence_parallel: bool,
    /// Formats of the model's own weights, frozen or not.
    pub recipe: Recipe,
    /// Freezes the model and trains these beside it.
    pub adapters: Option<Adapters>,
    pub attention: AttentionKernel,
    pub dropout: bool,
    pub kernels: Kernels,
    /// Keys and values of earlier tokens, when serving.
    pub cache: Option<CacheAccess>,
}

/// How attention meets the KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheAccess {
    /// Tokens of every sample that are in the cache already.
    pub past: u64,
    pub format: KvFormat,
    pub append: Append,
    /// Attention reads a copy in 16 bits that is made for it.
    pub dequantized: bool,
}

/// How new keys and values get into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Append {
    /// The tensors that the projections made become the cache (the first step of a growing one).
    Kept,
    /// The cache is copied into a larger one, keys first, then values.
    Concatenated,
    /// They are written into memory that is there already.
    Written,
}

impl Context {
    /// One sample on one GPU in plain PyTorch.
    pub fn new(sequence: u64, precision: Precision) -> Self {
        Self {
            batch: 1,
            sequence,
            tp: 1,
            cp: 1,
            ep: 1,
            expert_tp: 1,
            sequence_parallel: false,
            recipe: precision.into(),
            adapters: None,
            attention: AttentionKernel::Flash,
            dropout: false,
            kernels: Kernels::of(Framework::Pytorch, false),
            cache: None,
        }
    }

    /// Tokens that a sample's last query can look back on, itself included.
    pub fn keys(&self) -> u64 {
        self.cache.map_or(0, |cache| cache.past) + self.sequence
    }

    /// Tokens of a micro-batch on this rank.
    pub fn tokens(&self) -> u64 {
        self.batch * self.sequence.div_ceil(self.cp)
    }

    /// Tokens of the stream that a rank holds between tensor-parallel blocks.
    pub fn stream_tokens(&self) -> u64 {
        if self.sequence_parallel { self.tokens().div_ceil(self.tp) } else { self.tokens() }
    }

    /// Bytes of a number in a matrix product.
    pub fn size(&self) -> u64 {
        self.recipe.compute.bytes()
    }

    /// Bytes that dropout keeps of `elements` numbers of `size` bytes each.
    pub fn dropout_mask(&self, elements: u64, size: u64) -> u64 {
        match self.kernels.backend {
            Backend::Gpu => elements,
            Backend::Traced => elements * size,
        }
    }

    /// Bytes of the statistics that a norm of `count` statistics a token keeps of numbers of `size`
    /// bytes.
    pub fn norm_statistics(&self, tokens: u64, count: u64, size: u64) -> u64 {
        match self.kernels.backend {
            Backend::Gpu => 4 * count * tokens,
            Backend::Traced => size * count * tokens,
        }
    }

    /// Autocast runs softmax, norms and powers in fp32, whatever their input.
    pub fn autocasts_to_fp32(&self) -> bool {
        self.recipe.casts() && self.kernels.backend == Backend::Gpu
    }

    /// True under PyTorch's autocast: over fp32 weights, or beside fp32 adapters.
    pub fn runs_autocast(&self) -> bool {
        let compute = self.recipe.compute;
        self.recipe.casts() || self.adapters.is_some_and(|adapters| adapters.weights != compute)
    }

    /// Bytes of a number inside the MLP: bitsandbytes' layers give back the format of their input,
    /// which an fp32 norm has made fp32.
    pub fn inner_size(&self) -> u64 {
        match self.adapters.and_then(|adapters| adapters.base) {
            Some(BaseFormat::FourBit { .. } | BaseFormat::Int8) => self.stream_size(),
            Some(BaseFormat::Int4Group128) | None => self.size(),
        }
    }

    /// Bytes of a number of the residual stream.
    pub fn stream_size(&self) -> u64 {
        self.recipe.stream.bytes()
    }
}
