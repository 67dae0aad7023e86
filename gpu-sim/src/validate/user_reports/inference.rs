//! Reports of inference.

use super::super::answer::{Answer, Scope};
use super::super::fields::unreadable;
use super::super::vocabulary::engines::{self, Engine, Family};
use super::super::vocabulary::{devices, formats, quoted};
use super::super::{Need, Row};
use super::fields::{Meaning, Outcome, Report, weights};
use super::{peak_gib, verdict};
use serde_json::{Value, json};

/// Fields whose meaning for the scenario is known, or that have none (what ran besides, where).
const KNOWN: [&str; 26] = [
    "engine",
    "batch",
    "precision",
    "quant",
    "tp",
    "ctx",
    "n_ctx",
    "max_model_len",
    "prompt",
    "prefill",
    "new_tokens",
    "gpu_memory_utilization",
    "kv_dtype",
    "kv_type",
    "n_gpu_layers",
    "test",
    "flash_attn",
    "cpu",
    "host_ram_gb",
    "num_prompts",
    "nodes",
    "network",
    "n_batch",
    "threads",
    "split",
    "parallel",
];

/// The comparison of one outcome.
///
/// # Errors
/// The reason why there is none.
pub fn compare(report: Report<'_>, id: &str, outcome: &Outcome<'_>) -> Result<Row, String> {
    let name = report.config_text("engine").ok_or("the engine is not stated")?;
    if let Some(unknown) = report.unknown_field(&KNOWN) {
        return Err(unknown);
    }
    let engine = engines::engine(name)?;
    let setup = Setup::of(report, engine, outcome.metric != "tokens_per_s")?;
    if outcome.metric == "fits" {
        if outcome.about_the_host() {
            return Err("the host's memory, not the GPU's".to_owned());
        }
        return verdict(id, setup.verdict()?, outcome);
    }
    let measured =
        outcome.number.ok_or_else(|| format!("no positive number: {}", quoted(outcome.metric)))?;
    let row = |metric, predicted| Row::new(id.to_owned(), metric, measured, predicted);
    let resident = || Answer::of(setup.scenario(setup.started()?));
    match outcome.metric {
        "weights_gib" => {
            let answer = Answer::of(setup.scenario(Lengths { input: 1, output: 1 }))?;
            Ok(row("weights_gib", answer.gib(&["breakdown", "weights"], Scope::Fullest)?))
        }
        "kv_cache_gib" => {
            Ok(row("kv_cache_gib", resident()?.gib(&["breakdown", "kv_cache"], Scope::Fullest)?))
        }
        "kv_tokens" => Ok(row("kv_tokens", resident()?.number(&["time", "kv_tokens"])?)),
        "peak_mem_gib" => Ok(row("peak_mem_gib", peak_gib(name, &resident()?, outcome)?)),
        "cpu_ram_gib" => Ok(row("cpu_ram_gib", resident()?.number(&["memory", "host_gib"])?)),
        "tokens_per_s" => speed(report, &setup, outcome, row),
        other => Err(format!("metric: {}", quoted(other))),
    }
}

fn speed(
    report: Report<'_>,
    setup: &Setup,
    outcome: &Outcome<'_>,
    row: impl Fn(&'static str, f64) -> Row,
) -> Result<Row, String> {
    if ["below", "bound", "including"].iter().any(|word| outcome.detail.contains(word)) {
        return Err("another quantity than the rate of decoding".to_owned());
    }
    if !report.config("num_prompts").is_null() {
        return Err("requests that arrive at a rate".to_owned());
    }
    let meaning = outcome.meaning();
    let stated = || -> Result<Lengths, String> {
        let input = report.first_count(&["prompt", "prefill"])?;
        let output = report.count("new_tokens")?;
        Ok(Lengths {
            input: input.ok_or("the prompt's length is not stated")?,
            output: output.ok_or("the answer's length is not stated")?,
        })
    };
    let lengths = match meaning {
        Meaning::PromptTest(input) => Lengths { input, output: 1 },
        Meaning::AnswerTest(output) => Lengths { input: 1, output },
        _ => stated()?,
    };
    let answer = Answer::of(setup.scenario(lengths))?;
    let (ttft, tpot) = (answer.number(&["time", "ttft_s"])?, answer.number(&["time", "tpot_s"])?);
    let batch = setup.batch as f64;
    let (input, output) = (lengths.input as f64, lengths.output as f64);
    let weights = answer.gib(&["breakdown", "weights"], Scope::Sum)? * 1_073_741_824.0;
    let reading = weights / (setup.device.memory_bandwidth_gb_per_s * 1e9 * setup.tp as f64);
    let (predicted, simplest) = match meaning {
        Meaning::Answer | Meaning::AnswerTest(_) => (batch / tpot, Some(batch / reading)),
        Meaning::Prompt | Meaning::PromptTest(_) => (batch * input / ttft, None),
        Meaning::Both => (batch * (input + output) / (ttft + (output - 1.0).max(0.0) * tpot), None),
    };
    let mut row = row("tokens_per_s", predicted);
    row.trivial = simplest;
    Ok(row)
}

/// Tokens of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lengths {
    input: u64,
    output: u64,
}

