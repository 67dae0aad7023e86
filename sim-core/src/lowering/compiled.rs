//! Programs with durations, flat and ready to be copied into the task graph many times.

use crate::cost::{Cost, CostModel};
use crate::engine::Moment;
use crate::operators::{ByKind, ParameterKind, Parameters, RankGroup, Tape};
use crate::plan::Plan;
use crate::program::{Program, Step, StepEffect, StepWork};
use crate::trace::{Category, OperationInfo, Phase};

/// The operations and names of a trace, each once.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    pub operations: Vec<OperationInfo>,
    pub labels: Vec<&'static str>,
}

impl Tables {
    /// The number of a name; there are few enough to look through.
    pub fn label(&mut self, name: &'static str) -> u32 {
        let found = self.labels.iter().position(|known| *known == name);
        let index = found.unwrap_or_else(|| {
            self.labels.push(name);
            self.labels.len() - 1
        });
        u32::try_from(index).expect("names are few")
    }

    /// The number of a new operation.
    pub fn operation(
        &mut self,
        name: &'static str,
        phase: Phase,
        flops: f64,
        bytes: f64,
        cost: Cost,
    ) -> u32 {
        let info = OperationInfo {
            name,
            phase,
            flops,
            bytes,
            duration: cost.time.get(),
            bound: cost.bound,
            pricing: cost.pricing,
        };
        if let Some(known) = self.operations.iter().position(|other| *other == info) {
            return u32::try_from(known).expect("operations are few");
        }
        self.operations.push(info);
        u32::try_from(self.operations.len() - 1).expect("operations are few")
    }
}

/// A memory change with its name's number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompiledEffect {
    pub moment: Moment,
    pub category: Category,
    pub label: u32,
    pub delta: i64,
}

/// A step ready to be copied.
#[derive(Clone, Debug, PartialEq)]
pub struct CompiledStep {
    pub operation: u32,
    pub duration: f64,
    /// The ranks that a collective joins; none for a kernel.
    pub group: Option<RankGroup>,
    pub effects: Vec<CompiledEffect>,
    pub parameters: u64,
    pub shared_parameters: u64,
    pub reduced_parameters: u64,
    pub gradient_size: u64,
    pub parameter_kind: ParameterKind,
    /// The gradient is that of matrices inside the model.
    pub is_matrix: bool,
    /// Equal parts of its gradients that are made one after another.
    pub parts: u64,
    /// The tensors whose gradient is final after it.
    pub updated: Parameters,
}

/// A part of the model whose parameters are gathered together: the embedding, a layer, the head.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unit {
    pub forward: Vec<CompiledStep>,
    pub backward: Vec<CompiledStep>,
    /// Freed when the micro-batch's whole backward has ended.
    pub after_backward: Vec<CompiledEffect>,
    /// Parameters on this rank before data-parallel sharding, a tied table in the head's unit only.
    pub parameters: ByKind<Parameters>,
    /// Trainable parameters that the unit computes with, and ZeRO-3 gathers.
    pub gathered_parameters: ByKind<u64>,
    /// Bytes of frozen parameters that it computes with.
    pub gathered_frozen_bytes: ByKind<u64>,
}

impl Unit {
    /// Prices a program.
    pub fn compile(
        program: &Program,
        tape: &Tape,
        plan: &Plan,
        cost: &CostModel,
        tables: &mut Tables,
    ) -> Self {
        let two_kinds = plan.has_two_kinds();
        let mut compile = |steps: &[Step]| -> Vec<CompiledStep> {
            steps.iter().map(|step| compile_step(step, two_kinds, cost, tables)).collect()
        };
        let (forward, backward) = (compile(&program.forward), compile(&program.backward));
        let after_backward = compile_effects(&program.after_backward, tables);
        let parameters = tape.parameters();
        let parameters = if two_kinds { parameters } else { parameters.as_one_kind() };
        // What one rank alone holds is never gathered.
        let replicas = plan.replicas();
        let of_many = |common: u64, routed: u64| ByKind {
            common: if replicas.common > 1 { common } else { 0 },
            routed: if replicas.routed > 1 { routed } else { 0 },
        };
        let shared: u64 = tape.operators.iter().map(|op| op.shared_parameters).sum();
        let frozen_shared: u64 = tape.operators.iter().map(|op| op.frozen_shared_bytes).sum();
        Self {
            forward,
            backward,
            after_backward,
            gathered_parameters: of_many(
                parameters.common.trained() + shared,
                parameters.routed.trained(),
            ),
            gathered_frozen_bytes: of_many(
                parameters.common.frozen_bytes + frozen_shared,
                parameters.routed.frozen_bytes,
            ),
            parameters,
        }
    }

    /// Bytes of one kind that ZeRO-3 gathers, with trainable weights of `size` bytes.
    pub fn gathered_bytes_of(&self, kind: ParameterKind, size: u64) -> u64 {
        self.gathered_parameters.of(kind) * size + self.gathered_frozen_bytes.of(kind)
    }

    /// Bytes that ZeRO-3 gathers, with trainable weights of `size` bytes.
    pub fn gathered_bytes(&self, size: u64) -> u64 {
        ParameterKind::ALL.iter().map(|kind| self.gathered_bytes_of(*kind, size)).sum()
    }
}

fn compile_step(
    step: &Step,
    two_kinds: bool,
    model: &CostModel,
    tables: &mut Tables,
) -> CompiledStep {
    let (cost, flops, bytes, group) = match step.work {
        StepWork::Compute(work) => (model.compute(&work), work.flops, work.bytes, None),
        StepWork::Collective(collective) => {
            let group = Some(collective.kind.group());
            (model.collective(collective), 0.0, collective.bytes as f64, group)
        }
    };
    CompiledStep {
        operation: tables.operation(step.name, step.phase, flops, bytes, cost),
        duration: cost.time.get(),
        group,
        effects: compile_effects(&step.effects, tables),
        parameters: step.parameters,
        shared_parameters: step.shared_parameters,
        reduced_parameters: step.reduced_parameters,
        gradient_size: step.gradient_size,
        parameter_kind: if two_kinds { step.parameter_kind } else { ParameterKind::Common },
        is_matrix: step.is_matrix,
        parts: step.parts,
        updated: step.updated.clone(),
    }
}

pub fn compile_effects(effects: &[StepEffect], tables: &mut Tables) -> Vec<CompiledEffect> {
    effects
        .iter()
        .map(|effect| CompiledEffect {
            moment: effect.moment,
            category: effect.category,
            label: tables.label(effect.name),
            delta: effect.delta,
        })
        .collect()
}
