//! How the job is spread over the GPUs, and what is quantized.

use super::{FsdpMode, OffloadTarget, Recompute, ScheduleName};
use serde::{Deserialize, Serialize};

/// How the job is spread over the GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StrategyChoice {
    /// Model replicas; all GPUs divided by `tp · pp · cp` when missing.
    pub dp: Option<u64>,
    /// GPUs that split each matrix.
    pub tp: u64,
    /// Pipeline stages.
    pub pp: u64,
    /// GPUs that split each sequence.
    pub cp: u64,
    /// GPUs that split the experts of a layer.
    pub ep: u64,
    /// Split the stream between tensor-parallel blocks along the sequence.
    pub sequence_parallel: bool,
    pub schedule: ScheduleName,
    /// Model chunks a pipeline stage holds.
    pub virtual_stages: u64,
    /// ZeRO stage, 0 to 3.
    pub zero: u64,
    /// FSDP instead of ZeRO.
    pub fsdp: Option<FsdpMode>,
    pub recompute: Recompute,
    pub offload: OffloadChoice,
}

impl Default for StrategyChoice {
    fn default() -> Self {
        Self {
            dp: None,
            tp: 1,
            pp: 1,
            cp: 1,
            ep: 1,
            sequence_parallel: false,
            schedule: ScheduleName::default(),
            virtual_stages: 1,
            zero: 0,
            fsdp: None,
            recompute: Recompute::None,
            offload: OffloadChoice::default(),
        }
    }
}

/// What leaves the GPU between uses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OffloadChoice {
    pub optimizer: OffloadTarget,
    pub parameters: OffloadTarget,
    pub activations: OffloadTarget,
}

/// Number formats of a served model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuantizationChoice {
    pub weights: String,
    pub kv_cache: String,
    pub activations: String,
}

impl Default for QuantizationChoice {
    fn default() -> Self {
        Self {
            weights: "none".to_owned(),
            kv_cache: "fp16".to_owned(),
            activations: "fp16".to_owned(),
        }
    }
}
