//! Predictions for rows of training and fine-tuning.

use super::super::Row as Comparison;
use super::super::answer::{Answer, Gauge, Scope};
use super::super::job::{self, ADAPTER_RANKS, Fill, Job, Offload, Program};
use super::super::vocabulary::{devices, formats, models, quoted};
use super::quantity::{Metric, Quantity};
use super::row::{Measured, Reported, Row, scope};
use serde_json::{Value, json};
use std::cell::OnceCell;

/// Scripts of these sources recompute every layer, whatever the table prints: Qwen's
/// `finetune/*.sh` (`--gradient_checkpointing`).
const RECOMPUTE: [&str; 1] = ["qwen1-readme"];

/// Scripts of these sources put adapters on every linear layer: Qwen's `finetune.py` (c_attn,
/// c_proj, w1, w2), fsdp_qlora's `train.py` (`lora_target_modules: all`).
const ALL_LINEAR: [&str; 2] = ["qwen1-readme", "fsdp-qlora"];

/// Dropout in front of adapters in the scripts of these sources: Qwen's `finetune.py`, litgpt's
/// `finetune/lora.py`, fsdp_qlora's `train.py`.
const DROPOUT: [(&str, f64); 3] = [("qwen1-readme", 0.05), ("litgpt", 0.05), ("fsdp-qlora", 0.1)];

/// Sources whose software leaves norms as loaded beside quantized matrices.
const AS_LOADED: [&str; 2] = ["litgpt", "torchtune"];

/// A row and the simulation of its job.
pub struct Tuning<'a> {
    row: Row<'a>,
    id: String,
    run: OnceCell<Result<(Job, Answer), String>>,
}

impl<'a> Tuning<'a> {
    pub fn new(row: Row<'a>, id: String) -> Self {
        Self { row, id, run: OnceCell::new() }
    }

    /// The comparison of one value.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn compare(
        &self,
        metric: &'static Metric,
        value: &Measured<'_>,
    ) -> Result<Comparison, String> {
        let flops = [Quantity::ModelFlops, Quantity::HardwareFlops, Quantity::Tflops];
        if flops.contains(&metric.quantity) {
            return Err("sources count FLOPs differently: time and tokens are compared".to_owned());
        }
        let run = || {
            let run = self.run.get_or_init(|| {
                let job = job(self.row, Fill::Nothing)?;
                let answer = Answer::of(job.scenario())?;
                Ok((job, answer))
            });
            run.as_ref().map_err(String::clone)
        };
        match (metric.quantity, value.value) {
            (Quantity::Fits | Quantity::OutOfMemory, Reported::Verdict(verdict)) => {
                let simulate = |fill| Answer::of(job(self.row, fill)?.scenario());
                let (fits, need) = job::verdict(simulate)?;
                let measured = verdict == (metric.quantity == Quantity::Fits);
                Ok(Comparison::fits(self.id.clone(), measured, fits, need))
            }
            (_, Reported::Number(measured)) => {
                let (job, answer) = run()?;
                let (predicted, simplest) = self.predict(job, answer, metric.quantity, value)?;
                let mut row = Comparison::new(
                    self.id.clone(),
                    metric.name,
                    measured,
                    predicted * metric.scale,
                );
                row.trivial = simplest.map(|simplest| simplest * metric.scale);
                Ok(row)
            }
            _ => Err(format!("malformed: {}", metric.name)),
        }
    }

    fn predict(
        &self,
        job: &Job,
        answer: &Answer,
        quantity: Quantity,
        value: &Measured<'_>,
    ) -> Result<(f64, Option<f64>), String> {
        let memory = |gib: f64| Ok((value.in_own_unit(gib), None));
        match quantity {
            Quantity::Peak => memory(answer.peak_gib(self.gauge(value), self.scope(job, value))?),
            Quantity::States => {
                let states = ["weights", "gradients", "optimizer"]
                    .map(|part| answer.gib(&["model_state_bytes", part], Scope::Fullest));
                let bytes = states.into_iter().sum::<Result<f64, String>>()?;
                memory(bytes / 1_073_741_824.0)
            }
            Quantity::Host => memory(answer.number(&["memory", "host_gib"])?),
            _ => self.speed(job, answer, quantity, value),
        }
    }

    fn speed(
        &self,
        job: &Job,
        answer: &Answer,
        quantity: Quantity,
        value: &Measured<'_>,
    ) -> Result<(f64, Option<f64>), String> {
        if !self.row.0["config"]["max_seq_in_data"].is_null() {
            return Err(
                "samples of several lengths: only the peak follows from the longest".to_owned()
            );
        }
        let step = answer.number(&["time", "step_s"])?;
        let rate = answer.number(&["time", "tokens_per_s"])?;
        // Tokens of a step follow from both.
        let simplest = job.simplest_step_s(answer.active_params()?, rate * step);
        let (gpus, length) = (job.gpus as f64, job.sequence as f64);
        let simplest_rate = simplest.map(|simplest| rate * step / simplest);
        let by = |by: f64| Ok((rate / by, simplest_rate.map(|rate| rate / by)));
        match quantity {
            Quantity::Step => Ok((step, simplest)),
            Quantity::Generated if job.gpus > 1 && value.note.contains("not stated") => {
                Err("tokens/s per GPU or of all together: not stated".to_owned())
            }
            Quantity::Generated if value.note.to_lowercase().contains("per gpu") => by(gpus),
            Quantity::Generated => by(1.0),
            Quantity::GeneratedPerGpu => by(gpus),
            Quantity::Samples => by(length),
            _ => Err("a quantity of inference in a row of training".to_owned()),
        }
    }

    /// Qwen's table does not say what it counts; it is read as in `train.jsonl`.
    fn gauge(&self, value: &Measured<'_>) -> Gauge {
        let notes = format!("{} {}", value.note, self.row.own_text("note")).to_lowercase();
        if notes.contains("nvidia-smi") {
            Gauge::Driver
        } else if notes.contains("reserved") || self.row.own_text("source_group") == "qwen1-readme"
        {
            Gauge::Reserved
        } else {
            Gauge::Allocated
        }
    }

    /// Training tables print the memory of a GPU unless they say otherwise.
    fn scope(&self, job: &Job, value: &Measured<'_>) -> Scope {
        let summed = scope(value.note, self.row.own_text("note")) == Some(Scope::Sum);
        if job.gpus > 1 && summed { Scope::Sum } else { Scope::Fullest }
    }
}

