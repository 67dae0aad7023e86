//! A training job as published tables describe it, and the scenario that follows from it.

mod fill;

pub use fill::{Fill, verdict};

use super::vocabulary::quoted;
use serde_json::{Value, json};
use sim_core::hardware::Device;

/// A training job.
#[derive(Clone, Debug)]
pub struct Job {
    pub model: Value,
    pub device: &'static Device,
    pub gpus: u64,
    pub sequence: u64,
    pub micro_batch: u64,
    pub global_batch: Option<u64>,
    pub accumulation: Option<u64>,
    pub precision: &'static str,
    pub program: Program,
    pub optimizer: &'static str,
    pub finetune: Value,
    pub recompute: &'static str,
    pub tp: u64,
    pub pp: u64,
    pub ep: u64,
    pub sequence_parallel: bool,
    pub zero: u64,
    pub offload: Offload,
    pub compile: bool,
    /// A `cross_entropy` of the scenario format.
    pub cross_entropy: &'static str,
}

/// Ranks of adapters between which published ones lie.
pub const ADAPTER_RANKS: (u64, u64) = (1, 256);

/// The scenario's QLoRA with weights in a format of `quantization.weights`.
pub fn qlora(rank: u64, format: &str, targets: &str) -> Value {
    let double_quant = format == "nf4-dq";
    let format = if double_quant { "nf4" } else { format };
    let mut qlora = json!({"rank": rank, "format": format, "double_quant": double_quant});
    // The default.
    if targets != "all-linear" {
        qlora["targets"] = json!(targets);
    }
    json!({"qlora": qlora})
}

/// What software shards and steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    pub framework: &'static str,
    /// FSDP's way of sharding.
    pub fsdp: Option<&'static str>,
}

/// Where training states live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    pub optimizer: &'static str,
    pub parameters: &'static str,
}

impl Offload {
    pub const NONE: Self = Self { optimizer: "none", parameters: "none" };

    /// What a table says in words: `opt+param->cpu`, `optimizer->cpu`, `weights->cpu`.
    ///
    /// # Errors
    /// When it says something else.
    pub fn from_words(text: &str) -> Result<Self, String> {
        let lower = text.to_lowercase();
        let Some((what, place)) = lower.split_once("->") else {
            return if lower == "none" { Ok(Self::NONE) } else { Err(Self::unknown(text)) };
        };
        let place = match place.trim() {
            "cpu" => "cpu",
            "nvme" => "nvme",
            _ => return Err(Self::unknown(text)),
        };
        let mut offload = Self::NONE;
        // `ZeRO-3 params+optimizer`.
        for part in what.split([' ', '+']) {
            match part {
                "opt" | "optimizer" => offload.optimizer = place,
                "param" | "params" | "parameters" | "weights" => offload.parameters = place,
                "zero-2" | "zero-3" | "" => {}
                _ => return Err(Self::unknown(text)),
            }
        }
        Ok(offload)
    }

    fn unknown(text: &str) -> String {
        format!("offload: {}", quoted(text))
    }
}

/// Words in the names of training programs, the more specific first; what their own step stands for.
const PROGRAMS: [(&str, &str, Option<&str>); 20] = [
    ("megatron-deepspeed", "deepspeed", None),
    ("megatron", "megatron", None),
    ("nemo", "megatron", None),
    ("gpt-neox", "megatron", None),
    ("nanotron", "nanotron", None),
    ("hsdp", "fsdp", Some("hybrid")),
    ("hybrid_shard", "fsdp", Some("hybrid")),
    ("shard_grad_op", "fsdp", Some("shard_grad_op")),
    ("fsdp", "fsdp", Some("full_shard")),
    ("torchtitan", "fsdp", Some("full_shard")),
    ("deepspeed", "deepspeed", None),
    ("zero-2", "deepspeed", None),
    ("zero-3", "deepspeed", None),
    ("torchtune", "pytorch", None),
    ("litgpt", "pytorch", None),
    ("lit-gpt", "pytorch", None),
    ("nanogpt", "pytorch", None),
    ("hf trainer", "pytorch", None),
    ("peft", "pytorch", None),
    ("pytorch", "pytorch", None),
];

/// Programs of other kinds whose names contain one of the words above.
const OTHER_PROGRAMS: [&str; 7] =
    ["colossal", "jax", "zenflow", "offload++", "superoffload", "ppo", "grpo"];

/// Trainers that leave sharding to DeepSpeed, FSDP or nobody, as the job's other fields say.
const TRAINERS: [&str; 6] =
    ["llama-factory", "axolotl", "ms-swift", "trl", "fastchat", "stanford_alpaca"];

