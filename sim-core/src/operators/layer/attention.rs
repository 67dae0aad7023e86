//! Self-attention: projections, rotation, and the core in one fused kernel.

use super::Layer;
use crate::model::shape::{Positions, Stack};
use crate::operators::split::{Projection, autocast_weights};
use crate::operators::{Engine, ParameterTensor, Tape, TensorId, Work};
use crate::precision::DType;
use crate::scenario::AttentionKernel;

impl Layer<'_> {
    pub(super) fn attention(&mut self, input: TensorId) -> TensorId {
        let (tokens, size, tp) = (self.context.tokens(), self.context.size(), self.context.tp);
        let attention = &self.shape.attention;
        let (qkv_bias, output_bias, qk_norm) =
            (attention.qkv_bias, attention.output_bias, attention.qk_norm);
        let head_dim = attention.head_dim;
        let query_width = attention.heads.div_ceil(tp) * head_dim;
        let key_width = attention.kv_heads.div_ceil(tp) * head_dim;

        let input = self.enter_split(input);
        let mut query = self.tape.tensor("query", tokens * query_width * size);
        let mut key = self.tape.tensor("key", tokens * key_width * size);
        let value = self.tape.tensor("value", tokens * key_width * size);
        let bias = qkv_bias;
        let slices = [query, key, value];
        let module = self.shape.module;
        let one_product = self.context.kernels.fused_projections || module.one_qkv_product;
        if one_product {
            let (outputs, width) = ([query, key, value], query_width + 2 * key_width);
            self.project(input, &[Projection { name: "qkv", outputs: &outputs, width, bias }]);
        } else {
            let (name, outputs, width) = ("query", &[query][..], query_width);
            let of_query = Projection { name, outputs, width, bias };
            let (name, outputs, width) = ("key", &[key][..], key_width);
            let of_key = Projection { name, outputs, width, bias };
            let (name, outputs) = ("value", &[value][..]);
            let of_value = Projection { name, outputs, width, bias };
            self.project(input, &[of_query, of_key, of_value]);
        }
        if qk_norm {
            query = self.head_norm(query, tokens * query_width);
            key = self.head_norm(key, tokens * key_width);
        }
        if self.shape.positions == Positions::Rope {
            (query, key) = self.rotate(query, key, tokens * (query_width + key_width));
        }
        if let Some(cache) = self.context.cache {
            self.append(key, value, cache);
        }
        let first = self.tape.operators.len();
        let context = match (self.context.attention, self.context.cache) {
            (AttentionKernel::Flash, Some(cache)) => self.cached_flash(query, key, value, cache),
            (AttentionKernel::Flash, None) if self.writes_out_dropout() => {
                self.math_attention(query, key, value)
            }
            (AttentionKernel::Flash, None) => self.flash(query, key, value),
            (AttentionKernel::Eager, _) => self.eager(query, key, value),
        };
        self.tape.attention_core = first..self.tape.operators.len();
        if one_product && !self.context.kernels.fused_projections {
            self.keep_slices(first, &slices);
        }

        let hidden = self.shape.hidden;
        let partial = self.tape.tensor("attention-output", tokens * hidden * size);
        let mut kept = vec![context];
        if self.context.recipe.casts() {
            kept.push(autocast_weights(&mut self.tape, self.context, query_width * hidden));
        }
        self.tape.operator("attention-output", &[context], &[partial]).saves(&kept).linear(
            tokens,
            hidden,
            query_width,
            output_bias,
            size,
        );
        self.leave_split(partial)
    }

    /// RMS norm over each head.
    fn head_norm(&mut self, input: TensorId, elements: u64) -> TensorId {
        let (size, head_dim) = (self.context.size(), self.shape.attention.head_dim);
        let output = self.tape.tensor("head-normed", elements * size);
        let fused = self.context.kernels.fused_norm;
        let mut saved = vec![self.tape.constant("norm-statistics", elements / head_dim * 4)];
        if fused || self.context.recipe.compute == DType::Fp32 {
            saved.push(input);
        } else {
            saved.push(self.tape.constant("norm-fp32-input", elements * 4));
        }
        if !fused {
            let fp32 = self.shape.module.fp32_norm_product;
            let number = if fp32 { DType::Fp32.bytes() } else { size };
            saved.push(self.tape.constant("normalized", elements * number));
        }
        let operator = self.tape.operator("head-norm", &[input], &[output]);
        operator.saves(&saved);
        operator.trains(&[ParameterTensor::vector(head_dim)], self.context.recipe.weights.bytes());
        let (passes, launches) = if fused { (1, 1) } else { (6, 6) };
        operator.streams(
            Work::stream(elements * 2 * size * passes, launches),
            Work::stream(elements * 3 * size * passes, 2 * launches),
        );
        output
    }

    fn rotate(&mut self, query: TensorId, key: TensorId, elements: u64) -> (TensorId, TensorId) {
        let size = self.context.size();
        let rotated_query = self.tape.tensor("rotated-query", self.tape.tensors[query.0].bytes);
        let rotated_key = self.tape.tensor("rotated-key", self.tape.tensors[key.0].bytes);
        let fused = self.context.kernels.fused_projections;
        let operator = self.tape.operator("rotary", &[query, key], &[rotated_query, rotated_key]);
        // Written out: two products, a rotation by halves and a sum for queries and for keys.
        let (passes, launches) = if fused { (2, 1) } else { (10, 10) };
        let work = Work::stream(elements * size * passes, launches);
        operator.streams(work, work);
        (rotated_query, rotated_key)
    }

    /// Operations of both attention products forward over `pairs` pairs of a query and a key.
    pub(super) fn attention_flops(&self, pairs: f64) -> f64 {
        let attention = &self.shape.attention;
        let heads = attention.heads.div_ceil(self.context.tp) as f64;
        4.0 * self.context.batch as f64 * heads * attention.head_dim as f64 * pairs
    }

    /// Pairs of a sample that a fused kernel computes: it skips what the mask hides.
    fn visible_pairs(&self) -> f64 {
        let sequence = self.context.sequence as f64;
        let window = self.kind.window;
        let visible = window.map_or(sequence, |window| libm::fmin(sequence, window as f64));
        match self.kind.stack {
            // Of a band of width w along the diagonal, w²/2 lies beyond the start.
            Stack::Decoder | Stack::CrossDecoder => sequence * visible - visible * visible / 2.0,
            Stack::Encoder => sequence * visible,
        }
    }

    fn flash(&mut self, query: TensorId, key: TensorId, value: TensorId) -> TensorId {
        let bytes = |id: TensorId, tape: &Tape| tape.tensors[id.0].bytes;
        let output = self.tape.tensor("attention-context", bytes(query, &self.tape));
        let heads = self.shape.attention.heads.div_ceil(self.context.tp);
        let statistics =
            self.tape.constant("attention-statistics", 4 * self.context.tokens() * heads);
        let traffic = 2 * bytes(query, &self.tape) + 2 * bytes(key, &self.tape);
        let flops = self.attention_flops(self.visible_pairs());
        let operator = self.tape.operator("attention", &[query, key, value], &[output]);
        operator.saves(&[query, key, value, output, statistics]);
        operator.streams(
            Work { engine: Engine::Attention, flops, bytes: traffic as f64, launches: 1.0 },
            // Five products instead of two: the scores are computed again (Dao 2023, §3.1).
            Work {
                engine: Engine::Attention,
                flops: 2.5 * flops,
                bytes: 2.0 * traffic as f64,
                launches: 3.0,
            },
        );
        let kernels = self.context.kernels;
        if !self.shape.module.joins_rotated || kernels.fused_projections {
            return output;
        }
        let bytes = bytes(output, &self.tape);
        let copied = self.tape.tensor("attention-context", bytes);
        let work = Work::stream(2 * bytes, 1);
        self.tape.operator("join-heads", &[output], &[copied]).streams(work, work);
        copied
    }
}
