//! One optimizer step over all pipeline stages.

use super::builder::{Special, TraceBuilder};
use super::compiled::Unit;
use super::stage::{StageEmitter, UnitRef};
use crate::cost::CostModel;
use crate::engine::{Moment, TaskId};
use crate::model::LayerGroup;
use crate::operators::{Tape, embedding_tape, head_tape, layer_tape};
use crate::plan::Plan;
use crate::program::derive;
use crate::quantity::signed_bytes;
use crate::scenario::Recompute;
use crate::schedule::{Action, stage_actions};
use crate::trace::{Category, Phase, TaskInfo, Trace};
use std::ops::Range;

const EMBEDDING: usize = 0;
const HEAD: usize = 1;
/// The first kind of layers; others follow.
const LAYERS: usize = 2;

/// Simulates one optimizer step of a plan.
pub fn lower(plan: &Plan, cost: &CostModel) -> Trace {
    let mut builder = TraceBuilder::with_capacity(1 << 12);
    let groups = plan.model.layer_groups();
    let units = compile_units(plan, &groups, cost, &mut builder);
    let unit_of = |layer: u64| {
        let kind = plan.model.layer_kind(layer);
        let group = groups.iter().position(|group| group.kind == kind);
        LAYERS + group.expect("every layer is of a group")
    };
    let mut stages: Vec<StageEmitter<'_>> = plan
        .stages
        .iter()
        .zip(0..)
        .map(|(stage, number)| {
            let mut order = Vec::new();
            if stage.has_embedding {
                order.push(UnitRef { unit: EMBEDDING, layer: TaskInfo::NONE });
            }
            let layers = stage.first_layer..stage.first_layer + stage.layers;
            order.extend(layers.map(|layer| UnitRef {
                unit: unit_of(layer),
                layer: u32::try_from(layer).expect("layers are few"),
            }));
            if stage.has_head {
                order.push(UnitRef { unit: HEAD, layer: TaskInfo::NONE });
            }
            StageEmitter::new(plan, cost, &units, order, number, &mut builder)
        })
        .collect();
    emit_micro_batches(plan, cost, &mut stages, &mut builder);
    if plan.ties_head() && plan.pp > 1 && plan.adapters.is_none() {
        sum_tied_gradients(plan, cost, &mut stages, &mut builder);
    }
    for stage in &mut stages {
        stage.optimize(&mut builder);
    }
    let seeds = stages.iter().map(StageEmitter::seed).collect();
    drop(stages);
    builder.finish(seeds)
}

/// The programs of the embedding, the head and a layer of each kind, priced.
fn compile_units(
    plan: &Plan,
    groups: &[LayerGroup],
    cost: &CostModel,
    builder: &mut TraceBuilder,
) -> Vec<Unit> {
    let (shape, context) = (&plan.model, plan.context());
    let early = context.kernels.recompute_stops_early;
    let ends = [
        (embedding_tape(shape, &context, plan.tied()), false),
        (head_tape(shape, &context, plan.tied()), false),
    ];
    let layers = groups.iter().map(|group| (layer_tape(shape, group.kind, &context), true));
    ends.into_iter()
        .chain(layers)
        .map(|(tape, is_layer)| {
            let segment = if is_layer { segment(plan, &tape) } else { None };
            let program = derive(&tape, segment.as_slice(), early);
            Unit::compile(&program, &tape, plan, cost, &mut builder.tables)
        })
        .collect()
}

