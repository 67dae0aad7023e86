//! In what the relatives of Llama differ from each other.

use super::reader::{ClassSizes, HeadDim, Names, Switch, USUAL_NAMES};
use super::window::WindowRule;
use crate::model::module::Module;
use crate::model::shape::{Activation, NormKind, NormPlacement};

/// A relative of Llama. Defaults are those of its class in `transformers`.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) names: Names,
    pub(super) qkv_bias: Switch,
    pub(super) output_bias: Switch,
    pub(super) mlp_bias: Switch,
    pub(super) qk_norm: Switch,
    pub(super) window: WindowRule,
    pub(super) tied: bool,
    pub(super) max_sequence: u64,
    pub(super) head_dim: HeadDim,
    /// Key-value heads of a file without the field; `None` for as many as query heads.
    pub(super) kv_heads: Option<u64>,
    pub(super) gated: bool,
    pub(super) norm: NormKind,
    pub(super) norm_placement: NormPlacement,
    pub(super) activation_names: &'static [&'static str],
    pub(super) default_activation: &'static str,
    /// The activation, where the class overrules the file's `hidden_act`.
    pub(super) activation: Option<Activation>,
    /// What nested parts of the class leave out.
    pub(super) class: Option<ClassSizes>,
    pub(super) module: Module,
}

const fn class(layers: u64, hidden: u64, heads: u64, ffn: u64, vocab: u64) -> Option<ClassSizes> {
    Some(ClassSizes { layers, hidden, heads, ffn, vocab })
}

pub(super) const LLAMA: Rules = Rules {
    names: USUAL_NAMES,
    qkv_bias: Switch::Field("attention_bias", false),
    output_bias: Switch::Field("attention_bias", false),
    mlp_bias: Switch::Field("mlp_bias", false),
    qk_norm: Switch::Never,
    window: WindowRule::Never,
    tied: false,
    max_sequence: 2048,
    head_dim: HeadDim::Derived,
    kv_heads: None,
    gated: true,
    norm: NormKind::Rms,
    norm_placement: NormPlacement::Pre,
    activation_names: &["hidden_act", "hidden_activation"],
    default_activation: "silu",
    activation: None,
    class: class(32, 4096, 32, 11008, 32000),
    module: Module::LLAMA,
};

/// Llama's layer without any bias.
pub(super) const NO_BIAS: Rules = Rules {
    qkv_bias: Switch::Never,
    output_bias: Switch::Never,
    mlp_bias: Switch::Never,
    class: None,
    ..LLAMA
};

pub(super) const MISTRAL: Rules = Rules {
    window: WindowRule::Default(4096),
    max_sequence: 131_072,
    kv_heads: Some(8),
    class: class(32, 4096, 32, 14336, 32000),
    ..NO_BIAS
};

/// Mistral's small models of late 2025: no window unless written.
pub(super) const MINISTRAL: Rules = Rules {
    window: WindowRule::Written,
    max_sequence: 262_144,
    head_dim: HeadDim::Default(128),
    ..MISTRAL
};

pub(super) const MIXTRAL: Rules =
    Rules { window: WindowRule::Written, max_sequence: 131_072, kv_heads: Some(8), ..NO_BIAS };

pub(super) const QWEN2: Rules = Rules {
    qkv_bias: Switch::Always,
    window: WindowRule::Switched,
    max_sequence: 32_768,
    class: class(32, 4096, 32, 22016, 151_936),
    ..NO_BIAS
};

/// Its experts came before the biases could be left out.
pub(super) const QWEN2_MOE: Rules =
    Rules { qkv_bias: Switch::Field("qkv_bias", true), class: None, ..QWEN2 };

pub(super) const QWEN3: Rules = Rules {
    mlp_bias: Switch::Never,
    qk_norm: Switch::Always,
    window: WindowRule::Switched,
    max_sequence: 32_768,
    head_dim: HeadDim::Default(128),
    class: class(32, 4096, 32, 22016, 151_936),
    ..LLAMA
};

pub(super) const QWEN3_MOE: Rules = Rules { head_dim: HeadDim::Derived, class: None, ..QWEN3 };

pub(super) const PHI3: Rules = Rules {
    window: WindowRule::Written,
    max_sequence: 4096,
    class: class(32, 3072, 32, 8192, 32064),
    module: Module::PHI3,
    ..NO_BIAS
};

/// Gemma 1 runs the tanh form of GELU whatever `hidden_act` says; one fused kernel.
pub(super) const GEMMA: Rules = Rules {
    mlp_bias: Switch::Never,
    tied: true,
    max_sequence: 8192,
    head_dim: HeadDim::Default(256),
    activation: Some(Activation::Gelu),
    class: class(28, 3072, 16, 24576, 256_000),
    module: Module::GEMMA,
    ..LLAMA
};

pub(super) const GEMMA2: Rules = Rules {
    window: WindowRule::Every { tokens: 4096, full_every: 2 },
    norm_placement: NormPlacement::Sandwich,
    kv_heads: Some(4),
    class: class(26, 2304, 8, 9216, 256_000),
    module: Module::GEMMA2,
    ..GEMMA
};

pub(super) const GEMMA3: Rules = Rules {
    window: WindowRule::Every { tokens: 4096, full_every: 6 },
    qk_norm: Switch::Always,
    max_sequence: 131_072,
    class: class(26, 2304, 8, 9216, 262_208),
    module: Module::GEMMA,
    ..GEMMA2
};

