//! When every tensor of a tape lives: forward, recomputation and backward as steps with memory
//! effects.
//!
//! The rules are those of PyTorch's autograd: outputs are allocated when an operator starts, what
//! nobody reads or saves is freed when it ends, saved tensors are freed when the backward of their
//! last saver has run, and a second gradient of a tensor is added to the first and freed.

use crate::engine::Moment;
use crate::operators::{
    Collective, GradientRule, Operator, ParameterKind, ParameterRole, ParameterTensor, Parameters,
    Tape, TensorId, Work,
};
use crate::quantity::signed_bytes as signed;
use crate::trace::{Category, Phase};
use std::ops::Range;

/// Memory that a step allocates or frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepEffect {
    pub moment: Moment,
    pub category: Category,
    /// Key of its text: `tensor.<name>`.
    pub name: &'static str,
    /// Bytes; negative frees.
    pub delta: i64,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepWork {
    Compute(Work),
    Collective(Collective),
}

/// One operation of one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Key of its text: `operation.<name>`.
    pub name: &'static str,
    pub phase: Phase,
    pub work: StepWork,
    pub effects: Vec<StepEffect>,
    /// Parameters whose gradient this step makes.
    pub parameters: u64,
    /// Parameters whose gradient this step adds to an existing one.
    pub shared_parameters: u64,
    /// Parameters whose gradient is final after this step.
    pub reduced_parameters: u64,
    /// Bytes of a number of those gradients as the kernel makes them.
    pub gradient_size: u64,
    pub parameter_kind: ParameterKind,
    /// The parameters are matrices inside the model, with their biases.
    pub is_matrix: bool,
    /// Equal parts of those gradients that are made one after another.
    pub parts: u64,
    /// The tensors whose gradient is final after this step.
    pub updated: Parameters,
}

/// Forward and backward of a tape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    pub forward: Vec<Step>,
    /// With the recomputation that it needs.
    pub backward: Vec<Step>,
    /// What is freed when the micro-batch's whole backward has ended.
    pub after_backward: Vec<StepEffect>,
}

impl Program {
    /// Bytes that forward leaves for backward, the input where it is kept included.
    ///
    /// Holds for a tape whose output is as large as its input, as a layer's is.
    pub fn kept_bytes(&self) -> i64 {
        self.forward.iter().flat_map(|step| &step.effects).map(|effect| effect.delta).sum()
    }
}

/// Derives the steps of `tape` when the operators of `segments` save nothing forward and run again
/// in backward, those after the last saver of a segment not if `stops_early`.
pub fn derive(tape: &Tape, segments: &[Range<usize>], stops_early: bool) -> Program {
    let mut derivation = Derivation::new(tape, segments, stops_early);
    for index in 0..tape.operators.len() {
        derivation.forward(index);
    }
    if let Some(output) = tape.output {
        // The next tape owns it from here on.
        derivation.alive[output.0] = false;
    }
    for index in (0..tape.operators.len()).rev() {
        if let Some(segment) = segments.iter().find(|s| s.end == index + 1 && !s.is_empty()) {
            derivation.recompute(segment.clone());
        }
        derivation.backward(index);
        if let Some(segment) = segments.iter().find(|s| s.start == index && !s.is_empty()) {
            derivation.release_inputs(segment);
        }
    }
    derivation.free_retained();
    derivation.program
}

/// Derives the steps of a tape of which only forward runs: nothing is saved, what an operator makes
/// for backward alone is freed when it ends.
pub fn derive_forward(tape: &Tape) -> Vec<Step> {
    let mut tape = tape.clone();
    let mut temporary: Vec<Vec<TensorId>> = Vec::new();
    for operator in &mut tape.operators {
        temporary.push(Derivation::private_saves(operator).collect());
        operator.saves.clear();
    }
    let mut derivation = Derivation::new(&tape, &[], false);
    for (index, temporary) in temporary.iter().enumerate() {
        let first = derivation.program.forward.len();
        derivation.forward(index);
        let mut effects = Vec::new();
        for &id in temporary {
            if !derivation.alive[id.0] {
                derivation.allocate(id, false, &mut effects);
                derivation.free(id, &mut effects);
            }
        }
        let steps = &mut derivation.program.forward[first..];
        if !steps.is_empty() {
            // Before anything of the operator is freed.
            let last = steps.len() - 1;
            for effect in effects {
                match effect.moment {
                    Moment::Start => steps[0].effects.push(effect),
                    Moment::End => steps[last].effects.push(effect),
                }
            }
        }
    }
    derivation.program.forward
}

