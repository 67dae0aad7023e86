//! What a [`ModelShape`] may hold: ranges wide of every real model, and narrow enough for `u64`.
//!
//! Within them 16 bytes for every parameter still fit into `u64`, so nothing downstream overflows.

use super::shape::{LatentAttention, ModelShape, Positions};

/// An inclusive range of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountRange {
    pub min: u64,
    pub max: u64,
}

impl CountRange {
    /// True where `min ≤ value ≤ max`.
    pub const fn contains(&self, value: u64) -> bool {
        self.min <= value && value <= self.max
    }
}

const fn range(min: u64, max: u64) -> CountRange {
    CountRange { min, max }
}

/// Layers. The deepest known model has 128.
pub const LAYERS: CountRange = range(1, 10_000);
/// Width of the residual stream, channels. The widest known model has 25 600.
pub const HIDDEN: CountRange = range(1, 262_144);
/// Query heads.
pub const HEADS: CountRange = range(1, 16_384);
/// Channels per head.
pub const HEAD_DIM: CountRange = range(1, 65_536);
/// `heads · head_dim`, channels.
pub const ATTENTION_WIDTH: CountRange = range(1, 2_097_152);
/// Inner width of the MLP, channels.
pub const FFN: CountRange = range(1, 2_097_152);
/// Routed experts of a layer.
pub const EXPERTS: CountRange = range(1, 65_536);
/// `experts.count · experts.ffn`, channels: as wide as the widest MLP.
pub const EXPERTS_WIDTH: CountRange = FFN;
/// Inner width of the shared experts.
pub const SHARED_FFN: CountRange = range(0, 2_097_152);
/// Ranks and head widths of latent attention, channels.
pub const LATENT: CountRange = range(1, 65_536);
/// Buckets of relative positions.
pub const BUCKETS: CountRange = range(1, 65_536);
/// Rows of the token table.
pub const VOCAB: CountRange = range(1, 16_777_216);
/// Longest context, tokens.
pub const MAX_SEQUENCE: CountRange = range(1, 1_073_741_824);
/// Rows of a learned position table (a context plus a few extra rows).
pub const POSITION_ROWS: CountRange = range(1, 1_073_741_824 + 1_024);
/// Rows of the segment table.
pub const TOKEN_TYPES: CountRange = range(0, 1_024);

/// A field outside its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path inside [`ModelShape`], such as `attention.kv_heads`.
    pub field: &'static str,
    pub value: u64,
    pub accepted: CountRange,
}

/// Every field of `shape` that is outside its range, in the order of the struct.
///
/// Key-value heads must also divide the query heads; one that does not is reported with the range
/// 1 to `heads`.
pub fn violations(shape: &ModelShape) -> Vec<Violation> {
    let attention = &shape.attention;
    let kv_range = range(1, attention.heads.max(1));
    let mut found = Vec::new();
    let mut check = |field, value: u64, accepted: CountRange| {
        if !accepted.contains(value) {
            found.push(Violation { field, value, accepted });
        }
    };
    check("layers", shape.layers, LAYERS);
    check("encoder_layers", shape.encoder_layers, range(0, LAYERS.max));
    check("hidden", shape.hidden, HIDDEN);
    check("attention.heads", attention.heads, HEADS);
    check("attention.kv_heads", attention.kv_heads, kv_range);
    check("attention.head_dim", attention.head_dim, HEAD_DIM);
    let width = attention.heads.saturating_mul(attention.head_dim);
    check("attention.heads × head_dim", width, ATTENTION_WIDTH);
    if let Some(window) = attention.sliding_window {
        check("attention.sliding_window", window.tokens, MAX_SEQUENCE);
        check("attention.full_every", window.full_every.unwrap_or(1), LAYERS);
    }
    if let Some(latent) = attention.latent {
        let LatentAttention { query_rank, kv_rank, nope_dim, rope_dim, value_dim } = latent;
        check("attention.query_rank", query_rank.unwrap_or(1), LATENT);
        check("attention.kv_rank", kv_rank, LATENT);
        check("attention.nope_dim", nope_dim, LATENT);
        check("attention.rope_dim", rope_dim, LATENT);
        check("attention.value_dim", value_dim, LATENT);
        let width = attention.heads.saturating_mul(value_dim.saturating_add(nope_dim));
        check("attention.heads × value_dim", width, ATTENTION_WIDTH);
    }
    check("mlp.ffn", shape.mlp.ffn, FFN);
    if let Some(experts) = shape.experts {
        check("experts.count", experts.count, EXPERTS);
        check("experts.active", experts.active, range(1, experts.count.max(1)));
        check("experts.ffn", experts.ffn, FFN);
        let width = experts.count.saturating_mul(experts.ffn);
        check("experts.count × ffn", width, EXPERTS_WIDTH);
        check("experts.shared_ffn", experts.shared_ffn, SHARED_FFN);
        check("experts.first_dense", experts.first_dense, range(0, LAYERS.max));
        check("experts.every", experts.every, LAYERS);
    }
    check("vocab", shape.vocab, VOCAB);
    if let Positions::Learned { rows } = shape.positions {
        check("positions.rows", rows, POSITION_ROWS);
    }
    if let Positions::Relative { buckets } = shape.positions {
        check("positions.buckets", buckets, BUCKETS);
    }
    check("token_types", shape.token_types, TOKEN_TYPES);
    check("max_sequence", shape.max_sequence, MAX_SEQUENCE);
    let divides = attention.kv_heads != 0 && attention.heads.is_multiple_of(attention.kv_heads);
    if !divides && kv_range.contains(attention.kv_heads) {
        found.push(Violation {
            field: "attention.kv_heads",
            value: attention.kv_heads,
            accepted: kv_range,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{LAYERS, violations};
    use crate::model::catalog;

    #[test]
    fn every_catalogue_model_is_within_the_limits() {
        for entry in catalog::MODELS {
            assert_eq!(violations(&entry.shape), [], "{}", entry.id);
        }
    }

    #[test]
    fn zero_layers_and_kv_heads_that_do_not_divide_are_named() {
        let mut shape = catalog::find("llama-2-7b").expect("listed").shape.clone();
        shape.layers = 0;
        shape.attention.kv_heads = 5;
        let found = violations(&shape);
        assert_eq!(found[0].field, "layers");
        assert_eq!(found[0].accepted, LAYERS);
        assert_eq!(found[1].field, "attention.kv_heads");
    }
}
