//! Exact parameter counts of a [`ModelShape`], whole and per tensor-parallel rank.
//!
//! Every count is an integer number of parameters (not bytes).
//! The symbols of the formulas:
//!
//! | symbol | field |
//! |---|---|
//! | L | `layers` |
//! | H | `hidden` |
//! | a, k, d | `attention.heads`, `attention.kv_heads`, `attention.head_dim` |
//! | F | `mlp.ffn` |
//! | V | `vocab` |
//! | n | parameters of one norm: H for RMS, 2H for a layer norm |
//! | t | tensor-parallel ranks |
//!
//! The shape must be within [`crate::model::limits`]: then no product overflows `u64`.

use super::shape::{ModelShape, NormKind, Positions};

/// Parameters around the token embedding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbeddingParams {
    /// Token table `[V, H]`.
    pub token: u64,
    /// Learned position table `[rows, H]`, or 0.
    pub position: u64,
    /// Segment table `[token_types, H]`, or 0.
    pub token_type: u64,
    /// Norm after the sum of the tables, or 0.
    pub norm: u64,
}

impl EmbeddingParams {
    /// Sum of all four.
    pub const fn total(&self) -> u64 {
        self.token + self.position + self.token_type + self.norm
    }
}

/// Parameters of one transformer layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerParams {
    /// Query projection `[H, a·d]`.
    pub query: u64,
    /// Key projection `[H, k·d]`.
    pub key: u64,
    /// Value projection `[H, k·d]`.
    pub value: u64,
    /// Output projection `[a·d, H]`.
    pub output: u64,
    /// Bias `[a·d]` of the query projection.
    pub query_bias: u64,
    /// Bias `[k·d]` of the key projection.
    pub key_bias: u64,
    /// Bias `[k·d]` of the value projection.
    pub value_bias: u64,
    /// Bias `[H]` of the output projection.
    pub output_bias: u64,
    /// RMS norms of queries and keys, `[d]` each.
    pub query_key_norm: u64,
    /// Gate projection `[H, F]`, 0 where the MLP is not gated.
    pub gate: u64,
    /// Up projection `[H, F]`.
    pub up: u64,
    /// Down projection `[F, H]`.
    pub down: u64,
    /// Bias `[F]` of the gate projection.
    pub gate_bias: u64,
    /// Bias `[F]` of the up projection.
    pub up_bias: u64,
    /// Bias `[H]` of the down projection.
    pub down_bias: u64,
    /// The two norms of the layer, 2n.
    pub norms: u64,
}

impl LayerParams {
    /// Weights of the four attention projections.
    pub const fn attention_matrices(&self) -> u64 {
        self.query + self.key + self.value + self.output
    }

    /// Biases of the four attention projections.
    pub const fn attention_biases(&self) -> u64 {
        self.query_bias + self.key_bias + self.value_bias + self.output_bias
    }

    /// Weights of the MLP's projections.
    pub const fn mlp_matrices(&self) -> u64 {
        self.gate + self.up + self.down
    }

    /// Biases of the MLP's projections.
    pub const fn mlp_biases(&self) -> u64 {
        self.gate_bias + self.up_bias + self.down_bias
    }

    /// All weights that a GEMM multiplies by: what most quantization formats pack.
    pub const fn matrices(&self) -> u64 {
        self.attention_matrices() + self.mlp_matrices()
    }

    /// Everything in the layer.
    pub const fn total(&self) -> u64 {
        self.matrices()
            + self.attention_biases()
            + self.mlp_biases()
            + self.query_key_norm
            + self.norms
    }
}

/// Parameters of a whole model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelParams {
    pub embedding: EmbeddingParams,
    /// One layer; all layers of a dense model are alike.
    pub layer: LayerParams,
    pub layers: u64,
    /// Norm after the last layer, or 0.
    pub final_norm: u64,
    /// Output projection `[H, V]`; 0 where it is the token table, or absent.
    pub lm_head: u64,
    /// Dense layer over the first token, `H·H + H`, or 0.
    pub pooler: u64,
}

impl ModelParams {
    /// Embedding + L · layer + final norm + head + pooler.
    pub const fn total(&self) -> u64 {
        self.embedding.total()
            + self.layers * self.layer.total()
            + self.final_norm
            + self.lm_head
            + self.pooler
    }
}

impl ModelShape {
    /// Parameters of one norm over the residual stream: H (RMS) or 2H (layer norm).
    pub const fn norm_params(&self) -> u64 {
        match self.norm {
            NormKind::Rms => self.hidden,
            NormKind::LayerNorm => 2 * self.hidden,
        }
    }

