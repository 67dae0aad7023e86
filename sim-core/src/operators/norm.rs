//! Norms of the residual stream.

use super::{Context, ParameterTensor, Tape, TensorId, Work};
use crate::model::shape::{ModelShape, NormKind};
use crate::precision::DType;

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
    // A number of the normalized stream that is multiplied with the weight.
    let product = if shape.module.fp32_norm_product { DType::Fp32.bytes() } else { size };
    let statistics = match shape.norm {
        // Where it is written out, the mean square is that of an fp32 copy.
        NormKind::Rms => 4 * tokens,
        NormKind::LayerNorm | NormKind::LayerNormWithoutBias => {
            context.norm_statistics(tokens, 2, size)
        }
    };
    let statistics = tape.constant("norm-statistics", statistics);
    let mut saved = vec![statistics];
    if written_out {
        // Below fp32 the input is copied to fp32, and the weight's product needs the normalized
        // stream; in fp32 the copy is the input itself.
        saved.push(if context.recipe.stream == DType::Fp32 {
            input
        } else {
            tape.constant("norm-fp32-input", elements * 4)
        });
        saved.push(tape.constant("normalized", elements * product));
    } else if tape.tensors[input.0].bytes < elements * size {
        // Autocast has made a copy.
        saved.push(tape.constant("norm-fp32-input", elements * size));
    } else {
        saved.push(input);
    }
    let operator = tape.operator("norm", &[input], &[output]);
    operator.saves(&saved);
    let vectors = [ParameterTensor::vector(hidden); 2];
    let count = if shape.norm == NormKind::LayerNorm { 2 } else { 1 };
    operator.trains(&vectors[..count], context.recipe.weights.bytes());
    if written_out {
        // Cast, square, mean, product, cast, product with the weight; about twice that backward.
        operator.streams(
            Work::stream(elements * (22 + 4 * size), 6),
            Work::stream(elements * (40 + 8 * size), 11),
        );
        operator.forward_workspace = elements * 4;
        // At the square's gradient five fp32 tensors are alive: the gradient through the product,
        // that of the mean, and three of `grad · (2 · x¹)`. The gradients in and out and the
        // normalized stream, which are counted at this operator, are not alive then.
        operator.backward_workspace = elements * (5 * 4 - 2 * size - product);
    } else {
        operator
            .streams(Work::stream(elements * 2 * size, 1), Work::stream(elements * 3 * size, 2));
    }
    output
}
