//! Constructors that keep the table at one model a line.

use super::{ModelEntry, StoredCount, StoredExtra};
use crate::model::module::Module;
use crate::model::shape::{
    Activation, Architecture, Attention, Experts, LatentAttention, Mlp, ModelShape, NormKind,
    NormPlacement, Positions, SlidingWindow,
};

/// What the models of a family share.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) source: &'static str,
}

impl Family {
    /// An entry whose count is confirmed by its published checkpoint.
    pub(super) const fn model(
        &self,
        id: &'static str,
        name: &'static str,
        params: u64,
        shape: ModelShape,
    ) -> ModelEntry {
        ModelEntry {
            id,
            aliases: &[],
            family: self.name,
            name,
            shape,
            params,
            published_params: Some(params),
            stored: None,
            source: self.source,
        }
    }
}

impl ModelEntry {
    /// Only a rounded count is public.
    pub(super) const fn unpublished(mut self) -> Self {
        self.published_params = None;
        self
    }

    /// The usual checkpoint holds `values` numbers.
    pub(super) const fn stored(mut self, values: u64, extra: StoredExtra) -> Self {
        self.stored = Some(StoredCount { values, extra });
        self
    }

    pub(super) const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// Llama's layer: RMS norms, rotary positions, grouped-query attention without biases, SwiGLU.
pub(super) const fn llama(
    layers: u64,
    hidden: u64,
    heads: u64,
    kv_heads: u64,
    ffn: u64,
    vocab: u64,
    max_sequence: u64,
) -> ModelShape {
    ModelShape {
        architecture: Architecture::Decoder,
        layers,
        encoder_layers: 0,
        hidden,
        attention: Attention {
            heads,
            kv_heads,
            head_dim: hidden / heads,
            qkv_bias: false,
            output_bias: false,
            qk_norm: false,
            sinks: false,
            sliding_window: None,
            latent: None,
        },
        mlp: Mlp { ffn, gated: true, bias: false, activation: Activation::Silu },
        experts: None,
        vocab,
        norm: NormKind::Rms,
        norm_placement: NormPlacement::Pre,
        positions: Positions::Rope,
        token_types: 0,
        embedding_norm: false,
        final_norm: true,
        tied_embeddings: false,
        lm_head: true,
        pooler: false,
        mlm_head: false,
        module: Module::LLAMA,
        max_sequence,
    }
}

/// GPT's layer: layer norms, a learned position table, biases everywhere, an MLP of 4·hidden, a
/// head tied to the token table.
pub(super) const fn gpt(
    layers: u64,
    hidden: u64,
    heads: u64,
    vocab: u64,
    max_sequence: u64,
) -> ModelShape {
    let attention = Attention {
        heads,
        kv_heads: heads,
        head_dim: hidden / heads,
        qkv_bias: true,
        output_bias: true,
        qk_norm: false,
        sinks: false,
        sliding_window: None,
        latent: None,
    };
    ModelShape {
        attention,
        mlp: Mlp { ffn: 4 * hidden, gated: false, bias: true, activation: Activation::Gelu },
        norm: NormKind::LayerNorm,
        positions: Positions::Learned { rows: max_sequence },
        tied_embeddings: true,
        module: Module::GPT2,
        ..llama(layers, hidden, heads, heads, 4 * hidden, vocab, max_sequence)
    }
}

/// OPT: GPT with ReLU and two unused rows at the head of the position table.
pub(super) const fn opt(layers: u64, hidden: u64, heads: u64) -> ModelShape {
    ModelShape {
        positions: Positions::Learned { rows: 2048 + 2 },
        module: Module::OPT,
        ..gpt(layers, hidden, heads, 50272, 2048).activation(Activation::Relu)
    }
}

/// BLOOM: GPT with ALiBi and a norm after the embedding; trained on 2048 tokens.
pub(super) const fn bloom(layers: u64, hidden: u64, heads: u64) -> ModelShape {
    ModelShape {
        embedding_norm: true,
        module: Module::BLOOM,
        ..gpt(layers, hidden, heads, 250880, 2048).alibi()
    }
}

/// BERT without the heads of its pre-training: post-norm, segments, a pooler, no final norm.
pub(super) const fn bert(layers: u64, hidden: u64, heads: u64) -> ModelShape {
    ModelShape {
        architecture: Architecture::Encoder,
        norm_placement: NormPlacement::Post,
        token_types: 2,
        embedding_norm: true,
        final_norm: false,
        lm_head: false,
        pooler: true,
        module: Module::BERT,
        ..gpt(layers, hidden, heads, 30522, 512)
    }
}

/// T5: an encoder and a decoder of `layers` each, RMS norms, relative positions, no biases, a tied
/// head; ReLU between two matrices.
pub(super) const fn t5(
    layers: u64,
    hidden: u64,
    heads: u64,
    head_dim: u64,
    ffn: u64,
) -> ModelShape {
    let shape = llama(layers, hidden, heads, heads, ffn, 32128, 512);
    ModelShape {
        architecture: Architecture::EncoderDecoder,
        encoder_layers: layers,
        mlp: Mlp { ffn, gated: false, bias: false, activation: Activation::Relu },
        positions: Positions::Relative { buckets: 32 },
        ..shape.head_dim(head_dim).tied()
    }
}

impl ModelShape {
    pub(super) const fn module(mut self, module: Module) -> Self {
        self.module = module;
        self
    }