    /// The exact parameter count, part by part.
    ///
    /// By hand, for Llama 2 7B (L = 32, H = 4096, a = k = 32, d = 128, F = 11008, V = 32000):
    /// a layer holds 4·H² + 3·H·F + 2·H = 67 108 864 + 135 266 304 + 8 192 = 202 383 360;
    /// the whole is 2·V·H + L·layer + H = 262 144 000 + 6 476 267 520 + 4 096.
    ///
    /// ```
    /// let llama = &sim_core::model::catalog::find("llama-2-7b").expect("listed").shape;
    /// let params = llama.params();
    /// assert_eq!(params.layer.total(), 202_383_360);
    /// assert_eq!(params.lm_head, 131_072_000);
    /// assert_eq!(params.total(), 6_738_415_616);
    /// ```
    pub fn params(&self) -> ModelParams {
        self.params_per_rank(1)
    }

    /// The exact parameter count of the whole model.
    ///
    /// ```
    /// let gpt2 = &sim_core::model::catalog::find("gpt2").expect("listed").shape;
    /// // (50257 + 1024)·768 + 12·(12·768² + 13·768) + 2·768, head tied to the token table.
    /// assert_eq!(gpt2.total_params(), 39_383_808 + 12 * 7_087_872 + 1_536);
    /// ```
    pub fn total_params(&self) -> u64 {
        self.params().total()
    }

    /// What one of `tensor_parallel` ranks holds of the whole model.
    ///
    /// `tensor_parallel` is taken as at least 1.
    /// See [`ModelShape::layer_params_per_rank`] and [`ModelShape::embedding_params_per_rank`];
    /// the head splits by vocabulary rows (⌈V/t⌉·H), the final norm and the pooler are replicated.
    /// Where something does not divide, the count is that of the fullest rank.
    pub fn params_per_rank(&self, tensor_parallel: u64) -> ModelParams {
        let tp = tensor_parallel.max(1);
        let own_head = self.lm_head && !self.tied_embeddings;
        ModelParams {
            embedding: self.embedding_params_per_rank(tp),
            layer: self.layer_params_per_rank(tp),
            layers: self.layers,
            final_norm: if self.final_norm { self.norm_params() } else { 0 },
            lm_head: if own_head { self.vocab.div_ceil(tp) * self.hidden } else { 0 },
            pooler: if self.pooler { self.hidden * self.hidden + self.hidden } else { 0 },
        }
    }

    /// What one of `tensor_parallel` ranks holds of the embedding.
    ///
    /// The token table splits by rows, ⌈V/t⌉·H (no padding is added); positions, token types and
    /// the norm are replicated (Shoeybi et al. 2019, §3).
    ///
    /// ```
    /// let gpt2 = &sim_core::model::catalog::find("gpt2").expect("listed").shape;
    /// // 50257 rows over 4 ranks: the fullest holds 12565.
    /// assert_eq!(gpt2.embedding_params_per_rank(4).token, 12_565 * 768);
    /// assert_eq!(gpt2.embedding_params_per_rank(4).position, 1_024 * 768);
    /// ```
    pub fn embedding_params_per_rank(&self, tensor_parallel: u64) -> EmbeddingParams {
        let tp = tensor_parallel.max(1);
        let rows = match self.positions {
            Positions::Learned { rows } => rows,
            Positions::Rope | Positions::Alibi => 0,
        };
        EmbeddingParams {
            token: self.vocab.div_ceil(tp) * self.hidden,
            position: rows * self.hidden,
            token_type: self.token_types * self.hidden,
            norm: if self.embedding_norm { self.norm_params() } else { 0 },
        }
    }