/// Everything about a report but the lengths of its requests.
struct Setup {
    model: Value,
    engine: Engine,
    device: &'static sim_core::hardware::Device,
    gpus: u64,
    tp: u64,
    batch: u64,
    weights: String,
    kv_cache: &'static str,
    bf16: bool,
    utilization: Option<f64>,
    /// The longest sequence that the server was started for.
    context: Option<u64>,
}

impl Setup {
    fn of(report: Report<'_>, engine: Engine, only_memory: bool) -> Result<Self, String> {
        let gpu = report.text("gpu").ok_or("the device is not stated")?;
        let device = if only_memory { devices::either(gpu)? } else { devices::device(gpu, None)? };
        let gpus = report.gpus()?;
        let weights = weights(report.config_text("quant"))?;
        let precision = report.config_text("precision");
        if weights == "none" && precision.is_none() {
            return Err("the weights' format is not stated".to_owned());
        }
        if !all_layers(report.config("n_gpu_layers")) {
            return Err("layers on the CPU".to_owned());
        }
        let whole = if engine.family.splits_layers() { 1 } else { gpus };
        let tp = report.count("tp")?.unwrap_or(whole).max(1);
        if gpus % tp != 0 {
            return Err("tp does not divide the number of GPUs".to_owned());
        }
        let utilization = report.config("gpu_memory_utilization");
        if !utilization.is_null() && utilization.as_f64().is_none() {
            return Err(unreadable("config.gpu_memory_utilization"));
        }
        let kv = report.config_text("kv_dtype").or(report.config_text("kv_type"));
        Ok(Self {
            model: report.model()?,
            engine,
            device,
            gpus,
            tp,
            batch: report.count("batch")?.unwrap_or(1).max(1),
            weights,
            kv_cache: formats::kv_cache(kv)?,
            bf16: precision.is_some_and(|name| name.contains("bf16")),
            utilization: utilization.as_f64(),
            context: context(report)?,
        })
    }

    /// One request that fills the context: what a server must have room for to start, and what
    /// llama.cpp takes at once.
    fn longest(&self) -> Result<Lengths, String> {
        let context = self.context.filter(|context| *context > 1);
        let context = context.ok_or("the context's length is not stated")?;
        Ok(Lengths { input: context - 1, output: 1 })
    }

    /// A server that has started and waits: vLLM takes its pool whatever is asked of it.
    fn started(&self) -> Result<Lengths, String> {
        match self.engine.family {
            Family::Vllm => Ok(Lengths { input: 1, output: 1 }),
            _ => self.longest(),
        }
    }

    /// Without a context only weights that do not fit are certain.
    fn verdict(&self) -> Result<(bool, Need), String> {
        let simulate = |lengths| Answer::of(self.scenario(lengths))?.fits();
        match self.longest() {
            Ok(lengths) => simulate(lengths),
            Err(reason) => match simulate(Lengths { input: 1, output: 1 }) {
                Ok(found) if !found.0 => Ok(found),
                _ => Err(reason),
            },
        }
    }

