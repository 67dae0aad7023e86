//! Memory of every rank class: the peak of its curve, and what comes on top of allocated tensors.

use crate::cost::CostModel;
use crate::engine::MemoryCurve;
use crate::memory::{reserved_bytes, runtime_memory};
use crate::plan::Plan;
use crate::quantity::Bytes;
use crate::report::{Breakdown, MemoryReport, PhasesReport, RankMemory};
use crate::trace::{Category, RankClass, Trace};

/// The memory part of a report.
pub fn report(plan: &Plan, cost: &CostModel, trace: &Trace) -> MemoryReport {
    let runtime = runtime_memory(plan.devices()).bytes;
    let per_rank = (0..trace.classes().len())
        .map(|class| rank_memory(plan, cost, trace, class, runtime))
        .collect();
    MemoryReport {
        capacity_gib: plan.device.memory_usable_gib(),
        per_rank,
        host_gib: 0.0,
        nvme_gib: 0.0,
    }
}

fn rank_memory(
    plan: &Plan,
    cost: &CostModel,
    trace: &Trace,
    class: usize,
    runtime: Bytes,
) -> RankMemory {
    let curve = trace.memory(class);
    let rank = &trace.classes()[class];
    let peak = allocated(curve.peak_bytes());
    let reserved = reserved_bytes(peak, allocated(curve.initial_bytes()));
    let gib = |category| gib_at_peak(trace, class, category);
    RankMemory {
        class: format!("stage-{}", rank.stage),
        ranks: rank.ranks,
        peak_allocated_gib: peak.as_gib(),
        peak_reserved_gib: reserved.as_gib(),
        driver_total_gib: (reserved + runtime).as_gib(),
        breakdown: Breakdown {
            weights: gib(Category::Weights),
            gradients: gib(Category::Gradients),
            optimizer: gib(Category::Optimizer),
            activations: gib(Category::Activations),
            recompute: gib(Category::Recompute),
            logits: gib(Category::Logits),
            kv_cache: gib(Category::KvCache),
            transient: gib(Category::Transient),
            runtime: runtime.as_gib(),
            fragmentation: (reserved - peak).as_gib(),
        },
        peak_at: curve.peak_time(),
        model_state_bytes: cost.model_states(&plan.stage_parameters(class)),
        phases: phases(curve, rank),
    }
}

/// GiB of a category at the peak of a rank class.
pub(super) fn gib_at_peak(trace: &Trace, class: usize, category: Category) -> f64 {
    allocated(trace.breakdown_at(class, None)[category as usize]).as_gib()
}

fn phases(curve: &MemoryCurve, rank: &RankClass) -> PhasesReport {
    let (mut fill, mut highest) = (0_i64, 0_i64);
    for point in curve.points().iter().take_while(|point| point.time < rank.optimizer_start) {
        fill += point.delta;
        highest = highest.max(fill);
    }
    PhasesReport {
        after_forward: allocated(rank.after_forward_bytes).as_gib(),
        forward_backward_peak: allocated(highest).as_gib(),
        step_peak: allocated(curve.peak_bytes()).as_gib(),
        serving: None,
    }
}

/// Bytes of a curve.
pub(super) fn allocated(count: i64) -> Bytes {
    Bytes::new(count as f64)
}