fn job(row: Row<'_>, fill: Fill) -> Result<Job, String> {
    let config = |name: &str| row.count("config", name);
    let name = row.text("model", "name").ok_or("the model is not named")?;
    let gpu = row.text("hardware", "gpu").ok_or("the device is not stated")?;
    let engine = row.text("config", "engine").ok_or("the training program is not stated")?;
    let format = row.text("config", "weight_format").ok_or("the weights' format is not stated")?;
    let gpus = row.count("hardware", "count")?.filter(|gpus| *gpus > 0);
    let sequence = match config("input_len")? {
        Some(length) => Some(length),
        None => config("max_seq_in_data")?,
    };
    let positive = |count: Option<u64>| Ok(count.filter(|count| *count > 0));
    let lower = engine.to_lowercase();
    let unsupported = ["float8", " cp", "sequence parallel", "in backward"];
    if let Some(sign) = unsupported.iter().find(|sign| lower.contains(**sign)) {
        return Err(format!("training with {}", sign.trim()));
    }
    let zero = zero(row, &lower)?;
    let fsdp = (row.0["config"]["fsdp"] == true).then_some("full_shard");
    let device = devices::device(gpu, row.number("hardware", "mem_gb")?)?;
    let (tp, pp) = (config("tp")?.unwrap_or(1).max(1), config("pp")?.unwrap_or(1).max(1));
    let recompute = match &row.0["config"]["activation_ckpt"] {
        Value::Null => default_recompute(row, &lower, fill)?,
        stated => job::recompute(stated, fill)?,
    };
    let program = Program::named(engine, zero, fsdp)?;
    let finetune = finetune(row, format, name, fill)?;
    let adapted = finetune != json!("full");
    let framework = program.framework;
    Ok(Job {
        model: models::model(name, &row.shape()?)?,
        device,
        gpus: gpus.ok_or("the number of GPUs is not stated")?,
        sequence: fill.with(positive(sequence), 1, None, "the sequence's length is not stated")?,
        micro_batch: fill.with(positive(config("batch")?), 1, None, "the batch is not stated")?,
        global_batch: config("global_batch")?,
        accumulation: config("grad_accum")?.or(config("micro_num")?),
        // Beside adapters the frozen weights are in 16 bits, or in the format of QLoRA.
        precision: if adapted {
            "bf16-pure"
        } else {
            program.precision(engine, Some(format), fill)?
        },
        program,
        optimizer: job::optimizer(row.text("config", "optimizer"))?,
        finetune,
        recompute,
        tp,
        pp,
        ep: 1,
        sequence_parallel: false,
        zero,
        offload: row.text("config", "offload").map_or(Ok(Offload::NONE), Offload::from_words)?,
        compile: lower.contains("compile"),
        // Neither Qwen 1's modeling_qwen.py nor litgpt casts its logits; the Trainer's autocast does
        // where DeepSpeed does not take its place.
        cross_entropy: if row.own_text("source_group") == "litgpt"
            || row.own_text("source_group") == "qwen1-readme" && framework == "deepspeed"
        {
            "native"
        } else {
            "default"
        },
    })
}

