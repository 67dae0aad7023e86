//! Explanations of times, rates and shares.

use super::{Explanation, Question, Value, count, symbol};
use crate::cost::CostModel;
use crate::estimate::{measure, step_flops};
use crate::formulas;
use crate::quantity::Bytes;
use crate::simulation::Simulation;

/// The explanation of a question that is not about a category of memory.
pub fn explain(simulation: &Simulation, question: Question) -> Explanation {
    let plan = &simulation.plan;
    let step = simulation.trace.duration();
    let time = simulation.report.time.unwrap_or_default();
    let seconds = |text, name, value| symbol(text, name, Value::Seconds(value));
    match question {
        Question::TokensPerSecond => {
            let symbols = vec![
                count("B", "global-batch", plan.global_batch),
                count("s", "sequence", plan.sequence),
                seconds("t_step", "step-time", step),
            ];
            let result = Value::Number(time.tokens_per_s);
            Explanation::new(&formulas::TOKENS_PER_SECOND, symbols, result, result)
        }
        Question::Mfu => {
            let symbols = vec![
                symbol("F_model", "model-flops", Value::Flops(step_flops(plan).model)),
                seconds("t_step", "step-time", step),
                count("N", "devices", plan.devices()),
                symbol("P", "dense-peak", Value::FlopsPerSecond(CostModel::new(plan).peak().get())),
            ];
            let result = Value::Share(time.mfu);
            Explanation::new(&formulas::MFU, symbols, result, result)
        }
        Question::Bubble => {
            let (p, m) = (plan.pp, plan.micro_batches);
            let ideal = (p - 1) as f64 / (m + p - 1) as f64;
            let symbols = vec![count("p", "pipeline-stages", p), count("m", "micro-batches", m)];
            let shown = Value::Share(time.bubble_fraction);
            Explanation::new(&formulas::BUBBLE, symbols, Value::Share(ideal), shown)
        }
        Question::Capacity => {
            let bytes = Bytes::gib(plan.device.memory_usable_gib()).get();
            let symbols = vec![symbol("M_smi", "tool-total", Value::Bytes(bytes))];
            let mut explanation = Explanation::new(
                &formulas::CAPACITY,
                symbols,
                Value::Bytes(bytes),
                Value::Bytes(bytes),
            );
            explanation.source = plan.device.source;
            explanation.basis = plan.device.basis.memory;
            explanation
        }
        Question::StepTime | Question::ExposedCommunication | Question::Memory { .. } => {
            let occupancy = measure(&simulation.trace);
            let idle = step - occupancy.compute_s - occupancy.exposed_comm_s;
            let symbols = vec![
                seconds("t_compute", "compute-time", occupancy.compute_s),
                seconds("t_exposed", "exposed-time", occupancy.exposed_comm_s),
                seconds("t_idle", "idle-time", idle),
            ];
            let (formula, result) = if question == Question::ExposedCommunication {
                (&formulas::EXPOSED_COMMUNICATION, Value::Seconds(occupancy.exposed_comm_s))
            } else {
                (&formulas::STEP_TIME, Value::Seconds(step))
            };
            let mut explanation = Explanation::new(formula, symbols, result, result);
            if question == Question::ExposedCommunication {
                explanation.symbols = vec![
                    seconds("t_busy", "busy-time", occupancy.compute_s + occupancy.exposed_comm_s),
                    seconds("t_compute", "compute-time", occupancy.compute_s),
                ];
            }
            explanation
        }
    }
}
