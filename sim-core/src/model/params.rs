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
//! | E, f, S | `experts.count`, `experts.ffn`, `experts.shared_ffn` |
//! | n | parameters of one norm: H for a weight, 2H for a weight and a bias |
//! | t, e | tensor-parallel and expert-parallel ranks |
//!
//! The shape must be within [`crate::model::limits`]: then no product overflows `u64`.

use super::shape::{LayerKind, ModelShape, NormKind, NormPlacement, Positions, Stack};

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
    /// Query projection `[H, a·d]`, or `[rank, a·d]` behind a low-rank one.
    pub query: u64,
    /// Key projection `[H, k·d]`, or `[rank, a·nope]`.
    pub key: u64,
    /// Value projection `[H, k·d]`, or `[rank, a·value]`.
    pub value: u64,
    /// Output projection `[a·d, H]`.
    pub output: u64,
    /// Projection of the queries to their rank, 0 without one.
    pub query_down: u64,
    /// Projection of keys and values to the latent `[H, rank + rope]`, 0 without one.
    pub kv_down: u64,
    /// RMS norms over the ranks of the latent projections.
    pub latent_norms: u64,
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
    /// Attention sinks `[a]`.
    pub sinks: u64,
    /// The four projections of attention to an encoder's output.
    pub cross_attention: u64,
    /// Gate projection `[H, F]`, 0 where the MLP is not gated or the layer has experts.
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
    pub experts: ExpertParams,
    /// The norms over the stream: two, three with cross-attention, four where blocks are normed on
    /// both sides; n each.
    pub norms: u64,
}

/// Parameters of a layer's mixture of experts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpertParams {
    /// Router `[H, E]`.
    pub router: u64,
    /// The router's bias `[E]`.
    pub router_bias: u64,
    /// Matrices of one routed expert.
    pub one_matrices: u64,
    /// Biases of one routed expert.
    pub one_biases: u64,
    /// Routed experts on this rank.
    pub count: u64,
    /// Matrices of the shared experts together.
    pub shared: u64,
    /// The gate of the shared experts.
    pub shared_gate: u64,
}

impl ExpertParams {
    /// All routed experts: what expert parallelism spreads.
    pub const fn routed(&self) -> u64 {
        self.count * (self.one_matrices + self.one_biases)
    }

    /// Router and shared experts: what every rank has.
    pub const fn common(&self) -> u64 {
        self.router + self.router_bias + self.shared + self.shared_gate
    }
}

impl LayerParams {
    /// Weights of the attention projections.
    pub const fn attention_matrices(&self) -> u64 {
        self.query
            + self.key
            + self.value
            + self.output
            + self.query_down
            + self.kv_down
            + self.cross_attention
    }

    /// Biases of the four attention projections.
    pub const fn attention_biases(&self) -> u64 {
        self.query_bias + self.key_bias + self.value_bias + self.output_bias
    }

    /// Weights of the MLP's projections, those of all experts and of their router included.
    pub const fn mlp_matrices(&self) -> u64 {
        let experts = &self.experts;
        self.gate
            + self.up
            + self.down
            + experts.router
            + experts.count * experts.one_matrices
            + experts.shared
            + experts.shared_gate
    }

    /// Biases of the MLP's projections.
    pub const fn mlp_biases(&self) -> u64 {
        let experts = &self.experts;
        self.gate_bias
            + self.up_bias
            + self.down_bias
            + experts.router_bias
            + experts.count * experts.one_biases
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
            + self.latent_norms
            + self.sinks
            + self.norms
    }

    /// Everything in the layer but its routed experts.
    pub const fn total_without_routed(&self) -> u64 {
        self.total() - self.experts.routed()
    }
}

/// Layers of one kind with the parameters of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupParams {
    pub kind: LayerKind,
    pub layers: u64,
    /// Of one layer.
    pub layer: LayerParams,
}

