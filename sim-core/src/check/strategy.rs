//! Degrees of parallelism, and combinations that frameworks refuse or that have no use.

use super::hardware::Machine;
use super::model::nearest_divisor;
use crate::issue::{Issue, IssueCode};
use crate::model::{ModelShape, Positions};
use crate::plan::Plan;
use crate::scenario::{
    AttentionKernel, Edit, Framework, Optimizer, Scenario, ScheduleName, WorkloadKind,
};

/// How the GPUs are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Degrees {
    pub dp: u64,
    pub tp: u64,
    pub pp: u64,
    pub cp: u64,
}

/// Most operations of a step that are simulated one by one.
const MAX_OPERATIONS: u64 = 1_500_000;

/// Operations of a layer forward and backward, about.
const OPERATIONS_PER_LAYER: u64 = 60;

/// As above with adapters, and weights made ready for each product.
const ADAPTED_OPERATIONS_PER_LAYER: u64 = 160;

/// Largest sum of all tensors that is computed with, in bytes: a quarter of what 64 bits count.
const MAX_BYTES: f64 = 2e18;

/// Largest sum of a layer's tensors that is computed with, in bytes.
const MAX_LAYER_BYTES: f64 = 1e15;

/// The degrees of a scenario; data parallelism takes what is left when it is not given.
pub fn degrees(scenario: &Scenario, issues: &mut Vec<Issue>) -> Option<Degrees> {
    let (hardware, strategy) = (&scenario.hardware, &scenario.strategy);
    let devices = hardware.devices_per_node * hardware.nodes;
    let (tp, pp, cp) = (strategy.tp, strategy.pp, strategy.cp);
    let split = tp * pp * cp;
    let dp = strategy.dp.unwrap_or((devices / split).max(1));
    if dp * split == devices {
        return Some(Degrees { dp, tp, pp, cp });
    }
    let mut issue = Issue::new(IssueCode::DegreesDoNotFill, "strategy.dp")
        .with("dp", dp)
        .with("tp", tp)
        .with("pp", pp)
        .with("cp", cp)
        .with("product", dp * split)
        .with("devices", devices);
    if devices.is_multiple_of(split) {
        issue = issue.way_out(Edit::new("strategy.dp", serde_json::Value::Null));
    }
    if split > devices || !devices.is_multiple_of(split) {
        for (field, own) in [("strategy.pp", pp), ("strategy.tp", tp), ("strategy.cp", cp)] {
            let others = split / own;
            if devices.is_multiple_of(others) && own > 1 {
                issue = issue.way_out(Edit::new(field, nearest_divisor(devices / others, own)));
            }
        }
    }
    if hardware.nodes == 1 && dp * split <= 576 {
        issue = issue.way_out(Edit::new("hardware.devices_per_node", dp * split));
    }
    issues.push(issue);
    None
}

/// What the strategy asks of the model and of the machine.
pub fn check(scenario: &Scenario, shape: &ModelShape, machine: &Machine, issues: &mut Vec<Issue>) {
    let (workload, strategy) = (&scenario.workload, &scenario.strategy);
    let heads = shape.attention.heads;
    if !heads.is_multiple_of(strategy.tp) {
        issues.push(
            Issue::new(IssueCode::TpDoesNotDivideHeads, "strategy.tp")
                .with("tp", strategy.tp)
                .with("heads", heads)
                .way_out(Edit::new("strategy.tp", nearest_divisor(heads, strategy.tp))),
        );
    }
    if heads.is_multiple_of(strategy.tp) {
        widths_divide(shape, strategy.tp, issues);
    }
    if workload.kind == WorkloadKind::Train {
        check_training(scenario, shape, machine, issues);
    }
    if strategy.pp > shape.depth() {
        issues.push(
            Issue::new(IssueCode::PpExceedsLayers, "strategy.pp")
                .with("pp", strategy.pp)
                .with("layers", shape.depth())
                .way_out(Edit::new("strategy.pp", shape.depth())),
        );
    }
}

