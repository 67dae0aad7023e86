//! PyTorch's FSDP2 on one stage: what is gathered, copied and reduced around each group of parameters.
//!
//! A group is a layer, or the root: embedding, final norm and head together, as `fully_shard` makes
//! them when it is called on every layer and then on the model. The order is that of
//! `torch/distributed/fsdp/_fully_shard` (2.13):
//!
//! - forward: the next group's all-gather is issued while this one computes; its output stays until
//!   the group after it has been copied out, so two outputs exist for a moment;
//! - backward: a group's all-gather is issued when the group before it has been copied out, and its
//!   output is freed at once after its own copy;
//! - after a group's backward its parameters are freed, its gradients are copied into the input of
//!   a reduce-scatter, and that input stays until the next group's backward has ended.
//!
//! Memory changes where the host changes it, in the order of the compute stream: PyTorch's allocator
//! counts a buffer from the moment the host asks for it, not from the moment a kernel fills it. The
//! 16-bit copy of a shard that an all-gather reads is left out: it is gone before the parameters
//! that it becomes exist, and those are larger.

mod reduce;

use super::builder::TraceBuilder;
use super::compiled::Unit;
use super::stage::{Direction, Ending, StageEmitter, UnitRef};
use crate::engine::{Moment, TaskId};
use crate::operators::{Collective, CollectiveKind, ParameterKind, Work};
use crate::plan::Plan;
use crate::quantity::signed_bytes as signed;
use crate::scenario::FsdpMode;
use crate::trace::{Category, Phase, TaskInfo};

/// The state of a stage's groups. A layer's group has the number of its place in the stage's order,
/// the root's comes after all of them.
#[derive(Debug)]
pub(super) struct Fsdp {
    /// Parameters are freed between forward and backward.
    reshards: bool,
    /// Trainable parameters of each group.
    parameters: Vec<u64>,
    /// Bytes of each group's parameters when they are gathered, frozen ones included.
    gathered_bytes: Vec<u64>,
    gathered: Vec<bool>,
    /// Bytes of the root's last parameter's gradient: the loop that collects gradients for a
    /// reduction holds on to the last of them until the reduction is issued.
    last_gradient: u64,
    /// Bytes of the all-gather's output that waits for the next group's copy.
    held: u64,
    /// What the first all-gather of a forward waits for: the host issues it when all earlier work
    /// has been issued.
    start: Option<TaskId>,
    /// The two newest copies out of an all-gather's output, the older first.
    copies: [Option<TaskId>; 2],
    /// A group whose all-gather has been issued ahead of its use.
    ahead: Option<(usize, Option<TaskId>)>,
    /// Bytes of gradients that wait for their group's reduction: of the layer, of the root.
    unreduced: [u64; 2],
    /// The unit at work belongs to the root.
    in_root: bool,
    /// Bytes of the newest reduction's input.
    reduce_input: u64,
    reduction: Option<TaskId>,
    replica_reduction: Option<TaskId>,
    /// Bytes of reduced shards in the format of the wire that the all-reduce between nodes keeps
    /// until backward has ended.
    held_outputs: u64,
    /// Parameters whose gradients this backward has reduced.
    reduced: u64,
}

impl Fsdp {
    /// The groups of a stage; `None` without FSDP.
    pub fn new(plan: &Plan, units: &[Unit], order: &[UnitRef]) -> Option<Self> {
        let mode = plan.fsdp?;
        let mut parameters = vec![0; order.len() + 1];
        let mut gathered_bytes = vec![0; order.len() + 1];
        let size = plan.recipe.weights.bytes();
        let mut last_gradient = 0;
        for (position, unit) in order.iter().enumerate() {
            let group = if is_root(*unit) { order.len() } else { position };
            // Beside FSDP all parameters are of one kind.
            let own = &units[unit.unit].parameters.common;
            parameters[group] += own.trained();
            gathered_bytes[group] += own.trained() * size + own.frozen_bytes;
            if is_root(*unit) && position > 0 && !plan.ties_head() {
                let first = units[unit.unit].backward.iter().find(|step| step.parameters > 0);
                last_gradient = first.map_or(0, |step| step.parameters * step.gradient_size);
            }
        }
        Some(Self {
            reshards: mode != FsdpMode::ShardGradOp,
            gathered: vec![false; parameters.len()],
            parameters,
            gathered_bytes,
            last_gradient,
            held: 0,
            start: None,
            copies: [None; 2],
            ahead: None,
            unreduced: [0; 2],
            in_root: false,
            reduce_input: 0,
            reduction: None,
            replica_reduction: None,
            held_outputs: 0,
            reduced: 0,
        })
    }

