//! Dropout: numbers are zeroed at random, and backward needs to know which.

use super::{Context, Tape, TensorId, Work};

/// Dropout of a tensor of `elements` numbers.
pub(super) fn dropout(
    tape: &mut Tape,
    context: &Context,
    input: TensorId,
    elements: u64,
) -> TensorId {
    let bytes = tape.tensors[input.0].bytes;
    let kept = context.dropout_mask(elements, bytes / elements.max(1));
    let dropped = tape.tensor("dropped", bytes);
    let mask = tape.constant("dropout-mask", kept);
    let work = Work::stream(2 * bytes + kept, 1);
    tape.operator("dropout", &[input], &[dropped]).saves(&[mask]).streams(work, work);
    dropped
}
