//! The operators of one transformer layer.

use super::split::{Projection, autocast_weights, enter_split, leave_split, project};
use super::{Context, Engine, GradientRule, Tape, TensorId, Work};
use crate::model::shape::{
    Activation, Architecture, ModelShape, NormKind, NormPlacement, Positions,
};
use crate::precision::DType;
use crate::scenario::AttentionKernel;

/// The operators of one layer on one rank.
///
/// Saved tensors, in bytes per token and layer with `h` hidden, `f` inner width and two-byte
/// numbers: 24·h + 8·f + 136 for Llama-2-7B as Hugging Face's modules run it with fused attention,
/// 34·h + 5·a·s for a GPT layer with Megatron's kernels and dropout (Korthikanti et al. 2022, §4.1).
pub fn layer_tape(shape: &ModelShape, context: &Context) -> Tape {
    let mut layer = Layer { shape, context, tape: Tape::default() };
    let input = layer.stream("layer-input");
    layer.tape.input = Some(input);
    let output = match shape.norm_placement {
        NormPlacement::Pre => {
            let normed = layer.norm(input);
            let attended = layer.attention(normed);
            let middle = layer.residual(input, attended);
            let normed = layer.norm(middle);
            let transformed = layer.mlp(normed);
            layer.residual(middle, transformed)
        }
        NormPlacement::Post => {
            let attended = layer.attention(input);
            let sum = layer.residual(input, attended);
            let middle = layer.norm(sum);
            let transformed = layer.mlp(middle);
            let sum = layer.residual(middle, transformed);
            layer.norm(sum)
        }
    };
    layer.tape.output = Some(output);
    // The next layer frees it under the name that it knows.
    layer.tape.tensors[output.0].name = "layer-input";
    layer.tape
}

/// A norm of the stream `input`, appended to a tape.
pub(super) fn norm(
    tape: &mut Tape,
    shape: &ModelShape,
    context: &Context,
    input: TensorId,
) -> TensorId {
    let (tokens, hidden, size) = (context.stream_tokens(), shape.hidden, context.stream_size());
    let elements = tokens * hidden;
    let output = tape.tensor("normed", elements * size);
    let written_out = shape.norm == NormKind::Rms && !context.kernels.fused_norm;
    let statistics =
        tape.constant("norm-statistics", tokens * if shape.norm == NormKind::Rms { 4 } else { 8 });
    let mut saved = vec![statistics];
    if written_out {
        // Below fp32 the input is copied to fp32, and the weight's product needs the normalized
        // stream; in fp32 the copy is the input itself.
        saved.push(if context.recipe.stream == DType::Fp32 {
            input
        } else {
            tape.constant("norm-fp32-input", elements * 4)
        });
        saved.push(tape.constant("normalized", elements * size));
    } else {
        saved.push(input);
    }
    let operator = tape.operator("norm", &[input], &[output]);
    operator.saves(&saved);
    operator.trains(shape.norm_params(), context.recipe.weights.bytes());
    if written_out {
        // Cast, square, mean, product, cast, product with the weight; about twice that backward.
        operator.streams(
            Work::stream(elements * (22 + 4 * size), 6),
            Work::stream(elements * (40 + 8 * size), 11),
        );
        operator.forward_workspace = elements * 4;
        operator.backward_workspace = elements * 8;
    } else {
        operator
            .streams(Work::stream(elements * 2 * size, 1), Work::stream(elements * 3 * size, 2));
    }
    output
}

struct Layer<'a> {
    shape: &'a ModelShape,
    context: &'a Context,
    tape: Tape,
}