/// The memory of a gradient of activations; a sum shares it with its inputs.
struct Gradient {
    /// More than one where a sum's result is cut into parts.
    tensors: Vec<TensorId>,
    references: u32,
    /// Equal parts of which one exists at a time.
    parts: u64,
}

struct Derivation<'a> {
    tape: &'a Tape,
    segments: &'a [Range<usize>],
    stops_early: bool,
    program: Program,
    /// The last operator that reads a tensor forward.
    last_reader: Vec<Option<usize>>,
    producer: Vec<Option<usize>>,
    alive: Vec<bool>,
    /// Alive because recomputed.
    recomputed: Vec<bool>,
    /// Releases that a tensor waits for before it is freed in backward.
    holds: Vec<u32>,
    gradients: Vec<Gradient>,
    /// Index into `gradients` by tensor.
    gradient_of: Vec<Option<usize>>,
    /// Ends with the micro-batch's backward, because no step of this tape is there to end it.
    freed_after_backward: Vec<StepEffect>,
}

impl<'a> Derivation<'a> {
    fn new(tape: &'a Tape, segments: &'a [Range<usize>], stops_early: bool) -> Self {
        let count = tape.tensors.len();
        let mut this = Self {
            tape,
            segments,
            stops_early,
            program: Program::default(),
            last_reader: vec![None; count],
            producer: vec![None; count],
            alive: vec![false; count],
            recomputed: vec![false; count],
            holds: vec![0; count],
            gradients: Vec::new(),
            gradient_of: vec![None; count],
            freed_after_backward: Vec::new(),
        };
        for (i, operator) in tape.operators.iter().enumerate() {
            for id in &operator.reads {
                this.last_reader[id.0] = Some(i);
            }
            for id in &operator.writes {
                this.producer[id.0] = Some(i);
            }
            for id in &operator.saves {
                this.holds[id.0] += 1;
            }
        }
        for segment in segments {
            for id in this.external_inputs(segment) {
                this.holds[id.0] += 1;
            }
        }
        if let Some(input) = tape.input {
            this.alive[input.0] = true;
        }
        if let Some(output) = tape.output {
            this.new_gradient(output, 1);
        }
        this
    }

