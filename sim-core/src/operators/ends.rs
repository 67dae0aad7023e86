//! The operators before the first layer and after the last.

use super::adapter::{Part, adapt};
use super::dropout::dropout;
use super::loss::{chunked, cross_entropy};
use super::norm::norm;
use super::soft_cap::soft_cap;
use super::split::{Projection, autocast_weights, enter_split, project, whole_stream_bytes};
use super::{Collective, CollectiveKind, Context, ParameterTensor, Tape, TensorId, Work};
use crate::model::shape::{ModelShape, Positions};
use crate::scenario::CrossEntropy;

/// Whether the token table is the head's matrix too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tied {
    /// Two matrices, or copies of one on different pipeline stages.
    No,
    /// One matrix with one gradient, which the head makes and the embedding adds to.
    OnThisStage,
}

/// Token, position and segment embeddings.
pub fn embedding_tape(shape: &ModelShape, context: &Context, tied: Tied) -> Tape {
    let (hidden, size) = (shape.hidden, context.stream_size());
    let stream_bytes = context.stream_tokens() * hidden * size;
    let rows = shape.vocab.div_ceil(context.tp);
    let table = rows * hidden;
    let positions = match shape.positions {
        Positions::Learned { rows } => rows,
        Positions::Rope | Positions::Alibi | Positions::Relative { .. } => 0,
    };
    let is_shared = tied == Tied::OnThisStage;
    let shared = if is_shared { table } else { 0 };
    let tables = [if is_shared { 0 } else { rows }, positions, shape.token_types]
        .into_iter()
        .filter(|rows| *rows > 0)
        .map(|rows| ParameterTensor::table(rows, hidden))
        .collect::<Vec<_>>();

    let mut tape = Tape::default();
    let tokens = tape.constant("token-ids", 8 * context.tokens());
    let mut stream = tape.tensor("embedded", stream_bytes);
    let traffic = Work::stream(2 * stream_bytes, 1);
    let operator = tape.operator("embedding", &[], &[stream]);
    operator.saves(&[tokens]);
    operator.trains(&tables, context.recipe.weights.bytes());
    operator.shared_parameters = shared;
    operator.reduced_parameters += shared;
    operator.forward = Some(traffic);
    // The gradient of the table is dense: it is cleared, then the rows of the batch are added.
    operator.backward_weight = Some(Work::stream(2 * stream_bytes + table * size, 2));
    if context.tp > 1 {
        let bytes = whole_stream_bytes(context, hidden);
        // Every rank looks up its rows of the whole batch before the parts are summed.
        operator.forward_workspace = if context.sequence_parallel { bytes } else { 0 };
        let (forward, backward) = if context.sequence_parallel {
            (CollectiveKind::ReduceScatter, Some(CollectiveKind::AllGather))
        } else {
            (CollectiveKind::AllReduce, None)
        };
        operator.forward_collective = Some(Collective { kind: forward, bytes });
        operator.backward_collective = backward.map(|kind| Collective { kind, bytes });
    }
    if shape.embedding_norm {
        stream = norm(&mut tape, shape, context, stream);
    }
    if context.dropout && shape.module.drops_embedding {
        stream = dropout(&mut tape, context, stream, stream_bytes / size);
    }
    if shape.positions == Positions::Rope && !context.kernels.fused_projections {
        // Made once for all layers: a cosine and a sine for each position and channel of a head.
        let bytes = 2 * context.sequence * shape.attention.head_dim * size;
        let tables = tape.constant("rotary-tables", bytes);
        tape.retained.push(tables);
        let work = Work::stream(bytes, 2);
        tape.operator("rotary-tables", &[], &[tables]).forward = Some(work);
    }
    tape.output = Some(stream);
    tape.tensors[stream.0].name = "layer-input";
    adapt(&mut tape, context, Part::Ends(ParameterTensor::table(rows, hidden)));
    tape
}

