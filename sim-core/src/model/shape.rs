//! The shape of a transformer: the numbers from which parameters, FLOPs and bytes follow.

use super::module::Module;
use serde::{Deserialize, Serialize};

/// Which half of the transformer the model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// Causal language model (GPT, Llama): attention looks back only, a head predicts the next token.
    Decoder,
    /// Bidirectional encoder (BERT): every token sees every token.
    Encoder,
    /// An encoder, and a decoder whose layers also attend to the encoder's output (T5).
    EncoderDecoder,
}

/// How a layer normalizes its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormKind {
    /// Root-mean-square norm: one weight per channel.
    Rms,
    /// Layer norm: a weight and a bias per channel.
    LayerNorm,
    /// Layer norm with a weight per channel only (MPT, DBRX).
    LayerNormWithoutBias,
}

/// Where the norms of a layer sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormPlacement {
    /// Before attention and before the MLP (GPT-2 and everything after it).
    Pre,
    /// After the residual sum (BERT).
    Post,
    /// Before each block and again on its output, before the residual sum (Gemma 2 and 3).
    Sandwich,
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
    /// A learned bias on the scores of each head by bucket of distance, `[buckets, heads]`, one table
    /// a stack that all its layers share (T5).
    Relative { buckets: u64 },
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
    /// The square of ReLU (Nemotron; So et al. 2021, §3.1).
    SquaredRelu,
}

/// Layers whose queries look back on a limited number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlidingWindow {
    /// Tokens that a query may look back on.
    pub tokens: u64,
    /// Every so many layers, the last of them, attends to everything (Gemma 2 and gpt-oss: 2,
    /// Gemma 3: 6, Llama 4: 4); `None` where no layer does.
    pub full_every: Option<u64>,
}

/// Low-rank projections around a latent that is all the cache keeps (multi-head latent attention,
/// DeepSeek-AI 2024, §2.1).
///
/// Shapes: queries `[H, q] · [q, a·(nope + rope)]` or `[H, a·(nope + rope)]`, latent
/// `[H, kv + rope]`, keys and values `[kv, a·(nope + value)]`, output `[a·value, H]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatentAttention {
    /// Rank of the queries' projection; `None` for one full matrix (DeepSeek-V2-Lite).
    pub query_rank: Option<u64>,
    /// Rank of keys and values: channels of the latent that is cached.
    pub kv_rank: u64,
    /// Channels a head without position.
    pub nope_dim: u64,
    /// Channels a head that rotate; the key's are one for all heads, cached beside the latent.
    pub rope_dim: u64,
    /// Channels a head of the values.
    pub value_dim: u64,
}

/// The projections of self-attention.
///
/// Shapes: query `[hidden, heads · head_dim]`, key and value `[hidden, kv_heads · head_dim]`,
/// output `[heads · head_dim, hidden]`; see [`LatentAttention`] for where these differ.
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
    /// A learned number a head that takes part in the softmax (gpt-oss).
    pub sinks: bool,
    /// Where looking back is limited.
    pub sliding_window: Option<SlidingWindow>,
    /// Low-rank projections; `head_dim` is then `nope_dim + rope_dim`.
    pub latent: Option<LatentAttention>,
}

impl Attention {
    /// Channels a head of the values.
    pub const fn value_dim(&self) -> u64 {
        match self.latent {
            Some(latent) => latent.value_dim,
            None => self.head_dim,
        }
    }

    /// Numbers that the cache keeps for a token of one layer: keys and values, or the latent and
    /// the rotated part of the key.
    pub const fn cached_per_token(&self) -> u64 {
        match self.latent {
            Some(latent) => latent.kv_rank + latent.rope_dim,
            None => 2 * self.kv_heads * self.head_dim,
        }
    }
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

/// Feed-forward blocks of which each token passes through a few (mixture of experts).
///
/// Each expert has the form of [`Mlp`] with an inner width of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experts {
    /// Routed experts of a layer.
    pub count: u64,
    /// Routed experts that a token passes through.
    pub active: u64,
    /// Inner width of a routed expert.
    pub ffn: u64,
    /// Inner width of the experts that every token passes through, together; 0 for none.
    pub shared_ffn: u64,
    /// A gate `[H, 1]` on the shared experts' output (Qwen1.5-MoE).
    pub shared_gate: bool,
    /// A number an expert that is added to the router's scores.
    pub router_bias: bool,
    /// So many layers at the beginning are dense.
    pub first_dense: u64,
    /// Every so many layers, the last of them, has experts; the others are dense.
    pub every: u64,
}

