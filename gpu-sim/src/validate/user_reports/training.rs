//! Reports of training and fine-tuning.

use super::super::Row;
use super::super::answer::Answer;
use super::super::job::{self, ADAPTER_RANKS, Fill, Job, Offload, Program};
use super::super::vocabulary::{devices, quoted};
use super::fields::{Outcome, Report, weights};
use super::{host_verdict, peak_gib, verdict};
use serde_json::{Value, json};

/// Fields whose meaning for the scenario is known, or that have none (what ran besides, where).
const KNOWN: [&str; 36] = [
    "engine",
    "batch",
    "micro_batch",
    "global_batch",
    "grad_accum",
    "seq",
    "precision",
    "method",
    "rank",
    "lora_target",
    "quant",
    "zero",
    "fsdp",
    "offload",
    "offload_optimizer",
    "offload_param",
    "grad_ckpt",
    "activation_ckpt",
    "optimizer",
    "tp",
    "pp",
    "dp",
    "nodes",
    "sequence_parallel",
    "parallel",
    "flash_attn",
    "xformers",
    "epochs",
    "samples",
    "dataset",
    "host_ram_gb",
    "attention",
    "packing",
    "dispatcher",
    "source_of_row",
    "ep",
];

/// Programs that recompute every layer unless told otherwise: LLaMA-Factory
/// (`disable_gradient_checkpointing: false`), ms-swift (`gradient_checkpointing: true`), FastChat
/// (`--gradient_checkpointing True` in its scripts), torchtune (`enable_activation_checkpointing: True`
/// in its recipes of 2024).
const RECOMPUTES: [&str; 4] = ["llama-factory", "ms-swift", "fastchat", "torchtune"];

/// The comparison of one outcome.
///
/// # Errors
/// The reason why there is none.
pub fn compare(report: Report<'_>, id: &str, outcome: &Outcome<'_>) -> Result<Row, String> {
    let engine = report.config_text("engine").ok_or("the training program is not stated")?;
    if let Some(unknown) = report.unknown_field(&KNOWN) {
        return Err(unknown);
    }
    let simulate = |fill| {
        let job = job(report, engine, fill)?;
        let answer = Answer::of(job.scenario())?;
        Ok::<_, String>((job, answer))
    };
    if outcome.metric == "fits" {
        if outcome.about_the_host() {
            return host_verdict(report, id, &simulate(Fill::Nothing)?.1, outcome);
        }
        let found = job::verdict(|fill| Ok(simulate(fill)?.1))?;
        return verdict(id, found, outcome);
    }
    let measured =
        outcome.number.ok_or_else(|| format!("no positive number: {}", quoted(outcome.metric)))?;
    let (job, answer) = simulate(Fill::Nothing)?;
    let step = || answer.number(&["time", "step_s"]);
    let rate = || answer.number(&["time", "tokens_per_s"]);
    let simplest =
        || job.simplest_step_s(answer.active_params().ok()?, rate().ok()? * step().ok()?);
    let row = |metric, predicted| Row::new(id.to_owned(), metric, measured, predicted);
    match outcome.metric {
        "peak_mem_gib" => Ok(row("peak_mem_gib", peak_gib(engine, &answer, outcome)?)),
        "cpu_ram_gib" => Ok(row("cpu_ram_gib", answer.number(&["memory", "host_gib"])?)),
        "s_per_it" => {
            let mut row = row("s_per_it", step()?);
            row.trivial = simplest();
            Ok(row)
        }
        "tokens_per_s" => {
            if outcome.detail.contains("below") || outcome.detail.contains("bound") {
                return Err("a bound, not a measurement".to_owned());
            }
            let each = if outcome.detail.starts_with("per GPU") { job.gpus as f64 } else { 1.0 };
            let (tokens, simplest) = (rate()? * step()?, simplest());
            let mut row = row("tokens_per_s", rate()? / each);
            row.trivial = simplest.map(|seconds| tokens / seconds / each);
            Ok(row)
        }
        "tflops_per_gpu" => {
            Err("sources count FLOPs differently: time and tokens are compared".to_owned())
        }
        other => Err(format!("metric: {}", quoted(other))),
    }
}

