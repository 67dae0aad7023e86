//! From a row to a scenario.

use super::hardware::{Machines, machines};
use super::model::scenario_model;
use super::sources::Source;
use super::strategy::{self, Sharding};
use super::workload::{self, Words};
use crate::validate::fields::{Fields, Reason, incomplete, inexpressible};
use serde_json::{Value, json};
use sim_core::scenario::{Scenario, ScenarioError};

/// A row as a scenario, with what its comparison needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    pub source: &'static Source,
    pub scenario: Value,
    pub global_batch: u64,
    /// GPUs of the job.
    pub count: u64,
    /// Why times are not compared.
    pub no_time: Option<Reason>,
    /// Every rank keeps shards of the gradients only.
    pub shards_gradients: bool,
    /// The row is of a variant whose memory column means something else than the source's.
    pub memory_is_unclear: bool,
}

/// The scenario of a row.
///
/// # Errors
/// When the row is incomplete, unreadable, or beyond the scenario format.
pub fn prepare(row: Fields<'_>) -> Result<Setup, Reason> {
    let key = row.text("source_key")?.ok_or_else(|| incomplete("source_key"))?;
    let source = Source::find(key).ok_or_else(|| format!("unknown source: {key}"))?;
    let words = Words::read(row)?;
    let fsdp = row.text("config.fsdp")?.is_some_and(|text| !matches!(text, "none" | "DDP"));
    let recompute = strategy::recompute(row, source, fsdp)?;
    let model = scenario_model(row, source)?;
    let sequence = row.degree("model.seq")?.ok_or_else(|| incomplete("model.seq"))?;
    let Machines { scenario: hardware, count, missing } = machines(row)?;
    let degrees = strategy::degrees(row, source, count)?;
    let finetune = workload::finetune(row, words, source)?;
    let is_full = finetune == "full";
    let mut sharding = strategy::sharding(row, source, degrees.dp)?;
    if source.key == "qwen" && degrees.dp == 1 && finetune.get("lora").is_some() {
        // finetune_lora_single_gpu.sh is the one script without DeepSpeed.
        sharding = Sharding::Zero(0);
    }
    let is_fsdp = matches!(sharding, Sharding::Fsdp(_));
    let framework = match sharding {
        Sharding::Fsdp(_) => "fsdp",
        Sharding::Zero(2..) => "deepspeed",
        Sharding::Zero(_) => source.framework,
    };
    if framework.is_empty() || words.place.starts_with("Alpa") {
        return Err("framework is not simulated".to_owned());
    }
    let mut formats = workload::formats(words.precision, source, is_full)?;
    if source.key == "fmsacc" && is_fsdp && is_full && words.precision.contains("--bf16") {
        // Accelerate makes fp32 of what trains when FSDP is asked for mixed precision.
        formats.precision = "bf16-mixed";
    }
    formats.precision = workload::adapter_precision(source, is_full, formats.precision);
    let attention = match row.flag("config.flash_attention")? {
        Some(true) => "flash",
        Some(false) => "eager",
        None => source.attention.ok_or_else(|| incomplete("config.flash_attention"))?,
    };
    let sequence_parallel = match row.flag("config.sequence_parallel")? {
        Some(given) => given,
        None if degrees.tp == 1 => false,
        None => source.sequence_parallel.ok_or_else(|| incomplete("config.sequence_parallel"))?,
    };
    let shards_gradients = sharding.shards_gradients();
    let batches = batches(row, source, degrees)?;
    let counts_once = batches.accumulation_is_known || !is_full || shards_gradients;
    if !counts_once {
        return Err(incomplete("config.global_batch"));
    }
    let name = row.text("model.name")?.unwrap_or_default();
    let mut workload = json!({
        "sequence": sequence, "micro_batch": batches.micro, "global_batch": batches.global,
        "precision": formats.precision, "attention": attention, "framework": framework,
        "dropout": source.dropout || name.starts_with("BERT"),
        "optimizer": workload::optimizer(words.optimizer, source)?,
        // DeepSpeed makes its own fused Adam of its configuration's.
        "optimizer_implementation":
            if framework == "deepspeed" { "fused" } else { source.optimizer_implementation },
        "optimizer_in_backward": workload::steps_in_backward(words.optimizer),
        "finetune": finetune, "compile": workload::compiles(words, source),
    });
    if let Some(modules) = source.modules.filter(|_| framework == "deepspeed") {
        workload["modules"] = json!(modules);
    }
    if formats.fp32_gradients {
        workload["gradient_dtype"] = json!("fp32");
    }
    if let Some(kind) = workload::cross_entropy(words, source, name, framework == "deepspeed")
        && scenarios_have("cross_entropy", kind)
    {
        workload["cross_entropy"] = json!(kind);
    }
    let mut strategy = json!({
        "dp": degrees.dp, "tp": degrees.tp, "pp": degrees.pp, "cp": degrees.cp, "ep": degrees.ep,
        "sequence_parallel": sequence_parallel, "virtual_stages": degrees.virtual_stages,
        "schedule": strategy::schedule(words, degrees)?,
        "recompute": recompute,
        "offload": strategy::offload(row)?,
    });
    match sharding {
        Sharding::Zero(stage) => strategy["zero"] = json!(stage),
        Sharding::Fsdp(mode) => strategy["fsdp"] = json!(mode),
    }
    let scenario = json!({
        "model": model, "hardware": hardware, "workload": workload, "strategy": strategy,
    });
    // Under LoRA an unknown number of micro-batches changes nothing: gradients are small, and so is
    // the step. Of a full fine-tuning only the memory with sharded gradients is left.
    let time_is_known = batches.accumulation_is_known || !is_full;
    Ok(Setup {
        source,
        scenario,
        global_batch: batches.global,
        count,
        no_time: match (missing, time_is_known) {
            (Some(name), _) => Some(format!("unknown device: {name}")),
            (None, false) => Some(incomplete("config.global_batch")),
            (None, true) => None,
        },
        shards_gradients,
        memory_is_unclear: source.key == "hf" && !words.place.contains("perf_train"),
    })
}

