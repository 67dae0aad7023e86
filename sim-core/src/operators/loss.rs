//! The loss over the vocabulary: written out, in place, or together with the projection.

use super::ends::{Tied, head_parameters};
use super::{Collective, CollectiveKind, Context, Engine, GradientRule, Tape, TensorId, Work};
use crate::model::shape::ModelShape;
use crate::precision::DType;
use crate::scenario::CrossEntropy;
use crate::trace::Category;

/// Cross-entropy of the logits: the framework's own, or the fused one.
pub(super) fn cross_entropy(
    tape: &mut Tape,
    shape: &ModelShape,
    context: &Context,
    logits: TensorId,
) {
    match context.kernels.cross_entropy {
        CrossEntropy::Fused => fused(tape, context, logits),
        CrossEntropy::FusedFp32 => {
            let wide = widened(tape, shape, context, logits);
            fused(tape, context, wide);
        }
        CrossEntropy::Default | CrossEntropy::Native | CrossEntropy::Chunked => {
            usual(tape, shape, context, logits);
        }
    }
}

/// The logits in fp32: a copy where they have another format.
fn widened(tape: &mut Tape, shape: &ModelShape, context: &Context, logits: TensorId) -> TensorId {
    if context.recipe.compute == DType::Fp32 {
        return logits;
    }
    let elements = context.tokens() * shape.vocab.div_ceil(context.tp);
    let wide = tape.logits("logits-fp32", 4 * elements);
    let work = Work::stream(elements * (context.size() + 4), 1);
    tape.operator("logits-to-fp32", &[logits], &[wide]).streams(work, work);
    wide
}

/// In fp32 unless the module leaves the logits as they are.
///
/// Written out it keeps the log-probabilities and makes two fp32 gradients backward; in place it
/// keeps the fp32 logits and writes the gradient over them.
fn usual(tape: &mut Tape, shape: &ModelShape, context: &Context, logits: TensorId) {
    let elements = context.tokens() * shape.vocab.div_ceil(context.tp);
    let size = context.size();
    let is_native = context.kernels.cross_entropy == CrossEntropy::Native;
    let fp32 = shape.module.fp32_loss && !is_native
        || context.runs_autocast()
        || context.kernels.in_place_cross_entropy
        || context.recipe.compute == DType::Fp32;
    let mut wide = if fp32 { widened(tape, shape, context, logits) } else { logits };
    let loss = tape.constant("loss", 4);
    if context.kernels.shifts_logits_out_of_place {
        let shifted = tape.logits("shifted-logits", 4 * elements);
        let operator = tape.operator("subtract-maximum", &[wide], &[shifted]);
        operator.gradient = GradientRule::Alias;
        operator.forward = Some(Work::stream(elements * 12, 2));
        wide = shifted;
    }
    if context.kernels.in_place_cross_entropy {
        let operator = tape.operator("cross-entropy", &[wide], &[loss]);
        operator.saves(&[wide]);
        operator.gradient = GradientRule::InPlaceOfSaved;
        operator.streams(Work::stream(elements * 16, 4), Work::stream(elements * 8, 2));
        return;
    }
    let number = if fp32 { 4 } else { size };
    let log_probabilities = tape.logits("log-probabilities", number * elements);
    tape.operator("log-softmax", &[wide], &[log_probabilities])
        .saves(&[log_probabilities])
        .streams(Work::stream(elements * 3 * number, 1), Work::stream(elements * 3 * number, 1));
    tape.operator("cross-entropy", &[log_probabilities], &[loss])
        .streams(Work::stream(8 * context.tokens(), 1), Work::stream(elements * number, 2));
}

/// One pass for the statistics of the rows, one that writes the gradient over the logits; backward
/// scales it (Liger Kernel's `cross_entropy`, Transformer Engine's `parallel_cross_entropy`).
fn fused(tape: &mut Tape, context: &Context, logits: TensorId) {
    let bytes = tape.tensors[logits.0].bytes;
    let loss = tape.constant("loss", 4);
    let operator = tape.operator("cross-entropy", &[logits], &[loss]);
    operator.saves(&[logits]);
    operator.gradient = GradientRule::InPlaceOfSaved;
    operator.streams(Work::stream(3 * bytes, 2), Work::stream(2 * bytes, 1));
    if context.tp > 1 {
        // Maximum, sum and the label's logit of each row, from every part of the vocabulary.
        let bytes = 12 * context.tokens() * context.tp;
        operator.forward_workspace = bytes;
        operator.forward_collective = Some(Collective { kind: CollectiveKind::AllGather, bytes });
    }
}

/// Projection and loss together, as many tokens at a time as make the logits about as large as the
/// stream (Hsu et al. 2024, §3.2; Liger Kernel's `fused_linear_cross_entropy`).
///
/// Forward makes the gradients of the hidden states and of the head's matrix too and keeps them; no
/// logits are left. Backward scales them.
pub(super) fn chunked(
    tape: &mut Tape,
    shape: &ModelShape,
    context: &Context,
    stream: TensorId,
    tied: Tied,
) {
    let (tokens, hidden, rows, size) =
        (context.tokens(), shape.hidden, shape.vocab, context.size());
    let chunk = tokens.div_ceil(rows.div_ceil(hidden)).next_power_of_two();
    let chunks = tokens.div_ceil(chunk);
    let chunk = chunk.min(tokens);
    let trains = context.adapters.is_none_or(|adapters| adapters.trains_tables);
    let stream_bytes = tape.tensors[stream.0].bytes;

    let logits = tape.add("logits", chunk * rows * size, Category::Logits, false);
    let losses = tape.constant("token-losses", 4 * tokens);
    let parameters = head_parameters(shape, rows);
    let gradient_size = context.recipe.weights.bytes();
    let mut kept = vec![tape.constant("hidden-gradient", stream_bytes)];
    let mut kept_bytes = stream_bytes;
    if trains {
        let count: u64 = parameters.iter().map(|tensor| tensor.elements()).sum();
        kept.push(tape.constant("head-gradient", count * gradient_size));
        kept_bytes += count * gradient_size;
    }
    let operator = tape.operator("vocabulary", &[stream], &[logits, losses]);
    operator.saves(&kept).trains(&parameters, gradient_size);
    if tied == Tied::OnThisStage {
        operator.reduced_parameters -= parameters[0].elements();
    }
    // Logits, gradient of the hidden states, gradient of the matrix.
    let products = if trains { 3 } else { 2 };
    let work = Work::gemm(chunk, rows, hidden, size);
    let times = (products * chunks) as f64;
    let whole = Work::gemm(tokens, rows, hidden, size);
    let flops = products as f64 * whole.flops;
    operator.forward = Some(Work::of(Engine::Gemm, flops, times * work.bytes, times));
    // The chunk's part of the gradient of the hidden states, and autocast's copies.
    operator.forward_workspace = chunk * hidden * size;
    if context.recipe.casts() {
        operator.forward_workspace += (chunk + rows) * hidden * size;
    }
    operator.gradient = GradientRule::MadeForward;
    operator.backward_input = Some(Work::stream(2 * kept_bytes, kept.len() as u64));

    let loss = tape.constant("loss", 4);
    let work = Work::stream(3 * tokens * rows * size, 2 * chunks);
    tape.operator("cross-entropy", &[losses], &[loss]).forward = Some(work);
}