/// The ZeRO stage in `zero` (`ZeRO-1 size -1`), in the program's name, or in the source's script: Qwen's
/// full fine-tuning has one only, `finetune_ds.sh` (`ds_config_zero2.json`).
fn zero(row: Row<'_>, engine: &str) -> Result<u64, String> {
    let text = row.text("config", "zero").map_or_else(|| engine.to_owned(), str::to_lowercase);
    if text.contains("size") && !text.ends_with("-1") {
        return Err("ZeRO over a part of the replicas".to_owned());
    }
    let named = |stage: &u64| {
        let names = ["zero-", "zero", "zero "].map(|name| format!("{name}{stage}"));
        names.iter().any(|name| text.contains(name))
    };
    if let Some(stage) = (1..=3).find(named) {
        return Ok(stage);
    }
    let full = row.text("config", "method") == Some("Full-parameter");
    if row.own_text("source_group") == "qwen1-readme" && full {
        return Ok(2);
    }
    if text.contains("deepspeed") { Err("the ZeRO stage is not stated".to_owned()) } else { Ok(0) }
}

/// What scripts recompute where a table does not say: litgpt's on one GPU nothing, with FSDP every
/// block (`activation_checkpointing_policy={Block}`).
fn default_recompute(row: Row<'_>, engine: &str, fill: Fill) -> Result<&'static str, String> {
    match engine {
        "litgpt" => Ok("none"),
        "litgpt fsdp" => Ok("full"),
        _ if RECOMPUTE.contains(&row.own_text("source_group")) => Ok("full"),
        _ => job::recompute(&Value::Null, fill),
    }
}

fn finetune(row: Row<'_>, format: &str, model: &str, fill: Fill) -> Result<Value, String> {
    let Some(method) = row.text("config", "method") else { return Ok(json!("full")) };
    let lower = method.to_lowercase();
    let words: Vec<&str> = lower.split(' ').collect();
    let adapters = || {
        let rank = row.count("config", "lora_rank")?.filter(|rank| *rank > 0);
        let (least, most) = ADAPTER_RANKS;
        let reason = "the rank of the adapters is not stated";
        let rank = fill.with(Ok(rank), least, Some(most), reason)?;
        let targets = targets(row, &lower, model)?;
        let reason = "which layers have adapters is not stated";
        let targets = fill.with(Ok(targets), "qv", Some("all-linear"), reason)?;
        Ok::<_, String>((rank, targets))
    };
    match words.first().copied() {
        Some("full" | "full-parameter" | "zero2" | "zero2-cpu" | "zero3") => Ok(json!("full")),
        Some("lora" | "qlora" | "q-lora" | "qlora/lora") => {
            let (bits, group) = (row.number("config", "weight_bits")?, row.group()?);
            let format = formats::weights(format, bits, group.as_deref())?;
            let (rank, targets) = adapters()?;
            let source = row.own_text("source_group");
            let dropout = DROPOUT.iter().find(|(of, _)| *of == source).map_or(0.0, |(_, p)| *p);
            let mut choice = if format == "none" && words[0] == "lora" {
                let train_embeddings = lower.contains("(emb)");
                json!({"lora": {
                    "rank": rank, "targets": targets, "train_embeddings": train_embeddings,
                }})
            } else {
                job::qlora(rank, &format, targets)
            };
            for options in choice.as_object_mut().into_iter().flat_map(|map| map.values_mut()) {
                options["dropout"] = json!(dropout);
            }
            if AS_LOADED.contains(&source) && choice.get("qlora").is_some() {
                choice["qlora"]["upcast"] = json!("none");
            }
            Ok(choice)
        }
        _ => Err(format!("fine-tuning: {}", quoted(method))),
    }
}

/// Which layers have adapters: stated, known of the script, or told by the number of parameters
/// that train (queries and values of multi-head attention: `layers · 4 · hidden · rank`).
fn targets(row: Row<'_>, method: &str, model: &str) -> Result<Option<&'static str>, String> {
    if method.contains("all linear") || ALL_LINEAR.contains(&row.own_text("source_group")) {
        return Ok(Some("all-linear"));
    }
    let entry = sim_core::model::catalog::find(model);
    let trained = row.count("config", "trainable_params")?;
    let rank = row.count("config", "lora_rank")?;
    let by_count = entry.zip(trained).zip(rank).is_some_and(|((entry, trained), rank)| {
        let shape = &entry.shape;
        shape.attention.heads == shape.attention.kv_heads
            && shape.layers.checked_mul(4 * shape.hidden).and_then(|n| n.checked_mul(rank))
                == Some(trained)
    });
    Ok(by_count.then_some("qv"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Value {
        json!({
            "source_group": "litgpt",
            "model": {"name": "Llama-2-7B"},
            "hardware": {"gpu": "A100-SXM-40GB", "mem_gb": 40, "count": 1},
            "config": {"mode": "finetune", "weight_format": "BF16", "weight_bits": 16, "batch": 1,
                "engine": "litgpt", "lora_rank": 8, "method": "LoRA r8",
                "trainable_params": 4_194_304, "max_seq_in_data": 1304},
        })
    }

    #[test]
    fn targets_follow_from_the_number_of_trained_parameters() {
        let mut value = row();
        let job = job(Row(&value), Fill::Nothing).expect("complete");
        let expected =
            json!({"rank": 8, "targets": "qv", "train_embeddings": false, "dropout": 0.05});
        assert_eq!(job.finetune["lora"], expected);
        assert_eq!((job.sequence, job.recompute, job.program.framework), (1304, "none", "pytorch"));
        value["config"]["trainable_params"] = json!(4_194_305);
        assert!(super::job(Row(&value), Fill::Nothing).is_err());
    }

    #[test]
    fn quantized_weights_under_adapters() {
        let mut value = row();
        value["config"]["method"] = json!("QLoRA");
        value["config"]["weight_format"] = json!("NF4+DQ");
        value["config"]["weight_bits"] = json!(4.127);
        let job = job(Row(&value), Fill::Nothing).expect("complete");
        let expected = json!({
            "rank": 8, "format": "nf4", "double_quant": true, "targets": "qv", "dropout": 0.05,
            "upcast": "none",
        });
        assert_eq!(job.finetune["qlora"], expected);
        // litgpt's tables call it LoRA all the same.
        value["config"]["method"] = json!("LoRA r8");
        let job = super::job(Row(&value), Fill::Nothing).expect("complete");
        assert_eq!(job.finetune["qlora"], expected);
    }

    #[test]
    fn a_verdict_takes_the_bounds_of_what_is_not_stated() {
        let mut value = row();
        value["config"]["lora_rank"] = Value::Null;
        value["config"]["batch"] = Value::Null;
        let least = job(Row(&value), Fill::Least).expect("bounded below");
        let of = |job: &Job, name: &str| job.finetune["lora"][name].clone();
        assert_eq!((of(&least, "rank"), of(&least, "targets")), (json!(1), json!("qv")));
        assert!(job(Row(&value), Fill::Most).is_err(), "a batch has no upper bound");
        value["config"]["batch"] = json!(2);
        let most = job(Row(&value), Fill::Most).expect("bounded above");
        assert_eq!((of(&most, "rank"), of(&most, "targets")), (json!(256), json!("all-linear")));
    }

    #[test]
    fn what_is_not_stated_is_a_reason() {
        for (part, name) in
            [("config", "batch"), ("hardware", "count"), ("config", "lora_rank"), ("model", "name")]
        {
            let mut value = row();
            value[part][name] = Value::Null;
            assert!(job(Row(&value), Fill::Nothing).is_err(), "{name}");
        }
        let mut value = row();
        value["config"]["engine"] = json!("HF Trainer + PEFT");
        assert!(job(Row(&value), Fill::Nothing).is_err(), "recomputation is not stated");
        value["config"]["activation_ckpt"] = json!(true);
        assert!(job(Row(&value), Fill::Nothing).is_ok());
    }

    #[test]
    fn the_zero_stage_stands_in_its_field_or_in_the_name() {
        let zero = |engine: &str, field: Option<&str>| {
            let mut value = row();
            value["config"]["zero"] = json!(field);
            super::zero(Row(&value), &engine.to_lowercase())
        };
        assert_eq!(zero("DeepSpeed ZeRO-3", None), Ok(3));
        assert_eq!(zero("InternEvo", Some("zero1=-1")), Ok(1));
        assert_eq!(zero("InternEvo", Some("ZeRO-1 size -1")), Ok(1));
        assert!(zero("InternEvo", Some("ZeRO-1 size 4")).is_err());
        assert_eq!(zero("litgpt", None), Ok(0));
        assert!(zero("HF Trainer + DeepSpeed", None).is_err());
    }
}
