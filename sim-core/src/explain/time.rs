//! Explanations of times, rates and shares.

use super::{Explanation, Symbol, Value, count, symbol};
use crate::cost::CostModel;
use crate::estimate::{matrix_peak, measure, served_flops, step_flops};
use crate::formulas;
use crate::quantity::Bytes;
use crate::report::TimeReport;
use crate::simulation::Simulation;

/// Throughput.
pub fn tokens_per_second(simulation: &Simulation) -> Explanation {
    let plan = &simulation.plan;
    let symbols = vec![
        count("B", "global-batch", plan.global_batch),
        count("s", "sequence", plan.sequence),
        seconds("t_step", "step-time", simulation.trace.duration()),
    ];
    let result = Value::Number(time(simulation).tokens_per_s);
    Explanation::new(&formulas::TOKENS_PER_SECOND, symbols, result, result)
}

/// Model FLOP utilization.
pub fn mfu(simulation: &Simulation) -> Explanation {
    let plan = &simulation.plan;
    let (flops, peak) = match &plan.serving {
        None => (step_flops(plan).model, CostModel::new(plan).peak().get()),
        Some(job) => (served_flops(plan, job), matrix_peak(plan, job).get()),
    };
    let symbols = vec![
        symbol("F_model", "model-flops", Value::Flops(flops)),
        seconds("t_step", "step-time", simulation.trace.duration()),
        count("N", "devices", plan.devices()),
        symbol("P", "dense-peak", Value::FlopsPerSecond(peak)),
    ];
    let result = Value::Share(time(simulation).mfu);
    Explanation::new(&formulas::MFU, symbols, result, result)
}

/// The pipeline's bubble: the ideal one, and what the trace shows.
pub fn bubble(simulation: &Simulation) -> Explanation {
    let (p, m) = (simulation.plan.pp, simulation.plan.micro_batches);
    let ideal = Value::Share((p - 1) as f64 / (m + p - 1) as f64);
    let symbols = vec![count("p", "pipeline-stages", p), count("m", "micro-batches", m)];
    let shown = Value::Share(time(simulation).bubble_fraction);
    Explanation::new(&formulas::BUBBLE, symbols, ideal, shown)
}

/// What a device offers.
pub fn capacity(simulation: &Simulation) -> Explanation {
    let device = &simulation.plan.device;
    let bytes = Value::Bytes(Bytes::gib(device.memory_usable_gib()).get());
    let symbols = vec![symbol("M_smi", "tool-total", bytes)];
    let mut explanation = Explanation::new(&formulas::CAPACITY, symbols, bytes, bytes);
    explanation.source = device.source;
    explanation.basis = device.basis.memory;
    explanation
}

/// The length of the step.
pub fn step_time(simulation: &Simulation) -> Explanation {
    let occupancy = measure(&simulation.trace);
    let step = simulation.trace.duration();
    let idle = step - occupancy.compute_s - occupancy.exposed_comm_s;
    let symbols = vec![
        seconds("t_compute", "compute-time", occupancy.compute_s),
        seconds("t_exposed", "exposed-time", occupancy.exposed_comm_s),
        seconds("t_idle", "idle-time", idle),
    ];
    let result = Value::Seconds(step);
    Explanation::new(&formulas::STEP_TIME, symbols, result, result)
}

/// Communication that nothing hides.
pub fn exposed_communication(simulation: &Simulation) -> Explanation {
    let occupancy = measure(&simulation.trace);
    let busy = occupancy.compute_s + occupancy.exposed_comm_s;
    let symbols = vec![
        seconds("t_busy", "busy-time", busy),
        seconds("t_compute", "compute-time", occupancy.compute_s),
    ];
    let result = Value::Seconds(occupancy.exposed_comm_s);
    Explanation::new(&formulas::EXPOSED_COMMUNICATION, symbols, result, result)
}

fn time(simulation: &Simulation) -> TimeReport {
    simulation.report.time.expect("a simulation has a time report")
}

fn seconds(text: &'static str, name: &'static str, value: f64) -> Symbol {
    symbol(text, name, Value::Seconds(value))
}