    fn segment_of(&self, operator: usize) -> Option<&'a Range<usize>> {
        self.segments.iter().find(|segment| segment.contains(&operator))
    }

    /// What a segment reads and does not make.
    fn external_inputs(&self, segment: &Range<usize>) -> Vec<TensorId> {
        let mut inputs: Vec<TensorId> = self.tape.operators[segment.clone()]
            .iter()
            .flat_map(|operator| operator.reads.iter().copied())
            .filter(|id| !self.producer[id.0].is_some_and(|made| segment.contains(&made)))
            .collect();
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }

    /// True when forward keeps the tensor for backward.
    fn is_kept(&self, id: TensorId) -> bool {
        if self.tape.retained.contains(&id) {
            return true;
        }
        self.tape.operators.iter().enumerate().any(|(i, operator)| match self.segment_of(i) {
            None => operator.saves.contains(&id),
            Some(segment) => {
                operator.reads.contains(&id)
                    && !self.producer[id.0].is_some_and(|made| segment.contains(&made))
            }
        })
    }

    fn allocate(&mut self, id: TensorId, recomputed: bool, effects: &mut Vec<StepEffect>) {
        if self.alive[id.0] {
            return;
        }
        self.alive[id.0] = true;
        self.recomputed[id.0] = recomputed;
        effects.push(self.effect(id, Moment::Start, 1));
    }

    fn free(&mut self, id: TensorId, effects: &mut Vec<StepEffect>) {
        if self.alive[id.0] {
            self.alive[id.0] = false;
            effects.push(self.effect(id, Moment::End, -1));
        }
    }

    fn effect(&self, id: TensorId, moment: Moment, sign: i64) -> StepEffect {
        let tensor = &self.tape.tensors[id.0];
        let category = if self.recomputed[id.0] { Category::Recompute } else { tensor.category };
        StepEffect { moment, category, name: tensor.name, delta: sign * signed(tensor.bytes) }
    }

    /// The operator's tensors that exist for backward alone.
    fn private_saves(operator: &Operator) -> impl Iterator<Item = TensorId> + '_ {
        operator
            .saves
            .iter()
            .copied()
            .filter(|id| !operator.reads.contains(id) && !operator.writes.contains(id))
    }

    fn forward(&mut self, index: usize) {
        let operator = &self.tape.operators[index];
        let mut effects = Vec::new();
        for &id in &operator.writes {
            self.allocate(id, false, &mut effects);
        }
        if self.segment_of(index).is_none() {
            for id in Self::private_saves(operator) {
                self.allocate(id, false, &mut effects);
            }
        }
        workspace(operator.forward_workspace, &mut effects);
        for id in operator.reads.iter().chain(&operator.writes).copied() {
            let read_later = self.last_reader[id.0].is_some_and(|last| last > index);
            if !read_later && Some(id) != self.tape.output && !self.is_kept(id) {
                self.free(id, &mut effects);
            }
        }
        let steps = forward_steps(operator, Phase::Forward, effects);
        self.program.forward.extend(steps);
    }

    fn recompute(&mut self, segment: Range<usize>) {
        let end = self.recompute_end(&segment);
        for index in segment.start..end {
            let operator = &self.tape.operators[index];
            let mut effects = Vec::new();
            for id in operator.writes.iter().copied().chain(Self::private_saves(operator)) {
                self.allocate(id, true, &mut effects);
            }
            workspace(operator.forward_workspace, &mut effects);
            for id in operator.reads.iter().chain(&operator.writes).copied() {
                let inside = self.producer[id.0].is_some_and(|made| segment.contains(&made));
                let read_later =
                    self.last_reader[id.0].is_some_and(|last| last > index && last < end);
                if inside && !read_later && self.holds[id.0] == 0 {
                    self.free(id, &mut effects);
                }
            }
            let steps = forward_steps(operator, Phase::Recompute, effects);
            self.program.backward.extend(steps);
        }
    }

    /// A checkpoint lets go of its inputs when the backward of all its operators has run.
    fn release_inputs(&mut self, segment: &Range<usize>) {
        let mut effects = Vec::new();
        for id in self.external_inputs(segment) {
            self.release(id, &mut effects);
        }
        if let Some(last) = self.program.backward.last_mut() {
            last.effects.extend(effects);
        }
    }

    /// Where the recomputation of a segment ends: after its last operator, or before what backward
    /// does not need.
    fn recompute_end(&self, segment: &Range<usize>) -> usize {
        if !self.stops_early {
            return segment.end;
        }
        let last = segment.clone().rev().find(|&i| !self.tape.operators[i].saves.is_empty());
        last.map_or(segment.end, |last| {
            let operator = &self.tape.operators[last];
            let runs = operator.saves.iter().any(|id| !operator.reads.contains(id));
            if runs { last + 1 } else { last }
        })
    }

    /// One reason less to keep a saved tensor.
    fn release(&mut self, id: TensorId, effects: &mut Vec<StepEffect>) {
        self.holds[id.0] -= 1;
        if self.holds[id.0] == 0 && !self.tape.retained.contains(&id) {
            self.free(id, effects);
        }
    }

    fn backward(&mut self, index: usize) {
        let operator = &self.tape.operators[index];
        let mut effects = Vec::new();
        let mut added = Vec::new();
        let made_forward = operator.gradient == GradientRule::MadeForward;
        if made_forward {
            // What was saved becomes the gradients, which are allocated below.
            for &id in &operator.saves {
                self.release(id, &mut effects);
            }
            for effect in &mut effects {
                effect.moment = Moment::Start;
            }
        }
        if !operator.writes.is_empty() {
            added = self.make_gradients(operator, &mut effects);
        }
        workspace(operator.backward_workspace, &mut effects);
        for &id in &operator.writes {
            if let Some(gradient) = self.gradient_of[id.0].take() {
                self.drop_gradient(gradient, &mut effects);
            }
        }
        for &id in operator.saves.iter().filter(|_| !made_forward) {
            self.release(id, &mut effects);
        }
        let mut steps = backward_steps(operator);
        if steps.is_empty() {
            self.without_steps(effects);
        } else {
            attach(&mut steps, effects);
            self.program.backward.extend(steps);
        }
        for id in added {
            self.program.backward.push(self.accumulation(id));
        }
    }

    /// What an operator without backward kernels frees is freed with what ran before it.
    fn without_steps(&mut self, effects: Vec<StepEffect>) {
        match self.program.backward.last_mut() {
            Some(before) => before.effects.extend(
                effects.into_iter().map(|effect| StepEffect { moment: Moment::End, ..effect }),
            ),
            None => self.freed_after_backward.extend(effects),
        }
    }

    /// Adds a second gradient of a tensor to the first and frees it.
    fn accumulation(&self, id: TensorId) -> Step {
        let bytes = self.tape.tensors[id.0].bytes;
        let mut step =
            compute_step("accumulate-gradient", Phase::Backward, Work::stream(3 * bytes, 1));
        let parts = self.gradient_of[id.0].map_or(1, |first| self.gradients[first].parts);
        step.effects.push(self.gradient_effect(id, parts, Moment::End, -1));
        step
    }

    /// Allocates the gradients of an operator's inputs; gives back those that are second ones.
    fn make_gradients(
        &mut self,
        operator: &Operator,
        effects: &mut Vec<StepEffect>,
    ) -> Vec<TensorId> {
        let mut added = Vec::new();
        let mut inputs = operator.reads.clone();
        inputs.sort_unstable();
        inputs.dedup();
        inputs.retain(|id| self.tape.tensors[id.0].differentiable);
        let of_output = match operator.gradient {
            GradientRule::Alias => self.gradient_of_outputs(operator),
            GradientRule::Fresh | GradientRule::InPlaceOfSaved | GradientRule::MadeForward => None,
        };
        for id in inputs {
            let exists = self.gradient_of[id.0].is_some();
            match (operator.gradient, of_output) {
                (GradientRule::Alias, Some(shared)) => {
                    if !exists {
                        self.gradients[shared].references += 1;
                        self.gradient_of[id.0] = Some(shared);
                    }
                }
                (GradientRule::InPlaceOfSaved, _) if self.tape.retained.contains(&id) => {
                    // Whoever retains the tensor holds its gradient.
                    self.new_gradient(id, 1);
                    self.gradients.last_mut().expect("it was just added").tensors.clear();
                }
                (GradientRule::InPlaceOfSaved, _) if operator.saves.contains(&id) => {
                    // The saved tensor turns into the gradient: same bytes, no allocation, and
                    // nothing to free when its last hold goes.
                    self.alive[id.0] = false;
                    self.new_gradient(id, 1);
                    effects.push(self.effect(id, Moment::Start, -1));
                    effects.push(self.gradient_effect(id, 1, Moment::Start, 1));
                }
                _ => {
                    let parts = match self.gradient_of[id.0] {
                        Some(first) => self.gradients[first].parts,
                        None => operator.parts,
                    };
                    effects.push(self.gradient_effect(id, parts, Moment::Start, 1));
                    if exists {
                        added.push(id);
                    } else {
                        self.new_gradient(id, parts);
                    }
                }
            }
        }
        added
    }

    /// The gradient of `tensor` is memory of its own.
    fn new_gradient(&mut self, tensor: TensorId, parts: u64) {
        self.gradient_of[tensor.0] = Some(self.gradients.len());
        self.gradients.push(Gradient { tensors: vec![tensor], references: 1, parts });
    }

    /// The one gradient of all outputs; those of several parts become one.
    fn gradient_of_outputs(&mut self, operator: &Operator) -> Option<usize> {
        let mut found: Vec<usize> =
            operator.writes.iter().filter_map(|id| self.gradient_of[id.0]).collect();
        found.sort_unstable();
        found.dedup();
        let (&first, others) = found.split_first()?;
        for &other in others {
            let gradient = &mut self.gradients[other];
            let tensors = std::mem::take(&mut gradient.tensors);
            let references = std::mem::take(&mut gradient.references);
            self.gradients[first].tensors.extend(tensors);
            self.gradients[first].references += references;
            for index in self.gradient_of.iter_mut().flatten().filter(|index| **index == other) {
                *index = first;
            }
        }
        Some(first)
    }

    fn drop_gradient(&mut self, gradient: usize, effects: &mut Vec<StepEffect>) {
        let shared = &mut self.gradients[gradient];
        shared.references -= 1;
        if shared.references == 0 {
            let parts = shared.parts;
            for tensor in std::mem::take(&mut shared.tensors) {
                effects.push(self.gradient_effect(tensor, parts, Moment::End, -1));
            }
        }
    }

    fn gradient_effect(&self, id: TensorId, parts: u64, moment: Moment, sign: i64) -> StepEffect {
        let tensor = &self.tape.tensors[id.0];
        let name = match tensor.category {
            Category::Logits => "logits-gradient",
            _ => "activation-gradient",
        };
        let delta = sign * signed(tensor.bytes.div_ceil(parts));
        StepEffect { moment, category: tensor.category, name, delta }
    }

    fn free_retained(&mut self) {
        let mut effects = Vec::new();
        for &id in &self.tape.retained {
            self.free(id, &mut effects);
        }
        effects.append(&mut self.freed_after_backward);
        self.program.after_backward = effects;
    }
}

