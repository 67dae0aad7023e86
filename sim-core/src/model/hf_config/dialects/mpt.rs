//! Databricks' dialects (MPT, DBRX): layer norms without biases, settings of attention nested.

use super::super::error::ImportError;
use super::super::fields::{Object, shortened};
use super::super::refusal::{Inexpressible, unsupported};
use super::reader::{HeadDim, Names, Reader, Sizes, activation_called, plain_decoder};
use crate::model::limits::{self, CountRange};
use crate::model::shape::{Activation, Experts, Mlp, ModelShape, NormKind, Positions};

const NAMES: Names = Names {
    layers: &["n_layers"],
    hidden: &["d_model"],
    heads: &["n_heads"],
    vocab: &["vocab_size"],
};

pub(super) fn read_mpt(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&NAMES)?;
    let ratio = CountRange { min: 1, max: 64 };
    let ratio = reader.count_or(&["expansion_ratio"], ratio, 4)?;
    let ffn = sizes.hidden * ratio;
    let bias = !reader.flag_or("no_bias", true)?;
    let max_sequence = reader.max_sequence(&["max_seq_len"], 2048)?;
    let mlp = Mlp { ffn, gated: false, bias, activation: Activation::Gelu };
    let mut shape = plain_decoder(&sizes, mlp, max_sequence);
    shape.attention.qkv_bias = bias;
    shape.attention.output_bias = bias;
    shape.norm = if bias { NormKind::LayerNorm } else { NormKind::LayerNormWithoutBias };
    let attention = reader.config.object("attn_config")?;
    let attention = attention.as_ref();
    let flag = |name: &str| attention.map_or(Ok(None), |part| part.flag(name));
    if let Some(part) = attention.filter(|_| flag("qk_ln") == Ok(Some(true))) {
        let reason = Inexpressible::WideQueryKeyNorm;
        return Err(unsupported(part, "qk_ln", "true".to_owned(), reason));
    }
    flag("qk_ln")?;
    shape.attention.kv_heads = kv_heads(attention, &sizes)?;
    let learned = reader.config.flag("learned_pos_emb")?.unwrap_or(true);
    shape.positions = match flag("alibi")? {
        Some(true) => Positions::Alibi,
        _ if flag("rope")? == Some(true) => Positions::Rope,
        _ if learned => Positions::Learned { rows: max_sequence },
        _ => return Err(reader.unsupported("learned_pos_emb", false, Inexpressible::OwnLayout)),
    };
    shape.tied_embeddings = reader.tied(true)?;
    Ok(shape)
}

/// Key-value heads by the kind of attention.
fn kv_heads(attention: Option<&Object<'_>>, sizes: &Sizes) -> Result<u64, ImportError> {
    let Some(part) = attention else { return Ok(sizes.heads) };
    match part.text("attn_type")? {
        None | Some("multihead_attention") => Ok(sizes.heads),
        Some("multiquery_attention") => Ok(1),
        Some("grouped_query_attention") => {
            part.required(&["kv_n_heads"], CountRange { min: 1, max: sizes.heads })
        }
        Some(kind) => {
            Err(unsupported(part, "attn_type", shortened(kind), Inexpressible::OwnLayout))
        }
    }
}

/// DBRX: experts in every layer.
pub(super) fn read_dbrx(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes_of_class(&NAMES, HeadDim::Derived, None)?;
    let attention = nested(reader, "attn_config")?;
    let feed_forward = nested(reader, "ffn_config")?;
    let ffn = feed_forward.required(&["ffn_hidden_size"], limits::FFN)?;
    let count = feed_forward.required(&["moe_num_experts"], limits::EXPERTS)?;
    let active = feed_forward.required(&["moe_top_k"], CountRange { min: 1, max: count })?;
    let max_sequence = reader.max_sequence(&["max_seq_len"], 2048)?;
    let activation = activation_of(&feed_forward)?;
    let mlp = Mlp { ffn, gated: true, bias: false, activation };
    let mut shape = plain_decoder(&sizes, mlp, max_sequence);
    shape.attention.kv_heads =
        attention.required(&["kv_n_heads"], CountRange { min: 1, max: sizes.heads })?;
    shape.norm = NormKind::LayerNormWithoutBias;
    shape.experts = Some(Experts {
        count,
        active,
        ffn,
        shared_ffn: 0,
        shared_gate: false,
        router_bias: false,
        first_dense: 0,
        every: 1,
    });
    shape.tied_embeddings = reader.tied(false)?;
    Ok(shape)
}

fn nested<'a>(reader: &Reader<'a, '_>, name: &'static str) -> Result<Object<'a>, ImportError> {
    reader.config.object(name)?.ok_or_else(|| ImportError::Missing {
        field: reader.config.path_of(name),
        alternatives: &[],
    })
}

fn activation_of(feed_forward: &Object<'_>) -> Result<Activation, ImportError> {
    let Some(part) = feed_forward.object("ffn_act_fn")? else { return Ok(Activation::Silu) };
    let name = part.text("name")?.unwrap_or("silu");
    activation_called(name).ok_or_else(|| {
        unsupported(&part, "name", shortened(name), Inexpressible::UnknownActivation)
    })
}
