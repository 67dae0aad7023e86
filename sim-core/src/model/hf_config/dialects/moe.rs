//! Llama's relatives with experts.

use super::super::error::ImportError;
use super::super::note::NoteKind;
use super::super::refusal::Inexpressible;
use super::experts::{self, ExpertFields};
use super::llama;
use super::reader::Reader;
use super::rules::{self, Rules};
use crate::model::limits::{self, CountRange};
use crate::model::shape::{Experts, ModelShape, SlidingWindow};

const MAY_BE_NONE: CountRange = CountRange { min: 0, max: limits::LAYERS.max };

/// Experts in every layer (Mixtral, Granite, gpt-oss).
pub(super) fn read_everywhere(
    reader: &mut Reader<'_, '_>,
    rules: &Rules,
    fields: &ExpertFields,
) -> Result<ModelShape, ImportError> {
    let mut shape = llama::read(reader, rules)?;
    shape.experts = reader.experts(fields)?;
    Ok(shape)
}

pub(super) fn read_gpt_oss(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let mut shape = read_everywhere(reader, &rules::GPT_OSS, &experts::GPT_OSS)?;
    shape.attention.sinks = true;
    Ok(shape)
}

/// Qwen2-MoE and Qwen3-MoE: every `decoder_sparse_step`-th layer but those in `mlp_only_layers`.
pub(super) fn read_qwen(
    reader: &mut Reader<'_, '_>,
    rules: &Rules,
) -> Result<ModelShape, ImportError> {
    const DENSE: &str = "mlp_only_layers";
    let mut shape = llama::read(reader, rules)?;
    let Some(mut experts) = reader.experts(&experts::QWEN)? else { return Ok(shape) };
    let shared = CountRange { min: 0, max: limits::SHARED_FFN.max };
    let shared = reader.config.count(&["shared_expert_intermediate_size"], shared)?;
    experts.shared_ffn = shared.unwrap_or(0);
    experts.shared_gate = experts.shared_ffn > 0;
    let dense = reader.config.counts(DENSE, MAY_BE_NONE)?.unwrap_or_default();
    let step = reader.config.count(&["decoder_sparse_step"], limits::LAYERS)?.unwrap_or(1);
    let mut flags: Vec<bool> =
        (0..shape.layers).map(|layer| (layer + 1).is_multiple_of(step)).collect();
    for layer in dense {
        if let Some(flag) = usize::try_from(layer).ok().and_then(|layer| flags.get_mut(layer)) {
            *flag = false;
        }
    }
    shape.experts = reader.experts_on(experts, DENSE, &flags)?;
    Ok(shape)
}

/// Dense layers at the beginning, experts for every token, and layers that predict further tokens:
/// DeepSeek's first (without latent attention), dots, GLM-4.5, Ling.
pub(super) fn read_after_dense(
    reader: &mut Reader<'_, '_>,
    rules: &Rules,
    fields: &ExpertFields,
    default_dense: u64,
) -> Result<ModelShape, ImportError> {
    reader.note_next_token_layers()?;
    let mut shape = llama::read(reader, rules)?;
    shape.experts = match reader.experts(fields)? {
        Some(experts) => reader.experts_after_dense(experts, shape.layers, default_dense)?,
        None => None,
    };
    Ok(shape)
}

/// ERNIE 4.5: every `moe_layer_interval`-th layer from one index to another.
pub(super) fn read_ernie(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    const START: &str = "moe_layer_start_index";
    const END: &str = "moe_layer_end_index";
    reader.note_next_token_layers()?;
    let mut shape = llama::read(reader, &rules::ERNIE_MOE)?;
    let Some(experts) = reader.experts(&experts::ERNIE)? else { return Ok(shape) };
    let start = reader.count_or(&[START], MAY_BE_NONE, 1)?;
    let interval = reader.config.count(&["moe_layer_interval"], limits::LAYERS)?.unwrap_or(1);
    // -1 stands for the last layer.
    let is_last = reader.config.get(END).is_some_and(|end| end.as_i64() == Some(-1));
    let end = if is_last { None } else { reader.config.count(&[END], MAY_BE_NONE)? };
    let end = end.unwrap_or(shape.layers - 1);
    let flags: Vec<bool> = (0..shape.layers)
        .map(|layer| (start..=end).contains(&layer) && (layer + 1).is_multiple_of(interval))
        .collect();
    shape.experts = reader.experts_on(experts, START, &flags)?;
    Ok(shape)
}

