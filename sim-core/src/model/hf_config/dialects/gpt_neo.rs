//! GPT-Neo's dialect: GPT-2 with a window on every other layer and no biases on its projections of
//! queries, keys and values.

use super::super::error::ImportError;
use super::super::fields::shown;
use super::super::refusal::Inexpressible;
use super::gpt::biased_decoder;
use super::reader::{Names, Reader};
use crate::model::limits;
use crate::model::module::Module;
use crate::model::shape::{ModelShape, Positions, SlidingWindow};

const NAMES: Names = Names {
    layers: &["num_layers", "num_hidden_layers"],
    hidden: &["hidden_size"],
    heads: &["num_heads", "num_attention_heads"],
    vocab: &["vocab_size"],
};

pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&NAMES)?;
    let ffn = reader.config.count(&["intermediate_size"], limits::FFN)?.unwrap_or(4 * sizes.hidden);
    let activation = reader.activation(&["activation_function"], "gelu_new")?;
    let rows = reader.config.required(&["max_position_embeddings"], limits::MAX_SEQUENCE)?;
    let mut shape =
        biased_decoder(&sizes, ffn, activation, Positions::Learned { rows }, rows, Module::LLAMA);
    shape.attention.qkv_bias = false;
    let tokens = reader.count_or(&["window_size"], limits::MAX_SEQUENCE, 256)?;
    let windowed = windowed(reader, sizes.layers)?;
    if windowed.contains(&true) && tokens < rows {
        let full_every = reader.period_of_full_layers(&windowed, LAYERS)?;
        shape.attention.sliding_window = Some(SlidingWindow { tokens, full_every });
    }
    shape.tied_embeddings = reader.tied(true)?;
    Ok(shape)
}

/// The kind of every layer, `global` or `local`.
const LAYERS: &str = "attention_layers";

/// Which layers are `local`; every other one, the first of them global, unless the file says so.
fn windowed(reader: &Reader<'_, '_>, layers: u64) -> Result<Vec<bool>, ImportError> {
    let Some(kinds) = reader.config.list(LAYERS)? else {
        return Ok((0..layers).map(|layer| layer % 2 == 1).collect());
    };
    if kinds.len() as u64 != layers {
        return Err(reader.inconsistent(LAYERS, kinds.len(), "items, not one for each layer"));
    }
    kinds
        .iter()
        .map(|kind| match kind.as_str() {
            Some("global") => Ok(false),
            Some("local") => Ok(true),
            _ => Err(reader.unsupported(LAYERS, shown(kind), Inexpressible::MixedLayers)),
        })
        .collect()
}
