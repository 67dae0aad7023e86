//! The scenario: everything a user chooses, sensible or not.
//!
//! It is the file that the command line reads, the page's state and the content of a shared link.
//! Missing fields take the defaults of [`Default`]; unknown fields are an error that names them.
//! [`crate::check`] turns it into a plan or says what is wrong.

mod choices;
mod edit;
mod finetune;
mod hardware;
mod model;
mod parse;
mod strategy;
mod workload;

pub use choices::{
    AttentionKernel, CrossEntropy, Framework, FsdpMode, Modules, OffloadTarget, Optimizer,
    OptimizerImplementation, Recompute, ScheduleName, Upcast, WorkloadKind,
};
pub use edit::Edit;
pub use finetune::{Finetune, LoraChoice, LoraTargets, QloraChoice};
pub use hardware::{HardwareChoice, LinkChoice};
pub use model::{ModelChoice, PresetChoice};
pub use parse::{MAX_SCENARIO_BYTES, ScenarioError};
pub use strategy::{OffloadChoice, QuantizationChoice, StrategyChoice};
pub use workload::WorkloadChoice;

use crate::precision::{DType, Recipe};
use serde::{Deserialize, Serialize};

/// The version of the scenario format that this build reads and writes.
pub const SCENARIO_VERSION: u32 = 1;

/// Everything a user chooses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The format's version; only [`SCENARIO_VERSION`] is read.
    #[serde(default = "current_version")]
    pub version: u32,
    /// Free text.
    #[serde(default)]
    pub name: String,
    pub model: ModelChoice,
    pub hardware: HardwareChoice,
    #[serde(default)]
    pub workload: WorkloadChoice,
    #[serde(default)]
    pub quantization: QuantizationChoice,
    #[serde(default)]
    pub strategy: StrategyChoice,
}

fn current_version() -> u32 {
    SCENARIO_VERSION
}

impl Scenario {
    /// Which format each part of training has; FSDP's is its own, whichever framework starts it.
    pub fn recipe(&self) -> Recipe {
        match self.strategy.fsdp {
            Some(_) => Recipe::gathered(self.workload.precision),
            None => self.workload.recipe(),
        }
    }

    /// As [`Scenario::recipe`], for the model beside adapters.
    pub fn model_recipe(&self) -> Recipe {
        match self.strategy.fsdp {
            Some(_) => Recipe::gathered(self.workload.precision),
            None => self.workload.model_recipe(),
        }
    }

    /// Format of a frozen embedding and of a frozen head.
    pub fn table_format(&self) -> DType {
        match self.strategy.fsdp {
            Some(_) => self.model_recipe().weights,
            None => self.workload.table_format(),
        }
    }
}