/// The batch sizes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Batches {
    micro: u64,
    global: u64,
    accumulation_is_known: bool,
}

fn batches(
    row: Fields<'_>,
    source: &Source,
    degrees: strategy::Degrees,
) -> Result<Batches, Reason> {
    let global = row.degree("config.global_batch")?;
    let accumulation = row.degree("config.grad_accum")?;
    let micro = row.degree("config.micro_batch")?;
    let too_large = || format!("unreadable: {}", "config.micro_batch");
    if source.key == "torchtitan" && degrees.pp > 1 && accumulation.is_none_or(|count| count == 1) {
        // What a replica reads at once is split into as many micro-batches as there are stages: the
        // default of `pipeline_parallel_microbatches`.
        let global = global.ok_or_else(|| incomplete("config.global_batch"))?;
        let parts = degrees.dp.checked_mul(degrees.pp).ok_or_else(too_large)?;
        if !global.is_multiple_of(parts) {
            return Err(inexpressible("micro-batches of unequal size"));
        }
        return Ok(Batches { micro: global / parts, global, accumulation_is_known: true });
    }
    let micro = match (micro, global, accumulation) {
        (Some(micro), ..) => micro,
        (None, Some(global), Some(accumulation)) => {
            let parts = degrees.dp.checked_mul(accumulation).ok_or_else(too_large)?;
            let divides = global.is_multiple_of(parts);
            divides.then(|| global / parts).ok_or_else(|| incomplete("config.micro_batch"))?
        }
        _ => return Err(incomplete("config.micro_batch")),
    };
    let slice = micro.checked_mul(degrees.dp).ok_or_else(too_large)?;
    let known = accumulation.or(source.accumulation);
    let (global, accumulation_is_known) = match (global, known) {
        (Some(global), _) => (global, true),
        (None, Some(count)) => (slice.checked_mul(count).ok_or_else(too_large)?, true),
        (None, None) if degrees.pp > 1 => return Err(incomplete("config.global_batch")),
        (None, None) => (slice, false),
    };
    Ok(Batches { micro, global, accumulation_is_known })
}

/// Whether the scenario format of this build knows a field of the workload with this value.
fn scenarios_have(field: &str, value: &str) -> bool {
    let probe = json!({"model": "gpt2", "hardware": {"device": "t4"}, "workload": {field: value}});
    Scenario::from_value(probe).is_ok()
}

/// The scenario of a setup.
///
/// # Errors
/// When this build's format does not take it.
pub fn scenario(setup: &Setup) -> Result<Scenario, Reason> {
    Scenario::from_value(setup.scenario.clone()).map_err(|error| {
        let field = match &error {
            ScenarioError::Field { field, .. } => field.as_str(),
            _ => "scenario",
        };
        inexpressible(field)
    })
}
