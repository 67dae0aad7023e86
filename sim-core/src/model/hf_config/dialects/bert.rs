//! BERT's dialect: an encoder with its norms after the sum, segments and a pooler.

use super::super::error::ImportError;
use super::super::note::NoteKind;
use super::super::refusal::{Inexpressible, unsupported};
use super::reader::{Reader, USUAL_NAMES, plain_decoder};
use crate::model::limits;
use crate::model::module::Module;
use crate::model::shape::{Architecture, Mlp, ModelShape, NormKind, NormPlacement, Positions};

/// What `max_position_embeddings` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// The context (BERT).
    Context,
    /// The context and two rows of padding (RoBERTa).
    ContextAndTwo,
}

pub(super) fn read(reader: &mut Reader<'_, '_>, rows: Rows) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&USUAL_NAMES)?;
    let kind = "position_embedding_type";
    if let Some(text) = reader.config.text(kind)?.filter(|&text| text != "absolute") {
        let reason = Inexpressible::RelativePositions;
        let value = super::super::fields::shortened(text);
        return Err(unsupported(reader.config, kind, value, reason));
    }
    if reader.config.flag("is_decoder")? == Some(true) {
        let reason = Inexpressible::PostNormDecoder;
        return Err(unsupported(reader.config, "is_decoder", "true".to_owned(), reason));
    }
    let ffn = reader.config.required(&["intermediate_size"], limits::FFN)?;
    let activation = reader.activation(&["hidden_act"], "gelu")?;
    let table = reader.config.required(&["max_position_embeddings"], limits::MAX_SEQUENCE)?;
    let max_sequence = match rows {
        Rows::Context => table,
        Rows::ContextAndTwo => table.saturating_sub(2).max(1),
    };
    let written_types = reader.config.count(&["type_vocab_size"], limits::TOKEN_TYPES)?;
    let token_types = reader.or_default("type_vocab_size", written_types, 2);
    let class = reader.config.first_text("architectures")?;
    let mlm_head = class.is_some_and(|class| class.ends_with("ForMaskedLM"));
    if !mlm_head && class.is_some_and(|class| class.contains("For")) {
        reader.note("architectures", NoteKind::PretrainingHeadsNotCounted);
    }
    let mlp = Mlp { ffn, gated: false, bias: true, activation };
    let mut shape = plain_decoder(&sizes, mlp, max_sequence);
    shape.architecture = Architecture::Encoder;
    shape.attention.qkv_bias = true;
    shape.attention.output_bias = true;
    shape.norm = NormKind::LayerNorm;
    shape.norm_placement = NormPlacement::Post;
    shape.positions = Positions::Learned { rows: table };
    shape.token_types = token_types;
    shape.embedding_norm = true;
    shape.final_norm = false;
    shape.tied_embeddings = true;
    shape.module = Module::BERT;
    shape.lm_head = false;
    shape.pooler = true;
    if mlm_head {
        shape.add_mlm_head();
    }
    Ok(shape)
}
