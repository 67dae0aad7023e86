//! Serving engines: what each one allocates, computes and launches.

use crate::formats::{KvFormat, WeightFormat};
use crate::hardware::{Basis, Device, Family};
use crate::operators::Kernels;
use crate::precision::{DType, Precision, Recipe};
use crate::report::Assumption;
use crate::scenario::Framework;

/// A serving engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// vLLM (Kwon et al. 2023).
    Vllm,
    /// Hugging Face Transformers' `generate`.
    HuggingFace,
    LlamaCpp,
    TensorRtLlm,
}

impl Engine {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Vllm, Self::HuggingFace, Self::LlamaCpp, Self::TensorRtLlm];

    /// Whether it runs matrices of a format (the engines' lists of supported quantization, 2025).
    pub const fn runs(self, format: WeightFormat) -> bool {
        match self {
            Self::Vllm => true,
            // Transformers unpacks GGUF files when it loads them.
            Self::HuggingFace => !matches!(format, WeightFormat::Gguf(_) | WeightFormat::Nvfp4),
            Self::LlamaCpp => matches!(format, WeightFormat::Gguf(_) | WeightFormat::Mxfp4),
            Self::TensorRtLlm => matches!(
                format,
                WeightFormat::Plain
                    | WeightFormat::Int8
                    | WeightFormat::Fp8
                    | WeightFormat::Fp8Block
                    | WeightFormat::Int { bits: 4 | 8, .. }
                    | WeightFormat::Mxfp4
                    | WeightFormat::Nvfp4
            ),
        }
    }

    /// Whether it keeps a cache in a format.
    pub const fn caches(self, format: KvFormat) -> bool {
        matches!(
            (self, format),
            (_, KvFormat::Plain(DType::Fp16 | DType::Bf16))
                | (Self::Vllm | Self::TensorRtLlm, KvFormat::Fp8)
                | (Self::HuggingFace, KvFormat::Int { .. } | KvFormat::Plain(_))
                | (Self::LlamaCpp, KvFormat::Gguf(_) | KvFormat::Plain(_))
                | (Self::TensorRtLlm, KvFormat::Int { bits: 8 })
        )
    }

    /// The name in a scenario file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::HuggingFace => "hf",
            Self::LlamaCpp => "llama.cpp",
            Self::TensorRtLlm => "tensorrt-llm",
        }
    }

    /// The engine called `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }
}

/// `major.minor` of an engine; further parts make no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EngineVersion {
    pub major: u64,
    pub minor: u64,
}

impl EngineVersion {
    /// Reads `4.46` or `4.46.1`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().trim_start_matches('v').split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        let rest_is_plain = parts.all(|part| part.chars().all(char::is_alphanumeric));
        rest_is_plain.then_some(Self { major, minor })
    }
}

/// Where keys and values live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePolicy {
    /// In tensors that are copied into larger ones at every step.
    Grows {
        /// The caller holds all old tensors until the step ends.
        keeps_old: bool,
    },
    /// In a pool of blocks that takes all memory the engine may have.
    Pool,
    /// In memory for every request's longest context, allocated at the start.
    WholeContext,
}

/// Where activations live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// Allocated and freed by operators.
    Allocator,
    /// As `Allocator`, within what a trial run of the largest step needed.
    Profiled,
    /// In one buffer of the size that the largest step needs.
    Static,
}

/// Where cosines and sines of the rotary embedding come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotaryTables {
    /// Kernels compute them, or read a table too small to count.
    Inside,
    /// A step makes those of its tokens, once for all layers.
    EveryStep,
    /// Every layer keeps those of the longest context (Transformers before 4.45).
    EveryLayer,
}

/// What an engine does, by version and device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    pub kernels: Kernels,
    pub cache: CachePolicy,
    pub buffers: Buffers,
    /// Most tokens of a step; without it a step takes whole prompts.
    pub step_tokens: Option<u64>,
    /// Requests whose next tokens the largest step draws.
    pub most_requests: u64,
    /// Logits of every prompt token, in 16 bits and in fp32.
    pub all_logits: bool,
    /// The caller's frames hold a layer's input, and the embeddings, while the model runs.
    pub frames_hold_inputs: bool,
    pub rotary: RotaryTables,
    /// The token table stays in host memory.
    pub table_on_host: bool,
    /// One scratch for the largest matrix in 16 bits, where codes are 4-bit integers.
    pub dequantizes: bool,
    /// Kernels are launched one by one from Python.
    pub eager: bool,
    /// CUDA graphs are recorded.
    pub graphs: bool,
    /// Tokens added to a window that is cached, and to what a request's cache is rounded up.
    pub window_slack: u64,
    pub rounding: u64,
    /// One more block for a window whose ends are not whole blocks.
    pub window_block: bool,
}

/// CPU time of an operation of eager PyTorch under Transformers' Python modules, µs.
pub const EAGER_OPERATION: Assumption = Assumption {
    id: "eager-operation",
    of: "hf",
    value: 20.0,
    unit: "µs",
    basis: Basis::Assumed,
    source: "Python, module hooks and dispatch of one operation; the GPU waits where it is faster",
};

