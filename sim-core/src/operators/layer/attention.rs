//! Self-attention: projections, rotation, and the core in one fused kernel.

use super::Layer;
use crate::model::shape::{Positions, Stack};
use crate::operators::split::{Projection, autocast_weights};
use crate::operators::{Collective, CollectiveKind, Engine, ParameterTensor, TensorId, Work};
use crate::precision::DType;
use crate::scenario::AttentionKernel;

impl Layer<'_> {
    pub(super) fn attention(&mut self, input: TensorId) -> TensorId {
        let (tokens, size, tp) = (self.context.tokens(), self.context.size(), self.context.tp);
        let attention = &self.shape.attention;
        let output_bias = attention.output_bias;
        let width = attention.heads.div_ceil(tp) * attention.value_dim();

        let (query, key, value, slices) = match attention.latent {
            Some(latent) => {
                let (query, key, value) = self.latent(input, latent);
                (query, key, value, None)
            }
            None => self.heads(input),
        };
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
        if let Some(slices) = slices {
            self.keep_slices(first, &slices);
        }

        let hidden = self.shape.hidden;
        let partial = self.tape.tensor("attention-output", tokens * hidden * size);
        let mut kept = vec![context];
        if self.context.recipe.casts() {
            kept.push(autocast_weights(&mut self.tape, self.context, width * hidden));
        }
        self.tape.operator("attention-output", &[context], &[partial]).saves(&kept).linear(
            tokens,
            hidden,
            width,
            output_bias,
            size,
        );
        self.leave_split(partial)
    }

    /// Queries, keys and values of the heads on this rank, normed and rotated where they are, and the
    /// slices of one product that they come from where their memory is shared.
    fn heads(&mut self, input: TensorId) -> (TensorId, TensorId, TensorId, Option<[TensorId; 3]>) {
        let (tokens, size, tp) = (self.context.tokens(), self.context.size(), self.context.tp);
        let attention = &self.shape.attention;
        let (bias, qk_norm) = (attention.qkv_bias, attention.qk_norm);
        let head_dim = attention.head_dim;
        let query_width = attention.heads.div_ceil(tp) * head_dim;
        let key_width = attention.kv_heads.div_ceil(tp) * head_dim;

        let input = self.enter_split(input);
        let mut query = self.tape.tensor("query", tokens * query_width * size);
        let mut key = self.tape.tensor("key", tokens * key_width * size);
        let value = self.tape.tensor("value", tokens * key_width * size);
        let slices = [query, key, value];
        let one_product =
            self.context.kernels.fused_projections || self.shape.module.one_qkv_product;
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
        let sliced = one_product && !self.context.kernels.fused_projections;
        (query, key, value, sliced.then_some(slices))
    }

    /// RMS norm over each head.
    fn head_norm(&mut self, input: TensorId, elements: u64) -> TensorId {
        let output = self.tape.tensor("head-normed", elements * self.context.size());
        let head_dim = self.shape.attention.head_dim;
        self.narrow_norm("head-norm", input, output, elements, head_dim);
        output
    }

    /// RMS norm of `elements` numbers over `width` channels each.
    pub(super) fn narrow_norm(
        &mut self,
        name: &'static str,
        input: TensorId,
        output: TensorId,
        elements: u64,
        width: u64,
    ) {
        let size = self.context.size();
        let fused = self.context.kernels.fused_norm;
        let mut saved = vec![self.tape.constant("norm-statistics", elements / width * 4)];
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
        let operator = self.tape.operator(name, &[input], &[output]);
        operator.saves(&saved);
        operator.trains(&[ParameterTensor::vector(width)], self.context.recipe.weights.bytes());
        let (passes, launches) = if fused { (1, 1) } else { (6, 6) };
        operator.streams(
            Work::stream(elements * 2 * size * passes, launches),
            Work::stream(elements * 3 * size * passes, 2 * launches),
        );
    }

    fn rotate(&mut self, query: TensorId, key: TensorId, elements: u64) -> (TensorId, TensorId) {
        let size = self.context.size();
        let rotated_query = self.tape.tensor("rotated-query", self.bytes(query));
        let rotated_key = self.tape.tensor("rotated-key", self.bytes(key));
        let fused = self.context.kernels.fused_projections;
        let operator = self.tape.operator("rotary", &[query, key], &[rotated_query, rotated_key]);
        // Written out: two products, a rotation by halves and a sum for queries and for keys.
        let (passes, launches) = if fused { (2, 1) } else { (10, 10) };
        let work = Work::stream(elements * size * passes, launches);
        operator.streams(work, work);
        (rotated_query, rotated_key)
    }

    /// Operations forward of a product over `pairs` pairs of a query and a key with heads of
    /// `width` channels.
    pub(super) fn attention_flops(&self, width: u64, pairs: f64) -> f64 {
        let heads = self.shape.attention.heads.div_ceil(self.context.tp) as f64;
        2.0 * self.context.batch as f64 * heads * width as f64 * pairs
    }

    /// Pairs of a sample that a fused kernel computes on this rank: it skips what the mask hides.
    /// Ranks that split a sequence have pieces from both ends of it, and as many pairs each.
    fn visible_pairs(&self) -> f64 {
        let sequence = self.context.sequence as f64;
        let window = self.kind.window;
        let visible = window.map_or(sequence, |window| libm::fmin(sequence, window as f64));
        let pairs = match self.kind.stack {
            // Of a band of width w along the diagonal, w²/2 lies beyond the start.
            Stack::Decoder | Stack::CrossDecoder => sequence * visible - visible * visible / 2.0,
            Stack::Encoder => sequence * visible,
        };
        pairs / self.context.cp as f64
    }

    fn flash(&mut self, query: TensorId, key: TensorId, value: TensorId) -> TensorId {
        let attention = &self.shape.attention;
        let (head_dim, value_dim) = (attention.head_dim, attention.value_dim());
        let heads = attention.heads.div_ceil(self.context.tp);
        let sinks = if attention.sinks { heads } else { 0 };
        let row = self.context.tokens() * heads * self.context.size();
        let width = if self.context.kernels.pads_values { head_dim } else { value_dim };
        let output = self.tape.tensor("attention-context", row * width);
        let statistics =
            self.tape.constant("attention-statistics", 4 * self.context.tokens() * heads);
        let tensors = [query, key, value, output];
        let traffic: u64 = tensors.iter().map(|id| self.bytes(*id)).sum();
        let flops = self.attention_flops(head_dim + width, self.visible_pairs());
        let weights = self.context.recipe.weights.bytes();
        let operator = self.tape.operator("attention", &tensors[..3], &[output]);
        operator.saves(&[query, key, value, output, statistics]);
        if sinks > 0 {
            operator.trains(&[ParameterTensor::vector(sinks)], weights);
        }
        operator.streams(
            Work::of(Engine::Attention, flops, traffic as f64, 1.0),
            // Five products instead of two: the scores are computed again (Dao 2023, §3.1).
            Work::of(Engine::Attention, 2.5 * flops, 2.0 * traffic as f64, 3.0),
        );
        self.pass_around(query, key, value, output);
        if width == value_dim {
            return self.join_heads(output);
        }
        // The zeros of padded values are cut off in a copy.
        let cut = self.tape.tensor("attention-context", row * value_dim);
        let work = Work::stream(2 * row * value_dim, 1);
        self.tape.operator("unpad-values", &[output], &[cut]).streams(work, work);
        cut
    }

    /// Keys and values of all ranks that split a sequence pass by while attention runs (Liu et al.
    /// 2023, Ring Attention). The newest operator keeps only its own for backward, where their
    /// gradients travel along.
    ///
    /// Buffers are those of Transformer Engine: forward keeps what it has received and the result of
    /// every step until all are joined; backward has two messages of keys, values and gradients, and
    /// one step's gradients of its own.
    fn pass_around(&mut self, query: TensorId, key: TensorId, value: TensorId, output: TensorId) {
        let cp = self.context.cp;
        if cp == 1 {
            return;
        }
        let pair = self.bytes(key) + self.bytes(value);
        let (own_query, own_output) = (self.bytes(query), self.bytes(output));
        let operator = self.tape.operators.last_mut().expect("attention was just added");
        let pass = |bytes| Some(Collective { kind: CollectiveKind::RingPass, bytes });
        operator.forward_collective = pass(cp * pair);
        operator.backward_collective = pass(2 * cp * pair);
        operator.forward_workspace = (cp - 1) * pair + cp * own_output;
        operator.backward_workspace = 4 * pair + pair + own_query;
    }

    /// The copy that the output projection reads where fused attention has the layout of queries
    /// joined head by head.
    fn join_heads(&mut self, output: TensorId) -> TensorId {
        if !self.shape.module.joins_rotated || self.context.kernels.fused_projections {
            return output;
        }
        let bytes = self.bytes(output);
        let copied = self.tape.tensor("attention-context", bytes);
        let work = Work::stream(2 * bytes, 1);
        self.tape.operator("join-heads", &[output], &[copied]).streams(work, work);
        copied
    }
}
