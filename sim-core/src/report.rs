//! The answer to a scenario, as the command line prints it and the page shows it.

pub use crate::hardware::Basis;
use crate::issue::{Issue, IssueCode};
use crate::scenario::{Scenario, ScenarioError};
use crate::trace::Category;
use serde::Serialize;

/// The version of the report format.
pub const REPORT_VERSION: u32 = 1;

/// The answer to a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub version: u32,
    /// The scenario's name.
    pub name: String,
    /// True when every rank's driver total is within its device's memory; false as well when the
    /// scenario has errors.
    pub fits: bool,
    pub issues: Vec<Issue>,
    /// The scenario with every default written out; missing when the text was none.
    pub scenario: Option<Scenario>,
    /// Missing when the scenario has errors, as is all that follows.
    pub params: Option<ParamsReport>,
    pub memory: Option<MemoryReport>,
    pub time: Option<TimeReport>,
    pub assumptions: Vec<Assumption>,
}

impl Report {
    /// The report of what could not be computed.
    pub fn failed(scenario: Option<&Scenario>, issues: Vec<Issue>) -> Self {
        Self {
            version: REPORT_VERSION,
            name: scenario.map_or_else(String::new, |scenario| scenario.name.clone()),
            fits: false,
            issues,
            scenario: scenario.cloned(),
            params: None,
            memory: None,
            time: None,
            assumptions: Vec::new(),
        }
    }

    /// The report of a text that is no scenario.
    pub fn unreadable(error: &ScenarioError) -> Self {
        let issue = Issue::new(IssueCode::Unreadable, error.field().unwrap_or("."))
            .with("reason", error.to_string());
        Self::failed(None, vec![issue])
    }
}

/// Parameters of the whole model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ParamsReport {
    pub total: u64,
    /// Parameters that one token passes through.
    pub active: u64,
    /// Parameters that train: all, or those of the adapters, which `total` does not count.
    pub trainable: u64,
}

/// Memory of all kinds of ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryReport {
    /// What one device offers, in GiB.
    pub capacity_gib: f64,
    pub per_rank: Vec<RankMemory>,
    pub host_gib: f64,
    pub nvme_gib: f64,
}

/// Memory of one class of ranks that all hold the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankMemory {
    /// `stage-0` …
    pub class: String,
    /// How many ranks are of this class.
    pub ranks: u64,
    pub peak_allocated_gib: f64,
    pub peak_reserved_gib: f64,
    pub driver_total_gib: f64,
    pub breakdown: Breakdown,
    /// Seconds from the step's beginning to the peak.
    pub peak_at: f64,
    pub model_state_bytes: ModelStateBytes,
    pub phases: PhasesReport,
}

/// GiB by category at the peak; the sum is the driver total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Breakdown {
    pub weights: f64,
    pub gradients: f64,
    pub optimizer: f64,
    pub activations: f64,
    pub recompute: f64,
    pub logits: f64,
    pub kv_cache: f64,
    pub transient: f64,
    pub runtime: f64,
    pub fragmentation: f64,
}

impl Breakdown {
    /// GiB of one category.
    pub const fn of(&self, category: Category) -> f64 {
        match category {
            Category::Weights => self.weights,
            Category::Gradients => self.gradients,
            Category::Optimizer => self.optimizer,
            Category::Activations => self.activations,
            Category::Recompute => self.recompute,
            Category::Logits => self.logits,
            Category::KvCache => self.kv_cache,
            Category::Transient => self.transient,
            Category::Runtime => self.runtime,
            Category::Fragmentation => self.fragmentation,
        }
    }
}

/// Model states as the ZeRO paper counts them: what a rank keeps of weights, gradients and
/// optimizer states, without gathered copies and buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelStateBytes {
    pub weights: u64,
    pub gradients: u64,
    pub optimizer: u64,
}

impl ModelStateBytes {
    /// All three together, in bytes.
    pub fn total(self) -> u64 {
        self.weights + self.gradients + self.optimizer
    }
}

/// Allocated GiB at three points of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PhasesReport {
    /// When the last micro-batch's forward has returned.
    pub after_forward: f64,
    /// The peak before the optimizer step.
    pub forward_backward_peak: f64,
    /// The peak with the optimizer step.
    pub step_peak: f64,
}

/// Where the time goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimeReport {
    pub step_s: f64,
    pub tokens_per_s: f64,
    pub tokens_per_s_per_device: f64,
    /// Model FLOPs (no recompute) per second and device, in TFLOP/s.
    pub tflops_per_device: f64,
    /// Model FLOP utilization: share of the device's dense peak. The convention counts attention
    /// over the full square, so causal kernels can exceed 1 at long sequences.
    pub mfu: f64,
    /// Hardware FLOP utilization: as `mfu` with recomputed operations counted.
    pub hfu: f64,
    /// Share of the step in which the average compute lane waits for the pipeline.
    pub bubble_fraction: f64,
    /// Time in which the first rank class communicates within its tensor- or data-parallel group
    /// and does not compute; waiting for pipeline neighbours is the bubble's.
    pub exposed_comm_s: f64,
}

/// A constant that a report rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Assumption {
    /// Key of its text: `assumption.<id>`.
    pub id: &'static str,
    /// The link, framework or device part that it belongs to; empty where there is only one.
    pub of: &'static str,
    pub value: f64,
    pub unit: &'static str,
    pub basis: Basis,
    pub source: &'static str,
}