    fn scenario(&self, lengths: Lengths) -> Value {
        let (input, output) = (lengths.input.max(1), lengths.output.max(1));
        let context = self.context.unwrap_or(0).max(input.saturating_add(output));
        let mut workload = json!({
            "kind": "infer",
            "input_tokens": input,
            "output_tokens": output,
            "concurrency": self.batch,
            "max_model_len": context,
            "precision": if self.bf16 { "bf16-pure" } else { "fp16-mixed" },
        });
        if let Some(share) = self.utilization.filter(|_| self.engine.family == Family::Vllm) {
            workload["memory_utilization"] = json!(share);
        }
        for (name, value) in self.engine.fields() {
            workload[name] = value;
        }
        let per_node = if self.gpus.is_multiple_of(8) { 8 } else { self.gpus };
        json!({
            "model": self.model,
            "hardware": {
                "device": self.device.id,
                "devices_per_node": per_node,
                "nodes": self.gpus / per_node,
            },
            "workload": workload,
            "quantization": {
                "weights": self.weights,
                "kv_cache": self.kv_cache,
                "activations": if self.bf16 { "bf16" } else { "fp16" },
            },
            "strategy": {"tp": self.tp, "pp": self.gpus / self.tp},
        })
    }
}

/// The longest sequence in tokens: a number, or one with a word behind it (`131072 default`).
fn context(report: Report<'_>) -> Result<Option<u64>, String> {
    let names = ["max_model_len", "ctx", "n_ctx"];
    let in_words = names
        .iter()
        .find_map(|name| report.config_text(name)?.split(' ').next()?.parse::<u64>().ok());
    if in_words.is_some() { Ok(in_words) } else { report.first_count(&names) }
}

/// `29/29`, `-ngl 99`, 99: all layers are on GPUs.
fn all_layers(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Number(number) => number.as_u64() == Some(99),
        Value::String(text) => match text.split_once('/') {
            Some((on_gpu, all)) => on_gpu == all,
            None => text == "-ngl 99",
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Value {
        json!({
            "kind": "infer", "model": "Meta-Llama-3-8B", "gpu": "H100 80GB", "num_gpus": 2,
            "config": {"engine": "vLLM V0 (2024-12)", "precision": "bf16", "tp": 2,
                "gpu_memory_utilization": 0.95, "max_model_len": 8192},
        })
    }

    #[test]
    fn a_server_must_have_room_for_its_longest_request() {
        let value = report();
        let engine = engines::engine("vLLM V0 (2024-12)").expect("known");
        let setup = Setup::of(Report(&value), engine, true).expect("complete");
        let scenario = setup.scenario(setup.longest().expect("a context"));
        assert_eq!(scenario["workload"]["input_tokens"], 8191);
        assert_eq!(scenario["workload"]["max_model_len"], 8192);
        assert_eq!(scenario["workload"]["memory_utilization"], 0.95);
        assert_eq!(scenario["strategy"]["tp"], 2);
    }

    #[test]
    fn what_is_not_stated_or_not_known_is_a_reason() {
        let outcome =
            |metric| Outcome { metric, verdict: Some(true), number: Some(1.0), detail: "" };
        let reason = |value: &Value, metric| {
            compare(Report(value), "x", &outcome(metric)).err().unwrap_or_default()
        };
        let mut value = report();
        assert_eq!(reason(&value, "non_torch_gib"), "metric: non_torch_gib");
        assert_eq!(reason(&value, "tokens_per_s"), "the prompt's length is not stated");
        value["config"]["max_model_len"] = Value::Null;
        assert_eq!(reason(&value, "fits"), "the context's length is not stated");
        value["config"]["max_num_seqs"] = json!(1);
        assert_eq!(reason(&value, "fits"), "config: max_num_seqs");
    }

    #[test]
    fn layers_on_the_cpu_are_seen() {
        assert!(all_layers(&Value::Null) && all_layers(&json!("41/41")) && all_layers(&json!(99)));
        assert!(!all_layers(&json!("37/49")) && !all_layers(&json!("-ngl 99 --n-cpu-moe 16")));
        assert!(!all_layers(&json!(15)) && !all_layers(&json!([])));
    }
}