    fn root(&self) -> usize {
        self.parameters.len() - 1
    }

    /// Takes note of new gradients of the unit at work.
    pub fn add_gradients(&mut self, bytes: u64) {
        self.unreduced[usize::from(self.in_root)] += bytes;
    }

    /// What comes before a unit: its group's parameters, and the root's before the first.
    pub fn before_unit(
        &mut self,
        stage: &mut StageEmitter<'_>,
        builder: &mut TraceBuilder,
        (position, is_first): (usize, bool),
        micro_batch: u32,
        direction: Direction,
    ) {
        let root = self.root();
        self.in_root = is_root(stage.order[position]);
        let last_layer = stage.order.iter().rposition(|unit| !is_root(*unit));
        match direction {
            Direction::Forward => {
                if is_first {
                    self.start = stage.last_compute;
                    self.copies = [None; 2];
                    self.gather_forward(stage, builder, root, micro_batch);
                }
                if !self.in_root {
                    self.gather_forward(stage, builder, position, micro_batch);
                }
            }
            Direction::Backward => {
                if is_first {
                    self.gather_backward(stage, builder, root, last_layer, micro_batch);
                }
                if !self.in_root {
                    let next = position.checked_sub(1).filter(|&at| !is_root(stage.order[at]));
                    self.gather_backward(stage, builder, position, next, micro_batch);
                }
            }
        }
    }

    /// What a unit's forward frees with its last kernel.
    pub fn ending(&mut self, position: usize, is_last: bool) -> Ending {
        let mut ending = Ending::default();
        let root = self.root();
        let mut ended = Vec::new();
        if !self.in_root {
            ended.push(position);
        }
        if is_last {
            ended.push(root);
            ending.buffers = std::mem::take(&mut self.held);
        }
        for group in ended {
            if self.reshards && self.gathered[group] {
                self.gathered[group] = false;
                ending.gathered += self.gathered_bytes[group];
            }
        }
        ending
    }

    /// What comes after a unit's backward: the reduction of its group's gradients, and of the
    /// root's after the last.
    pub fn after_backward(
        &mut self,
        stage: &mut StageEmitter<'_>,
        builder: &mut TraceBuilder,
        (position, is_last): (usize, bool),
        micro_batch: u32,
    ) {
        let root = self.root();
        let has_root = self.gathered_bytes[root] > 0;
        if !self.in_root {
            self.reduce(stage, builder, position, micro_batch, is_last && !has_root);
        }
        if is_last && has_root {
            self.reduce(stage, builder, root, micro_batch, true);
        }
    }

    fn gather_forward(
        &mut self,
        stage: &mut StageEmitter<'_>,
        builder: &mut TraceBuilder,
        group: usize,
        micro_batch: u32,
    ) {
        if self.gathered[group] || self.gathered_bytes[group] == 0 {
            return;
        }
        let wait = self.start.take().or(self.copies[0]);
        let ready = self.all_gather(stage, builder, group, micro_batch, wait);
        let output = self.output_bytes(stage, group);
        let moment = Moment::Start;
        self.copy_out(stage, builder, group, micro_batch, Phase::Forward, ready);
        change(stage, builder, moment, "all-gather-output", signed(output));
        self.allocate_parameters(stage, builder, group);
        change(stage, builder, Moment::End, "all-gather-output", -signed(self.held));
        self.held = output;
    }