impl Program {
    /// The program that a table calls `name`; `zero` and `fsdp` as the table states them.
    ///
    /// # Errors
    /// The reason why it is none of the scenario format.
    pub fn named(name: &str, zero: u64, fsdp: Option<&'static str>) -> Result<Self, String> {
        let lower = name.to_lowercase();
        let unknown = || {
            let end = lower
                .find(|c: char| c.is_ascii_digit() || matches!(c, '(' | ','))
                .unwrap_or(lower.len());
            format!("training program: {}", quoted(lower[..end].trim()))
        };
        if OTHER_PROGRAMS.iter().any(|other| lower.contains(other)) {
            return Err(unknown());
        }
        if fsdp.is_some() {
            return Ok(Self { framework: "fsdp", fsdp });
        }
        if zero > 0 && !lower.contains("megatron") && !lower.contains("neox") {
            return Ok(Self { framework: "deepspeed", fsdp: None });
        }
        if let Some((_, framework, fsdp)) = PROGRAMS.iter().find(|(word, ..)| lower.contains(word))
        {
            return Ok(Self { framework, fsdp: *fsdp });
        }
        if TRAINERS.iter().any(|trainer| lower.contains(trainer)) {
            return Ok(Self { framework: "pytorch", fsdp: None });
        }
        Err(unknown())
    }

    /// The precision of full training that a table calls `name`.
    ///
    /// # Errors
    /// When there is no name, or it leaves open whether the weights are in fp32.
    pub fn precision(
        self,
        engine: &str,
        name: Option<&str>,
        fill: Fill,
    ) -> Result<&'static str, String> {
        let lower = name.unwrap_or_default().to_lowercase();
        let known = match lower.as_str() {
            "" => Ok(None),
            // Two formats of 16 bits.
            "bf16" | "fp16/bf16" if self.framework != "pytorch" => Ok(Some("bf16-mixed")),
            // These keep a copy in fp32 whatever the 16 bits of the products are called.
            "fp16" if self.framework != "pytorch" => Ok(Some("fp16-mixed")),
            // `dtype: bf16` of torchtune's recipes and `bf16-true` of litgpt's are weights in 16
            // bits; a trainer's `--bf16` is autocast over whatever the weights were loaded in.
            "bf16" | "fp16" | "fp16/bf16" => {
                let engine = engine.to_lowercase();
                let pure =
                    ["torchtune", "litgpt", "lit-gpt"].iter().any(|name| engine.contains(name));
                Ok((pure && lower == "bf16").then_some("bf16-pure"))
            }
            other => precision(other).map(Some),
        };
        let mixed = if lower == "fp16" { "fp16-mixed" } else { "bf16-mixed" };
        let least = if self.framework == "pytorch" { "bf16-pure" } else { mixed };
        fill.with(known, least, Some(mixed), "whether weights are kept in fp32 is not stated")
    }
}

/// The scenario's name for a precision. Plain `bf16` means weights in 16 bits and nothing else.
///
/// # Errors
/// When the name is none of the scenario format.
pub fn precision(name: &str) -> Result<&'static str, String> {
    let lower = name.to_lowercase();
    let (mixed, bf16, fp16) = (
        ["mixed", "amp", "master"].iter().any(|word| lower.contains(word)),
        lower.contains("bf16"),
        lower.contains("fp16"),
    );
    match (mixed, bf16, fp16) {
        (true, true, _) => Ok("bf16-mixed"),
        (true, false, true) => Ok("fp16-mixed"),
        (false, true, false) => Ok("bf16-pure"),
        _ if lower == "fp32" => Ok("fp32"),
        _ => Err(format!("precision: {}", quoted(name))),
    }
}

/// The scenario's name for what is recomputed.
///
/// # Errors
/// When the table does not say, or names a way of its own.
pub fn recompute(value: &Value, fill: Fill) -> Result<&'static str, String> {
    let stated = match value {
        Value::Bool(true) => Ok(Some("full")),
        Value::Bool(false) => Ok(Some("none")),
        Value::Null => Ok(None),
        // PyTorch's selective checkpointing keeps results of chosen operators: another than that
        // of Korthikanti et al., which `selective` stands for.
        Value::String(name) => match name.to_lowercase().as_str() {
            "full" => Ok(Some("full")),
            "none" | "no ac" => Ok(Some("none")),
            _ => Err(format!("recomputation: {}", quoted(name))),
        },
        _ => Err("malformed: activation_ckpt".to_owned()),
    };
    fill.with(stated, "full", Some("none"), "what is recomputed is not stated")
}

/// The scenario's name for an optimizer; AdamW where a table says nothing.
///
/// # Errors
/// When the name is none of the scenario format.
pub fn optimizer(name: Option<&str>) -> Result<&'static str, String> {
    let Some(text) = name else { return Ok("adamw") };
    let lower = text.to_lowercase();
    let plain: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.as_str() {
        "adam" | "adamw" | "fusedadamw" | "distributedfusedadam" | "adamwforeachfalse" => {
            Ok("adamw")
        }
        "adamw8bit" | "adamwbnb8bit" | "8bitadamw" | "bitsandbytesadamw8bit" => Ok("adamw-8bit"),
        "sgd" => Ok("sgd"),
        "lion" => Ok("lion"),
        "adafactor" => Ok("adafactor"),
        _ => Err(format!("optimizer: {}", quoted(text))),
    }
}