fn workspace(bytes: u64, effects: &mut Vec<StepEffect>) {
    if bytes > 0 {
        for (moment, sign) in [(Moment::Start, 1), (Moment::End, -1)] {
            effects.push(StepEffect {
                moment,
                category: Category::Activations,
                name: "workspace",
                delta: sign * signed(bytes),
            });
        }
    }
}

/// The kernel and then the collective of an operator's forward; one that runs beside the kernel
/// comes first.
fn forward_steps(operator: &Operator, phase: Phase, effects: Vec<StepEffect>) -> Vec<Step> {
    let mut steps = Vec::new();
    if let Some(work) = operator.preparation {
        steps.push(compute_step("dequantize", phase, work));
    }
    if let Some(work) = operator.forward {
        steps.push(compute_step(operator.name, phase, work));
    }
    if let Some(collective) = operator.forward_collective {
        let at = if collective.kind.runs_beside() { 0 } else { steps.len() };
        steps.insert(at, collective_step(operator.name, collective));
    }
    attach(&mut steps, effects);
    steps
}

/// The collective and then the kernels of an operator's backward.
fn backward_steps(operator: &Operator) -> Vec<Step> {
    let mut steps = Vec::new();
    if let Some(collective) = operator.backward_collective {
        steps.push(collective_step(operator.name, collective));
    }
    if let Some(work) = operator.preparation {
        steps.push(compute_step("dequantize", Phase::Backward, work));
    }
    if let Some(work) = operator.backward_input {
        steps.push(compute_step(operator.name, Phase::Backward, work));
    }
    if let Some(work) = operator.backward_weight {
        steps.push(compute_step(operator.name, Phase::WeightGradient, work));
    }
    if let Some(last) = steps.last_mut() {
        last.parameters = operator.parameters;
        last.shared_parameters = operator.shared_parameters;
        last.reduced_parameters = operator.reduced_parameters;
        last.gradient_size = operator.gradient_size;
        last.parameter_kind = operator.parameter_kind;
        last.is_matrix = operator.product.is_some()
            && operator.trainable.iter().all(|tensor| tensor.role != ParameterRole::Table);
        last.parts = operator.parts;
        last.updated = updated(operator);
    }
    steps
}

