//! A plan becomes a trace: every operator, collective and optimizer step as tasks with memory.

mod builder;
mod collectives;
mod compiled;
mod fsdp;
mod gradients;
mod reduction;
mod stage;
mod step;

pub use gradients::assumptions;
pub use step::{lower, segment};
