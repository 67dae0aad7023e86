//! The operators of one transformer layer.

mod attention;
mod cached;
mod experts;
mod latent;
mod mlp;
mod scores;

use super::adapter::{Part, adapt};
use super::dropout::dropout;
use super::norm::norm;
use super::split::{Projection, enter_split, leave_split, project};
use super::{Context, GradientRule, Tape, TensorId, Work};
use crate::model::shape::{LayerKind, ModelShape, NormPlacement};

/// The operators of one layer of `kind` on one rank.
///
/// Saved tensors, in bytes per token and layer with `h` hidden, `f` inner width and two-byte
/// numbers: 24·h + 8·f + 136 for Llama-2-7B as Hugging Face's modules run it with fused attention,
/// 34·h + 5·a·s for a GPT layer with Megatron's kernels and dropout (Korthikanti et al. 2022, §4.1).
pub fn layer_tape(shape: &ModelShape, kind: LayerKind, context: &Context) -> Tape {
    let mut layer = Layer { shape, kind, context, tape: Tape::default() };
    let input = layer.stream("layer-input");
    layer.tape.input = Some(input);
    let output = match shape.norm_placement {
        NormPlacement::Pre if shape.module.parallel_blocks => {
            let normed = layer.norm(input);
            let attended = layer.attention(normed);
            let normed = layer.norm(input);
            let transformed = layer.mlp(normed);
            let middle = layer.residual(input, attended);
            layer.residual(middle, transformed)
        }
        NormPlacement::Pre => {
            let normed = layer.norm(input);
            let attended = layer.attention(normed);
            let middle = layer.residual(input, attended);
            let normed = layer.norm(middle);
            let transformed = layer.mlp(normed);
            layer.residual(middle, transformed)
        }
        NormPlacement::Sandwich => {
            let normed = layer.norm(input);
            let attended = layer.attention(normed);
            let attended = layer.norm(attended);
            let middle = layer.residual(input, attended);
            let normed = layer.norm(middle);
            let transformed = layer.mlp(normed);
            let transformed = layer.norm(transformed);
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
    adapt(&mut layer.tape, context, Part::Layer);
    layer.tape
}

struct Layer<'a> {
    shape: &'a ModelShape,
    kind: LayerKind,
    context: &'a Context,
    tape: Tape,
}

impl Layer<'_> {
    /// A tensor of the residual stream.
    fn stream(&mut self, name: &'static str) -> TensorId {
        self.tape.tensor(name, self.stream_bytes())
    }

    fn bytes(&self, id: TensorId) -> u64 {
        self.tape.tensors[id.0].bytes
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

    /// The sum with the stream, after dropout where there is some.
    fn residual(&mut self, stream: TensorId, block: TensorId) -> TensorId {
        let bytes = self.stream_bytes();
        let mut block = block;
        if self.context.dropout {
            block =
                dropout(&mut self.tape, self.context, block, bytes / self.context.stream_size());
        }
        let sum = self.stream("residual");
        let operator = self.tape.operator("residual", &[stream, block], &[sum]);
        operator.forward = Some(Work::stream(3 * bytes, 1));
        operator.gradient = GradientRule::Alias;
        sum
    }
}
