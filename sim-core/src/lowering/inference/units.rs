//! The priced operators of one step.

use super::price::Pricer;
use crate::lowering::compiled::{CompiledStep, Tables, compile_effects};
use crate::model::LayerKind;
use crate::operators::{ParameterKind, Parameters, Tape};
use crate::plan::Plan;
use crate::program::{StepEffect, StepWork, derive_forward};
use crate::serving::{Buffers, StepSpec, Tapes};
use crate::trace::Category;

/// The embedding, a layer of each kind and the answer of one step.
#[derive(Clone, Debug)]
pub struct StepUnits {
    pub embedding: Vec<CompiledStep>,
    pub layers: Vec<(LayerKind, Vec<CompiledStep>)>,
    pub answer: Option<Vec<CompiledStep>>,
    /// Names and bytes of what the embedding makes for all layers.
    pub for_all_layers: Vec<(&'static str, u64)>,
}

impl StepUnits {
    pub fn compile(pricer: &Pricer<'_>, step: StepSpec, tables: &mut Tables) -> Self {
        let tapes = Tapes::new(pricer.plan, pricer.serving, step);
        let holds = pricer.serving.profile.frames_hold_inputs;
        let ends = tapes.layers[0].0;
        let mut compile = |tape: &Tape, kind: LayerKind| {
            let mut tape = pricer.stored(tape, kind);
            if holds {
                hold_inputs(&mut tape);
            }
            compile(pricer, &tape, tables)
        };
        let made = tapes.embedding.retained.iter().map(|id| &tapes.embedding.tensors[id.0]);
        Self {
            for_all_layers: made.map(|tensor| (tensor.name, tensor.bytes)).collect(),
            embedding: compile(&tapes.embedding, ends),
            layers: tapes.layers.iter().map(|(kind, tape)| (*kind, compile(tape, *kind))).collect(),
            answer: tapes.answer.as_ref().map(|tape| compile(tape, ends)),
        }
    }

    /// The operators of a layer of `kind`.
    pub fn layer(&self, kind: LayerKind) -> &[CompiledStep] {
        let found = self.layers.iter().find(|layer| layer.0 == kind);
        &found.expect("every layer is of a kind").1
    }

    /// The units with how often they occur in the whole model.
    fn counted(&self, plan: &Plan) -> impl Iterator<Item = (u64, &[CompiledStep])> {
        let groups = plan.model.layer_groups();
        let layers = groups.into_iter().map(|group| (group.layers, self.layer(group.kind)));
        let ends = [Some(&self.embedding), self.answer.as_ref()];
        ends.into_iter().flatten().map(|steps| (1, steps.as_slice())).chain(layers)
    }

    /// Tasks of the step over all stages.
    pub fn tasks(&self, plan: &Plan) -> usize {
        self.counted(plan).map(|(count, steps)| count as usize * steps.len()).sum()
    }

    /// Seconds of the step without what is sent between stages.
    pub fn seconds(&self, plan: &Plan) -> f64 {
        self.counted(plan)
            .map(|(count, steps)| count as f64 * steps.iter().map(|s| s.duration).sum::<f64>())
            .sum()
    }
}

/// Lets the inputs of a layer and of its blocks live as long as Python's frames hold them: until the
/// layer, the attention and the feed-forward block return; the model's output until all is done.
fn hold_inputs(tape: &mut Tape) {
    for (first, last) in [
        ("query", "attention-output"),
        ("qkv", "attention-output"),
        ("gate", "down"),
        ("gate-up", "down"),
        ("up", "down"),
    ] {
        let position = |name| tape.operators.iter().position(|operator| operator.name == name);
        if let (Some(first), Some(last)) = (position(first), position(last)) {
            let input = tape.operators[first].reads[0];
            tape.operators[last].reads.push(input);
        }
    }
    let projection = tape.operators.iter().find(|operator| operator.name == "vocabulary");
    let held = match projection {
        Some(projection) => Some(projection.reads[0]),
        None => tape.input,
    };
    if let (Some(input), Some(last)) = (held, tape.operators.last_mut()) {
        last.reads.push(input);
    }
}

fn compile(pricer: &Pricer<'_>, tape: &Tape, tables: &mut Tables) -> Vec<CompiledStep> {
    let is_static = pricer.serving.profile.buffers == Buffers::Static;
    let counted = |effect: &StepEffect| !is_static || effect.category == Category::KvCache;
    derive_forward(tape)
        .into_iter()
        .map(|step| {
            let (cost, flops, bytes, group) = match step.work {
                StepWork::Compute(work) => {
                    (pricer.compute(step.name, &work), work.flops, work.bytes, None)
                }
                StepWork::Collective(collective) => {
                    let cost = pricer.cost.collective(collective);
                    (cost, 0.0, collective.bytes as f64, Some(collective.kind.group()))
                }
            };
            let effects: Vec<StepEffect> = step.effects.into_iter().filter(counted).collect();
            CompiledStep {
                operation: tables.operation(step.name, step.phase, flops, bytes, cost),
                duration: cost.time.get(),
                group,
                effects: compile_effects(&effects, tables),
                parameters: 0,
                shared_parameters: 0,
                reduced_parameters: 0,
                gradient_size: 0,
                is_matrix: false,
                parameter_kind: ParameterKind::Common,
                parts: 1,
                updated: Parameters::default(),
            }
        })
        .collect()
}
