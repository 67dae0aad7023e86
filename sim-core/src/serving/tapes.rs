//! The operators of one step of a serving job.

use super::{CachePolicy, Profile, RotaryTables, Serving, StepKind, StepSpec};
use crate::model::LayerKind;
use crate::operators::{
    Answer, Append, CacheAccess, Context, Tape, answer_tape, embedding_tape, layer_tape,
};
use crate::plan::Plan;

/// Sizes and choices of a step for layers of `kind`; without one, for what has no cache.
pub fn step_context(
    plan: &Plan,
    serving: &Serving,
    step: StepSpec,
    kind: Option<LayerKind>,
) -> Context {
    let recipe = Profile::recipe(serving.engine, plan.precision);
    let layout = serving.layout();
    let cached = kind.filter(|kind| layout.token_bytes(&plan.model, *kind, plan.tp) > 0);
    let grows = matches!(serving.profile.cache, CachePolicy::Grows { .. });
    let cache = cached.map(|kind| {
        // Tensors that become the cache have its format, and all of their tokens stay in it.
        let head_dim = plan.model.attention.head_dim;
        let as_made = layout.format.vector_bytes(head_dim) == head_dim * recipe.compute.bytes();
        let keeps_all = kind.window.is_none();
        let append = match step.kind {
            _ if !grows || !as_made || !keeps_all => Append::Written,
            StepKind::Prefill => Append::Kept,
            StepKind::Decode => Append::Concatenated,
        };
        let dequantized = grows && layout.format.is_quantized();
        CacheAccess { past: step.past, format: layout.format, append, dequantized }
    });
    Context {
        batch: step.batch,
        sequence: step.sequence,
        tp: plan.tp,
        cp: 1,
        ep: 1,
        expert_tp: plan.tp,
        sequence_parallel: false,
        adapters: None,
        recipe,
        attention: plan.attention,
        dropout: false,
        kernels: serving.profile.kernels,
        cache,
    }
}

/// The tapes of a step.
#[derive(Clone, Debug)]
pub struct Tapes {
    pub embedding: Tape,
    /// By kind of layer, in the order in which kinds first occur.
    pub layers: Vec<(LayerKind, Tape)>,
    /// Missing where no request gets a token.
    pub answer: Option<Tape>,
}

impl Tapes {
    /// The operators of a step on one rank.
    pub fn new(plan: &Plan, serving: &Serving, step: StepSpec) -> Self {
        let shape = &plan.model;
        let ends = step_context(plan, serving, step, None);
        let layers = shape.layer_groups().into_iter().map(|group| {
            let context = step_context(plan, serving, step, Some(group.kind));
            (group.kind, layer_tape(shape, group.kind, &context))
        });
        let profile = &serving.profile;
        let rows = if profile.all_logits { ends.tokens() } else { step.answers };
        let answer = Answer { rows, widens: true, sorts: false };
        let mut embedding = embedding_tape(shape, &ends, plan.tied());
        if profile.rotary != RotaryTables::EveryStep {
            embedding.operators.retain(|operator| operator.name != "rotary-tables");
            embedding.retained.clear();
        }
        Self {
            embedding,
            layers: layers.collect(),
            answer: (step.answers > 0).then(|| answer_tape(shape, &ends, answer)),
        }
    }
}
