//! Recognizes what is not a `config.json`, and models that a shape cannot express.

use std::fmt;

use serde_json::Value;

use super::error::{ImportError, OtherFile};
use super::fields::{Object, shortened, shown};
use crate::model::limits::CountRange;

/// Why a model does not fit into [`crate::model::ModelShape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inexpressible {
    /// An encoder-decoder other than T5's, or a class that is none.
    EncoderDecoder,
    /// Experts in a class that is known without.
    MixtureOfExperts,
    /// Latent attention in a class that is known without.
    LatentAttention,
    /// Layers with linear attention, a state space or a convolution.
    LinearAttention,
    /// Windows or experts on some layers, in no order that repeats.
    MixedLayers,
    /// Every layer lists its own sizes.
    PerLayerBlocks,
    CrossAttention,
    /// One norm a layer, shared by attention and MLP.
    SingleNorm,
    /// Norms over all heads together on queries and keys.
    WideQueryKeyNorm,
    /// Several models in one file.
    SeveralModels,
    /// No language model: vision or audio alone.
    NotText,
    /// Relative positions other than T5's.
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
            Self::EncoderDecoder => "encoder-decoder models other than T5 are not supported yet",
            Self::MixtureOfExperts => "this class is not known to have experts",
            Self::LatentAttention => "this class is not known to have latent attention",
            Self::LinearAttention => {
                "layers with linear attention or a state space are not supported yet"
            }
            Self::MixedLayers => "layers of different kinds in this order are not supported yet",
            Self::PerLayerBlocks => "layers of different sizes are not supported yet",
            Self::CrossAttention => "cross-attention layers are not supported yet",
            Self::SingleNorm => "one norm for attention and MLP together is not supported yet",
            Self::WideQueryKeyNorm => "query and key norms over all heads are not supported yet",
            Self::SeveralModels => "several models in one file; take the language model's own part",
            Self::NotText => "this is not a language model",
            Self::RelativePositions => {
                "relative positions other than T5's are not supported yet"
            }
            Self::PostNormDecoder => "a decoder with norms after the sum is not supported yet",
            Self::ProjectedEmbeddings => "embeddings of another width are not supported yet",
            Self::WeightlessNorms => "norms without weights are not supported yet",
            Self::UnknownActivation => {
                "accepted: silu, swish, swiglu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu, relu2"
            }
            Self::OwnLayout => "the layout of this class is not supported yet",
        })
    }
}

