//! The ways into and out of blocks of matrices that tensor parallelism splits.

use super::{Collective, CollectiveKind, Context, Tape, TensorId};

/// Bytes of the stream over all tensor-parallel ranks.
pub(super) fn whole_stream_bytes(context: &Context, hidden: u64) -> u64 {
    context.tokens() * hidden * context.stream_size()
}

fn gathers(context: &Context) -> bool {
    context.tp > 1 && context.sequence_parallel
}

/// The way into a block: nothing forward and an all-reduce of the gradient backward; with sequence
/// parallelism an all-gather and a reduce-scatter (Korthikanti et al. 2022, §4.2.2).
pub(super) fn enter_split(
    tape: &mut Tape,
    context: &Context,
    hidden: u64,
    input: TensorId,
) -> TensorId {
    if context.tp == 1 {
        return input;
    }
    let bytes = whole_stream_bytes(context, hidden);
    if !context.sequence_parallel {
        let operator = tape.operator("enter-split", &[input], &[]);
        operator.backward_collective = Some(Collective { kind: CollectiveKind::AllReduce, bytes });
        return input;
    }
    let gathered = tape.tensor("gathered-input", bytes);
    let operator = tape.operator("enter-split", &[input], &[gathered]);
    // The part is kept, and gathered again for the weight gradients.
    operator.saves(&[input]);
    operator.forward_collective = Some(Collective { kind: CollectiveKind::AllGather, bytes });
    operator.backward_collective = Some(Collective { kind: CollectiveKind::ReduceScatter, bytes });
    gathered
}

/// The way out of a block: an all-reduce forward; with sequence parallelism a reduce-scatter forward
/// and an all-gather backward.
pub(super) fn leave_split(
    tape: &mut Tape,
    context: &Context,
    hidden: u64,
    partial: TensorId,
) -> TensorId {
    if context.tp == 1 {
        return partial;
    }
    let bytes = whole_stream_bytes(context, hidden);
    if !context.sequence_parallel {
        let operator = tape.operator("leave-split", &[partial], &[]);
        operator.forward_collective = Some(Collective { kind: CollectiveKind::AllReduce, bytes });
        return partial;
    }
    let part =
        tape.tensor("block-output", context.stream_tokens() * hidden * context.stream_size());
    let operator = tape.operator("leave-split", &[partial], &[part]);
    operator.forward_collective = Some(Collective { kind: CollectiveKind::ReduceScatter, bytes });
    operator.backward_collective = Some(Collective { kind: CollectiveKind::AllGather, bytes });
    part
}

/// A product with split columns.
pub(super) struct Projection<'a> {
    pub name: &'static str,
    pub outputs: &'a [TensorId],
    /// Columns on this rank.
    pub width: u64,
    pub bias: bool,
}

/// Products of the whole stream `input`, which came through [`enter_split`].
///
/// With sequence parallelism they keep no input: backward gathers the part once more and needs room
/// for it.
pub(super) fn project(
    tape: &mut Tape,
    context: &Context,
    hidden: u64,
    input: TensorId,
    projections: &[Projection<'_>],
) {
    let bytes = whole_stream_bytes(context, hidden);
    for projection in projections {
        let mut kept = if gathers(context) { Vec::new() } else { vec![input] };
        if context.recipe.casts() {
            // Autocast keeps copies of weights and makes one of the input for every product, unless
            // it is in the products' format.
            let copied = context.tokens() * hidden * context.size();
            if tape.tensors[input.0].bytes != copied {
                kept = vec![tape.constant("autocast-input", copied)];
            }
            kept.push(autocast_weights(tape, context, projection.width * hidden));
        }
        let operator = tape.operator(projection.name, &[input], projection.outputs);
        operator.saves(&kept).linear(
            context.tokens(),
            projection.width,
            hidden,
            projection.bias,
            context.size(),
        );
        operator.backward_workspace = if gathers(context) { bytes } else { 0 };
    }
    if gathers(context)
        && let Some(first_backward) = tape.operators.last_mut()
    {
        first_backward.backward_collective =
            Some(Collective { kind: CollectiveKind::AllGather, bytes });
    }
}

/// The copy of a matrix that autocast makes: it lives from the product's forward to its backward.
pub(super) fn autocast_weights(tape: &mut Tape, context: &Context, parameters: u64) -> TensorId {
    tape.constant("autocast-weights", parameters * context.size())
}