/// The tensors whose gradient is final after an operator's backward.
fn updated(operator: &Operator) -> Parameters {
    let mut updated = Parameters::default();
    if operator.reduced_parameters == 0 {
        return updated;
    }
    for tensor in &operator.trainable {
        updated.add_tensors(*tensor, 1);
    }
    if operator.shared_parameters > 0 {
        // A tied table, of which no more than its size matters here.
        updated.add_tensors(ParameterTensor::table(1, operator.shared_parameters), 1);
    }
    updated
}

fn compute_step(name: &'static str, phase: Phase, work: Work) -> Step {
    Step {
        name,
        phase,
        work: StepWork::Compute(work),
        effects: Vec::new(),
        parameters: 0,
        shared_parameters: 0,
        reduced_parameters: 0,
        gradient_size: 0,
        parameter_kind: ParameterKind::Common,
        is_matrix: false,
        parts: 1,
        updated: Parameters::default(),
    }
}

fn collective_step(name: &'static str, collective: Collective) -> Step {
    Step {
        name,
        phase: collective.kind.phase(),
        work: StepWork::Collective(collective),
        effects: Vec::new(),
        parameters: 0,
        shared_parameters: 0,
        reduced_parameters: 0,
        gradient_size: 0,
        parameter_kind: ParameterKind::Common,
        is_matrix: false,
        parts: 1,
        updated: Parameters::default(),
    }
}

/// What starts goes to the first step, what ends to the last.
fn attach(steps: &mut [Step], effects: Vec<StepEffect>) {
    for effect in effects {
        let step = match effect.moment {
            Moment::Start => steps.first_mut(),
            Moment::End => steps.last_mut(),
        };
        step.expect("an operator that changes memory has a step").effects.push(effect);
    }
}