impl Job {
    /// The scenario.
    pub fn scenario(&self) -> Value {
        // Nodes of 8 where there are more GPUs than a node has.
        let per_node = if self.gpus.is_multiple_of(8) { 8 } else { self.gpus };
        json!({
            "model": self.model,
            "hardware": {
                "device": self.device.id,
                "devices_per_node": per_node,
                "nodes": self.gpus / per_node.max(1),
            },
            "workload": {
                "sequence": self.sequence,
                "micro_batch": self.micro_batch,
                "global_batch": self.global_batch,
                "gradient_accumulation": self.accumulation,
                "precision": self.precision,
                "cross_entropy": self.cross_entropy,
                "optimizer": self.optimizer,
                "finetune": self.finetune,
                "framework": self.program.framework,
                "compile": self.compile,
            },
            "strategy": {
                "tp": self.tp,
                "pp": self.pp,
                "ep": self.ep,
                "sequence_parallel": self.sequence_parallel,
                "zero": self.zero,
                "fsdp": self.program.fsdp,
                "recompute": self.recompute,
                "offload": {
                    "optimizer": self.offload.optimizer,
                    "parameters": self.offload.parameters,
                },
            },
        })
    }

    /// Seconds of six FLOPs a parameter and token at half of the dense peak of all GPUs.
    pub fn simplest_step_s(&self, active_params: f64, tokens: f64) -> Option<f64> {
        let peaks = &self.device.peaks;
        let tflops = match self.precision {
            "fp32" => peaks.fp32_tflops,
            _ => peaks.bf16_tflops.or(peaks.fp16_tflops),
        }?;
        Some(6.0 * active_params * tokens / (0.5 * tflops * 1e12 * self.gpus as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offload_in_words() {
        let offload = |optimizer, parameters| Ok(Offload { optimizer, parameters });
        assert_eq!(Offload::from_words("none"), Ok(Offload::NONE));
        assert_eq!(Offload::from_words("opt+param->cpu"), offload("cpu", "cpu"));
        assert_eq!(Offload::from_words("optimizer->CPU"), offload("cpu", "none"));
        assert_eq!(Offload::from_words("ZeRO-3 params+optimizer->cpu"), offload("cpu", "cpu"));
        assert_eq!(Offload::from_words("weights->nvme"), offload("none", "nvme"));
        for other in ["cpu", "routed experts on cpu", "weights->cpu + activations->cpu", "->", ""] {
            assert!(Offload::from_words(other).is_err(), "{other}");
        }
    }

    #[test]
    fn programs_by_name_and_by_the_other_fields() {
        let named = |name, zero, fsdp| {
            Program::named(name, zero, fsdp).map(|one| (one.framework, one.fsdp))
        };
        assert_eq!(named("Megatron-LM (2024-08)", 1, None), Ok(("megatron", None)));
        assert_eq!(named("LLaMA-Factory 0.7.1", 2, None), Ok(("deepspeed", None)));
        assert_eq!(named("LLaMA-Factory 0.7.1", 0, None), Ok(("pytorch", None)));
        assert_eq!(named("FSDP FULL_SHARD + QLoRA", 0, None), Ok(("fsdp", Some("full_shard"))));
        assert_eq!(named("FSDP + torch.compile HSDP", 0, None), Ok(("fsdp", Some("hybrid"))));
        assert_eq!(named("litgpt", 0, None), Ok(("pytorch", None)));
        assert_eq!(
            named("ColossalAI Gemini (2023-09)", 0, None).err().as_deref(),
            Some("training program: colossalai gemini")
        );
        assert!(named("", 0, None).is_err());
    }

    #[test]
    fn precisions_recomputation_and_optimizers() {
        assert_eq!(precision("BF16 mixed"), Ok("bf16-mixed"));
        assert_eq!(precision("amp_bf16"), Ok("bf16-mixed"));
        assert_eq!(precision("fp16 AMP"), Ok("fp16-mixed"));
        assert_eq!(precision("BF16 (fp32 master)"), Ok("bf16-mixed"));
        assert_eq!(precision("pure bf16"), Ok("bf16-pure"));
        assert!(precision("fp16/bf16").is_err() && precision("").is_err());
        let stated = |value: Value| recompute(&value, Fill::Nothing);
        assert_eq!(stated(json!(true)), Ok("full"));
        assert_eq!(stated(json!("No AC")), Ok("none"));
        assert!(stated(Value::Null).is_err() && stated(json!("Selective AC")).is_err());
        assert_eq!(recompute(&Value::Null, Fill::Least), Ok("full"));
        assert_eq!(optimizer(None), Ok("adamw"));
        assert_eq!(optimizer(Some("AdamW bnb 8-bit")), Ok("adamw-8bit"));
        assert!(optimizer(Some("GaLore 8-bit AdamW layer-wise")).is_err());
    }
}
