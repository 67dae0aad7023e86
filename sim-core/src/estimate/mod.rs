//! From a trace to the report.

mod flops;
mod memory;
mod occupancy;
mod serving;

pub use flops::{StepFlops, step_flops};
pub use occupancy::{Occupancy, measure};
pub use serving::{flops as served_flops, matrix_peak, reserved as reserved_for_serving};

use crate::cost::CostModel;
use crate::issue::{Issue, IssueCode};
use crate::lowering::{assumptions as gradient_assumptions, serving_assumptions};
use crate::memory::{FRAGMENTATION, RESERVED_PER_LIVE_BYTE, runtime_memory};
use crate::plan::Plan;
use crate::report::{
    Assumption, Basis, MemoryReport, ParamsReport, REPORT_VERSION, Report, TimeReport,
};
use crate::serving::{Buffers, runtime};
use crate::trace::Trace;

/// The report of a simulated plan.
pub fn report(plan: &Plan, cost: &CostModel, trace: &Trace, mut issues: Vec<Issue>) -> Report {
    let (memory, time) = match &plan.serving {
        None => (memory::report(plan, cost, trace), time(plan, cost, trace)),
        Some(job) => (serving::memory(plan, job, trace), serving::time(plan, job, trace)),
    };
    let fullest = memory.per_rank.iter().map(|rank| rank.driver_total_gib).fold(0.0, libm::fmax);
    let has_room = fullest <= memory.capacity_gib;
    if !has_room {
        issues.push(does_not_fit(&memory, fullest));
    }
    let fits = has_room && !issues.iter().any(|issue| issue.code.stops_the_engine());
    let (total, active) = (plan.model.total_params(), plan.model.active_params());
    let trainable = plan.all_parameters().trained();
    Report {
        version: REPORT_VERSION,
        name: plan.scenario.name.clone(),
        fits,
        issues,
        scenario: Some(plan.scenario.clone()),
        params: Some(ParamsReport { total, active, trainable }),
        memory: Some(memory),
        time: Some(time),
        assumptions: assumptions(plan, cost),
    }
}

fn does_not_fit(memory: &MemoryReport, fullest: f64) -> Issue {
    Issue::new(IssueCode::DoesNotFit, "hardware.device")
        .with("needs", format!("{fullest:.1}"))
        .with("capacity", format!("{:.1}", memory.capacity_gib))
        .with("over", format!("{:.1}", fullest - memory.capacity_gib))
}

fn time(plan: &Plan, cost: &CostModel, trace: &Trace) -> TimeReport {
    let step_s = trace.duration();
    let devices = plan.devices() as f64;
    let tokens_per_s = plan.tokens_per_step() as f64 / step_s;
    let flops = step_flops(plan);
    let per_device = flops.model / step_s / devices;
    let occupancy = measure(trace);
    TimeReport {
        step_s,
        tokens_per_s,
        tokens_per_s_per_device: tokens_per_s / devices,
        tflops_per_device: per_device / 1e12,
        mfu: per_device / cost.peak().get(),
        hfu: flops.hardware / step_s / devices / cost.peak().get(),
        bubble_fraction: if plan.pp > 1 { occupancy.bubble_fraction } else { 0.0 },
        exposed_comm_s: occupancy.exposed_comm_s,
        serving: None,
    }
}

/// What kernels lose to communication that runs beside them.
const FREE_OVERLAP: Assumption = Assumption {
    id: "overlap-slowdown",
    of: "",
    value: 0.0,
    unit: "1",
    basis: Basis::Assumed,
    source: "not modelled: NCCL's share of the multiprocessors and of memory bandwidth",
};

/// How evenly tokens spread over experts.
const BALANCED_ROUTING: Assumption = Assumption {
    id: "balanced-routing",
    of: "",
    value: 1.0,
    unit: "1",
    basis: Basis::Assumed,
    source: "every expert gets the same number of tokens and none is dropped",
};

fn assumptions(plan: &Plan, cost: &CostModel) -> Vec<Assumption> {
    let mut list = cost.assumptions();
    match &plan.serving {
        None => {
            if plan.replicas().common > 1 {
                list.extend(gradient_assumptions(plan));
            }
            list.extend(runtime_memory(plan.devices()).assumptions);
            list.push(RESERVED_PER_LIVE_BYTE);
        }
        Some(job) => {
            list.extend(serving_assumptions(job));
            list.extend(runtime(plan, job).assumptions);
            if job.profile.buffers == Buffers::Allocator {
                list.push(FRAGMENTATION);
            }
        }
    }
    if plan.model.experts.is_some() {
        list.push(BALANCED_ROUTING);
    }
    if plan.devices() > 1 {
        list.push(FREE_OVERLAP);
    }
    let mut unique: Vec<Assumption> = Vec::new();
    for assumption in list {
        if !unique.contains(&assumption) {
            unique.push(assumption);
        }
    }
    unique
}