fn job(report: Report<'_>, engine: &str, fill: Fill) -> Result<Job, String> {
    let zero = report.count("zero")?.unwrap_or(0);
    let (fsdp, fsdp_offload) = fsdp(report)?;
    // `DDP (no DeepSpeed)`, but not `DDP/ZeRO-2`.
    let parallel = report.config_text("parallel").unwrap_or("DDP");
    if !parallel.starts_with("DDP") || parallel.contains("ZeRO-") {
        return Err(format!("parallelism: {}", quoted(parallel)));
    }
    let program = Program::named(engine, zero, fsdp)?;
    let gpu = report.text("gpu").ok_or("the device is not stated")?;
    let device = devices::device(gpu, None)?;
    let finetune = finetune(report, fill)?;
    let precision = if finetune == json!("full") {
        program.precision(engine, report.config_text("precision"), fill)?
    } else if device.peaks.bf16_tflops.is_none() {
        "fp16-mixed"
    } else {
        "bf16-pure"
    };
    let positive = |names: &[&str], what: &str| {
        let count = report.first_count(names).map(|count| count.filter(|count| *count > 0));
        fill.with(count, 1, None, &format!("{what} is not stated"))
    };
    let (tp, pp) = (report.count("tp")?.unwrap_or(1), report.count("pp")?.unwrap_or(1));
    let gpus = report.gpus()?;
    let all = |dp: u64| dp.checked_mul(tp).and_then(|n| n.checked_mul(pp));
    if report.count("dp")?.is_some_and(|dp| all(dp) != Some(gpus)) {
        return Err("dp · tp · pp is not the number of GPUs".to_owned());
    }
    Ok(Job {
        model: report.model()?,
        device,
        gpus,
        sequence: positive(&["seq"], "the sequence's length")?,
        micro_batch: positive(&["micro_batch", "batch"], "the batch")?,
        global_batch: report.count("global_batch")?,
        accumulation: report.count("grad_accum")?,
        precision,
        program,
        optimizer: job::optimizer(report.config_text("optimizer"))?,
        finetune,
        recompute: recompute(report, engine, fill)?,
        tp,
        pp,
        ep: report.count("ep")?.unwrap_or(1),
        sequence_parallel: report.config("sequence_parallel") == &json!(true),
        zero,
        offload: fsdp_offload.map_or_else(|| offload(report), Ok)?,
        compile: engine.contains("compile") && !engine.contains("no compile"),
        cross_entropy: "default",
    })
}

/// FSDP's way of sharding in the words of its flags: `full_shard auto_wrap offload`.
fn fsdp(report: Report<'_>) -> Result<(Option<&'static str>, Option<Offload>), String> {
    let Some(text) = report.config_text("fsdp") else { return Ok((None, None)) };
    let mut found = (None, None);
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        match word {
            "full_shard" => found.0 = Some("full_shard"),
            "shard_grad_op" => found.0 = Some("shard_grad_op"),
            "hybrid_shard" => found.0 = Some("hybrid"),
            "auto_wrap" => {}
            "offload" | "cpu_offload" => {
                found.1 = Some(Offload { optimizer: "cpu", parameters: "cpu" });
            }
            _ => return Err(format!("FSDP: {}", quoted(text))),
        }
    }
    Ok(found)
}

fn offload(report: Report<'_>) -> Result<Offload, String> {
    if let Some(text) = report.config_text("offload") {
        return Offload::from_words(text);
    }
    let place = |name: &str| match report.config_text(name) {
        None | Some("none") => Ok("none"),
        Some("cpu") => Ok("cpu"),
        Some("nvme") => Ok("nvme"),
        Some(other) => Err(format!("offload: {}", quoted(other))),
    };
    Ok(Offload { optimizer: place("offload_optimizer")?, parameters: place("offload_param")? })
}

