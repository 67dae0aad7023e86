//! Bounds on scores and logits: divided, passed through a tanh, multiplied (Gemma Team 2024, §2).

use super::{Context, Tape, Tensor, TensorId, Work};

/// Bounds `input`; backward keeps the tanh, or the input where one kernel does all.
pub(super) fn soft_cap(tape: &mut Tape, context: &Context, input: TensorId) -> TensorId {
    let tensor = tape.tensors[input.0].clone();
    let bytes = tensor.bytes;
    let fused = context.kernels.fused_activation;
    tape.tensors.push(tensor.clone());
    let bounded = TensorId(tape.tensors.len() - 1);
    let kept = if fused {
        input
    } else {
        tape.tensors.push(Tensor { name: "soft-cap-tanh", differentiable: false, ..tensor });
        TensorId(tape.tensors.len() - 1)
    };
    let launches = if fused { 1 } else { 3 };
    let work = Work::stream(2 * launches * bytes, launches);
    tape.operator("soft-cap", &[input], &[bounded]).saves(&[kept]).streams(work, work);
    bounded
}