/// Llama 4: `intermediate_size` is an expert's width and that of the one for every token,
/// `intermediate_size_mlp` that of dense layers; attention within chunks but for every fourth layer.
pub(super) fn read_llama4(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let mut shape = llama::read_with_width(reader, &rules::LLAMA4, &["intermediate_size_mlp"])?;
    shape.attention.sliding_window = chunks(reader, &shape)?;
    let accepted = CountRange { min: 0, max: limits::EXPERTS.max };
    let count = match reader.omits_defaults {
        true => reader.count_or(&["num_local_experts"], accepted, 16)?,
        false => reader.config.count(&["num_local_experts"], accepted)?.unwrap_or(0),
    };
    let listed = reader.config.counts("moe_layers", MAY_BE_NONE)?;
    let step = reader.config.count(&["interleave_moe_layer_step"], MAY_BE_NONE)?.unwrap_or(1);
    if count == 0 || listed.as_ref().is_some_and(Vec::is_empty) || step == 0 {
        return Ok(shape);
    }
    let each = CountRange { min: 1, max: count };
    let active = reader.count_or(&["num_experts_per_tok"], each, 1)?;
    let ffn = reader.size(&["intermediate_size"], limits::FFN, Some(8192))?;
    let experts = Experts {
        count,
        active,
        ffn,
        shared_ffn: ffn,
        shared_gate: false,
        router_bias: false,
        first_dense: 0,
        every: 1,
    };
    let flags: Vec<bool> = match &listed {
        Some(listed) => {
            let mut flags = vec![false; usize::try_from(shape.layers).unwrap_or(0)];
            for &layer in listed {
                if let Some(flag) =
                    usize::try_from(layer).ok().and_then(|layer| flags.get_mut(layer))
                {
                    *flag = true;
                }
            }
            flags
        }
        None => (0..shape.layers).map(|layer| (layer + 1).is_multiple_of(step)).collect(),
    };
    let field = if listed.is_some() { "moe_layers" } else { "interleave_moe_layer_step" };
    shape.experts = reader.experts_on(experts, field, &flags)?;
    Ok(shape)
}

/// The chunks of Llama 4 as a window: the same tokens cached, up to twice the scores.
fn chunks(
    reader: &mut Reader<'_, '_>,
    shape: &ModelShape,
) -> Result<Option<SlidingWindow>, ImportError> {
    const TOKENS: &str = "attention_chunk_size";
    const FLAGS: &str = "no_rope_layers";
    let written = if reader.config.writes(TOKENS) {
        reader.config.count(&[TOKENS], limits::MAX_SEQUENCE)?
    } else {
        Some(reader.or_default(TOKENS, None, 8192))
    };
    let Some(tokens) = written else { return Ok(None) };
    let interval = reader.config.count(&["no_rope_layer_interval"], limits::LAYERS)?.unwrap_or(4);
    // The name notwithstanding, 1 stands for a layer with rotary positions, which has chunks.
    let flags = reader.config.counts(FLAGS, CountRange { min: 0, max: 1 })?;
    let (chunked, field): (Vec<bool>, _) = match flags.filter(|flags| !flags.is_empty()) {
        Some(flags) if flags.len() as u64 != shape.layers => {
            return Err(reader.inconsistent(FLAGS, flags.len(), "items, not one for each layer"));
        }
        Some(flags) => (flags.into_iter().map(|flag| flag != 0).collect(), FLAGS),
        None => {
            let chunked = |layer: u64| !(layer + 1).is_multiple_of(interval);
            ((0..shape.layers).map(chunked).collect(), "no_rope_layer_interval")
        }
    };
    if tokens >= shape.max_sequence || !chunked.contains(&true) {
        reader.note(TOKENS, NoteKind::WindowInactive { tokens });
        return Ok(None);
    }
    reader.note(TOKENS, NoteKind::ChunksAsWindows { tokens });
    let full_every = reader.period_of_full_layers(&chunked, field)?;
    Ok(Some(SlidingWindow { tokens, full_every }))
}

/// Granite's experts, with one for every token where its width is written.
pub(super) fn read_granite(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let mut shape = read_everywhere(reader, &rules::LLAMA, &experts::MIXTRAL)?;
    let shared = reader.config.count(&["shared_intermediate_size"], limits::SHARED_FFN)?;
    if let Some(experts) = &mut shape.experts {
        experts.shared_ffn = shared.unwrap_or(0);
    }
    Ok(shape)
}

/// Ling: the width of its experts for every token may be written on its own.
pub(super) fn read_bailing(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    const SHARED: &str = "moe_shared_expert_intermediate_size";
    let mut shape = read_after_dense(reader, &rules::BAILING, &experts::BAILING, 0)?;
    let written = reader.config.count(&[SHARED], limits::SHARED_FFN)?;
    if let (Some(width), Some(experts)) = (written, &mut shape.experts) {
        if !width.is_multiple_of(experts.ffn) {
            return Err(reader.unsupported(SHARED, width, Inexpressible::OwnLayout));
        }
        if experts.shared_ffn > 0 {
            experts.shared_ffn = experts.shared_ffn / experts.ffn * width;
        }
    }
    Ok(shape)
}