pub(super) const SMOLLM3: Rules =
    Rules { window: WindowRule::Switched, tied: true, max_sequence: 32_768, ..LLAMA };

pub(super) const INTERNLM: Rules = Rules {
    qkv_bias: Switch::Field("bias", true),
    output_bias: Switch::Field("bias", true),
    mlp_bias: Switch::Never,
    class: None,
    ..LLAMA
};

pub(super) const INTERNLM2: Rules = Rules { max_sequence: 32_768, ..INTERNLM };

pub(super) const INTERNLM3: Rules = Rules {
    qkv_bias: Switch::Field("qkv_bias", false),
    output_bias: Switch::Field("bias", false),
    mlp_bias: Switch::Field("bias", false),
    max_sequence: 32_768,
    class: None,
    ..LLAMA
};

pub(super) const GLM: Rules = Rules {
    output_bias: Switch::Never,
    mlp_bias: Switch::Never,
    max_sequence: 131_072,
    head_dim: HeadDim::Default(128),
    class: None,
    module: Module::GLM,
    ..LLAMA
};

/// GLM-4 since April 2025: norms on both sides of each block.
pub(super) const GLM4: Rules = Rules { norm_placement: NormPlacement::Sandwich, ..GLM };

pub(super) const GLM4_MOE: Rules = Rules { qk_norm: Switch::Field("use_qk_norm", false), ..GLM };

pub(super) const MINICPM: Rules = Rules { tied: true, class: None, ..NO_BIAS };

/// Tied, and every linear layer with or without its bias.
pub(super) const ERNIE: Rules = Rules {
    qkv_bias: Switch::Field("use_bias", false),
    output_bias: Switch::Field("use_bias", false),
    mlp_bias: Switch::Field("use_bias", false),
    tied: true,
    max_sequence: 131_072,
    head_dim: HeadDim::Default(128),
    class: None,
    ..LLAMA
};

pub(super) const ERNIE_MOE: Rules = Rules { head_dim: HeadDim::Derived, ..ERNIE };

pub(super) const EXAONE: Rules = Rules {
    names: Names { layers: &["num_layers", "num_hidden_layers"], ..USUAL_NAMES },
    activation_names: &["activation_function", "hidden_act"],
    ..NO_BIAS
};

pub(super) const SEED_OSS: Rules = Rules {
    output_bias: Switch::Field("attention_out_bias", false),
    qkv_bias: Switch::Field("attention_bias", true),
    max_sequence: 524_288,
    head_dim: HeadDim::Default(128),
    class: None,
    ..LLAMA
};

pub(super) const HUNYUAN: Rules =
    Rules { qk_norm: Switch::Field("use_qk_norm", true), class: None, ..LLAMA };

/// Layer norms, optional biases on queries, keys and values (StableLM 2).
pub(super) const STABLELM: Rules = Rules {
    qkv_bias: Switch::Field("use_qkv_bias", false),
    norm: NormKind::LayerNorm,
    max_sequence: 4096,
    ..NO_BIAS
};

pub(super) const ORION: Rules = Rules { norm: NormKind::LayerNorm, max_sequence: 4096, ..NO_BIAS };

/// Two matrices with a squared ReLU between them.
pub(super) const ARCEE: Rules =
    Rules { gated: false, default_activation: "relu2", max_sequence: 4096, class: None, ..LLAMA };

/// As Arcee, with layer norms; their weights are stored less 1.
pub(super) const NEMOTRON: Rules = Rules { norm: NormKind::LayerNorm, ..ARCEE };

pub(super) const LLAMA4: Rules = Rules {
    mlp_bias: Switch::Never,
    max_sequence: 131_072,
    head_dim: HeadDim::Default(128),
    kv_heads: Some(8),
    class: class(48, 5120, 40, 16384, 202_048),
    ..LLAMA
};

/// The text part of Llama 3.2 Vision.
pub(super) const MLLAMA: Rules = Rules {
    max_sequence: 131_072,
    kv_heads: Some(8),
    class: class(40, 4096, 32, 14336, 128_256),
    ..NO_BIAS
};

/// Biases everywhere; a window of 128 tokens on every other layer.
pub(super) const GPT_OSS: Rules = Rules {
    qkv_bias: Switch::Field("attention_bias", true),
    output_bias: Switch::Field("attention_bias", true),
    mlp_bias: Switch::Always,
    window: WindowRule::Every { tokens: 128, full_every: 2 },
    max_sequence: 131_072,
    head_dim: HeadDim::Default(64),
    kv_heads: Some(8),
    class: None,
    ..LLAMA
};

/// DeepSeek's first models with experts, with full attention.
pub(super) const DEEPSEEK: Rules = Rules { mlp_bias: Switch::Never, class: None, ..LLAMA };

pub(super) const DOTS: Rules = Rules { qk_norm: Switch::Always, ..DEEPSEEK };

pub(super) const BAILING: Rules = Rules {
    qkv_bias: Switch::Field("use_qkv_bias", false),
    output_bias: Switch::Field("use_bias", false),
    mlp_bias: Switch::Field("use_bias", false),
    qk_norm: Switch::Field("use_qk_norm", false),
    max_sequence: 16_384,
    class: None,
    ..LLAMA
};
