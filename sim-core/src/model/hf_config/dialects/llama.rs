//! Llama's dialect and its relatives: RMS norms, rotary positions, a gated MLP.

use super::super::error::ImportError;
use super::super::note::NoteKind;
use super::reader::{Bias, Reader, USUAL_NAMES, WindowRule, plain_decoder};
use crate::model::limits;
use crate::model::module::Module;
use crate::model::shape::{Activation, Mlp, ModelShape, Positions};

/// In what a relative of Llama differs. Defaults are those of its class in `transformers`.
pub(super) struct Rules {
    qkv_bias: Bias,
    output_bias: Bias,
    mlp_bias: Bias,
    qk_norm: bool,
    window: WindowRule,
    tied: bool,
    max_sequence: u64,
    /// The head width of a file without `head_dim`, where it is not hidden / heads.
    head_dim: Option<u64>,
    /// The activation, where the class overrules the file's `hidden_act`.
    activation: Option<Activation>,
    module: Module,
}

pub(super) const LLAMA: Rules = Rules {
    qkv_bias: Bias::Field("attention_bias", false),
    output_bias: Bias::Field("attention_bias", false),
    mlp_bias: Bias::Field("mlp_bias", false),
    qk_norm: false,
    window: WindowRule::Never,
    tied: false,
    max_sequence: 2048,
    head_dim: None,
    activation: None,
    module: Module::LLAMA,
};

const NO_BIAS: Rules =
    Rules { qkv_bias: Bias::Never, output_bias: Bias::Never, mlp_bias: Bias::Never, ..LLAMA };

pub(super) const MISTRAL: Rules =
    Rules { window: WindowRule::Default(4096), max_sequence: 131_072, ..NO_BIAS };

pub(super) const QWEN2: Rules =
    Rules { qkv_bias: Bias::Always, window: WindowRule::Switched, max_sequence: 32_768, ..NO_BIAS };

pub(super) const QWEN3: Rules = Rules {
    mlp_bias: Bias::Never,
    qk_norm: true,
    window: WindowRule::Switched,
    max_sequence: 32_768,
    head_dim: Some(128),
    ..LLAMA
};

pub(super) const PHI3: Rules =
    Rules { window: WindowRule::Written, max_sequence: 4096, module: Module::PHI3, ..NO_BIAS };

/// Gemma 1 runs the tanh form of GELU whatever `hidden_act` says; one fused kernel.
pub(super) const GEMMA: Rules = Rules {
    mlp_bias: Bias::Never,
    tied: true,
    max_sequence: 8192,
    head_dim: Some(256),
    activation: Some(Activation::Gelu),
    module: Module::GEMMA,
    ..LLAMA
};

pub(super) const SMOLLM3: Rules =
    Rules { window: WindowRule::Switched, tied: true, max_sequence: 32_768, ..LLAMA };

pub(super) const INTERNLM: Rules = Rules {
    qkv_bias: Bias::Field("bias", true),
    output_bias: Bias::Field("bias", true),
    mlp_bias: Bias::Never,
    ..LLAMA
};

pub(super) const INTERNLM2: Rules = Rules { max_sequence: 32_768, ..INTERNLM };

pub(super) const GLM: Rules = Rules {
    output_bias: Bias::Never,
    mlp_bias: Bias::Never,
    max_sequence: 131_072,
    head_dim: Some(128),
    module: Module::GLM,
    ..LLAMA
};

pub(super) fn read(reader: &mut Reader<'_, '_>, rules: &Rules) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes_with_head_dim(&USUAL_NAMES, rules.head_dim)?;
    let ffn = reader.config.required(&["intermediate_size"], limits::FFN)?;
    let activation = match rules.activation {
        Some(activation) => activation,
        None => reader.activation(&["hidden_act", "hidden_activation"], "silu")?,
    };
    let max_sequence = reader.max_sequence(&["max_position_embeddings"], rules.max_sequence)?;
    let mlp = Mlp { ffn, gated: true, bias: reader.bias(rules.mlp_bias)?, activation };
    let mut shape = plain_decoder(&sizes, mlp, max_sequence);
    shape.attention.kv_heads = reader.kv_heads(&["num_key_value_heads"], sizes.heads)?;
    shape.attention.qkv_bias = reader.bias(rules.qkv_bias)?;
    shape.attention.output_bias = reader.bias(rules.output_bias)?;
    shape.module = rules.module;
    shape.attention.qk_norm = rules.qk_norm;
    shape.attention.sliding_window = reader.window(rules.window, sizes.layers, max_sequence)?;
    shape.tied_embeddings = reader.flag_or("tie_word_embeddings", rules.tied)?;
    Ok(shape)
}

/// Baichuan: no grouped heads; the 13B models have no `max_position_embeddings` and use ALiBi.
pub(super) fn read_baichuan(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&USUAL_NAMES)?;
    let ffn = reader.config.required(&["intermediate_size"], limits::FFN)?;
    let activation = reader.activation(&["hidden_act"], "silu")?;
    let mlp = Mlp { ffn, gated: true, bias: false, activation };
    let has_table = reader.config.has("max_position_embeddings");
    let max_sequence =
        reader.max_sequence(&["max_position_embeddings", "model_max_length"], 4096)?;
    let mut shape = plain_decoder(&sizes, mlp, max_sequence);
    if !has_table {
        shape.positions = Positions::Alibi;
        reader.note("max_position_embeddings", NoteKind::AlibiInferred);
    }
    shape.tied_embeddings = reader.flag_or("tie_word_embeddings", false)?;
    Ok(shape)
}

/// Qwen v1: `intermediate_size` counts gate and up together; query, key and value carry biases even
/// with `no_bias: true`, which speaks of the other projections.
pub(super) fn read_qwen_v1(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&USUAL_NAMES)?;
    let doubled = limits::CountRange { min: 2, max: 2 * limits::FFN.max };
    let written = reader.config.required(&["intermediate_size"], doubled)?;
    if !written.is_multiple_of(2) {
        return Err(ImportError::Inconsistent {
            field: reader.config.path_of("intermediate_size"),
            value: written.to_string(),
            rule: "is odd, but counts two matrices of equal width",
        });
    }
    reader.note("intermediate_size", NoteKind::HalvedWidth { written });
    let other_bias = !reader.flag_or("no_bias", true)?;
    let mlp = Mlp { ffn: written / 2, gated: true, bias: other_bias, activation: Activation::Silu };
    let max_sequence = reader.max_sequence(&["max_position_embeddings", "seq_length"], 8192)?;
    let mut shape = plain_decoder(&sizes, mlp, max_sequence);
    shape.attention.qkv_bias = true;
    shape.attention.output_bias = other_bias;
    shape.tied_embeddings = reader.flag_or("tie_word_embeddings", false)?;
    Ok(shape)
}