/// What training asks of the model and of the machine beside that.
fn check_training(
    scenario: &Scenario,
    shape: &ModelShape,
    machine: &Machine,
    issues: &mut Vec<Issue>,
) {
    let (workload, strategy) = (&scenario.workload, &scenario.strategy);
    if let Positions::Learned { rows } = shape.positions
        && workload.sequence > rows
    {
        issues.push(
            Issue::new(IssueCode::SequenceAbovePositions, "workload.sequence")
                .with("sequence", workload.sequence)
                .with("rows", rows)
                .way_out(Edit::new("workload.sequence", shape.max_sequence)),
        );
    }
    let slices = strategy.tp * if strategy.cp > 1 { 2 * strategy.cp } else { 1 };
    if strategy.sequence_parallel && !workload.sequence.is_multiple_of(slices) {
        issues.push(
            Issue::new(IssueCode::SequenceNotDivisibleByTp, "strategy.sequence_parallel")
                .with("tp", strategy.tp)
                .with("sequence", workload.sequence)
                .way_out(Edit::new("strategy.sequence_parallel", false))
                .way_out(Edit::new(
                    "workload.sequence",
                    workload.sequence.div_ceil(slices) * slices,
                )),
        );
    }
    if machine.peak(workload.precision.math()).is_none() {
        let mut issue = Issue::new(IssueCode::DtypeNotOnDevice, "workload.precision")
            .with("device", machine.device.name);
        for other in ["bf16-mixed", "fp16-mixed", "tf32", "fp32"] {
            issue = issue.way_out(Edit::new("workload.precision", other));
        }
        issues.push(issue);
    }
}

/// Widths beside the query heads that tensor parallelism splits.
fn widths_divide(shape: &ModelShape, tp: u64, issues: &mut Vec<Issue>) {
    let kv_heads = shape.attention.kv_heads;
    let splits_kv = kv_heads.is_multiple_of(tp) || tp.is_multiple_of(kv_heads);
    let is_dense = shape.layer_groups().iter().any(|group| !group.kind.experts);
    let ffn = if is_dense { shape.mlp.ffn } else { 0 };
    let shared = shape.experts.map_or(0, |experts| experts.shared_ffn);
    for (part, size, splits) in [
        ("kv_heads", kv_heads, splits_kv),
        ("ffn", ffn, ffn.is_multiple_of(tp)),
        ("shared-ffn", shared, shared.is_multiple_of(tp)),
    ] {
        if !splits {
            issues.push(
                Issue::new(IssueCode::TpDoesNotDivide, "strategy.tp")
                    .with("tp", tp)
                    .with("part", part)
                    .with("size", size)
                    .way_out(Edit::new("strategy.tp", nearest_divisor(size, tp))),
            );
        }
    }
}

/// What is worth knowing about a plan that can run.
pub fn advise(plan: &Plan, issues: &mut Vec<Issue>) {
    size_limits(plan, issues);
    advise_layout(plan, issues);
    let has_table = matches!(plan.model.positions, Positions::Learned { .. });
    if plan.sequence > plan.model.max_sequence && !has_table {
        issues.push(
            Issue::new(IssueCode::SequenceAboveModel, "workload.sequence")
                .with("sequence", plan.sequence)
                .with("max", plan.model.max_sequence)
                .way_out(Edit::new("workload.sequence", plan.model.max_sequence)),
        );
    }
    if plan.scenario.strategy.sequence_parallel && plan.tp == 1 {
        issues.push(
            Issue::new(IssueCode::SequenceParallelWithoutTp, "strategy.sequence_parallel")
                .way_out(Edit::new("strategy.sequence_parallel", false)),
        );
    }
    if plan.zero > 0 && plan.replicas().common == 1 {
        issues.push(
            Issue::new(IssueCode::ZeroWithoutReplicas, "strategy.zero")
                .with("zero", plan.zero)
                .way_out(Edit::new("strategy.zero", 0)),
        );
    }
    if plan.zero >= 2 && plan.framework != Framework::DeepSpeed {
        issues.push(
            Issue::new(IssueCode::ZeroNotInFramework, "strategy.zero")
                .with("zero", plan.zero)
                .with("framework", plan.framework.name())
                .way_out(Edit::new("strategy.zero", 1))
                .way_out(Edit::new("workload.framework", "deepspeed")),
        );
    }
    if plan.optimizer == Optimizer::Adafactor && plan.flattens_parameters() {
        issues.push(
            Issue::new(IssueCode::StatesNotFactored, "workload.optimizer")
                .way_out(Edit::new("workload.framework", "pytorch"))
                .way_out(Edit::new("workload.optimizer", "adamw-8bit")),
        );
    }
    if plan.zero >= 2 && plan.pp > 1 {
        issues.push(
            Issue::new(IssueCode::ZeroWithPipeline, "strategy.zero")
                .with("zero", plan.zero)
                .way_out(Edit::new("strategy.zero", 1)),
        );
    }
    if plan.pp > 1 && plan.micro_batches < 4 * plan.pp {
        let bubble = (plan.pp - 1) as f64 / (plan.micro_batches + plan.pp - 1) as f64 * 100.0;
        issues.push(
            Issue::new(IssueCode::FewMicroBatches, "workload.global_batch")
                .with("micro_batches", plan.micro_batches)
                .with("pp", plan.pp)
                .with("bubble", format!("{bubble:.0}"))
                .way_out(Edit::new(
                    "workload.global_batch",
                    plan.micro_batch * plan.dp * 4 * plan.pp,
                ))
                .way_out(Edit::new("workload.gradient_accumulation", 4 * plan.pp)),
        );
    }
}