/// Parameters of a whole model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelParams {
    pub embedding: EmbeddingParams,
    /// In the order in which kinds first occur.
    pub groups: Vec<GroupParams>,
    /// Tables of relative positions, all stacks.
    pub relative_bias: u64,
    /// Norm after the encoder of an encoder-decoder, or 0.
    pub encoder_norm: u64,
    /// Norm after the last layer, or 0.
    pub final_norm: u64,
    /// Output projection `[H, V]`; 0 where it is the token table, or absent.
    pub lm_head: u64,
    /// Dense layer over the first token, `H·H + H`, or 0.
    pub pooler: u64,
    /// Dense layer, norm and the vocabulary's bias of the head for masked tokens,
    /// `H·H + H + n + V`, or 0.
    pub mlm_head: u64,
}

impl ModelParams {
    /// One layer of the first kind: the only one of most dense models.
    ///
    /// # Panics
    /// Without layers.
    pub fn first_layer(&self) -> LayerParams {
        self.groups[0].layer
    }

    /// All layers.
    pub fn layers_total(&self) -> u64 {
        self.groups.iter().map(|group| group.layers * group.layer.total()).sum()
    }

    /// Embedding + layers + norms + heads + pooler.
    pub fn total(&self) -> u64 {
        self.embedding.total()
            + self.layers_total()
            + self.relative_bias
            + self.encoder_norm
            + self.final_norm
            + self.lm_head
            + self.pooler
            + self.mlm_head
    }

    /// All routed experts.
    pub fn routed(&self) -> u64 {
        self.groups.iter().map(|group| group.layers * group.layer.experts.routed()).sum()
    }
}

