//! T5's dialect (T5, T5 v1.1, FLAN-T5, mT5): an encoder and a decoder with relative positions.

use super::super::error::ImportError;
use super::super::fields::shortened;
use super::super::refusal::Inexpressible;
use super::reader::{HeadDim, Names, Reader, activation_called, plain_decoder};
use crate::model::limits;
use crate::model::shape::{Activation, Architecture, Mlp, ModelShape, Positions};

const NAMES: Names = Names {
    layers: &["num_layers", "num_hidden_layers"],
    hidden: &["d_model", "hidden_size"],
    heads: &["num_heads", "num_attention_heads"],
    vocab: &["vocab_size"],
};

/// The width of a head must be written: 64 in most files, 128 in T5-3B and 11B, and never the
/// stream over the heads.
pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let head_dim = reader.config.required(&["d_kv"], limits::HEAD_DIM)?;
    let sizes = reader.sizes_of_class(&NAMES, HeadDim::Fixed(head_dim), None)?;
    let ffn = reader.config.required(&["d_ff"], limits::FFN)?;
    let (activation, gated) = feed_forward(reader)?;
    let max_sequence = reader.config.count(&["n_positions"], limits::MAX_SEQUENCE)?;
    let max_sequence = reader.or_default("n_positions", max_sequence, 512);
    let mut shape =
        plain_decoder(&sizes, Mlp { ffn, gated, bias: false, activation }, max_sequence);
    let buckets = reader.count_or(&["relative_attention_num_buckets"], limits::BUCKETS, 32)?;
    shape.positions = Positions::Relative { buckets };
    let class = reader.config.first_text("architectures")?.unwrap_or_default();
    if class.contains("EncoderModel") {
        shape.architecture = Architecture::Encoder;
        shape.lm_head = false;
        shape.tied_embeddings = true;
        return Ok(shape);
    }
    shape.architecture = Architecture::EncoderDecoder;
    shape.encoder_layers = sizes.layers;
    let decoder = reader.config.count(&["num_decoder_layers"], limits::LAYERS)?;
    shape.layers = decoder.unwrap_or(sizes.layers);
    shape.tied_embeddings = reader.tied(true)?;
    Ok(shape)
}

/// `relu`, or `gated-` and the name of an activation; gated GELU is written out in several kernels.
fn feed_forward(reader: &mut Reader<'_, '_>) -> Result<(Activation, bool), ImportError> {
    const NAME: &str = "feed_forward_proj";
    let written = reader.config.text(NAME)?;
    let text = written.unwrap_or("relu");
    reader.or_default(NAME, written, "relu");
    let (name, gated) = match text.strip_prefix("gated-") {
        Some("gelu") => ("gelu_new", true),
        Some(name) => (name, true),
        None => (text, false),
    };
    match activation_called(name) {
        Some(activation) => Ok((activation, gated)),
        None => Err(reader.unsupported(NAME, shortened(text), Inexpressible::UnknownActivation)),
    }
}