/// The final norm, the projection to the vocabulary and the loss.
pub fn head_tape(shape: &ModelShape, context: &Context, tied: Tied) -> Tape {
    let mut tape = Tape::default();
    let stream_bytes = context.stream_tokens() * shape.hidden * context.stream_size();
    let input = tape.tensor("layer-input", stream_bytes);
    tape.input = Some(input);
    let mut stream = input;
    if shape.final_norm {
        stream = norm(&mut tape, shape, context, stream);
    }
    if shape.mlm_head {
        stream = transform(&mut tape, shape, context, stream);
    }
    if shape.lm_head {
        if context.kernels.cross_entropy == CrossEntropy::Chunked {
            chunked(&mut tape, shape, context, stream, tied);
        } else {
            let logits = project_to_vocabulary(&mut tape, shape, context, stream, tied);
            cross_entropy(&mut tape, shape, context, logits);
        }
    } else {
        let pooled = if shape.pooler { pooler(&mut tape, shape, context, stream) } else { stream };
        let loss = tape.constant("loss", 4);
        let bytes = tape.tensors[pooled.0].bytes;
        tape.operator("loss", &[pooled], &[loss])
            .streams(Work::stream(bytes, 1), Work::stream(bytes, 1));
    }
    let table = ParameterTensor::table(shape.vocab.div_ceil(context.tp), shape.hidden);
    adapt(&mut tape, context, Part::Ends(table));
    tape
}

/// The dense layer over the first token of every sample (BERT).
fn pooler(tape: &mut Tape, shape: &ModelShape, context: &Context, stream: TensorId) -> TensorId {
    let (hidden, size, batch) = (shape.hidden, context.size(), context.batch);
    let pooled = tape.tensor("pooled", batch * hidden * size);
    let first = tape.tensor("first-tokens", batch * hidden * size);
    let work = Work::stream(2 * batch * hidden * size, 1);
    tape.operator("select-first", &[stream], &[first]).streams(work, work);
    tape.operator("pooler", &[first], &[pooled])
        .saves(&[first, pooled])
        .linear(batch, hidden, hidden, true, size);
    pooled
}

/// The dense layer, activation and norm before the projection to the vocabulary (Devlin et al. 2018,
/// `BertPredictionHeadTransform`).
fn transform(tape: &mut Tape, shape: &ModelShape, context: &Context, stream: TensorId) -> TensorId {
    let (hidden, tokens) = (shape.hidden, context.stream_tokens());
    let bytes = tokens * hidden * context.size();
    let dense = tape.tensor("mlm-dense", bytes);
    let mut kept = vec![stream];
    if context.recipe.casts() {
        kept = vec![tape.constant("autocast-input", bytes)];
        kept.push(autocast_weights(tape, context, hidden * hidden));
    }
    let operator = tape.operator("mlm-dense", &[stream], &[dense]);
    operator.saves(&kept).linear(tokens, hidden, hidden, true, context.size());
    let activated = tape.tensor("activated", bytes);
    tape.operator("activation", &[dense], &[activated])
        .saves(&[dense])
        .streams(Work::stream(2 * bytes, 1), Work::stream(3 * bytes, 1));
    // The dense layer's output is in the products' format, and so is the norm's unless autocast
    // runs it in fp32.
    let mut inner = *context;
    if !context.autocasts_to_fp32() {
        inner.recipe.stream = inner.recipe.compute;
    }
    norm(tape, shape, &inner, activated)
}

fn project_to_vocabulary(
    tape: &mut Tape,
    shape: &ModelShape,
    context: &Context,
    stream: TensorId,
    tied: Tied,
) -> TensorId {
    let (tokens, hidden, size) = (context.tokens(), shape.hidden, context.size());
    let rows = shape.vocab.div_ceil(context.tp);
    let input = enter_split(tape, context, hidden, stream);
    let logits = tape.logits("logits", tokens * rows * size);
    let projection =
        Projection { name: "vocabulary", outputs: &[logits], width: rows, bias: shape.mlm_head };
    project(tape, context, hidden, input, &[projection]);
    let operator = tape.operators.last_mut().expect("the projection was just added");
    operator.trainable = head_parameters(shape, rows);
    if tied == Tied::OnThisStage {
        operator.reduced_parameters = if shape.mlm_head { rows } else { 0 };
    }
    let logits = if shape.module.soft_caps { soft_cap(tape, context, logits) } else { logits };
    if context.kernels.retains_logits {
        tape.retained.push(logits);
    }
    logits
}

/// The tensors of a head with `rows` rows on this rank.
pub(super) fn head_parameters(shape: &ModelShape, rows: u64) -> Vec<ParameterTensor> {
    let mut tensors = vec![ParameterTensor::table(rows, shape.hidden)];
    if shape.mlm_head {
        tensors.push(ParameterTensor::vector(rows));
    }
    tensors
}
