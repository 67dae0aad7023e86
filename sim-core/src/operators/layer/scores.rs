//! The core of attention with scores in memory: separate kernels, and PyTorch's own way of writing
//! fused attention out.

use super::Layer;
use crate::model::shape::Stack;
use crate::operators::soft_cap::soft_cap;
use crate::operators::{Backend, Engine, Operator, ParameterTensor, TensorId, Work};
use crate::precision::DType;
use crate::scenario::AttentionKernel;

impl Layer<'_> {
    /// Scores of all pairs, hidden or not.
    fn score_elements(&self) -> u64 {
        let heads = self.shape.attention.heads.div_ceil(self.context.tp);
        self.context.batch * heads * self.context.sequence * self.context.keys()
    }

    fn has_attention_dropout(&self) -> bool {
        self.context.dropout && self.shape.module.drops_attention
    }

    /// PyTorch's CPU kernel for fused attention has no dropout: the operation is written out.
    pub(super) fn writes_out_dropout(&self) -> bool {
        self.context.kernels.backend == Backend::Traced && self.has_attention_dropout()
    }

    /// One of the two products with heads of `width` channels forward, and its two products backward.
    fn product(&self, operator: &mut Operator, width: u64, bytes: u64) {
        let pairs = (self.context.sequence * self.context.keys()) as f64;
        let flops = self.attention_flops(width, pairs);
        let forward = Work::of(Engine::Gemm, flops, bytes as f64, 1.0);
        operator.streams(forward, Work { flops: 2.0 * flops, launches: 2.0, ..forward });
    }

    /// The format of the softmax of separate kernels. The mask of a causal model has the stream's
    /// format, and its sum with the scores the wider of the two.
    fn softmax_format(&self) -> DType {
        let kernels = self.context.kernels;
        let recipe = self.context.recipe;
        let masked = self.kind.stack != Stack::Encoder && recipe.stream == DType::Fp32;
        let fp32 = self.shape.module.fp32_softmax || masked || self.context.autocasts_to_fp32();
        if fp32 && !kernels.fused_norm { DType::Fp32 } else { recipe.compute }
    }

    /// Hugging Face's modules repeat keys and values to the number of query heads.
    fn repeat_heads(&mut self, key: TensorId, value: TensorId, bytes: u64) -> [TensorId; 2] {
        let attention = &self.shape.attention;
        if attention.kv_heads == attention.heads || self.context.kernels.fused_projections {
            return [key, value];
        }
        [key, value].map(|tensor| {
            let repeated = self.tape.tensor("repeated-heads", bytes);
            let work = Work::stream(2 * bytes, 1);
            self.tape.operator("repeat-heads", &[tensor], &[repeated]).streams(work, work);
            repeated
        })
    }

    pub(super) fn eager(&mut self, query: TensorId, key: TensorId, value: TensorId) -> TensorId {
        let size = self.context.size();
        let elements = self.score_elements();
        let query_bytes = self.tape.tensors[query.0].bytes;
        // As many as the query heads have.
        let keys_bytes = query_bytes / self.context.sequence * self.context.keys();
        let [key, value] = self.repeat_heads(key, value, keys_bytes);
        let attention = &self.shape.attention;
        let (head_dim, value_dim) = (attention.head_dim, attention.value_dim());
        let heads = attention.heads.div_ceil(self.context.tp);
        let sinks = if attention.sinks { heads } else { 0 };
        let output_bytes = self.context.tokens() * heads * value_dim * size;
        let values_bytes = output_bytes / self.context.sequence * self.context.keys();

        let scores = self.tape.tensor("attention-scores", elements * size);
        let mut operator = Operator::new("attention-scores", &[query, key], &[scores]);
        operator.saves(&[query, key]);
        self.product(&mut operator, head_dim, elements * size + query_bytes + keys_bytes);
        self.tape.operators.push(operator);

        let mut scores = if self.shape.module.soft_caps {
            soft_cap(&mut self.tape, self.context, scores)
        } else {
            scores
        };
        if sinks > 0 {
            // One more column, joined in a copy.
            let joined = self.tape.tensor("attention-scores", elements * size);
            let operator = self.tape.operator("append-sinks", &[scores], &[joined]);
            let weights = self.context.recipe.weights.bytes();
            let work = Work::stream(2 * elements * size, 1);
            operator.trains(&[ParameterTensor::vector(sinks)], weights).streams(work, work);
            scores = joined;
        }
        let softmax = self.softmax_format();
        let mut weights = self.tape.tensor("attention-weights", elements * size);
        let saved = if softmax == self.context.recipe.compute {
            weights
        } else {
            self.tape.constant("attention-weights-fp32", elements * softmax.bytes())
        };
        let operator = self.tape.operator("softmax", &[scores], &[weights]);
        let work = Work::stream(elements * (2 * size + softmax.bytes()), 2);
        operator.saves(&[saved]).streams(work, work);
        operator.backward_workspace = if saved == weights { 0 } else { elements * softmax.bytes() };

        if self.has_attention_dropout() {
            weights = self.drop_weights(weights, elements);
        }

        let output = self.tape.tensor("attention-context", output_bytes);
        let mut operator = Operator::new("attention-values", &[weights, value], &[output]);
        operator.saves(&[weights, value]);
        self.product(&mut operator, value_dim, elements * size + output_bytes + values_bytes);
        self.tape.operators.push(operator);
        output
    }

    fn drop_weights(&mut self, weights: TensorId, elements: u64) -> TensorId {
        let bytes = self.tape.tensors[weights.0].bytes;
        let dropped = self.tape.tensor("attention-weights-dropped", bytes);
        let kept = self.context.dropout_mask(elements, bytes / elements.max(1));
        let mask = self.tape.constant("dropout-mask", kept);
        let work = Work::stream(2 * bytes + kept, 1);
        self.tape.operator("dropout", &[weights], &[dropped]).saves(&[mask]).streams(work, work);
        dropped
    }

    /// Attention as PyTorch writes it out where it has no fused kernel: everything in fp32, queries
    /// and keys scaled beforehand by the square root of the scale (`_scaled_dot_product_attention_math`).
    pub(super) fn math_attention(
        &mut self,
        query: TensorId,
        key: TensorId,
        value: TensorId,
    ) -> TensorId {
        let fp32 = DType::Fp32.bytes();
        let elements = self.score_elements();
        let attention = &self.shape.attention;
        let (head_dim, value_dim) = (attention.head_dim, attention.value_dim());
        let heads = attention.heads.div_ceil(self.context.tp);
        let wide = self.context.tokens() * heads * head_dim * fp32;
        let wide_values = self.context.tokens() * heads * value_dim * fp32;

        let scores = self.tape.tensor("attention-scores", elements * fp32);
        let scaled = [(); 2].map(|()| self.tape.constant("scaled-input", wide));
        let mut operator = Operator::new("attention-scores", &[query, key], &[scores]);
        operator.saves(&scaled);
        self.product(&mut operator, head_dim, elements * fp32 + 2 * wide);
        self.tape.operators.push(operator);

        let weights = self.tape.tensor("attention-weights", elements * fp32);
        let work = Work::stream(3 * elements * fp32, 2);
        self.tape.operator("softmax", &[scores], &[weights]).saves(&[weights]).streams(work, work);
        let dropped = self.drop_weights(weights, elements);

        let output =
            self.tape.tensor("attention-context", wide_values / fp32 * self.context.size());
        let copied = self.context.recipe.compute != DType::Fp32;
        let values = if copied { self.tape.constant("value-fp32", wide_values) } else { value };
        let mut operator = Operator::new("attention-values", &[dropped, value], &[output]);
        operator.saves(&[dropped, values]);
        self.product(&mut operator, value_dim, elements * fp32 + 2 * wide_values);
        self.tape.operators.push(operator);
        output
    }

    /// Slices of one product share its memory: while a kernel of the core needs one, all stay.
    /// Products of matrices copy the slices of more than one sample, whose heads are not in one
    /// piece; fused attention reads them where they are.
    pub(super) fn keep_slices(&mut self, first: usize, slices: &[TensorId; 3]) {
        let reads_slices = self.context.batch == 1
            || self.context.attention == AttentionKernel::Flash && !self.writes_out_dropout();
        if !reads_slices {
            return;
        }
        for operator in &mut self.tape.operators[first..] {
            if operator.saves.iter().any(|id| slices.contains(id)) {
                let missing = slices.iter().filter(|id| !operator.saves.contains(id));
                let missing: Vec<TensorId> = missing.copied().collect();
                operator.saves.extend(missing);
            }
        }
    }
}
