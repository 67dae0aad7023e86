//! Memory that does not come from operators: model states, and what the software itself takes.

mod runtime;
mod states;

pub use runtime::{FRAGMENTATION, RuntimeMemory, runtime_memory};
pub use states::{OptimizerStates, StateBytes, model_states, optimizer_states};
