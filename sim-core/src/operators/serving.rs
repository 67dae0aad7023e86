//! The operators after the last layer when serving: logits of some tokens, and the next token.

use super::norm::norm;
use super::soft_cap::soft_cap;
use super::split::{Projection, enter_split, project};
use super::{Collective, CollectiveKind, Context, Tape, Work};
use crate::model::ModelShape;
use crate::precision::DType;

/// Which tokens get logits, and what becomes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Tokens of all samples whose logits are computed.
    pub rows: u64,
    /// The logits are cast to fp32 as a whole.
    pub widens: bool,
    /// The next token is drawn from sorted probabilities (top-k and top-p, as vLLM's sampler);
    /// otherwise the largest logit is taken.
    pub sorts: bool,
}

/// Final norm, projection to the vocabulary and choice of the next token.
///
/// A model without a head ends with its norm and its pooler's input.
pub fn answer_tape(shape: &ModelShape, context: &Context, answer: Answer) -> Tape {
    let mut tape = Tape::default();
    let stream_bytes = context.stream_tokens() * shape.hidden * context.stream_size();
    let input = tape.tensor("layer-input", stream_bytes);
    tape.input = Some(input);
    let mut stream = input;
    if shape.final_norm {
        stream = norm(&mut tape, shape, context, stream);
    }
    let rows = answer.rows.min(context.tokens());
    // The projection sees the chosen tokens alone.
    let chosen = Context { batch: rows, sequence: 1, cache: None, ..*context };
    if rows < context.tokens() {
        let bytes = rows * shape.hidden * context.stream_size();
        let last = tape.tensor("last-tokens", bytes);
        tape.operator("select-last", &[stream], &[last]).forward = Some(Work::stream(2 * bytes, 1));
        stream = last;
    }
    if !shape.lm_head {
        let bytes = tape.tensors[stream.0].bytes;
        tape.operator("answer", &[stream], &[]).forward = Some(Work::stream(bytes, 1));
        return tape;
    }
    let width = shape.vocab.div_ceil(context.tp);
    let part = tape.logits("logits", rows * width * context.size());
    let input = enter_split(&mut tape, &chosen, shape.hidden, stream);
    let projection = Projection { name: "vocabulary", outputs: &[part], width, bias: false };
    project(&mut tape, &chosen, shape.hidden, input, &[projection]);
    let part = if shape.module.soft_caps { soft_cap(&mut tape, &chosen, part) } else { part };
    let mut logits = part;
    let numbers = rows * shape.vocab;
    if context.tp > 1 {
        let bytes = numbers * context.size();
        logits = tape.logits("gathered-logits", bytes);
        tape.operator("gather-logits", &[part], &[logits]).forward_collective =
            Some(Collective { kind: CollectiveKind::AllGather, bytes });
    }
    if answer.widens && context.recipe.compute != DType::Fp32 {
        let wide = tape.logits("logits-fp32", 4 * numbers);
        // The caller keeps the first ones.
        let operator = tape.operator("logits-to-fp32", &[logits], &[wide]);
        operator.forward = Some(Work::stream(numbers * (context.size() + 4), 1));
        tape.operator("sample", &[logits, wide], &[]).forward = Some(Work::stream(4 * numbers, 1));
        if answer.sorts {
            sort(&mut tape, numbers, wide);
        }
        return tape;
    }
    tape.operator("sample", &[logits], &[]).forward =
        Some(Work::stream(numbers * context.size(), 1));
    tape
}

/// Top-k and top-p: sort with its own copy of keys and indices, softmax, running sum, mask, and back
/// into the vocabulary's order (vLLM, `apply_top_k_top_p`).
fn sort(tape: &mut Tape, numbers: u64, wide: super::TensorId) {
    let sorted = tape.logits("sorted-logits", 4 * numbers);
    let order = tape.logits("sorted-indices", 8 * numbers);
    let operator = tape.operator("sort-logits", &[wide], &[sorted, order]);
    operator.forward_workspace = 12 * numbers;
    // Four passes of a radix sort over keys and indices.
    operator.forward = Some(Work::stream(8 * 12 * numbers, 8));
    let shares = tape.logits("probabilities", 4 * numbers);
    tape.operator("softmax", &[sorted], &[shares]).forward = Some(Work::stream(8 * numbers, 1));
    let sums = tape.logits("running-sums", 4 * numbers);
    tape.operator("running-sum", &[shares], &[sums]).forward = Some(Work::stream(8 * numbers, 1));
    let back = tape.logits("masked-logits", 4 * numbers);
    let operator = tape.operator("mask-logits", &[sorted, order, shares, sums], &[back]);
    operator.forward_workspace = numbers;
    operator.forward = Some(Work::stream(21 * numbers, 3));
    let probabilities = tape.logits("probabilities", 4 * numbers);
    let operator = tape.operator("softmax", &[back], &[probabilities]);
    operator.forward = Some(Work::stream(8 * numbers, 1));
    tape.operator("sample", &[probabilities, wide], &[]).forward =
        Some(Work::stream(4 * numbers, 2));
}