impl Layer<'_> {
    /// A tensor of the residual stream.
    fn stream(&mut self, name: &'static str) -> TensorId {
        self.tape.tensor(name, self.stream_bytes())
    }

    fn stream_bytes(&self) -> u64 {
        self.context.stream_tokens() * self.shape.hidden * self.context.stream_size()
    }

    fn norm(&mut self, input: TensorId) -> TensorId {
        norm(&mut self.tape, self.shape, self.context, input)
    }

    fn enter_split(&mut self, input: TensorId) -> TensorId {
        enter_split(&mut self.tape, self.context, self.shape.hidden, input)
    }

    fn leave_split(&mut self, partial: TensorId) -> TensorId {
        leave_split(&mut self.tape, self.context, self.shape.hidden, partial)
    }

    fn project(&mut self, input: TensorId, projections: &[Projection<'_>]) {
        project(&mut self.tape, self.context, self.shape.hidden, input, projections);
    }

    fn attention(&mut self, input: TensorId) -> TensorId {
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
        if self.context.kernels.fused_projections {
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
        let first = self.tape.operators.len();
        let context = match self.context.attention {
            AttentionKernel::Flash => self.flash(query, key, value),
            AttentionKernel::Eager => self.eager(query, key, value),
        };
        self.tape.attention_core = first..self.tape.operators.len();

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
            saved.push(self.tape.constant("normalized", elements * size));
        }
        let operator = self.tape.operator("head-norm", &[input], &[output]);
        operator.saves(&saved);
        operator.trains(head_dim, self.context.recipe.weights.bytes());
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
    fn attention_flops(&self, pairs: f64) -> f64 {
        let attention = &self.shape.attention;
        let heads = attention.heads.div_ceil(self.context.tp) as f64;
        4.0 * self.context.batch as f64 * heads * attention.head_dim as f64 * pairs
    }

    /// Pairs of a sample that a fused kernel computes: it skips what the mask hides.
    fn visible_pairs(&self) -> f64 {
        let sequence = self.context.sequence as f64;
        let window = self.shape.attention.sliding_window;
        let visible = window.map_or(sequence, |window| libm::fmin(sequence, window as f64));
        match self.shape.architecture {
            // Of a band of width w along the diagonal, w²/2 lies beyond the start.
            Architecture::Decoder => sequence * visible - visible * visible / 2.0,
            Architecture::Encoder => sequence * visible,
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
        output
    }

    fn eager(&mut self, query: TensorId, key: TensorId, value: TensorId) -> TensorId {
        let (size, sequence) = (self.context.size(), self.context.sequence);
        let attention = &self.shape.attention;
        let heads = attention.heads.div_ceil(self.context.tp);
        let scores_elements = self.context.batch * heads * sequence * sequence;
        let query_bytes = self.tape.tensors[query.0].bytes;
        // Scores of all pairs, hidden or not.
        let half = self.attention_flops((sequence * sequence) as f64) / 2.0;
        let product = |bytes: u64| Work {
            engine: Engine::Gemm,
            flops: half,
            bytes: (bytes + 2 * query_bytes) as f64,
            launches: 1.0,
        };
        // Hugging Face's modules repeat keys and values to the number of query heads.
        let (mut key, mut value) = (key, value);
        if attention.kv_heads != attention.heads && !self.context.kernels.fused_projections {
            for tensor in [&mut key, &mut value] {
                let repeated = self.tape.tensor("repeated-heads", query_bytes);
                let work = Work::stream(2 * query_bytes, 1);
                self.tape.operator("repeat-heads", &[*tensor], &[repeated]).streams(work, work);
                *tensor = repeated;
            }
        }

        let scores = self.tape.tensor("attention-scores", scores_elements * size);
        let operator = self.tape.operator("attention-scores", &[query, key], &[scores]);
        operator.saves(&[query, key]).streams(product(scores_elements * size), {
            let one = product(scores_elements * size);
            Work { flops: 2.0 * half, launches: 2.0, ..one }
        });

        // Softmax in fp32 with a cast back, or in one kernel in the working format.
        let fused = self.context.kernels.fused_norm || self.context.recipe.compute == DType::Fp32;
        let mut weights = self.tape.tensor("attention-weights", scores_elements * size);
        let softmax_bytes = if fused { size } else { 4 };
        let saved = if fused {
            weights
        } else {
            self.tape.constant("attention-weights-fp32", scores_elements * 4)
        };
        let operator = self.tape.operator("softmax", &[scores], &[weights]);
        let work = Work::stream(scores_elements * (2 * size + softmax_bytes), 2);
        operator.saves(&[saved]).streams(work, work);
        operator.backward_workspace = if fused { 0 } else { scores_elements * 4 };

        if self.context.dropout {
            let dropped = self.tape.tensor("attention-weights-dropped", scores_elements * size);
            let mask = self.tape.constant("dropout-mask", scores_elements);
            let operator = self.tape.operator("dropout", &[weights], &[dropped]);
            let work = Work::stream(scores_elements * (2 * size + 1), 1);
            operator.saves(&[mask]).streams(work, work);
            weights = dropped;
        }

        let output = self.tape.tensor("attention-context", query_bytes);
        let operator = self.tape.operator("attention-values", &[weights, value], &[output]);
        operator.saves(&[weights, value]).streams(product(scores_elements * size), {
            let one = product(scores_elements * size);
            Work { flops: 2.0 * half, launches: 2.0, ..one }
        });
        output
    }

    fn mlp(&mut self, input: TensorId) -> TensorId {
        let (tokens, size, tp) = (self.context.tokens(), self.context.size(), self.context.tp);
        let mlp = &self.shape.mlp;
        let (gated, bias, activation) = (mlp.gated, mlp.bias, mlp.activation);
        let width = mlp.ffn.div_ceil(tp);
        let bytes = tokens * width * size;

        let input = self.enter_split(input);
        let inner = if gated {
            let gate = self.tape.tensor("gate", bytes);
            let up = self.tape.tensor("up", bytes);
            if self.context.kernels.fused_projections {
                let (name, outputs) = ("gate-up", &[gate, up][..]);
                self.project(input, &[Projection { name, outputs, width: 2 * width, bias }]);
            } else {
                let (name, outputs) = ("gate", &[gate][..]);
                let of_gate = Projection { name, outputs, width, bias };
                let (name, outputs) = ("up", &[up][..]);
                self.project(input, &[of_gate, Projection { name, outputs, width, bias }]);
            }
            self.gate(gate, up, bytes)
        } else {
            let up = self.tape.tensor("up", bytes);
            let (name, outputs) = ("up", &[up][..]);
            self.project(input, &[Projection { name, outputs, width, bias }]);
            self.activate(up, activation, bytes)
        };
        let hidden = self.shape.hidden;
        let partial = self.tape.tensor("mlp-output", tokens * hidden * size);
        let mut kept = vec![inner];
        if self.context.recipe.casts() {
            kept.push(autocast_weights(&mut self.tape, self.context, width * hidden));
        }
        self.tape
            .operator("down", &[inner], &[partial])
            .saves(&kept)
            .linear(tokens, hidden, width, bias, size);
        self.leave_split(partial)
    }

    /// The gated product: `activation(gate) · up`.
    fn gate(&mut self, gate: TensorId, up: TensorId, bytes: u64) -> TensorId {
        let inner = self.tape.tensor("mlp-inner", bytes);
        if self.context.kernels.fused_activation {
            self.tape
                .operator("gated-activation", &[gate, up], &[inner])
                .saves(&[gate, up])
                .streams(Work::stream(3 * bytes, 1), Work::stream(5 * bytes, 1));
            return inner;
        }
        let activated = self.tape.tensor("activated", bytes);
        self.tape
            .operator("activation", &[gate], &[activated])
            .saves(&[gate])
            .streams(Work::stream(2 * bytes, 1), Work::stream(3 * bytes, 1));
        self.tape
            .operator("gate-product", &[activated, up], &[inner])
            .saves(&[activated, up])
            .streams(Work::stream(3 * bytes, 1), Work::stream(5 * bytes, 2));
        inner
    }

    fn activate(&mut self, input: TensorId, activation: Activation, bytes: u64) -> TensorId {
        let inner = self.tape.tensor("mlp-inner", bytes);
        let mut saved = vec![match activation {
            // ReLU's gradient needs only its output.
            Activation::Relu => inner,
            _ => input,
        }];
        let written_out =
            activation == Activation::GeluTanh && !self.context.kernels.fused_activation;
        if written_out {
            for name in ["gelu-half", "gelu-tanh", "gelu-tanh-plus-one"] {
                saved.push(self.tape.constant(name, bytes));
            }
        }
        let (passes, launches) = if written_out { (8, 8) } else { (1, 1) };
        self.tape.operator("activation", &[input], &[inner]).saves(&saved).streams(
            Work::stream(2 * bytes * passes, launches),
            Work::stream(3 * bytes * passes, launches),
        );
        inner
    }

    /// The sum with the stream, after dropout where there is some.
    fn residual(&mut self, stream: TensorId, block: TensorId) -> TensorId {
        let bytes = self.stream_bytes();
        let mut block = block;
        if self.context.dropout {
            let dropped = self.stream("dropped");
            let mask = self.tape.constant("dropout-mask", bytes / self.context.stream_size());
            let work = Work::stream(2 * bytes + bytes / self.context.stream_size(), 1);
            self.tape.operator("dropout", &[block], &[dropped]).saves(&[mask]).streams(work, work);
            block = dropped;
        }
        let sum = self.stream("residual");
        let operator = self.tape.operator("residual", &[stream, block], &[sum]);
        operator.forward = Some(Work::stream(3 * bytes, 1));
        operator.gradient = GradientRule::Alias;
        sum
    }
}
