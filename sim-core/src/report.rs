//! The answer to a scenario, as the command line prints it and the page shows it.

pub use crate::hardware::Basis;
use crate::issue::{Issue, IssueCode};
use crate::scenario::{Scenario, ScenarioError};
use crate::trace::Category;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

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

/// Allocated GiB at three points of a step; a served batch has points of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhasesReport {
    /// When the last micro-batch's forward has returned.
    pub after_forward: f64,
    /// The peak before the optimizer step.
    pub forward_backward_peak: f64,
    /// The peak with the optimizer step.
    pub step_peak: f64,
    /// Instead of the three, when serving.
    pub serving: Option<ServingPhases>,
}

/// Allocated GiB at three points of a served batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ServingPhases {
    /// Before the first request: weights, and what is allocated ahead.
    pub after_load: f64,
    /// The peak until all requests have their first token.
    pub prefill_peak: f64,
    /// The peak after that.
    pub decode_peak: f64,
}

impl Serialize for PhasesReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(serving) = &self.serving {
            return serving.serialize(serializer);
        }
        let mut fields = serializer.serialize_struct("PhasesReport", 3)?;
        fields.serialize_field("after_forward", &self.after_forward)?;
        fields.serialize_field("forward_backward_peak", &self.forward_backward_peak)?;
        fields.serialize_field("step_peak", &self.step_peak)?;
        fields.end()
    }
}

/// Where the time goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimeReport {
    /// Of a served batch: until its last token.
    pub step_s: f64,
    /// Of training all tokens of a step, of serving the generated ones.
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
    /// Of a served batch.
    #[serde(flatten)]
    pub serving: Option<ServingTime>,
}

/// How a batch of requests is served; what does not apply is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ServingTime {
    /// Seconds until the last of the requests, which all arrive at once, has its first token.
    pub ttft_s: f64,
    /// Seconds between two tokens of a request, on average; of more than one token only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpot_s: Option<f64>,
    /// Requests that run together on all replicas.
    pub running: u64,
    /// Requests of `max_model_len` that a replica's KV pool holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<f64>,
    /// Tokens that a replica's KV pool holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_tokens: Option<u64>,
    /// Blocks of a replica's KV pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_blocks: Option<u64>,
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
