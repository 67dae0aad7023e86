//! ChatGLM's own dialect (ChatGLM2, ChatGLM3, GLM-4 before its port to `transformers`).

use super::super::error::ImportError;
use super::super::refusal::{Inexpressible, unsupported};
use super::reader::{Names, Reader, plain_decoder};
use crate::model::limits;
use crate::model::module::Module;
use crate::model::shape::{Activation, Mlp, ModelShape, NormKind};

const NAMES: Names = Names {
    layers: &["num_layers", "num_hidden_layers"],
    hidden: &["hidden_size"],
    heads: &["num_attention_heads"],
    vocab: &["padded_vocab_size", "vocab_size"],
};

pub(super) fn read_chatglm(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&NAMES)?;
    let ffn = reader.config.required(&["ffn_hidden_size"], limits::FFN)?;
    let after_norm = "apply_residual_connection_post_layernorm";
    if reader.config.flag(after_norm)? == Some(true) {
        let reason = Inexpressible::OwnLayout;
        return Err(unsupported(reader.config, after_norm, "true".to_owned(), reason));
    }
    let all_biases = reader.flag_or("add_bias_linear", false)?;
    let max_sequence = reader.max_sequence(&["seq_length"], 2048)?;
    let mlp = Mlp { ffn, gated: true, bias: all_biases, activation: Activation::Silu };
    let mut shape = plain_decoder(&sizes, mlp, max_sequence);
    if reader.flag_or("multi_query_attention", false)? {
        shape.attention.kv_heads = reader.kv_heads(&["multi_query_group_num"], sizes.heads)?;
    }
    shape.attention.qkv_bias = all_biases || reader.flag_or("add_qkv_bias", false)?;
    shape.attention.output_bias = all_biases;
    shape.norm = if reader.flag_or("rmsnorm", true)? { NormKind::Rms } else { NormKind::LayerNorm };
    shape.module = Module::PHI3;
    shape.final_norm = reader.flag_or("post_layer_norm", true)?;
    shape.tied_embeddings = reader.tied(false)?;
    Ok(shape)
}
