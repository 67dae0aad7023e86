//! Encoders close to BERT: DistilBERT and ELECTRA.

use super::super::error::ImportError;
use super::super::note::NoteKind;
use super::super::refusal::Inexpressible;
use super::bert;
use super::reader::{Names, Reader, Sizes, plain_decoder};
use crate::model::limits;
use crate::model::shape::{
    Activation, Architecture, Mlp, ModelShape, NormKind, NormPlacement, Positions,
};

const NAMES: Names = Names {
    layers: &["n_layers", "num_hidden_layers"],
    hidden: &["dim", "hidden_size"],
    heads: &["n_heads", "num_attention_heads"],
    vocab: &["vocab_size"],
};

/// BERT's layers with `rows` positions, without segments, pooler and head.
fn encoder(sizes: &Sizes, ffn: u64, activation: Activation, rows: u64) -> ModelShape {
    let mlp = Mlp { ffn, gated: false, bias: true, activation };
    let mut shape = plain_decoder(sizes, mlp, rows);
    shape.architecture = Architecture::Encoder;
    shape.attention.qkv_bias = true;
    shape.attention.output_bias = true;
    shape.norm = NormKind::LayerNorm;
    shape.norm_placement = NormPlacement::Post;
    shape.positions = Positions::Learned { rows };
    shape.embedding_norm = true;
    shape.final_norm = false;
    shape.tied_embeddings = true;
    shape.lm_head = false;
    shape
}

/// DistilBERT: no segments, no pooler; sine positions are stored as a table too.
pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&NAMES)?;
    let ffn = reader.config.required(&["hidden_dim", "intermediate_size"], limits::FFN)?;
    let activation = reader.activation(&["activation", "hidden_act"], "gelu")?;
    let rows = reader.config.required(&["max_position_embeddings"], limits::MAX_SEQUENCE)?;
    if reader.config.first_text("architectures")?.is_some_and(|class| class.contains("For")) {
        reader.note("architectures", NoteKind::PretrainingHeadsNotCounted);
    }
    Ok(encoder(&sizes, ffn, activation, rows))
}

/// ELECTRA: BERT without a pooler; embeddings of another width are projected, and refused.
pub(super) fn read_electra(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    const WIDTH: &str = "embedding_size";
    let mut shape = bert::read(reader, bert::Rows::Context)?;
    let width = reader.count_or(&[WIDTH], limits::HIDDEN, 128)?;
    if width != shape.hidden {
        return Err(reader.unsupported(WIDTH, width, Inexpressible::ProjectedEmbeddings));
    }
    shape.pooler = false;
    Ok(shape)
}
