//! Headroom's pure simulation core: a [`scenario::Scenario`] in, a trace and a report out.
//!
//! No I/O, no clock, no threads, no UI; the same bits natively and in wasm.
//! `docs/architecture.md` has the map.

pub mod check;
pub mod cost;
pub mod engine;
pub mod estimate;
pub mod explain;
pub mod formats;
pub mod formulas;
pub mod hardware;
pub mod issue;
mod lowering;
pub mod memory;
pub mod model;
pub mod operators;
pub mod plan;
pub mod precision;
pub mod presets;
pub mod program;
pub mod quantity;
pub mod report;
pub mod scenario;
pub mod schedule;
pub mod serving;
mod simulation;
pub mod trace;

pub use simulation::{Simulation, report, simulate, simulate_on};
