//! Llama's dialect and its relatives: rotary positions, mostly RMS norms and a gated MLP.

use super::super::error::ImportError;
use super::super::note::NoteKind;
use super::super::refusal::Inexpressible;
use super::reader::{Reader, USUAL_NAMES, plain_decoder};
use super::rules::{self, Rules};
use crate::model::limits;
use crate::model::shape::{Activation, Mlp, ModelShape, Positions};

pub(super) fn read(reader: &mut Reader<'_, '_>, rules: &Rules) -> Result<ModelShape, ImportError> {
    read_with_width(reader, rules, &["intermediate_size"])
}

/// As [`read`], with the MLP's width under the first of `widths`.
pub(super) fn read_with_width(
    reader: &mut Reader<'_, '_>,
    rules: &Rules,
    widths: &'static [&'static str],
) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes_of_class(&rules.names, rules.head_dim, rules.class)?;
    let ffn = reader.size(widths, limits::FFN, rules.class.map(|class| class.ffn))?;
    let activation = match rules.activation {
        Some(activation) => activation,
        None => reader.activation(rules.activation_names, rules.default_activation)?,
    };
    let max_sequence = reader.max_sequence(&["max_position_embeddings"], rules.max_sequence)?;
    let bias = reader.switch(rules.mlp_bias)?;
    let mlp = Mlp { ffn, gated: rules.gated, bias, activation };
    let mut shape = plain_decoder(&sizes, mlp, max_sequence);
    shape.module = rules.module;
    let kv_heads = rules.kv_heads.filter(|&kv_heads| kv_heads <= sizes.heads);
    let kv_names = &["num_key_value_heads"];
    shape.attention.kv_heads =
        reader.kv_heads_of_class(kv_names, sizes.heads, kv_heads.unwrap_or(sizes.heads))?;
    shape.attention.qkv_bias = reader.switch(rules.qkv_bias)?;
    shape.attention.output_bias = reader.switch(rules.output_bias)?;
    shape.attention.qk_norm = reader.switch(rules.qk_norm)?;
    shape.attention.sliding_window = reader.window(rules.window, sizes.layers, max_sequence)?;
    shape.norm = rules.norm;
    shape.norm_placement = rules.norm_placement;
    shape.tied_embeddings = reader.tied(rules.tied)?;
    Ok(shape)
}

/// StableLM 2 as most of its models are: attention before the MLP, no norms on single heads.
pub(super) fn read_stablelm(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    reader.refuse_flag("use_parallel_residual", true, Inexpressible::SingleNorm)?;
    reader.refuse_flag("qk_layernorm", true, Inexpressible::OwnLayout)?;
    read(reader, &rules::STABLELM)
}

/// MiMo: Qwen2's layers and one that predicts a second token.
pub(super) fn read_mimo(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    reader.note_next_token_layers()?;
    read(reader, &rules::QWEN2)
}

/// Llama 3.2 Vision: layers that attend to an image instead of the text are taken as self-attention,
/// which costs the same matrices; their norms of queries and keys, gates, and the eight rows for
/// image tokens are not counted.
pub(super) fn read_mllama(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    const NAME: &str = "cross_attention_layers";
    let layers = reader.config.counts(NAME, limits::CountRange { min: 0, max: u64::MAX })?;
    let shape = read(reader, &rules::MLLAMA)?;
    let layers = layers.map_or(8, |layers| layers.len() as u64);
    if layers > 0 {
        let of_a_layer = 2 * shape.attention.head_dim + 2;
        let params = layers.saturating_mul(of_a_layer) + 8 * shape.hidden;
        reader.note(NAME, NoteKind::CrossAttentionAsSelf { layers, params });
    }
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
    shape.tied_embeddings = reader.tied(false)?;
    Ok(shape)
}

/// Qwen v1: `intermediate_size` counts gate and up together; query, key and value carry biases even
/// with `no_bias: true`, which speaks of the other projections.
pub(super) fn read_qwen_v1(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&USUAL_NAMES)?;
    let doubled = limits::CountRange { min: 2, max: 2 * limits::FFN.max };
    let written = reader.config.required(&["intermediate_size"], doubled)?;
    if !written.is_multiple_of(2) {
        let rule = "is odd, but counts two matrices of equal width";
        return Err(reader.inconsistent("intermediate_size", written, rule));
    }
    reader.note("intermediate_size", NoteKind::HalvedWidth { written });
    let other_bias = !reader.flag_or("no_bias", true)?;
    let mlp = Mlp { ffn: written / 2, gated: true, bias: other_bias, activation: Activation::Silu };
    let max_sequence = reader.max_sequence(&["max_position_embeddings", "seq_length"], 8192)?;
    let mut shape = plain_decoder(&sizes, mlp, max_sequence);
    shape.attention.qkv_bias = true;
    shape.attention.output_bias = other_bias;
    shape.tied_embeddings = reader.tied(false)?;
    Ok(shape)
}
