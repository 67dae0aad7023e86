//! Latent attention: DeepSeek V2 and V3, Kimi K2, GLM-4.7-Flash, MiniCPM3.

use super::super::error::ImportError;
use super::super::refusal::Inexpressible;
use super::experts::{self, ExpertFields};
use super::llama;
use super::moe;
use super::reader::{HeadDim, Reader, Switch};
use super::rules::{self, Rules};
use crate::model::limits::{self, CountRange};
use crate::model::shape::{LatentAttention, ModelShape};

/// The first models with experts; heads with keys and values of their own.
pub(super) fn read_v1(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    moe::read_after_dense(reader, &rules::DEEPSEEK, &experts::DEEPSEEK, 0)
}

/// DeepSeek V2; a file without a latent is read as the first models were.
pub(super) fn read_v2(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let rank = CountRange { min: 0, max: limits::LATENT.max };
    if reader.config.count(&["kv_lora_rank"], rank)?.unwrap_or(0) == 0 {
        return read_v1(reader);
    }
    read_latent(reader, "greedy")
}

/// DeepSeek V3 and its kin: a bias on the router's scores unless the file names another choice.
pub(super) fn read_v3(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    read_latent(reader, BIASED)
}

/// The choice of experts that adds a bias to their scores.
const BIASED: &str = "noaux_tc";

fn read_latent(
    reader: &mut Reader<'_, '_>,
    default_choice: &'static str,
) -> Result<ModelShape, ImportError> {
    reader.refuse_flag("attention_bias", true, Inexpressible::OwnLayout)?;
    reader.note_next_token_layers()?;
    let latent = LatentAttention {
        query_rank: query_rank(reader)?,
        kv_rank: reader.config.required(&["kv_lora_rank"], limits::LATENT)?,
        nope_dim: reader.config.required(&["qk_nope_head_dim"], limits::LATENT)?,
        rope_dim: reader.config.required(&["qk_rope_head_dim"], limits::LATENT)?,
        value_dim: reader.config.required(&["v_head_dim"], limits::LATENT)?,
    };
    let mut shape = with_latent(reader, &rules::DEEPSEEK, latent)?;
    let choice = reader.config.text("topk_method")?.unwrap_or(default_choice);
    let router_bias = if choice == BIASED { Switch::Always } else { Switch::Never };
    let fields = ExpertFields { router_bias, ..experts::DEEPSEEK };
    shape.experts = match reader.experts(&fields)? {
        Some(experts) => reader.experts_after_dense(experts, shape.layers, 0)?,
        None => None,
    };
    Ok(shape)
}

/// `null` means one full matrix; a missing field the rank of DeepSeek's large models.
fn query_rank(reader: &mut Reader<'_, '_>) -> Result<Option<u64>, ImportError> {
    const NAME: &str = "q_lora_rank";
    if !reader.config.writes(NAME) {
        return Ok(Some(reader.or_default(NAME, None, 1536)));
    }
    let accepted = CountRange { min: 0, max: limits::LATENT.max };
    Ok(reader.config.count(&[NAME], accepted)?.filter(|&rank| rank > 0))
}

/// MiniCPM3: a dense model; values as wide as the stream over the heads.
pub(super) fn read_minicpm3(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let hidden = reader.config.required(&["hidden_size"], limits::HIDDEN)?;
    let heads = reader.config.required(&["num_attention_heads"], limits::HEADS)?;
    let written = reader.config.count(&["v_head_dim"], limits::LATENT)?;
    let latent = LatentAttention {
        query_rank: Some(reader.config.required(&["q_lora_rank"], limits::LATENT)?),
        kv_rank: reader.config.required(&["kv_lora_rank"], limits::LATENT)?,
        nope_dim: reader.config.required(&["qk_nope_head_dim"], limits::LATENT)?,
        rope_dim: reader.config.required(&["qk_rope_head_dim"], limits::LATENT)?,
        value_dim: reader.or_default("v_head_dim", written, (hidden / heads).max(1)),
    };
    with_latent(reader, &rules::MINICPM, latent)
}

/// A shape whose heads are those of `latent`; the file's own widths and numbers of heads that share
/// keys say nothing here.
fn with_latent(
    reader: &mut Reader<'_, '_>,
    rules: &Rules,
    latent: LatentAttention,
) -> Result<ModelShape, ImportError> {
    let head_dim = HeadDim::Fixed(latent.nope_dim + latent.rope_dim);
    let rules = Rules { head_dim, ..*rules };
    let mut shape = llama::read(reader, &rules)?;
    shape.attention.kv_heads = shape.attention.heads;
    shape.attention.latent = Some(latent);
    Ok(shape)
}
