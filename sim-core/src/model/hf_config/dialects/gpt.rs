//! GPT's dialect and its relatives: layer norms, an un-gated MLP.

use super::super::error::ImportError;
use super::super::refusal::{Inexpressible, unsupported};
use super::reader::{Names, Reader, Sizes, USUAL_NAMES, plain_decoder};
use super::window::WindowRule;
use crate::model::limits::{self, CountRange};
use crate::model::module::Module;
use crate::model::shape::{Activation, Mlp, ModelShape, NormKind, Positions};

const GPT2_NAMES: Names = Names {
    layers: &["n_layer", "num_hidden_layers"],
    hidden: &["n_embd", "hidden_size"],
    heads: &["n_head", "num_attention_heads"],
    vocab: &["vocab_size"],
};

const BLOOM_NAMES: Names = Names {
    layers: &["n_layer", "num_hidden_layers"],
    hidden: &["hidden_size", "n_embed"],
    heads: &["n_head", "num_attention_heads"],
    vocab: &["vocab_size"],
};

const FALCON_NAMES: Names = Names {
    layers: &["num_hidden_layers", "n_layer"],
    hidden: &["hidden_size"],
    heads: &["num_attention_heads", "n_head"],
    vocab: &["vocab_size"],
};

/// Layer norms, biases everywhere, positions and MLP as given.
pub(super) fn biased_decoder(
    sizes: &Sizes,
    ffn: u64,
    activation: Activation,
    positions: Positions,
    max_sequence: u64,
    module: Module,
) -> ModelShape {
    let mlp = Mlp { ffn, gated: false, bias: true, activation };
    let mut shape = plain_decoder(sizes, mlp, max_sequence);
    shape.attention.qkv_bias = true;
    shape.attention.output_bias = true;
    shape.norm = NormKind::LayerNorm;
    shape.positions = positions;
    shape.module = module;
    shape
}

/// The width of the MLP under `names`, or four times the stream.
fn ffn_or_four_times(
    reader: &Reader<'_, '_>,
    names: &[&'static str],
    hidden: u64,
) -> Result<u64, ImportError> {
    Ok(reader.config.count(names, limits::FFN)?.unwrap_or(4 * hidden))
}

pub(super) fn read_gpt2(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    read_learned(reader, "gelu_new")
}

/// GPT-BigCode (StarCoder): GPT-2 with one key-value head.
pub(super) fn read_gpt_bigcode(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let mut shape = read_learned(reader, "gelu_pytorch_tanh")?;
    if reader.flag_or("multi_query", true)? {
        shape.attention.kv_heads = 1;
    }
    Ok(shape)
}

fn read_learned(
    reader: &mut Reader<'_, '_>,
    activation: &'static str,
) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&GPT2_NAMES)?;
    let ffn = ffn_or_four_times(reader, &["n_inner"], sizes.hidden)?;
    let activation = reader.activation(&["activation_function"], activation)?;
    let rows = reader.config.required(&["n_positions", "n_ctx"], limits::MAX_SEQUENCE)?;
    let mut shape =
        biased_decoder(&sizes, ffn, activation, Positions::Learned { rows }, rows, Module::GPT2);
    shape.tied_embeddings = reader.tied(true)?;
    Ok(shape)
}

/// GPT-NeoX (Pythia): rotary positions, untied, attention and MLP usually side by side.
pub(super) fn read_gpt_neox(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&USUAL_NAMES)?;
    let ffn = reader.config.required(&["intermediate_size"], limits::FFN)?;
    let activation = reader.activation(&["hidden_act"], "gelu")?;
    let max_sequence = reader.max_sequence(&["max_position_embeddings"], 2048)?;
    let mut shape =
        biased_decoder(&sizes, ffn, activation, Positions::Rope, max_sequence, Module::NEOX);
    let attention_bias = reader.config.flag("attention_bias")?.unwrap_or(true);
    shape.attention.qkv_bias = attention_bias;
    shape.attention.output_bias = attention_bias;
    shape.module = shape.module.parallel(reader.flag_or("use_parallel_residual", true)?);
    shape.tied_embeddings = reader.tied(false)?;
    Ok(shape)
}

/// StarCoder2: rotary positions, grouped heads, a window.
pub(super) fn read_starcoder2(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&USUAL_NAMES)?;
    let ffn = reader.config.required(&["intermediate_size"], limits::FFN)?;
    let activation = reader.activation(&["hidden_act"], "gelu_pytorch_tanh")?;
    let max_sequence = reader.max_sequence(&["max_position_embeddings"], 4096)?;
    let mut shape =
        biased_decoder(&sizes, ffn, activation, Positions::Rope, max_sequence, Module::LLAMA);
    let bias = reader.flag_or("use_bias", true)?;
    shape.attention.qkv_bias = bias;
    shape.attention.output_bias = bias;
    shape.mlp.bias = bias;
    shape.attention.kv_heads = reader.kv_heads(&["num_key_value_heads"], sizes.heads)?;
    shape.attention.sliding_window =
        reader.window(WindowRule::Written, sizes.layers, max_sequence)?;
    shape.tied_embeddings = reader.tied(true)?;
    Ok(shape)
}

