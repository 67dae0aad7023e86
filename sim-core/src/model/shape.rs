//! The shape of a transformer: the numbers from which parameters, FLOPs and bytes follow.

use serde::{Deserialize, Serialize};

/// Which half of the transformer the model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// Causal language model (GPT, Llama): attention looks back only, a head predicts the next token.
    Decoder,
    /// Bidirectional encoder (BERT): every token sees every token.
    Encoder,
}

/// How a layer normalizes its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormKind {
    /// Root-mean-square norm: one weight per channel.
    Rms,
    /// Layer norm: a weight and a bias per channel.
    LayerNorm,
}

/// Where the norms of a layer sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormPlacement {
    /// Before attention and before the MLP (GPT-2 and everything after it).
    Pre,
    /// After the residual sum (BERT).
    Post,
}

/// How positions enter the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// Rotation of queries and keys: no parameters.
    Rope,
    /// A learned table with this many rows (OPT stores two more rows than its context).
    Learned { rows: u64 },
    /// A bias on the attention scores: no parameters.
    Alibi,
}

/// The pointwise function of the MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// Exact GELU (error function), one kernel.
    Gelu,
    /// GELU's tanh form, written out in several kernels by GPT-2's reference code.
    GeluTanh,
    /// SiLU, usually in a gated MLP (SwiGLU).
    Silu,
    /// ReLU (OPT).
    Relu,
}

/// The projections of self-attention.
///
/// Shapes: query `[hidden, heads · head_dim]`, key and value `[hidden, kv_heads · head_dim]`,
/// output `[heads · head_dim, hidden]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// Query heads.
    pub heads: u64,
    /// Key and value heads: `heads` for MHA, 1 for MQA, between for GQA.
    pub kv_heads: u64,
    /// Channels per head; not always `hidden / heads` (Qwen3, Gemma).
    pub head_dim: u64,
    /// Biases on query, key and value.
    pub qkv_bias: bool,
    /// Bias on the output projection.
    pub output_bias: bool,
    /// RMS norms over `head_dim` on queries and keys (Qwen3).
    pub qk_norm: bool,
    /// Tokens that a query may look back on, where limited.
    pub sliding_window: Option<u64>,
}

/// The feed-forward block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mlp {
    /// Inner width.
    pub ffn: u64,
    /// Gate and up projections instead of one (SwiGLU).
    pub gated: bool,
    /// Biases on all its projections.
    pub bias: bool,
    pub activation: Activation,
}

/// A dense transformer.
///
/// Counts are exact integers; see [`crate::model::params`] for what they add up to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelShape {
    pub architecture: Architecture,
    pub layers: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    pub attention: Attention,
    pub mlp: Mlp,
    pub vocab: u64,
    pub norm: NormKind,
    pub norm_placement: NormPlacement,
    pub positions: Positions,
    /// Rows of the segment table (BERT: 2, else 0).
    pub token_types: u64,
    /// A norm right after the embeddings (BERT, BLOOM).
    pub embedding_norm: bool,
    /// A norm after the last layer.
    pub final_norm: bool,
    /// Input and output embeddings are one matrix.
    pub tied_embeddings: bool,
    /// A projection to the vocabulary at the end.
    pub lm_head: bool,
    /// A dense layer over the first token (BERT).
    pub pooler: bool,
    /// The longest context it was made for, in tokens.
    pub max_sequence: u64,
}
