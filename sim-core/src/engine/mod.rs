//! The timeline engine: tasks on resources, dependencies, memory deltas.
//!
//! It knows nothing about language models.
//! A caller builds a [`TaskGraph`] in an order in which every task comes after what it waits for;
//! a resource runs its tasks first come, first served, as a CUDA stream does.

mod curve;
mod graph;

pub use curve::{MemoryCurve, MemoryPoint};
pub use graph::{Moment, PoolId, ResourceId, Schedule, TaskGraph, TaskId};
