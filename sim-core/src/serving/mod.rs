//! Serving: what an engine does with requests and with memory.
//!
//! A batch of equal requests arrives at once and runs to its end; [`crate::lowering`] turns its steps
//! into a trace.

mod cache;
mod engine;
mod job;
mod pool;
mod steps;
mod tapes;
mod weights;

pub use cache::CacheLayout;
pub use engine::{
    Buffers, CachePolicy, EAGER_OPERATION, Engine, EngineVersion, Profile, RotaryTables,
};
pub use job::Serving;
pub use pool::{KvPool, kv_pool, largest_step_bytes, runtime};
pub use steps::{StepKind, StepSpec, Steps};
pub use tapes::{Tapes, step_context};
pub use weights::{StageWeights, bytes_per_weight, plain_bytes, stage_weights, stored_parameters};
