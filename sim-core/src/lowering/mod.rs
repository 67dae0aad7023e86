//! A plan becomes a trace: every operator, collective and optimizer step as tasks with memory.

mod builder;
mod collectives;
mod compiled;
mod fsdp;
mod gradients;
mod inference;
mod reduction;
mod stage;
mod step;

pub use gradients::assumptions;
pub use inference::{assumptions as serving_assumptions, lower_serving};
pub use step::segment;

use crate::cost::CostModel;
use crate::plan::Plan;
use crate::trace::Trace;

/// Simulates what a plan says: one optimizer step, or one batch of requests.
pub fn lower(plan: &Plan, cost: &CostModel) -> Trace {
    match &plan.serving {
        None => step::lower(plan, cost),
        Some(serving) => lower_serving(plan, serving, cost),
    }
}