impl ModelShape {
    /// Parameters of one norm over the residual stream: H (a weight) or 2H (and a bias).
    pub const fn norm_params(&self) -> u64 {
        match self.norm {
            NormKind::Rms | NormKind::LayerNormWithoutBias => self.hidden,
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
    /// assert_eq!(params.first_layer().total(), 202_383_360);
    /// assert_eq!(params.lm_head, 131_072_000);
    /// assert_eq!(params.total(), 6_738_415_616);
    /// ```
    pub fn params(&self) -> ModelParams {
        self.params_per_rank(1, 1)
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

    /// Parameters that one token passes through: all but the routed experts that it is not sent to.
    ///
    /// ```
    /// let mixtral = &sim_core::model::catalog::find("mixtral-8x7b").expect("listed").shape;
    /// assert_eq!(mixtral.active_params(), 12_879_925_248);
    /// ```
    pub fn active_params(&self) -> u64 {
        let active = self.experts.map_or(0, |experts| experts.active.min(experts.count));
        let params = self.params();
        let idle = params.groups.iter().filter(|group| group.kind.experts).map(|group| {
            let one = group.layer.experts.one_matrices + group.layer.experts.one_biases;
            group.layers * (group.layer.experts.count - active) * one
        });
        params.total() - idle.sum::<u64>()
    }

    /// What a rank holds of the whole model with `tp` tensor-parallel and `ep` expert-parallel ranks.
    ///
    /// Both are taken as at least 1.
    /// See [`ModelShape::layer_params_per_rank`] and [`ModelShape::embedding_params_per_rank`];
    /// the head splits by vocabulary rows (⌈V/t⌉·H, and its bias where it has one), the final norm,
    /// the pooler and the head's dense layer are replicated.
    /// Where something does not divide, the count is that of the fullest rank.
    pub fn params_per_rank(&self, tp: u64, ep: u64) -> ModelParams {
        let tp = tp.max(1);
        let own_head = self.lm_head && !self.tied_embeddings;
        let groups = self.layer_groups();
        let stacks = if self.encoder_layers > 0 { 2 } else { 1 };
        let relative_bias = match self.positions {
            Positions::Relative { buckets } => stacks * buckets * self.attention.heads.div_ceil(tp),
            Positions::Rope | Positions::Alibi | Positions::Learned { .. } => 0,
        };
        ModelParams {
            embedding: self.embedding_params_per_rank(tp),
            groups: groups
                .into_iter()
                .map(|group| GroupParams {
                    kind: group.kind,
                    layers: group.layers,
                    layer: self.layer_params_per_rank(group.kind, tp, ep),
                })
                .collect(),
            relative_bias,
            encoder_norm: if self.encoder_layers > 0 { self.norm_params() } else { 0 },
            final_norm: if self.final_norm { self.norm_params() } else { 0 },
            lm_head: if own_head { self.vocab.div_ceil(tp) * self.hidden } else { 0 },
            mlm_head: if self.mlm_head {
                self.hidden * self.hidden
                    + self.hidden
                    + self.norm_params()
                    + self.vocab.div_ceil(tp)
            } else {
                0
            },
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
            Positions::Rope | Positions::Alibi | Positions::Relative { .. } => 0,
        };
        EmbeddingParams {
            token: self.vocab.div_ceil(tp) * self.hidden,
            position: rows * self.hidden,
            token_type: self.token_types * self.hidden,
            norm: if self.embedding_norm { self.norm_params() } else { 0 },
        }
    }

    /// What a rank holds of a layer with `tp` tensor-parallel and `ep` expert-parallel ranks.
    ///
    /// Query, key, value, gate and up split by columns (their biases with them), output and down by
    /// rows (their biases `[H]` stay whole on every rank); attention splits by whole heads, so with
    /// k < t every rank keeps one key-value head and copies exist. Norms, low-rank projections to
    /// the latent and routers are replicated; experts split over both kinds of ranks.
    /// Source: Shoeybi et al. 2019, §3; Korthikanti et al. 2022, §4; DeepSeek-AI 2024, §2.1.
    ///
    /// By hand, Llama 3 8B (H = 4096, a = 32, k = 8, d = 128, F = 14336) over t = 16:
    /// 2 query heads, 1 key-value head (each stored twice), 896 MLP channels.
    ///
    /// ```
    /// let llama = &sim_core::model::catalog::find("llama-3-8b").expect("listed").shape;
    /// let rank = llama.layer_params_per_rank(llama.layer_kind(0), 16, 1);
    /// assert_eq!(rank.query, 4096 * 256);
    /// assert_eq!(rank.key, 4096 * 128);
    /// assert_eq!(rank.gate, 4096 * 896);
    /// assert_eq!(rank.norms, 2 * 4096);
    /// ```
    pub fn layer_params_per_rank(&self, kind: LayerKind, tp: u64, ep: u64) -> LayerParams {
        let tp = tp.max(1);
        let mut layer = self.attention_params(tp);
        if kind.experts {
            layer.experts = self.expert_params(tp, ep);
        } else {
            let mlp = self.mlp_params(self.mlp.ffn.div_ceil(tp));
            layer.gate = mlp.gate;
            layer.up = mlp.up;
            layer.down = mlp.down;
            layer.gate_bias = mlp.gate_bias;
            layer.up_bias = mlp.up_bias;
            layer.down_bias = mlp.down_bias;
        }
        let mut norms = if self.norm_placement == NormPlacement::Sandwich { 4 } else { 2 };
        if kind.stack == Stack::CrossDecoder {
            layer.cross_attention = layer.query + layer.key + layer.value + layer.output;
            norms += 1;
        }
        layer.norms = norms * self.norm_params();
        layer
    }

    /// Attention on one of `tp` ranks.
    fn attention_params(&self, tp: u64) -> LayerParams {
        let (hidden, attention) = (self.hidden, &self.attention);
        let heads = attention.heads.div_ceil(tp);
        let query_width = heads * attention.head_dim;
        let kv_width = attention.kv_heads.div_ceil(tp) * attention.head_dim;
        let with_qkv_bias = u64::from(attention.qkv_bias);
        let mut layer = LayerParams {
            query: hidden * query_width,
            key: hidden * kv_width,
            value: hidden * kv_width,
            output: heads * attention.value_dim() * hidden,
            query_bias: with_qkv_bias * query_width,
            key_bias: with_qkv_bias * kv_width,
            value_bias: with_qkv_bias * kv_width,
            output_bias: u64::from(attention.output_bias) * hidden,
            query_key_norm: u64::from(attention.qk_norm) * 2 * attention.head_dim,
            sinks: u64::from(attention.sinks) * heads,
            ..LayerParams::default()
        };
        if let Some(latent) = attention.latent {
            layer.key = latent.kv_rank * heads * latent.nope_dim;
            layer.value = latent.kv_rank * heads * latent.value_dim;
            layer.kv_down = hidden * (latent.kv_rank + latent.rope_dim);
            layer.latent_norms = latent.kv_rank;
            (layer.query_bias, layer.key_bias, layer.value_bias) = (0, 0, 0);
            if let Some(rank) = latent.query_rank {
                layer.query_down = hidden * rank;
                layer.query = rank * query_width;
                layer.latent_norms += rank;
            }
        }
        layer
    }

    /// One feed-forward block with an inner width of `ffn` on this rank.
    fn mlp_params(&self, ffn: u64) -> LayerParams {
        let gate_width = if self.mlp.gated { ffn } else { 0 };
        let with_bias = u64::from(self.mlp.bias);
        LayerParams {
            gate: self.hidden * gate_width,
            up: self.hidden * ffn,
            down: ffn * self.hidden,
            gate_bias: with_bias * gate_width,
            up_bias: with_bias * ffn,
            down_bias: with_bias * self.hidden,
            ..LayerParams::default()
        }
    }

    /// The routed experts that a rank holds of one layer when `ep` ranks share them out and
    /// `expert_tp` ranks split each of their matrices.
    pub fn routed_params_per_rank(&self, ep: u64, expert_tp: u64) -> u64 {
        self.expert_params(expert_tp.max(1), ep).routed()
    }

    /// The experts on one of `tp` tensor-parallel and `ep` expert-parallel ranks.
    fn expert_params(&self, tp: u64, ep: u64) -> ExpertParams {
        let Some(experts) = self.experts else { return ExpertParams::default() };
        let one = self.mlp_params(experts.ffn.div_ceil(tp));
        ExpertParams {
            router: self.hidden * experts.count,
            router_bias: u64::from(experts.router_bias) * experts.count,
            one_matrices: one.mlp_matrices(),
            one_biases: one.mlp_biases(),
            count: experts.count.div_ceil(ep.max(1)),
            shared: self.mlp_params(experts.shared_ffn.div_ceil(tp)).mlp_matrices(),
            shared_gate: u64::from(experts.shared_gate) * self.hidden,
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
        let layer = shape("gpt2").params().first_layer();
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
        let whole = llama.params().first_layer();
        for tp in [1, 2, 4, 8, 16, 32] {
            let rank = llama.layer_params_per_rank(llama.layer_kind(0), tp, 1);
            assert_eq!(rank.matrices() * tp, whole.matrices());
            assert_eq!(rank.norms, whole.norms);
        }
    }

    #[test]
    fn row_parallel_biases_stay_whole_and_column_parallel_biases_split() {
        let gpt3 = shape("gpt3-175b");
        let rank = gpt3.layer_params_per_rank(gpt3.layer_kind(0), 8, 1);
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
                let now = entry.shape.params_per_rank(tp, 1).total();
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
        largest.experts = Some(super::super::Experts {
            count: 1024,
            active: 8,
            ffn: limits::EXPERTS_WIDTH.max / 1024,
            shared_ffn: limits::SHARED_FFN.max,
            shared_gate: true,
            router_bias: true,
            first_dense: 0,
            every: 1,
        });
        largest.architecture = super::super::Architecture::EncoderDecoder;
        largest.encoder_layers = limits::LAYERS.max;
        assert_eq!(limits::violations(&largest), []);
        assert!(largest.total_params().checked_mul(16).is_some());
    }
}