/// Emits forwards and backwards of all stages in an order in which each comes after what it needs.
fn emit_micro_batches(
    plan: &Plan,
    cost: &CostModel,
    stages: &mut [StageEmitter<'_>],
    builder: &mut TraceBuilder,
) {
    let count = stages.len();
    let actions: Vec<Vec<Action>> = (0..plan.pp)
        .map(|stage| {
            stage_actions(plan.schedule, plan.pp, stage, plan.micro_batches)
                .expect("a checked plan has a schedule that is generated")
        })
        .collect();
    let micro_batches = usize::try_from(plan.micro_batches).expect("micro-batches are few");
    let mut forward_done = vec![vec![None::<TaskId>; micro_batches]; count];
    let mut backward_done = vec![vec![None::<TaskId>; micro_batches]; count];
    let mut next = vec![0_usize; count];
    loop {
        let mut progress = false;
        for s in 0..count {
            while let Some(&action) = actions[s].get(next[s]) {
                let source = match action {
                    Action::Forward(m) if s > 0 => Some((s - 1, forward_done[s - 1][m as usize])),
                    Action::Backward(m) if s + 1 < count => {
                        Some((s + 1, backward_done[s + 1][m as usize]))
                    }
                    _ => None,
                };
                let received = match source {
                    None => None,
                    Some((_, None)) => break,
                    Some((from, Some(made))) => {
                        Some(send(plan, cost, builder, stages, (from, s), made, action))
                    }
                };
                match action {
                    Action::Forward(m) => {
                        let turns = actions[s].get(next[s] + 1) == Some(&Action::Backward(m));
                        forward_done[s][m as usize] =
                            Some(stages[s].forward(builder, m, received, turns));
                    }
                    Action::Backward(m) => {
                        backward_done[s][m as usize] =
                            Some(stages[s].backward(builder, m, received));
                    }
                }
                next[s] += 1;
                progress = true;
            }
        }
        if !progress {
            break;
        }
    }
    assert!(next.iter().zip(&actions).all(|(n, a)| *n == a.len()), "a schedule has no cycle");
}

/// Sends an activation or its gradient between neighbours; the receiver posts its buffer when its
/// previous action begins.
fn send(
    plan: &Plan,
    cost: &CostModel,
    builder: &mut TraceBuilder,
    stages: &[StageEmitter<'_>],
    (from, to): (usize, usize),
    made: TaskId,
    action: Action,
) -> TaskId {
    let context = plan.context();
    let bytes = context.stream_tokens() * plan.model.hidden * context.stream_size();
    let lanes = stages[from].lanes;
    let (name, tensor, micro_batch, lane) = match action {
        Action::Forward(m) => ("send-activations", "layer-input", m, lanes.to_next),
        Action::Backward(m) => ("send-gradients", "activation-gradient", m, lanes.to_previous),
    };
    let special = Special {
        name,
        phase: Phase::SendReceive,
        bytes: bytes as f64,
        cost: cost.pipeline_send(from.min(to), bytes),
    };
    let lane = lane.expect("neighbours have a lane in each direction");
    let task = builder.special(lane, special, TaskInfo::NONE, micro_batch);
    builder.graph.wait_for(made);
    if let Some(posted) = stages[to].previous_action_end[0] {
        builder.graph.wait_for(posted);
    }
    let delta = signed_bytes(bytes);
    let category = Category::Activations;
    builder.change(stages[to].pool, Moment::Start, category, tensor, delta);
    if !(matches!(action, Action::Forward(_)) && stages[from].keeps_boundaries()) {
        builder.change(stages[from].pool, Moment::End, category, tensor, -delta);
    }
    task
}

/// First and last stage hold a copy of a tied table and sum its gradients before the step
/// (Megatron's embedding group).
fn sum_tied_gradients(
    plan: &Plan,
    cost: &CostModel,
    stages: &mut [StageEmitter<'_>],
    builder: &mut TraceBuilder,
) {
    let bytes = plan.model.embedding_params_per_rank(plan.tp).token * plan.gradient_dtype.bytes();
    let special = Special {
        name: "sum-tied-gradients",
        phase: Phase::AllReduce,
        bytes: bytes as f64,
        cost: cost.embedding_reduction(bytes),
    };
    let last = stages.len() - 1;
    let ends: Vec<TaskId> =
        [0, last].iter().filter_map(|&stage| stages[stage].previous_action_end[1]).collect();
    for stage in [0, last] {
        let lanes = stages[stage].lanes;
        let lane = lanes.to_next.or(lanes.to_previous).expect("a pipeline has lanes");
        let task = builder.special(lane, special, TaskInfo::NONE, TaskInfo::NONE);
        for end in &ends {
            builder.graph.wait_for(*end);
        }
        stages[stage].embedding_sum = Some(task);
    }
}

/// The operators of a layer that run again in backward.
pub fn segment(plan: &Plan, layer: &Tape) -> Option<Range<usize>> {
    match plan.recompute {
        Recompute::None => None,
        Recompute::Selective => Some(layer.attention_core.clone()),
        Recompute::Full => Some(0..layer.operators.len()),
    }
}