    fn gather_backward(
        &mut self,
        stage: &mut StageEmitter<'_>,
        builder: &mut TraceBuilder,
        group: usize,
        next: Option<usize>,
        micro_batch: u32,
    ) {
        if self.gathered[group] || self.gathered_bytes[group] == 0 {
            return;
        }
        let ahead = self.ahead.take().filter(|ahead| ahead.0 == group);
        let ready = match ahead {
            Some((_, task)) => task,
            None => self.all_gather(stage, builder, group, micro_batch, self.copies[1]),
        };
        let output = self.output_bytes(stage, group);
        let copy = self.copy_out(stage, builder, group, micro_batch, Phase::Backward, ready);
        if ahead.is_none() {
            change(stage, builder, Moment::Start, "all-gather-output", signed(output));
        }
        self.allocate_parameters(stage, builder, group);
        change(stage, builder, Moment::End, "all-gather-output", -signed(output));
        if let Some(next) = next.filter(|&next| !self.gathered[next]) {
            let output = self.output_bytes(stage, next);
            change(stage, builder, Moment::End, "all-gather-output", signed(output));
            let task = self.all_gather(stage, builder, next, micro_batch, Some(copy));
            self.ahead = Some((next, task));
        }
    }

    /// Bytes of an all-gather's output; nothing is gathered from one rank.
    fn output_bytes(&self, stage: &StageEmitter<'_>, group: usize) -> u64 {
        if stage.plan.shards > 1 { self.gathered_bytes[group] } else { 0 }
    }

    fn all_gather(
        &self,
        stage: &mut StageEmitter<'_>,
        builder: &mut TraceBuilder,
        group: usize,
        micro_batch: u32,
        wait: Option<TaskId>,
    ) -> Option<TaskId> {
        let bytes = self.output_bytes(stage, group);
        if bytes == 0 {
            return None;
        }
        let collective = Collective { kind: CollectiveKind::AllGather, bytes };
        let at = (stage.layer_of(group), micro_batch);
        let task = stage.data_collective(
            builder,
            "gather-parameters",
            ParameterKind::Common,
            collective,
            at,
        );
        if let Some(wait) = wait {
            builder.graph.wait_for(wait);
        }
        Some(task)
    }

    /// The copy from an all-gather's output into parameters.
    fn copy_out(
        &mut self,
        stage: &mut StageEmitter<'_>,
        builder: &mut TraceBuilder,
        group: usize,
        micro_batch: u32,
        phase: Phase,
        ready: Option<TaskId>,
    ) -> TaskId {
        stage.carried_waits.extend(ready);
        let bytes = 2 * self.gathered_bytes[group];
        let at = (stage.layer_of(group), micro_batch);
        let task = stage.copy(builder, "copy-out-parameters", phase, bytes, at);
        self.copies = [self.copies[1], Some(task)];
        task
    }

    /// The newest task allocates a group's parameters.
    fn allocate_parameters(
        &mut self,
        stage: &StageEmitter<'_>,
        builder: &mut TraceBuilder,
        group: usize,
    ) {
        self.gathered[group] = true;
        let bytes = signed(self.gathered_bytes[group]);
        change(stage, builder, Moment::Start, "gathered-parameters", bytes);
    }
}

/// The embedding's and the head's parameters are in the root's group.
fn is_root(unit: UnitRef) -> bool {
    unit.layer == TaskInfo::NONE
}

/// The newest task changes a buffer.
fn change(
    stage: &StageEmitter<'_>,
    builder: &mut TraceBuilder,
    moment: Moment,
    name: &'static str,
    bytes: i64,
) {
    builder.change(stage.pool, moment, Category::Transient, name, bytes);
}

impl StageEmitter<'_> {
    /// Layer number of an FSDP group.
    fn layer_of(&self, group: usize) -> u32 {
        self.order.get(group).map_or(TaskInfo::NONE, |unit| unit.layer)
    }

    /// A copy of `bytes` read and written on the compute lane.
    fn copy(
        &mut self,
        builder: &mut TraceBuilder,
        name: &'static str,
        phase: Phase,
        bytes: u64,
        at: (u32, u32),
    ) -> TaskId {
        let work = Work::stream(bytes, 1);
        let cost = self.cost.compute(&work);
        let operation = builder.tables.operation(name, phase, 0.0, work.bytes, cost);
        self.compute(builder, (operation, cost.time.get()), at)
    }
}
