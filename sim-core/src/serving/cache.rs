//! Bytes of the KV cache, layer by layer.

use crate::formats::KvFormat;
use crate::model::{LayerKind, ModelShape, Stack};
use std::ops::Range;

/// How keys and values are stored and rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLayout {
    pub format: KvFormat,
    /// Tokens of a request are rounded up to a multiple of it.
    pub rounding: u64,
    /// Tokens kept beside a window.
    pub window_slack: u64,
    /// One more block beside a window that begins and ends within blocks.
    pub window_block: bool,
}

impl CacheLayout {
    /// Without rounding.
    pub const fn exact(format: KvFormat) -> Self {
        Self { format, rounding: 1, window_slack: 0, window_block: false }
    }

    /// Bytes of a token in a layer of `kind` on one of `tp` ranks: `2·k·d` numbers, key and value
    /// heads copied where there are fewer than ranks; a latent on every rank whole.
    ///
    /// ```
    /// use sim_core::formats::KvFormat;
    /// use sim_core::serving::CacheLayout;
    /// let layout = CacheLayout::exact(KvFormat::parse("fp16").unwrap());
    /// let of = |id: &str, tp| {
    ///     let shape = &sim_core::model::catalog::find(id).unwrap().shape;
    ///     shape.layers * layout.token_bytes(shape, shape.layer_kind(0), tp)
    /// };
    /// assert_eq!(of("opt-13b", 1), 819_200); // Kwon et al. 2023, §3: 800 KB
    /// assert_eq!(of("llama-3.1-8b", 1), 131_072);
    /// assert_eq!(of("llama-3.1-8b", 16), 131_072 / 8); // 8 heads, one on every rank
    /// assert_eq!(of("deepseek-v3", 8), 61 * (512 + 64) * 2); // the latent on every rank
    /// ```
    pub const fn token_bytes(&self, shape: &ModelShape, kind: LayerKind, tp: u64) -> u64 {
        let attention = &shape.attention;
        if matches!(kind.stack, Stack::Encoder) {
            return 0;
        }
        match attention.latent {
            Some(latent) => self.format.vector_bytes(latent.kv_rank + latent.rope_dim),
            None => {
                2 * attention.kv_heads.div_ceil(tp) * self.format.vector_bytes(attention.head_dim)
            }
        }
    }

    /// Tokens that a layer of `kind` keeps of a request of `tokens`.
    pub const fn kept_tokens(&self, kind: LayerKind, tokens: u64) -> u64 {
        let whole = tokens.next_multiple_of(self.rounding);
        let Some(window) = kind.window else { return whole };
        let extra = if self.window_block { self.rounding } else { 0 };
        let part = (window + self.window_slack).next_multiple_of(self.rounding) + extra;
        if part < whole { part } else { whole }
    }

    /// Bytes of one request of `tokens` over some layers, on one of `tp` ranks.
    pub fn request_bytes(
        &self,
        shape: &ModelShape,
        layers: Range<u64>,
        tp: u64,
        tokens: u64,
    ) -> u64 {
        layers
            .map(|layer| {
                let kind = shape.layer_kind(layer);
                self.kept_tokens(kind, tokens) * self.token_bytes(shape, kind, tp)
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalog;

    fn shape(id: &str) -> &'static ModelShape {
        &catalog::find(id).expect(id).shape
    }

    fn layout(rounding: u64) -> CacheLayout {
        let format = KvFormat::parse("bf16").expect("a format");
        CacheLayout { rounding, ..CacheLayout::exact(format) }
    }

    /// Gemma 3 27B: 52 of 62 layers look back on 1024 tokens, 16 heads of 128.
    #[test]
    fn layers_with_a_window_keep_no_more_than_it() {
        let gemma = shape("gemma-3-27b");
        let token = 2 * 16 * 128 * 2;
        let of = |tokens| layout(1).request_bytes(gemma, 0..62, 1, tokens);
        assert_eq!(of(1000), 62 * 1000 * token);
        assert_eq!(of(32768), (52 * 1024 + 10 * 32768) * token);
    }

    #[test]
    fn a_request_takes_whole_blocks() {
        let llama = shape("llama-3.1-8b");
        let of = |tokens| layout(16).request_bytes(llama, 0..32, 1, tokens);
        assert_eq!(of(1), 16 * 131_072);
        assert_eq!(of(16), 16 * 131_072);
        assert_eq!(of(17), 32 * 131_072);
    }

    /// vLLM keeps a window, the step's tokens, and a block more.
    #[test]
    fn a_paged_window_has_room_for_a_step() {
        let kind = shape("gemma-3-27b").layer_kind(0);
        let paged = CacheLayout { window_slack: 2047, window_block: true, ..layout(16) };
        assert_eq!(paged.kept_tokens(kind, 100_000), (1024 + 2047 + 1) + 16);
        assert_eq!(paged.kept_tokens(kind, 100), 112);
    }

    /// llama.cpp's logs: LLaMA-30B 1560 MiB at 1024 tokens, LLaMA-7B 512 MiB at 512 in fp32.
    #[test]
    fn logged_sizes() {
        let of = |id, name, tokens| {
            let format = KvFormat::parse(name).expect("a format");
            let shape = shape(id);
            let layers = 0..shape.layers;
            CacheLayout::exact(format).request_bytes(shape, layers, 1, tokens) >> 20
        };
        assert_eq!(of("llama-33b", "fp16", 1024), 1560);
        assert_eq!(of("llama-7b", "fp32", 512), 512);
    }

    #[test]
    fn encoders_cache_nothing() {
        let bert = shape("bert-base");
        assert_eq!(layout(1).request_bytes(bert, 0..12, 1, 512), 0);
    }
}