/// Memory of recorded CUDA graphs.
pub const GRAPHS: Assumption = Assumption {
    id: "cuda-graphs",
    of: "",
    value: 512.0,
    unit: "MiB",
    basis: Basis::Assumed,
    source: "vLLM logs 0.3 to 0.7 GiB after capturing; it is not part of its memory budget",
};

/// Tokens of llama.cpp's physical batch: `n_ubatch`, default 512.
const LLAMA_CPP_UBATCH: u64 = 512;
/// To what llama.cpp pads a context.
const LLAMA_CPP_PADDING: u64 = 256;
/// TensorRT-LLM's `max_num_tokens`, default 8192; its `max_batch_size` is 2048, of which a step
/// rarely sees more than 256 requests.
const TENSORRT_TOKENS: u64 = 8192;

/// The last version of Transformers without `num_logits_to_keep` is 4.44.
const LAST_LOGITS_ONLY: EngineVersion = EngineVersion { major: 4, minor: 45 };

/// Memory from which vLLM takes larger steps, GiB; the A100 is excepted by name (V1,
/// `EngineArgs._set_default_args`).
const VLLM_LARGE_GIB: f64 = 70.0;

impl Profile {
    /// The profile of a job on a device.
    pub fn new(
        engine: Engine,
        version: Option<EngineVersion>,
        block_size: u64,
        device: &Device,
    ) -> Self {
        match engine {
            Engine::Vllm => Self::vllm(block_size, device),
            Engine::HuggingFace => Self::hugging_face(version),
            Engine::LlamaCpp => Self::llama_cpp(),
            Engine::TensorRtLlm => Self::tensorrt_llm(block_size),
        }
    }

    fn vllm(block_size: u64, device: &Device) -> Self {
        let large = device.memory_usable_gib() >= VLLM_LARGE_GIB && device.family != Family::Ampere;
        let (tokens, requests) = if large { (8192, 1024) } else { (2048, 256) };
        Self {
            cache: CachePolicy::Pool,
            buffers: Buffers::Profiled,
            step_tokens: Some(tokens),
            most_requests: requests,
            graphs: true,
            window_slack: tokens - 1,
            rounding: block_size,
            window_block: true,
            ..FUSED
        }
    }

    fn hugging_face(version: Option<EngineVersion>) -> Self {
        let old = version.is_some_and(|version| version < LAST_LOGITS_ONLY);
        Self {
            kernels: Kernels { retains_logits: false, ..Kernels::of(Framework::Pytorch, false) },
            cache: CachePolicy::Grows { keeps_old: old },
            buffers: Buffers::Allocator,
            step_tokens: None,
            all_logits: old,
            frames_hold_inputs: true,
            rotary: if old { RotaryTables::EveryLayer } else { RotaryTables::EveryStep },
            dequantizes: true,
            eager: true,
            rounding: 1,
            ..FUSED
        }
    }

    fn llama_cpp() -> Self {
        Self {
            kernels: Kernels { fused_projections: false, ..FUSED.kernels },
            cache: CachePolicy::WholeContext,
            buffers: Buffers::Static,
            step_tokens: Some(LLAMA_CPP_UBATCH),
            // The compute buffer has room for the logits of a whole batch.
            most_requests: LLAMA_CPP_UBATCH,
            table_on_host: true,
            window_slack: LLAMA_CPP_UBATCH,
            rounding: LLAMA_CPP_PADDING,
            ..FUSED
        }
    }

    fn tensorrt_llm(block_size: u64) -> Self {
        Self {
            cache: CachePolicy::Pool,
            buffers: Buffers::Static,
            step_tokens: Some(TENSORRT_TOKENS),
            most_requests: 256,
            graphs: true,
            rounding: block_size,
            ..FUSED
        }
    }

    /// The formats of activations: llama.cpp's graphs are in fp32.
    pub fn recipe(engine: Engine, precision: Precision) -> Recipe {
        match engine {
            Engine::LlamaCpp => Recipe {
                weights: DType::Fp32,
                stream: DType::Fp32,
                compute: DType::Fp32,
                ..Recipe::with_master(Precision::Fp32)
            },
            _ => Recipe::with_master(precision),
        }
    }
}

/// An engine with fused kernels and nothing else of its own.
const FUSED: Profile = Profile {
    kernels: Kernels::of(Framework::Megatron, false),
    cache: CachePolicy::Pool,
    buffers: Buffers::Profiled,
    step_tokens: None,
    most_requests: 256,
    all_logits: false,
    frames_hold_inputs: false,
    rotary: RotaryTables::Inside,
    table_on_host: false,
    dequantizes: false,
    eager: false,
    graphs: false,
    window_slack: 0,
    rounding: 1,
    window_block: false,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_ordered_by_number() {
        let version = |text| EngineVersion::parse(text);
        assert!(version("4.9") < version("4.46.1"));
        assert_eq!(version("v0.8.0"), Some(EngineVersion { major: 0, minor: 8 }));
        for text in ["", "4", "four.five", "4.46.-", "4.x"] {
            assert_eq!(version(text), None, "{text}");
        }
    }
}