/// Falcon: the 40B and 180B layout (two norms a layer), and the sequential RW models.
///
/// Falcon-7B shares one norm between attention and MLP and is refused.
pub(super) fn read_falcon(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&FALCON_NAMES)?;
    let grouped = reader.flag_or("new_decoder_architecture", false)?;
    let parallel = reader.flag_or("parallel_attn", true)?;
    let norms = reader.config.count(&["num_ln_in_parallel_attn"], CountRange { min: 1, max: 2 })?;
    if parallel && norms.unwrap_or(if grouped { 2 } else { 1 }) == 1 {
        let reason = Inexpressible::SingleNorm;
        return Err(unsupported(reader.config, "parallel_attn", "true".to_owned(), reason));
    }
    let ffn = ffn_or_four_times(reader, &["ffn_hidden_size"], sizes.hidden)?;
    let max_sequence = reader.max_sequence(&["max_position_embeddings"], 2048)?;
    let positions =
        if reader.flag_or("alibi", false)? { Positions::Alibi } else { Positions::Rope };
    let activation = reader
        .config
        .text("activation")?
        .map_or(Ok(Activation::Gelu), |_| reader.activation(&["activation"], "gelu"))?;
    let mut shape = biased_decoder(&sizes, ffn, activation, positions, max_sequence, Module::GPT2);
    shape.module = shape.module.parallel(parallel || grouped);
    let bias = reader.flag_or("bias", false)?;
    shape.attention.qkv_bias = bias;
    shape.attention.output_bias = bias;
    shape.mlp.bias = bias;
    shape.attention.kv_heads = if grouped {
        reader.kv_heads(&["num_kv_heads", "n_head_kv"], sizes.heads)?
    } else if reader.flag_or("multi_query", true)? {
        1
    } else {
        sizes.heads
    };
    shape.tied_embeddings = reader.tied(true)?;
    Ok(shape)
}

/// OPT: a position table with two more rows than the context, ReLU.
///
/// OPT-350M, alone of its family, has its norms after the sum and narrower embeddings: refused.
pub(super) fn read_opt(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&USUAL_NAMES)?;
    let refuse =
        |name: &str, value: String, reason| Err(unsupported(reader.config, name, value, reason));
    if reader.config.flag("do_layer_norm_before")? == Some(false) {
        let reason = Inexpressible::PostNormDecoder;
        return refuse("do_layer_norm_before", "false".to_owned(), reason);
    }
    let width = reader.config.count(&["word_embed_proj_dim"], limits::HIDDEN)?;
    if let Some(width) = width.filter(|&width| width != sizes.hidden) {
        let reason = Inexpressible::ProjectedEmbeddings;
        return refuse("word_embed_proj_dim", width.to_string(), reason);
    }
    if reader.config.flag("layer_norm_elementwise_affine")? == Some(false) {
        let reason = Inexpressible::WeightlessNorms;
        return refuse("layer_norm_elementwise_affine", "false".to_owned(), reason);
    }
    let ffn = reader.config.required(&["ffn_dim"], limits::FFN)?;
    let activation = reader.activation(&["activation_function"], "relu")?;
    let max_sequence =
        reader.config.required(&["max_position_embeddings"], limits::MAX_SEQUENCE)?;
    let positions = Positions::Learned { rows: max_sequence + 2 };
    let mut shape = biased_decoder(&sizes, ffn, activation, positions, max_sequence, Module::OPT);
    let bias = reader.config.flag("enable_bias")?.unwrap_or(true);
    shape.attention.qkv_bias = bias;
    shape.attention.output_bias = bias;
    shape.mlp.bias = bias;
    shape.final_norm = !reader.config.flag("_remove_final_layer_norm")?.unwrap_or(false);
    shape.tied_embeddings = reader.tied(true)?;
    Ok(shape)
}

/// BLOOM: ALiBi, a norm after the embedding, an MLP of four times the stream.
pub(super) fn read_bloom(reader: &mut Reader<'_, '_>) -> Result<ModelShape, ImportError> {
    let sizes = reader.sizes(&BLOOM_NAMES)?;
    let after_norm = "apply_residual_connection_post_layernorm";
    if reader.config.flag(after_norm)? == Some(true) {
        let reason = Inexpressible::OwnLayout;
        return Err(unsupported(reader.config, after_norm, "true".to_owned(), reason));
    }
    let ffn = ffn_or_four_times(reader, &["n_inner"], sizes.hidden)?;
    let max_sequence = reader.max_sequence(&["seq_length"], 2048)?;
    // Its tanh GELU is one autograd function that keeps only the input, as a fused GELU does.
    let mut shape = biased_decoder(
        &sizes,
        ffn,
        Activation::Gelu,
        Positions::Alibi,
        max_sequence,
        Module::BLOOM,
    );
    shape.embedding_norm = true;
    shape.tied_embeddings = reader.tied(true)?;
    Ok(shape)
}
