//! Attention over a KV cache: new keys and values enter it, queries read all of it.

use super::Layer;
use crate::hardware::measured::{AttentionPhase, AttentionShape};
use crate::model::shape::Stack;
use crate::operators::{Append, CacheAccess, Engine, TensorId, Work};
use crate::trace::Category;

impl Layer<'_> {
    /// Bytes of the keys, or of the values, of `tokens` tokens of every sample in the cache.
    fn cached_bytes(&self, cache: CacheAccess, tokens: u64) -> u64 {
        let attention = &self.shape.attention;
        let heads = attention.kv_heads.div_ceil(self.context.tp);
        self.context.batch * tokens * heads * cache.format.vector_bytes(attention.head_dim)
    }

    /// Puts new keys and values into the cache. Who owns the cache says what that allocates; a step
    /// called `append-cache` is where.
    pub(super) fn append(&mut self, key: TensorId, value: TensorId, cache: CacheAccess) {
        let new = self.cached_bytes(cache, self.context.sequence);
        let all = self.cached_bytes(cache, self.context.keys());
        match cache.append {
            Append::Kept => {
                for id in [key, value] {
                    self.tape.tensors[id.0].category = Category::KvCache;
                    self.tape.tensors[id.0].name = "kv-cache";
                    self.tape.retained.push(id);
                }
            }
            Append::Concatenated => {
                for id in [key, value] {
                    let operator = self.tape.operator("append-cache", &[id], &[]);
                    operator.forward = Some(Work::stream(2 * all, 1));
                }
            }
            Append::Written => {
                let read = self.tape.tensors[key.0].bytes + self.tape.tensors[value.0].bytes;
                let operator = self.tape.operator("append-cache", &[key, value], &[]);
                operator.forward = Some(Work::stream(read + 2 * new, 1));
            }
        }
    }

    /// Pairs of a new query and a key that it sees, of one sample.
    ///
    /// Token i of S new ones after p old ones sees p + i + 1 keys, w at most.
    ///
    /// By hand: 3 new tokens after 10 see 11 + 12 + 13; with a window of 12, 11 + 12 + 12.
    fn cached_pairs(&self, past: u64) -> f64 {
        let (new, past) = (self.context.sequence as f64, past as f64);
        let all = new * past + new * (new + 1.0) / 2.0;
        let Some(window) = self.kind.window else { return all };
        // The last `beyond` queries see one key too many, two, …
        let beyond = libm::fmax(past + new - window as f64, 0.0);
        let cut = libm::fmin(beyond, new);
        // Of queries that are all beyond the window the first is already `beyond − new` too far.
        all - cut * (beyond - cut) - cut * (cut + 1.0) / 2.0
    }

    /// The shape as attention over paged caches was timed: whole prompts, or one new token.
    fn timed_shape(&self, cache: CacheAccess) -> Option<(AttentionPhase, AttentionShape)> {
        let (attention, context) = (&self.shape.attention, &self.context);
        let cache_bytes = match cache.format.vector_bytes(attention.head_dim) {
            bytes if bytes == 2 * attention.head_dim => 2,
            bytes if bytes == attention.head_dim => 1,
            _ => return None,
        };
        let phase = match (context.sequence, cache.past) {
            (1, past) if past > 0 => AttentionPhase::Decode,
            (_, 0) if self.kind.stack == Stack::Decoder => AttentionPhase::Prefill,
            _ => return None,
        };
        if cache.append != Append::Written || cache.dequantized || context.size() != 2 {
            return None;
        }
        let shape = AttentionShape {
            batch: context.batch,
            context: context.keys(),
            heads: attention.heads.div_ceil(context.tp),
            kv_heads: attention.kv_heads.div_ceil(context.tp),
            head_dim: attention.head_dim,
            cache_bytes,
            window: self.kind.window,
        };
        Some((phase, shape))
    }

    /// Fused attention of new queries over the cache. `key` and `value` are read where the cache is
    /// not: in the first step, which makes them.
    pub(super) fn cached_flash(
        &mut self,
        query: TensorId,
        key: TensorId,
        value: TensorId,
        cache: CacheAccess,
    ) -> TensorId {
        let query_bytes = self.tape.tensors[query.0].bytes;
        let visible = match self.kind.window {
            Some(window) => self.context.keys().min(window + self.context.sequence - 1),
            None => self.context.keys(),
        };
        let mut reads = vec![query];
        let mut cache_bytes = 2 * self.cached_bytes(cache, visible);
        if cache.past == 0 {
            reads.extend([key, value]);
            cache_bytes = self.tape.tensors[key.0].bytes + self.tape.tensors[value.0].bytes;
        } else if cache.dequantized {
            let heads = self.shape.attention.kv_heads.div_ceil(self.context.tp);
            let numbers = self.context.batch * visible * heads * self.shape.attention.head_dim;
            let whole = 2 * numbers * self.context.size();
            let copy = self.tape.tensor("dequantized-cache", whole);
            let operator = self.tape.operator("dequantize-cache", &[], &[copy]);
            operator.forward = Some(Work::stream(cache_bytes + whole, 2));
            reads.push(copy);
            cache_bytes = whole;
        }
        let output = self.tape.tensor("attention-context", query_bytes);
        let flops =
            self.attention_flops(2 * self.shape.attention.head_dim, self.cached_pairs(cache.past));
        let bytes = (2 * query_bytes + cache_bytes) as f64;
        let attention = self.timed_shape(cache);
        let work = Work { attention, ..Work::of(Engine::Attention, flops, bytes, 1.0) };
        self.tape.operator("attention", &reads, &[output]).forward = Some(work);
        output
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::KvFormat;
    use crate::model::catalog;
    use crate::operators::{Append, CacheAccess, Context, layer_tape};
    use crate::precision::{DType, Precision};

    fn pairs(new: u64, past: u64, window: Option<u64>) -> f64 {
        let shape = &catalog::find("llama-2-7b").expect("listed").shape;
        let mut kind = shape.layer_kind(0);
        kind.window = window;
        let cache = CacheAccess {
            past,
            format: KvFormat::Plain(DType::Bf16),
            append: Append::Written,
            dequantized: false,
        };
        let context = Context { cache: Some(cache), ..Context::new(new, Precision::Bf16Pure) };
        let tape = layer_tape(shape, kind, &context);
        let attention = tape.operators.iter().find(|op| op.name == "attention").expect("has one");
        attention.forward.expect("has work").flops / (4.0 * 4096.0)
    }

    #[test]
    fn every_new_token_sees_what_came_before_it_within_the_window() {
        for (new, past, window) in
            [(3, 10, None), (3, 10, Some(12)), (3, 10, Some(4)), (5, 0, Some(2)), (1, 7, Some(8))]
        {
            let seen = |i: u64| (past + i + 1).min(window.unwrap_or(u64::MAX));
            let by_hand: u64 = (0..new).map(seen).sum();
            assert_eq!(pairs(new, past, window), by_hand as f64, "{new} {past} {window:?}");
        }
    }
}