/// What is worth knowing about how a model is spread, whatever the job.
pub fn advise_layout(plan: &Plan, issues: &mut Vec<Issue>) {
    let depth = plan.model.depth();
    if !depth.is_multiple_of(plan.pp) {
        issues.push(
            Issue::new(IssueCode::PpDoesNotDivideLayers, "strategy.pp")
                .with("pp", plan.pp)
                .with("layers", depth)
                .way_out(Edit::new("strategy.pp", nearest_divisor(depth, plan.pp))),
        );
    }
    let straddles = plan.tp > plan.devices_per_node
        || plan.nodes > 1 && !plan.devices_per_node.is_multiple_of(plan.tp);
    if straddles {
        issues.push(
            Issue::new(IssueCode::TpAcrossNodes, "strategy.tp")
                .with("tp", plan.tp)
                .with("devices_per_node", plan.devices_per_node)
                .with("link", plan.topology.inter.name())
                .way_out(Edit::new(
                    "strategy.tp",
                    nearest_divisor(plan.devices_per_node, plan.tp.min(plan.devices_per_node)),
                )),
        );
    }
}

/// Refuses what would not fit into 64-bit counts of bytes, or would take too long to lay out.
fn size_limits(plan: &Plan, issues: &mut Vec<Issue>) {
    let (model, attention) = (&plan.model, &plan.model.attention);
    let tokens = plan.micro_batch as f64 * plan.sequence as f64;
    let rank = plan.adapters.map_or(0, |adapters| adapters.rank);
    let routed = model.experts.map_or(0, |experts| {
        experts.active * (8 * model.hidden + 8 * experts.ffn) + 8 * experts.shared_ffn
    });
    let heads = 8 * attention.heads * attention.head_dim;
    let widths = 16 * (model.hidden + rank) + 8 * model.mlp.ffn + heads + routed;
    let scores = match plan.attention {
        AttentionKernel::Eager => 4.0 * attention.heads as f64 * plan.sequence as f64,
        AttentionKernel::Flash => 0.0,
    };
    let bytes = 8.0 * tokens * (widths as f64 + model.vocab as f64 + scores);
    let in_flight = plan.micro_batches as f64 * model.depth() as f64;
    if bytes > MAX_LAYER_BYTES || bytes * in_flight > MAX_BYTES {
        issues.push(
            Issue::new(IssueCode::TensorsTooLarge, "workload.sequence")
                .with("sequence", plan.sequence)
                .with("micro_batch", plan.micro_batch)
                .with("max_tb", MAX_LAYER_BYTES / 1e12)
                .way_out(Edit::new("workload.micro_batch", 1))
                .way_out(Edit::new("workload.sequence", plan.model.max_sequence.min(2048))),
        );
    }
    let per_layer = match plan.adapters {
        None => OPERATIONS_PER_LAYER,
        Some(_) => ADAPTED_OPERATIONS_PER_LAYER,
    };
    let each = per_layer * (model.depth() + 2 * plan.pp);
    let operations = plan.micro_batches.saturating_mul(each);
    if operations > MAX_OPERATIONS {
        let most = MAX_OPERATIONS / each;
        issues.push(
            Issue::new(IssueCode::TooManyTasks, "workload.global_batch")
                .with("micro_batches", plan.micro_batches)
                .with("max", most)
                .way_out(Edit::new(
                    "workload.global_batch",
                    (most * plan.micro_batch * plan.dp).max(1),
                ))
                .way_out(Edit::new("workload.gradient_accumulation", most.max(1))),
        );
    }
    debug_assert!(
        matches!(plan.schedule, ScheduleName::Gpipe | ScheduleName::OneForwardOneBackward),
        "other schedules have been refused"
    );
}
