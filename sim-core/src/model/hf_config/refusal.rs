//! Recognizes what is not a `config.json`, and models that a dense shape cannot express.

use std::fmt;

use serde_json::Value;

use super::error::{ImportError, OtherFile};
use super::fields::{Object, shortened, shown};

/// Why a model does not fit into [`crate::model::ModelShape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inexpressible {
    EncoderDecoder,
    MixtureOfExperts,
    LatentAttention,
    /// Layers of different kinds: linear or state-space attention, windows on some layers only.
    MixedLayers,
    /// Every layer lists its own sizes.
    PerLayerBlocks,
    CrossAttention,
    /// Norms before and after each block: four a layer.
    FourNorms,
    /// One norm a layer, shared by attention and MLP.
    SingleNorm,
    /// Norms over all heads together on queries and keys.
    WideQueryKeyNorm,
    /// Several models in one file.
    SeveralModels,
    /// No language model: vision or audio alone.
    NotText,
    /// Positions that are neither rotary, learned nor ALiBi.
    RelativePositions,
    /// A decoder with its norms after the residual sum.
    PostNormDecoder,
    /// Embeddings of another width than the stream.
    ProjectedEmbeddings,
    /// Norms without weights.
    WeightlessNorms,
    UnknownActivation,
    /// Weights shared between layers, or other layouts of their own.
    OwnLayout,
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EncoderDecoder => "encoder-decoder models are not supported yet",
            Self::MixtureOfExperts => "mixture-of-experts models are not supported yet",
            Self::LatentAttention => "multi-head latent attention is not supported yet",
            Self::MixedLayers => "layers of different kinds are not supported yet",
            Self::PerLayerBlocks => "layers of different sizes are not supported yet",
            Self::CrossAttention => "cross-attention layers are not supported yet",
            Self::FourNorms => "four norms a layer are not supported yet",
            Self::SingleNorm => "one norm for attention and MLP together is not supported yet",
            Self::WideQueryKeyNorm => "query and key norms over all heads are not supported yet",
            Self::SeveralModels => "several models in one file; take the language model's own part",
            Self::NotText => "this is not a language model",
            Self::RelativePositions => "relative position tables are not supported yet",
            Self::PostNormDecoder => "a decoder with norms after the sum is not supported yet",
            Self::ProjectedEmbeddings => "embeddings of another width are not supported yet",
            Self::WeightlessNorms => "norms without weights are not supported yet",
            Self::UnknownActivation => {
                "accepted: silu, swish, swiglu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu"
            }
            Self::OwnLayout => "the layout of this class is not supported yet",
        })
    }
}

/// Refuses the other JSON files of a checkpoint by what only they contain.
pub(super) fn refuse_other_files(top: &Object<'_>) -> Result<(), ImportError> {
    let names_a_model = top.has("model_type") || top.has("architectures");
    let signs: [(&str, OtherFile, bool); 9] = [
        ("peft_type", OtherFile::Adapter, true),
        ("weight_map", OtherFile::WeightIndex, !names_a_model),
        ("workload", OtherFile::Scenario, !names_a_model),
        ("producer", OtherFile::QuantizationSideFile, !names_a_model && top.has("quantization")),
        ("quant_method", OtherFile::QuantizationSideFile, !names_a_model),
        ("bits", OtherFile::QuantizationSideFile, !names_a_model),
        ("added_tokens", OtherFile::Tokenizer, !names_a_model),
        ("tokenizer_class", OtherFile::Tokenizer, !names_a_model),
        ("_from_model_config", OtherFile::GenerationConfig, !names_a_model),
    ];
    for (name, file, decides) in signs {
        if decides && top.has(name) {
            return Err(ImportError::NotAModelConfig { field: top.path_of(name), file });
        }
    }
    Ok(())
}

/// Fields that count experts.
const EXPERT_COUNTS: [&str; 5] =
    ["num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts"];

/// Fields that only other structures have.
const STRUCTURE_SIGNS: [(&str, Inexpressible); 11] = [
    ("thinker_config", Inexpressible::SeveralModels),
    ("block_configs", Inexpressible::PerLayerBlocks),
    ("kv_lora_rank", Inexpressible::LatentAttention),
    ("cross_attention_layers", Inexpressible::CrossAttention),
    ("full_attention_interval", Inexpressible::MixedLayers),
    ("linear_num_value_heads", Inexpressible::MixedLayers),
    ("attn_layer_period", Inexpressible::MixedLayers),
    ("hybrid_override_pattern", Inexpressible::MixedLayers),
    ("ssm_cfg", Inexpressible::MixedLayers),
    ("mamba_d_state", Inexpressible::MixedLayers),
    ("relative_attention_num_buckets", Inexpressible::RelativePositions),
];

