//! Memory that does not come from operators: model states, and what the software itself takes.

mod runtime;
mod states;

pub use runtime::{
    FRAGMENTATION, RESERVED_PER_LIVE_BYTE, RuntimeMemory, reserved_bytes, runtime_memory,
};
pub use states::{
    Moments, OptimizerStates, StateBytes, held_by_kind, held_states, model_states, optimizer_states,
};
