//! A checked serving job.

use super::{CacheLayout, Engine, EngineVersion, Profile};
use crate::formats::{KvFormat, WeightFormat};
use crate::precision::MathMode;

/// What is served, on each replica.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Serving {
    pub engine: Engine,
    /// The newest without one.
    pub version: Option<EngineVersion>,
    pub weights: WeightFormat,
    pub kv: KvFormat,
    /// The arithmetic of products with weights.
    pub math: MathMode,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Requests at a time on one replica.
    pub concurrency: u64,
    /// Those of them that run together; fewer where the KV pool has no room.
    pub running: u64,
    pub max_model_len: u64,
    pub memory_utilization: f64,
    pub block_size: u64,
    pub profile: Profile,
}

impl Serving {
    /// Tokens of a request at its end that the cache holds: the last one is not put in.
    pub const fn final_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens - 1
    }

    /// How the engine rounds what it caches.
    pub const fn layout(&self) -> CacheLayout {
        CacheLayout {
            format: self.kv,
            rounding: self.profile.rounding,
            window_slack: self.profile.window_slack,
            window_block: self.profile.window_block,
        }
    }
}