/// Refuses structures by the fields that only they have.
pub(super) fn refuse_inexpressible(config: &Object<'_>) -> Result<(), ImportError> {
    for (name, reason) in [
        ("is_encoder_decoder", Inexpressible::EncoderDecoder),
        ("add_cross_attention", Inexpressible::CrossAttention),
    ] {
        if config.flag(name)? == Some(true) {
            return Err(unsupported(config, name, "true".to_owned(), reason));
        }
    }
    for (name, reason) in STRUCTURE_SIGNS {
        if let Some(value) = config.get(name).filter(|value| !is_empty(value)) {
            return Err(unsupported(config, name, shown(value), reason));
        }
    }
    for name in EXPERT_COUNTS {
        // One expert or none is a dense model; anything that is not a number is not a count.
        let dense = |value: &&Value| value.as_u64().is_some_and(|experts| experts <= 1);
        if let Some(value) = config.get(name).filter(|value| !dense(value)) {
            let reason = Inexpressible::MixtureOfExperts;
            return Err(unsupported(config, name, shown(value), reason));
        }
    }
    refuse_mixed_layers(config)
}

fn refuse_mixed_layers(config: &Object<'_>) -> Result<(), ImportError> {
    let Some(layers) = config.list("layer_types")? else { return Ok(()) };
    let odd = layers.iter().find(|&layer| {
        Some(layer) != layers.first()
            || !matches!(layer.as_str(), Some("full_attention" | "sliding_attention"))
    });
    match odd {
        None => Ok(()),
        Some(layer) => {
            Err(unsupported(config, "layer_types", shown(layer), Inexpressible::MixedLayers))
        }
    }
}

/// Classes that are known and cannot be expressed, by `model_type` and by class stem.
const REFUSED: [(&[&str], &[&str], Inexpressible); 10] = [
    (
        &["t5", "mt5", "umt5", "bart", "mbart", "pegasus", "marian", "m2m_100", "led", "whisper"],
        &["T5", "MT5", "Bart", "MBart", "Pegasus", "Marian", "M2M100", "Whisper"],
        Inexpressible::EncoderDecoder,
    ),
    (
        &[
            "mixtral",
            "qwen2_moe",
            "qwen3_moe",
            "gpt_oss",
            "llama4",
            "llama4_text",
            "dbrx",
            "olmoe",
            "phimoe",
            "grok-1",
            "glm4_moe",
            "jetmoe",
            "ernie4_5_moe",
            "hunyuan_v1_moe",
        ],
        &["Mixtral", "Qwen2Moe", "Qwen3Moe", "GptOss", "Llama4", "Dbrx", "PhiMoE", "Glm4Moe"],
        Inexpressible::MixtureOfExperts,
    ),
    (
        &["deepseek_v2", "deepseek_v3", "kimi_k2", "minicpm3"],
        &["DeepseekV2", "DeepseekV3", "MiniCPM3"],
        Inexpressible::LatentAttention,
    ),
    (
        &["gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text", "glm4"],
        &["Gemma2", "Gemma3", "Glm4"],
        Inexpressible::FourNorms,
    ),
    (
        &[
            "mamba",
            "mamba2",
            "jamba",
            "rwkv",
            "zamba",
            "zamba2",
            "bamba",
            "nemotron_h",
            "falcon_h1",
            "falcon_mamba",
            "qwen3_next",
            "recurrent_gemma",
            "gpt_neo",
            "cohere2",
        ],
        &["Mamba", "Jamba", "Rwkv", "Qwen3Next", "GPTNeo", "NemotronH"],
        Inexpressible::MixedLayers,
    ),
    (&["mllama", "mllama_text_model"], &["Mllama"], Inexpressible::CrossAttention),
    (
        &["phi", "gptj", "codegen", "cohere"],
        &["Phi", "GPTJ", "CodeGen", "Cohere"],
        Inexpressible::SingleNorm,
    ),
    (&["olmo"], &["Olmo", "OLMo"], Inexpressible::WeightlessNorms),
    (&["olmo2", "olmo3"], &["Olmo2", "Olmo3"], Inexpressible::WideQueryKeyNorm),
    (
        &["vit", "clip", "siglip", "wav2vec2", "hubert", "sam", "dinov2", "clip_vision_model"],
        &["ViT", "CLIP", "Siglip", "Wav2Vec2", "Hubert", "Dinov2"],
        Inexpressible::NotText,
    ),
];

pub(super) fn refuse_model_type(field: &str, model_type: &str) -> Result<(), ImportError> {
    match REFUSED.iter().find(|(types, _, _)| types.contains(&model_type)) {
        None => Ok(()),
        Some(&(_, _, reason)) => Err(ImportError::Unsupported {
            field: field.to_owned(),
            value: shortened(model_type),
            reason,
        }),
    }
}

pub(super) fn refuse_class(field: &str, class: &str) -> Result<(), ImportError> {
    let stem = class_stem(class);
    match REFUSED.iter().find(|(_, classes, _)| classes.contains(&stem)) {
        None => Ok(()),
        Some(&(_, _, reason)) => Err(ImportError::Unsupported {
            field: field.to_owned(),
            value: shortened(class),
            reason,
        }),
    }
}

/// `LlamaForCausalLM` → `Llama`, `GPT2LMHeadModel` → `GPT2`.
pub(super) fn class_stem(class: &str) -> &str {
    ["For", "LMHead", "With", "Model"]
        .iter()
        .filter_map(|ending| class.find(ending))
        .min()
        .map_or(class, |end| &class[..end])
}

pub(super) fn unsupported(
    config: &Object<'_>,
    name: &str,
    value: String,
    reason: Inexpressible,
) -> ImportError {
    ImportError::Unsupported { field: config.path_of(name), value, reason }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