/// Refuses the other JSON files of a checkpoint by what only they contain.
pub(super) fn refuse_other_files(top: &Object<'_>) -> Result<(), ImportError> {
    if top.has("peft_type") {
        return Err(adapter(top));
    }
    let names_a_model = top.has("model_type") || top.has("architectures");
    let signs: [(&str, OtherFile, bool); 8] = [
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

/// The refusal of a LoRA, with what its file says of the model that it adapts.
fn adapter(top: &Object<'_>) -> ImportError {
    let text = |name| top.text(name).ok().flatten().map(shortened);
    let rank = top.count(&["r"], CountRange { min: 1, max: u64::MAX }).ok().flatten();
    let base_model = text("base_model_name_or_path").filter(|name| !name.is_empty());
    ImportError::Adapter { field: top.path_of("peft_type"), base_model, rank }
}

/// Fields that count experts.
const EXPERT_COUNTS: [&str; 5] =
    ["num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts"];

/// Fields that only some structures have.
const STRUCTURE_SIGNS: [(&str, Inexpressible); 15] = [
    ("thinker_config", Inexpressible::SeveralModels),
    ("block_configs", Inexpressible::PerLayerBlocks),
    ("index_topk", Inexpressible::OwnLayout),
    ("full_attention_interval", Inexpressible::LinearAttention),
    ("linear_num_value_heads", Inexpressible::LinearAttention),
    ("attn_layer_period", Inexpressible::LinearAttention),
    ("hybrid_override_pattern", Inexpressible::LinearAttention),
    ("linear_attn_config", Inexpressible::LinearAttention),
    ("ssm_cfg", Inexpressible::LinearAttention),
    ("mamba_d_state", Inexpressible::LinearAttention),
    ("conv_L_cache", Inexpressible::LinearAttention),
    ("vocab_size_per_layer_input", Inexpressible::OwnLayout),
    ("kv_lora_rank", Inexpressible::LatentAttention),
    ("cross_attention_layers", Inexpressible::CrossAttention),
    ("relative_attention_num_buckets", Inexpressible::RelativePositions),
];

/// Refuses structures by the fields that only they have, but for those that `reads` names.
pub(super) fn refuse_inexpressible(
    config: &Object<'_>,
    reads: &[Inexpressible],
) -> Result<(), ImportError> {
    for (name, reason) in [
        ("is_encoder_decoder", Inexpressible::EncoderDecoder),
        ("add_cross_attention", Inexpressible::CrossAttention),
    ] {
        if config.flag(name)? == Some(true) && !reads.contains(&reason) {
            return Err(unsupported(config, name, "true".to_owned(), reason));
        }
    }
    for (name, reason) in STRUCTURE_SIGNS {
        let found = config.get(name).filter(|value| !is_empty(value));
        if let Some(value) = found.filter(|_| !reads.contains(&reason)) {
            return Err(unsupported(config, name, shown(value), reason));
        }
    }
    if !reads.contains(&Inexpressible::MixtureOfExperts) {
        for name in EXPERT_COUNTS {
            // One expert or none is a dense model; anything that is not a number is not a count.
            let dense = |value: &&Value| value.as_u64().is_some_and(|experts| experts <= 1);
            if let Some(value) = config.get(name).filter(|value| !dense(value)) {
                let reason = Inexpressible::MixtureOfExperts;
                return Err(unsupported(config, name, shown(value), reason));
            }
        }
    }
    if reads.contains(&Inexpressible::MixedLayers) { Ok(()) } else { refuse_mixed_layers(config) }
}

/// Refuses windows in a class whose reader knows of none.
fn refuse_mixed_layers(config: &Object<'_>) -> Result<(), ImportError> {
    let Some(layers) = config.list("layer_types")? else { return Ok(()) };
    match layers.iter().find(|layer| layer.as_str() != Some("full_attention")) {
        None => Ok(()),
        Some(layer) => {
            Err(unsupported(config, "layer_types", shown(layer), Inexpressible::MixedLayers))
        }
    }
}

/// Classes that are known and cannot be expressed, by `model_type` and by class stem.
const REFUSED: [(&[&str], &[&str], Inexpressible); 10] = [
    (
        &[
            "bart",
            "mbart",
            "pegasus",
            "marian",
            "m2m_100",
            "led",
            "whisper",
            "longt5",
            "t5gemma",
            "switch_transformers",
            "blenderbot",
            "prophetnet",
            "nllb-moe",
            "florence2",
        ],
        &[
            "Bart",
            "MBart",
            "Pegasus",
            "Marian",
            "M2M100",
            "LED",
            "Whisper",
            "LongT5",
            "T5Gemma",
            "SwitchTransformers",
            "Blenderbot",
            "ProphetNet",
            "NllbMoe",
            "Florence2",
        ],
        Inexpressible::EncoderDecoder,
    ),
    (
        &["umt5", "deberta", "deberta-v2", "mpnet", "xlnet"],
        &["UMT5", "Deberta", "DebertaV2", "MPNet", "XLNet"],
        Inexpressible::RelativePositions,
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
            "qwen3_5_text",
            "qwen3_5_moe_text",
            "recurrent_gemma",
            "granitemoehybrid",
            "lfm2",
            "lfm2_moe",
            "kimi_linear",
            "minimax",
            "minimax_text_01",
            "bailing_hybrid",
        ],
        &[
            "Mamba",
            "Mamba2",
            "Jamba",
            "Rwkv",
            "Zamba",
            "Zamba2",
            "Bamba",
            "NemotronH",
            "FalconH1",
            "FalconMamba",
            "Qwen3Next",
            "Qwen3_5",
            "Qwen3_5Moe",
            "RecurrentGemma",
            "GraniteMoeHybrid",
            "Lfm2",
            "Lfm2Moe",
            "KimiLinear",
            "MiniMax",
            "MiniMaxText01",
        ],
        Inexpressible::LinearAttention,
    ),
    (&["nemotron-nas", "openelm"], &["DeciLM", "OpenELM"], Inexpressible::PerLayerBlocks),
    (
        &["phi", "gptj", "codegen", "cohere", "cohere2"],
        &["Phi", "GPTJ", "CodeGen", "Cohere", "Cohere2"],
        Inexpressible::SingleNorm,
    ),
    (&["olmo"], &["Olmo", "OLMo"], Inexpressible::WeightlessNorms),
    (
        &["olmo2", "olmo3", "olmoe", "flex_olmo", "minimax_m2"],
        &["Olmo2", "Olmo3", "Olmoe", "FlexOlmo", "MiniMaxM2"],
        Inexpressible::WideQueryKeyNorm,
    ),
    (&["exaone4"], &["Exaone4"], Inexpressible::PostNormDecoder),
    (
        &[
            "albert",
            "modernbert",
            "phi3small",
            "phimoe",
            "grok-1",
            "jetmoe",
            "gemma3n",
            "gemma3n_text",
            "deepseek_v32",
            "glm_moe_dsa",
            "persimmon",
            "bitnet",
            "longcat_flash",
            "hunyuan_v1_moe",
        ],
        &[
            "Albert",
            "ModernBert",
            "Phi3Small",
            "PhiMoE",
            "Phimoe",
            "Grok1",
            "JetMoe",
            "Gemma3n",
            "DeepseekV32",
            "GlmMoeDsa",
            "Persimmon",
            "BitNet",
            "LongcatFlash",
            "HunYuanMoEV1",
        ],
        Inexpressible::OwnLayout,
    ),
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