fn recompute(report: Report<'_>, engine: &str, fill: Fill) -> Result<&'static str, String> {
    let stated = ["grad_ckpt", "activation_ckpt"].map(|name| report.config(name));
    match stated.into_iter().find(|value| !value.is_null()) {
        // Megatron's `selective` is that of Korthikanti et al.
        Some(value) if value == "selective" => Ok("selective"),
        Some(value) => job::recompute(value, fill),
        None => {
            let lower = engine.to_lowercase();
            let known = RECOMPUTES.iter().any(|name| lower.contains(name));
            if known { Ok("full") } else { job::recompute(&Value::Null, fill) }
        }
    }
}

/// What trains, in the words of a report: `lora r8`, `qlora r16 all linear`.
fn finetune(report: Report<'_>, fill: Fill) -> Result<Value, String> {
    let Some(method) = report.config_text("method") else { return Ok(json!("full")) };
    let lower = method.to_lowercase();
    let words: Vec<&str> = lower.split(' ').collect();
    let rank_in = |word: &str| word.strip_prefix('r')?.parse::<u64>().ok();
    let known =
        |word: &str| matches!(word, "all" | "linear" | "sft" | "(pt)") || rank_in(word).is_some();
    if !words.iter().skip(1).all(|word| known(word)) {
        return Err(format!("fine-tuning: {}", quoted(method)));
    }
    let adapters = || -> Result<(u64, &str), String> {
        let in_method = words.iter().find_map(|word| rank_in(word));
        let rank = report.count("rank").map(|rank| rank.or(in_method).filter(|rank| *rank > 0));
        let (least, most) = ADAPTER_RANKS;
        let reason = "the rank of the adapters is not stated";
        let rank = fill.with(rank, least, Some(most), reason)?;
        let targets = match report.config_text("lora_target") {
            Some("all linear") => Some("all-linear"),
            Some("q_proj,v_proj") => Some("qv"),
            _ => lower.ends_with("all linear").then_some("all-linear"),
        };
        let reason = "which layers have adapters is not stated";
        Ok((rank, fill.with(Ok(targets), "qv", Some("all-linear"), reason)?))
    };
    match words.first().copied() {
        Some("full") => Ok(json!("full")),
        Some("lora") if report.config_text("quant").is_none() => {
            let (rank, targets) = adapters()?;
            Ok(json!({"lora": {"rank": rank, "targets": targets}}))
        }
        Some("lora" | "qlora") => {
            let format = weights(report.config_text("quant"))?;
            let (rank, targets) = adapters()?;
            Ok(job::qlora(rank, &format, targets))
        }
        _ => Err(format!("fine-tuning: {}", quoted(method))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Value {
        json!({
            "kind": "finetune", "model": "Llama-2-7B", "gpu": "A100 80GB", "num_gpus": 4,
            "config": {"engine": "LLaMA-Factory 0.7.1", "method": "full", "zero": 3, "batch": 2,
                "seq": 1024, "precision": "fp16", "optimizer": "AdamW", "offload": "none"},
            "outcome": [],
        })
    }

    #[test]
    fn a_complete_report_is_a_job() {
        let value = report();
        let job = job(Report(&value), "LLaMA-Factory 0.7.1", Fill::Nothing).expect("complete");
        let scenario = job.scenario();
        assert_eq!(scenario["workload"]["framework"], "deepspeed");
        assert_eq!(scenario["workload"]["precision"], "fp16-mixed");
        assert_eq!(scenario["strategy"]["recompute"], "full");
        assert_eq!(scenario["strategy"]["zero"], 3);
    }

    #[test]
    fn words_of_adapters_and_of_fsdp() {
        let mut value = report();
        value["config"]["method"] = json!("qlora r16 all linear");
        value["config"]["quant"] = json!("nf4");
        let got = finetune(Report(&value), Fill::Nothing).expect("complete");
        assert_eq!(got, json!({"qlora": {"rank": 16, "format": "nf4", "double_quant": false}}));
        for other in ["PPO", "full + GaLore rank 16", "lora via layer split", "DPO full"] {
            value["config"]["method"] = json!(other);
            assert!(finetune(Report(&value), Fill::Nothing).is_err(), "{other}");
        }
        value["config"]["fsdp"] = json!("full_shard auto_wrap offload");
        let (mode, offload) = fsdp(Report(&value)).expect("known words");
        assert_eq!((mode, offload.map(|one| one.parameters)), (Some("full_shard"), Some("cpu")));
    }

    #[test]
    fn what_is_not_stated_or_not_known_is_a_reason() {
        let reason = |value: &Value, metric| {
            let number = Outcome { metric, verdict: Some(false), number: Some(9.0), detail: "" };
            compare(Report(value), "x", &number).err()
        };
        for name in ["batch", "seq", "precision"] {
            let mut value = report();
            value["config"][name] = Value::Null;
            assert!(reason(&value, "peak_mem_gib").is_some(), "{name}");
        }
        let mut value = report();
        value["config"]["loss"] = json!("chunked");
        assert_eq!(reason(&value, "fits").as_deref(), Some("config: loss"));
        let mut value = report();
        value["config"]["zero"] = json!("2 and 3");
        assert_eq!(reason(&value, "fits").as_deref(), Some("unreadable: config.zero"));
    }

    /// Weights of 145 GB on each card: nothing that is missing could make them fit.
    #[test]
    fn a_verdict_needs_only_what_can_change_it() {
        let value = json!({
            "kind": "finetune", "model": "Qwen2-72B-Instruct", "gpu": "A100 80GB", "num_gpus": 4,
            "config": {"engine": "stanford_alpaca HF Trainer", "method": "full", "parallel": "DDP"},
        });
        let outcome = Outcome { metric: "fits", verdict: Some(false), number: None, detail: "" };
        let row = compare(Report(&value), "x", &outcome).expect("certain");
        assert_eq!((row.measured, row.predicted), (0.0, 0.0));
    }
}