/// The stack that a layer belongs to: what its queries may attend to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// Causal self-attention.
    Decoder,
    /// Self-attention in both directions.
    Encoder,
    /// Causal self-attention, then attention to the encoder's output.
    CrossDecoder,
}

/// What tells one layer of a model from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerKind {
    pub stack: Stack,
    /// Tokens that its queries may look back on, where limited.
    pub window: Option<u64>,
    /// Has experts instead of one feed-forward block.
    pub experts: bool,
}

/// Layers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerGroup {
    pub kind: LayerKind,
    pub layers: u64,
}

/// A transformer.
///
/// Counts are exact integers; see [`crate::model::params`] for what they add up to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelShape {
    pub architecture: Architecture,
    /// Layers of the decoder, or of the only stack.
    pub layers: u64,
    /// Layers of the encoder in front of a decoder, else 0.
    pub encoder_layers: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    pub attention: Attention,
    pub mlp: Mlp,
    pub experts: Option<Experts>,
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
    /// A dense layer, an activation and a norm before the projection to the vocabulary, which has a
    /// bias (BERT's head for masked tokens).
    pub mlm_head: bool,
    pub module: Module,
    /// The longest context it was made for, in tokens.
    pub max_sequence: u64,
}

impl ModelShape {
    /// Gives an encoder the head for masked tokens that its pre-training has, in place of the pooler
    /// (`BertForMaskedLM`).
    pub fn add_mlm_head(&mut self) {
        (self.mlm_head, self.lm_head, self.pooler) = (true, true, false);
    }

    /// Layers of all stacks.
    pub const fn depth(&self) -> u64 {
        self.encoder_layers + self.layers
    }

    /// Numbers that decoding caches for a token of context, all layers: keys and values, or latents.
    ///
    /// Layers with a window keep them for no more tokens than it has; those of an encoder's output
    /// (T5) are not among them, and encoders alone cache nothing.
    ///
    /// ```
    /// let llama = &sim_core::model::catalog::find("llama-2-7b").expect("listed").shape;
    /// assert_eq!(llama.kv_values_per_token(), 32 * 2 * 4096);
    /// let v3 = &sim_core::model::catalog::find("deepseek-v3").expect("listed").shape;
    /// assert_eq!(v3.kv_values_per_token(), 61 * (512 + 64));
    /// ```
    pub const fn kv_values_per_token(&self) -> u64 {
        match self.architecture {
            Architecture::Encoder => 0,
            Architecture::Decoder | Architecture::EncoderDecoder => {
                self.layers * self.attention.cached_per_token()
            }
        }
    }

    /// The kind of layer `index`, counted over all stacks, the encoder's first.
    ///
    /// ```
    /// let gemma = &sim_core::model::catalog::find("gemma-3-27b").expect("listed").shape;
    /// assert_eq!(gemma.layer_kind(4).window, Some(1024));
    /// assert_eq!(gemma.layer_kind(5).window, None);
    /// ```
    pub fn layer_kind(&self, index: u64) -> LayerKind {
        let stack = match self.architecture {
            Architecture::Decoder => Stack::Decoder,
            Architecture::Encoder => Stack::Encoder,
            Architecture::EncoderDecoder if index < self.encoder_layers => Stack::Encoder,
            Architecture::EncoderDecoder => Stack::CrossDecoder,
        };
        let last_of = |every: u64| (index + 1).is_multiple_of(every.max(1));
        let window = self
            .attention
            .sliding_window
            .filter(|window| !window.full_every.is_some_and(last_of))
            .map(|window| window.tokens);
        let experts = self
            .experts
            .is_some_and(|experts| index >= experts.first_dense && last_of(experts.every));
        LayerKind { stack, window, experts }
    }

    /// The kinds of layers with their numbers, in the order in which they first occur.
    pub fn layer_groups(&self) -> Vec<LayerGroup> {
        let mut groups: Vec<LayerGroup> = Vec::new();
        for index in 0..self.depth() {
            let kind = self.layer_kind(index);
            match groups.iter_mut().find(|group| group.kind == kind) {
                Some(group) => group.layers += 1,
                None => groups.push(LayerGroup { kind, layers: 1 }),
            }
        }
        groups
    }
}