    pub(super) const fn activation(mut self, activation: Activation) -> Self {
        self.mlp.activation = activation;
        self
    }

    pub(super) const fn head_dim(mut self, head_dim: u64) -> Self {
        self.attention.head_dim = head_dim;
        self
    }

    pub(super) const fn qk_norm(mut self) -> Self {
        self.attention.qk_norm = true;
        self
    }

    pub(super) const fn qkv_bias(mut self) -> Self {
        self.attention.qkv_bias = true;
        self
    }

    pub(super) const fn window(mut self, tokens: u64) -> Self {
        self.attention.sliding_window = Some(SlidingWindow { tokens, full_every: None });
        self
    }

    pub(super) const fn alibi(mut self) -> Self {
        self.positions = Positions::Alibi;
        self
    }

    pub(super) const fn tied(mut self) -> Self {
        self.tied_embeddings = true;
        self
    }

    /// One layer in `full_every`, the last, looks beyond the window of `tokens`.
    pub(super) const fn window_except(mut self, tokens: u64, full_every: u64) -> Self {
        let full_every = Some(full_every);
        self.attention.sliding_window = Some(SlidingWindow { tokens, full_every });
        self
    }

    /// Gemma 2 and 3: norms on both sides of each block, a tied head, GELU.
    pub(super) const fn gemma(mut self) -> Self {
        self.norm_placement = NormPlacement::Sandwich;
        self.module = Module::GEMMA;
        self.tied().activation(Activation::Gelu)
    }

    /// `count` routed experts `ffn` wide in every layer, `active` of them for a token.
    pub(super) const fn experts(mut self, count: u64, active: u64, ffn: u64) -> Self {
        self.experts = Some(Experts {
            count,
            active,
            ffn,
            shared_ffn: 0,
            shared_gate: false,
            router_bias: false,
            first_dense: 0,
            every: 1,
        });
        self
    }

    /// Experts for every token, and dense layers at the beginning.
    pub(super) const fn shared(mut self, shared_ffn: u64, first_dense: u64) -> Self {
        if let Some(experts) = &mut self.experts {
            experts.shared_ffn = shared_ffn;
            experts.first_dense = first_dense;
        }
        self
    }

    pub(super) const fn shared_gate(mut self) -> Self {
        if let Some(experts) = &mut self.experts {
            experts.shared_gate = true;
        }
        self
    }

    pub(super) const fn router_bias(mut self) -> Self {
        if let Some(experts) = &mut self.experts {
            experts.router_bias = true;
        }
        self
    }

    /// DeepSeek's latent attention: a latent of 512 channels, heads of 128 and 64 rotated channels.
    pub(super) const fn latent(mut self, query_rank: Option<u64>) -> Self {
        let (kv_rank, nope_dim, rope_dim, value_dim) = (512, 128, 64, 128);
        self.attention.latent =
            Some(LatentAttention { query_rank, kv_rank, nope_dim, rope_dim, value_dim });
        self.attention.head_dim = nope_dim + rope_dim;
        self
    }

    /// gpt-oss: biases everywhere, sinks, heads of 64 channels, every other layer with a window.
    pub(super) const fn oss(mut self) -> Self {
        self.attention.qkv_bias = true;
        self.attention.output_bias = true;
        self.attention.sinks = true;
        self.mlp.bias = true;
        self.head_dim(64).router_bias().window_except(128, 2)
    }
}