    /// What one of `tensor_parallel` ranks holds of a layer, t ≥ 1.
    ///
    /// Query, key, value, gate and up split by columns (their biases with them), output and down by
    /// rows (their biases `[H]` stay whole on every rank); attention splits by whole heads, so with
    /// k < t every rank keeps one key-value head and copies exist. Norms are replicated.
    /// Source: Shoeybi et al. 2019, §3; Korthikanti et al. 2022, §4.
    ///
    /// By hand, Llama 3 8B (H = 4096, a = 32, k = 8, d = 128, F = 14336) over t = 16:
    /// 2 query heads, 1 key-value head (each stored twice), 896 MLP channels.
    ///
    /// ```
    /// let llama = &sim_core::model::catalog::find("llama-3-8b").expect("listed").shape;
    /// let rank = llama.layer_params_per_rank(16);
    /// assert_eq!(rank.query, 4096 * 256);
    /// assert_eq!(rank.key, 4096 * 128);
    /// assert_eq!(rank.gate, 4096 * 896);
    /// assert_eq!(rank.norms, 2 * 4096);
    /// ```
    pub fn layer_params_per_rank(&self, tensor_parallel: u64) -> LayerParams {
        let tp = tensor_parallel.max(1);
        let hidden = self.hidden;
        let query_width = self.attention.heads.div_ceil(tp) * self.attention.head_dim;
        let kv_width = self.attention.kv_heads.div_ceil(tp) * self.attention.head_dim;
        let ffn = self.mlp.ffn.div_ceil(tp);
        let gate_width = if self.mlp.gated { ffn } else { 0 };
        let with_qkv_bias = u64::from(self.attention.qkv_bias);
        let with_mlp_bias = u64::from(self.mlp.bias);
        LayerParams {
            query: hidden * query_width,
            key: hidden * kv_width,
            value: hidden * kv_width,
            output: query_width * hidden,
            query_bias: with_qkv_bias * query_width,
            key_bias: with_qkv_bias * kv_width,
            value_bias: with_qkv_bias * kv_width,
            output_bias: u64::from(self.attention.output_bias) * hidden,
            query_key_norm: u64::from(self.attention.qk_norm) * 2 * self.attention.head_dim,
            gate: hidden * gate_width,
            up: hidden * ffn,
            down: ffn * hidden,
            gate_bias: with_mlp_bias * gate_width,
            up_bias: with_mlp_bias * ffn,
            down_bias: with_mlp_bias * hidden,
            norms: 2 * self.norm_params(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{catalog, limits};

    fn shape(id: &str) -> super::ModelShape {
        catalog::find(id).expect("a catalogue id").shape.clone()
    }

    #[test]
    fn a_gpt_layer_is_twelve_h_squared_and_thirteen_h() {
        let layer = shape("gpt2").params().layer;
        assert_eq!(layer.matrices(), 12 * 768 * 768);
        assert_eq!(layer.total(), 12 * 768 * 768 + 13 * 768);
        assert_eq!(layer.gate, 0);
    }

    #[test]
    fn bert_counts_segments_the_embedding_norm_and_the_pooler_and_no_head() {
        let params = shape("bert-base").params();
        assert_eq!(params.embedding.token_type, 2 * 768);
        assert_eq!(params.embedding.norm, 2 * 768);
        assert_eq!(params.pooler, 768 * 768 + 768);
        assert_eq!((params.lm_head, params.final_norm), (0, 0));
    }

    #[test]
    fn ranks_sum_to_the_whole_where_everything_divides() {
        let llama = shape("llama-2-7b");
        let whole = llama.params().layer;
        for tp in [1, 2, 4, 8, 16, 32] {
            let rank = llama.layer_params_per_rank(tp);
            assert_eq!(rank.matrices() * tp, whole.matrices());
            assert_eq!(rank.norms, whole.norms);
        }
    }

    #[test]
    fn row_parallel_biases_stay_whole_and_column_parallel_biases_split() {
        let rank = shape("gpt3-175b").layer_params_per_rank(8);
        assert_eq!(rank.query_bias, 12_288 / 8);
        assert_eq!(rank.up_bias, 49_152 / 8);
        assert_eq!(rank.output_bias, 12_288);
        assert_eq!(rank.down_bias, 12_288);
    }

    #[test]
    fn weights_of_a_rank_never_grow_with_more_ranks() {
        for entry in catalog::MODELS {
            let mut last = u64::MAX;
            for tp in 1..=128 {
                let now = entry.shape.params_per_rank(tp).total();
                assert!(now <= last, "{} at tp {tp}", entry.id);
                last = now;
            }
        }
    }

    #[test]
    fn the_largest_shape_within_the_limits_fits_with_sixteen_bytes_a_parameter() {
        let mut largest = shape("bert-base");
        largest.layers = limits::LAYERS.max;
        largest.hidden = limits::HIDDEN.max;
        largest.attention.heads = limits::HEADS.max;
        largest.attention.kv_heads = limits::HEADS.max;
        largest.attention.head_dim = limits::ATTENTION_WIDTH.max / limits::HEADS.max;
        largest.mlp.ffn = limits::FFN.max;
        largest.mlp.gated = true;
        largest.vocab = limits::VOCAB.max;
        largest.max_sequence = limits::MAX_SEQUENCE.max;
        largest.positions = super::Positions::Learned { rows: limits::POSITION_ROWS.max };
        assert_eq!(limits::violations(&largest), []);
        assert!(largest.total_params().checked_mul(16).is_some());
    }
}
