//! What a row trains: precision, optimizer, fine-tuning, kernels.

use super::sources::{Bare, Source};
use crate::validate::fields::{Fields, Reason, incomplete, inexpressible};
use serde_json::{Value, json};

/// The words of a row that the workload follows from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words<'a> {
    /// The middle part of the citation: which table, which line, which variant.
    pub place: &'a str,
    pub mode: &'a str,
    pub precision: &'a str,
    pub optimizer: Option<&'a str>,
    pub kernels: &'a str,
}

impl<'a> Words<'a> {
    /// The words of a row.
    ///
    /// # Errors
    /// When a field is no text, or the precision is missing.
    pub fn read(row: Fields<'a>) -> Result<Self, Reason> {
        let source = row.text("source")?.unwrap_or_default();
        let precision = row.text("config.precision")?;
        Ok(Self {
            place: source.split(" — ").nth(1).unwrap_or_default(),
            mode: row.text("config.mode")?.unwrap_or_default(),
            precision: precision.ok_or_else(|| incomplete("config.precision"))?,
            optimizer: row.text("config.optimizer")?,
            kernels: row.text("config.kernels")?.unwrap_or_default(),
        })
    }
}

/// Number formats of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// A precision of the scenario format.
    pub precision: &'static str,
    /// Gradients are summed up in fp32 whatever the weights are.
    pub fp32_gradients: bool,
}

/// The number formats that a row's precision means in its source.
///
/// # Errors
/// When the scenario format has none of them.
pub fn formats(text: &str, source: &Source, is_full: bool) -> Result<Formats, Reason> {
    let lower = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let fp32_gradients = source.fp32_gradients || has(&["fp32 grad"]);
    let with = |precision| Ok(Formats { precision, fp32_gradients });
    if has(&["nvfp4", "mxfp4"]) {
        return Err(inexpressible(&format!("config.precision {text}")));
    }
    if has(&["fp8", "float8"]) {
        return with("fp8-mixed");
    }
    if matches!(lower.trim(), "fp32" | "float32") {
        return with("fp32");
    }
    if lower.trim() == "tf32" {
        return with("tf32");
    }
    let place = |words: &[&str]| words.iter().filter_map(|word| lower.find(word)).min();
    let (bf16, fp16) = (place(&["bf16", "bfloat16"]), place(&["fp16", "float16"]));
    // "float16" is in "bfloat16" too.
    let is_fp16 = match (bf16, fp16) {
        (Some(bf16), Some(fp16)) => fp16 < bf16,
        (None, Some(_)) => true,
        (Some(_), None) => false,
        (None, None) => return Err(inexpressible(&format!("config.precision {text}"))),
    };
    let is_mixed = has(&["mixed", "amp", "master", "grad acc"]);
    let bare_is_pure = match source.bare {
        Bare::Mixed => false,
        Bare::Pure => true,
        Bare::PureUnderAdapters => !is_full,
    };
    if has(&["pure", "true"]) || bare_is_pure && !is_mixed {
        // fp16 everywhere has the sizes of bf16 everywhere and, from Ampere on, its rates.
        return with("bf16-pure");
    }
    with(if is_fp16 { "fp16-mixed" } else { "bf16-mixed" })
}

/// The optimizer of the scenario format. A paged one (bitsandbytes) allocates on the device as others
/// do; its states leave it only when memory is short.
///
/// # Errors
/// When neither the row nor its source says one that the format has.
pub fn optimizer(text: Option<&str>, source: &Source) -> Result<&'static str, Reason> {
    let Some(text) = text else {
        return source.optimizer.ok_or_else(|| incomplete("config.optimizer"));
    };
    let lower = text.to_lowercase();
    let refused = [" or ", "rmsprop", "lamb"];
    if refused.iter().any(|word| lower.contains(word)) {
        return Err(inexpressible(&format!("config.optimizer {text}")));
    }
    let known = [
        ("8-bit", "adamw-8bit"),
        ("8bit", "adamw-8bit"),
        ("adafactor", "adafactor"),
        ("muon", "muon"),
        ("lion", "lion"),
        ("momentum", "sgd-momentum"),
        ("sgd", "sgd"),
        ("adam", "adamw"),
    ];
    let found = known.iter().find(|(word, _)| lower.contains(word));
    found.map(|(_, name)| *name).ok_or_else(|| inexpressible(&format!("config.optimizer {text}")))
}

/// Whether each parameter is updated when its gradient is there.
pub fn steps_in_backward(optimizer: Option<&str>) -> bool {
    optimizer.is_some_and(|text| text.to_lowercase().contains("backward"))
}

/// What trains: the `finetune` of the scenario.
///
/// # Errors
/// When the format has no such method, or the source does not say which modules have adapters.
pub fn finetune(row: Fields<'_>, words: Words<'_>, source: &Source) -> Result<Value, Reason> {
    let text = match row.value("config.lora") {
        None => words.mode.contains("LoRA").then_some(words.mode),
        Some(Value::Bool(true)) => Some("LoRA"),
        Some(Value::Bool(false)) => None,
        Some(_) => row.text("config.lora")?,
    };
    let Some(text) = text else { return Ok(json!("full")) };
    let lower = format!("{} {}", words.mode, text).to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["adapter"]) {
        return Err(inexpressible(&format!("config.lora {text}")));
    }
    let adapters = source.adapters.ok_or_else(|| incomplete("config.lora rank and modules"))?;
    let rank = lower
        .split("r=")
        .nth(1)
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok())
        .unwrap_or(adapters.rank);
    let format = if has(&["gptq", "int4"]) || source.key == "qwen" && has(&["q-lora"]) {
        "int4-g128"
    } else if has(&["int8"]) {
        "int8"
    } else if has(&["nf4", "qlora", "q-lora", "4-bit"]) {
        "nf4"
    } else {
        return Ok(json!({"lora": {
            "rank": rank, "targets": adapters.targets, "dropout": adapters.dropout,
            "train_embeddings": has(&["(emb)"]),
        }}));
    };
    // bitsandbytes and torchao quantize the scales again but where a table has both variants.
    let without = words.place.contains("resource-tables") || source.key == "hf";
    let double_quant = format == "nf4" && (has(&["dq", "nested", "double"]) || !without);
    Ok(json!({"qlora": {
        "rank": rank, "targets": adapters.targets, "format": format, "double_quant": double_quant,
        "dropout": adapters.dropout, "upcast": upcast(words, source),
    }}))
}

/// What is fp32 beside quantized matrices, where the source has a way of its own: fms-acceleration's
/// plugin leaves everything in 16 bits, its baseline is TRL; litgpt and torchtune convert nothing.
fn upcast(words: Words<'_>, source: &Source) -> Option<&'static str> {
    match source.key {
        "fmsacc" if words.kernels.contains("accelerated") => Some("none"),
        "litgpt" | "torchtune" => Some("none"),
        _ => None,
    }
}

/// The precision of adapters beside frozen weights: PEFT's adapters are fp32 since 0.12 and under
/// quantized weights, so that a row of 16-bit weights has fp32 adapters beside them.
pub fn adapter_precision(source: &Source, is_full: bool, precision: &'static str) -> &'static str {
    match (source.key, precision) {
        ("fmsacc", "bf16-pure") if !is_full => "bf16-mixed",
        _ => precision,
    }
}

/// Kernels made by a compiler.
pub fn compiles(words: Words<'_>, source: &Source) -> bool {
    let place = words.place;
    match source.key {
        // Tables of 2024-12 say so row by row or in their title; later ones compile throughout.
        "torchtitan" => {
            let throughout =
                ["Table 2", "Table 4", "Table 5", "Table 6", "asyncTP", "H200", "torchao"];
            place.contains("compile") || throughout.iter().any(|part| place.contains(part))
        }
        "torchtune" => {
            LADDER.iter().position(|step| place.ends_with(step)).is_none_or(|at| at >= 2)
        }
        _ => false,
    }
}

/// torchtune's README adds one technique after the other; each row has those before it.
const LADDER: [&str; 10] = [
    "baseline",
    "+ packed",
    "+ compile",
    "+ chunked cross-entropy",
    "+ activation checkpointing",
    "+ optimizer in backward",
    "+ activation offloading",
    "+ 8-bit AdamW",
    "LoRA",
    "QLoRA",
];

/// How the loss is computed, where it is not the framework's usual way: a `cross_entropy` of the
/// scenario format.
pub fn cross_entropy(
    words: Words<'_>,
    source: &Source,
    model: &str,
    deepspeed: bool,
) -> Option<&'static str> {
    // No fp32 copy in GPTBigCode, as in most families but Llama's, before transformers 4.46.
    let casts = !model.starts_with("SantaCoder");
    match source.key {
        "simumax" => Some("fused"),
        // MPT's `loss_fn` is flash-attn's kernel unless a configuration says otherwise.
        "llmfoundry" => Some("fused"),
        // Liger multiplies by the head and takes the loss in chunks; foak's kernel has the logits as
        // the model's code gives them.
        "fmsacc" if words.kernels.contains("liger") => Some("chunked"),
        "fmsacc" if words.kernels.contains("foak") && casts => Some("fused-fp32"),
        "fmsacc" if words.kernels.contains("foak") => Some("fused"),
        "fmsacc" if !casts => Some("native"),
        // modeling_qwen.py of Qwen 1 and litgpt's chunked_cross_entropy cast nothing; the Trainer runs
        // autocast, which does, where DeepSpeed does not take its place.
        "qwen" if deepspeed => Some("native"),
        "litgpt" => Some("native"),
        // Its chunked loss keeps all 16-bit logits and casts an eighth of them at a time.
        "torchtune" => {
            let step = LADDER.iter().position(|step| words.place.ends_with(step));
            step.is_none_or(|at| at >= 3).then_some("fused")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(key: &str) -> &'static Source {
        Source::find(key).expect("listed")
    }

    #[test]
    fn precisions_of_every_spelling() {
        for (text, key, expected) in [
            ("fp16", "bigscience", "fp16-mixed"),
            ("bf16 (+fp32 grad accumulation)", "bigscience", "bf16-mixed"),
            ("bfloat16", "fmsacc", "bf16-pure"),
            ("bfloat16 (--bf16 flag)", "fmsacc", "bf16-pure"),
            ("float16", "fmsacc", "bf16-pure"),
            ("bf16-true", "litgpt", "bf16-pure"),
            ("bf16-mixed", "litgpt", "bf16-mixed"),
            ("amp_bf16 / FSDP mp DEFAULT", "llmfoundry", "bf16-mixed"),
            ("bf16 / FSDP mp PURE", "llmfoundry", "bf16-pure"),
            ("amp_fp8 / FSDP mp DEFAULT", "llmfoundry", "fp8-mixed"),
            ("bf16 mixed + float8 linears", "torchtitan", "fp8-mixed"),
            ("MXFP8", "mbridge", "fp8-mixed"),
            ("FP8 fine-grained (MX 32x32 on GB200/B200)", "mbridge", "fp8-mixed"),
            ("fp16/bf16 mixed", "zerobubble", "fp16-mixed"),
            ("bf16/fp16", "dsazure", "bf16-mixed"),
            ("fp32", "hf", "fp32"),
            ("fp16 AMP", "hf", "fp16-mixed"),
            ("bf16 (fp32 master + states)", "dsmisc", "bf16-mixed"),
        ] {
            let got = formats(text, source(key), true).expect(text);
            assert_eq!(got.precision, expected, "{text}");
        }
        assert!(formats("NVFP4", source("mbridge"), true).is_err());
        assert!(formats("posit", source("mbridge"), true).is_err());
        let qwen = |is_full| formats("bf16", source("qwen"), is_full).expect("bf16").precision;
        assert_eq!((qwen(true), qwen(false)), ("bf16-mixed", "bf16-pure"));
        let simumax = "bf16 (fp32 grad accumulation, distributed optimizer)";
        assert!(formats(simumax, source("simumax"), true).expect("bf16").fp32_gradients);
        assert!(!formats("fp16", source("bigscience"), true).expect("fp16").fp32_gradients);
    }

    #[test]
    fn optimizers_of_every_spelling() {
        let hf = source("hf");
        for (text, expected) in [
            ("AdamW", "adamw"),
            ("Adam (DeepSpeed ZeRO-1)", "adamw"),
            ("decoupled_adamw", "adamw"),
            ("AdamW (pure bfloat16 states)", "adamw"),
            ("8-bit Adam", "adamw-8bit"),
            ("PagedAdamW8bit", "adamw-8bit"),
            ("AdamW in backward", "adamw"),
            ("Adafactor", "adafactor"),
        ] {
            assert_eq!(optimizer(Some(text), hf), Ok(expected), "{text}");
        }
        for text in ["8-bit Adam (BNB) or Adam per section", "LAMB", "RMSProp"] {
            assert!(optimizer(Some(text), hf).is_err(), "{text}");
        }
        assert!(steps_in_backward(Some("AdamW in backward")) && !steps_in_backward(Some("AdamW")));
        assert_eq!(optimizer(None, hf), Err("incomplete: config.optimizer".to_owned()));
        assert_eq!(optimizer(None, source("sc21")), Ok("adamw"));
    }

    #[test]
    fn adapters_of_every_spelling() {
        let read = |key: &str, mode: &str, lora: Value, place: &str| {
            let row = json!({"config": {"lora": lora}});
            finetune(Fields(&row), Words { mode, place, ..Words::default() }, source(key))
        };
        let qlora = |targets: &str, rank: u64, format: &str, double_quant: bool| {
            let (dropout, upcast) = match targets {
                "q_proj,k_proj,v_proj,o_proj" => (0.1, json!(null)),
                "q_proj,v_proj" if format == "nf4" => (0.05, json!("none")),
                _ => (0.05, json!(null)),
            };
            Ok(json!({"qlora": {
                "rank": rank, "targets": targets, "format": format, "double_quant": double_quant,
                "dropout": dropout, "upcast": upcast,
            }}))
        };
        let (fms, all, two) = ("q_proj,k_proj,v_proj,o_proj", "all-linear", "q_proj,v_proj");
        assert_eq!(read("fmsacc", "finetune-full", json!(null), ""), Ok(json!("full")));
        assert_eq!(
            read("fmsacc", "finetune-LoRA", json!("LoRA r=16"), ""),
            Ok(json!({"lora": {
                "rank": 16, "targets": fms, "dropout": 0.1, "train_embeddings": false,
            }}))
        );
        let nf4 = "QLoRA (bitsandbytes NF4 4-bit) r=16";
        assert_eq!(read("fmsacc", "finetune-QLoRA", json!(nf4), ""), qlora(fms, 16, "nf4", true));
        let gptq = json!("GPTQ-LoRA (4-bit) r=16");
        assert_eq!(
            read("fmsacc", "finetune-GPTQ-LoRA", gptq, ""),
            qlora(fms, 16, "int4-g128", false)
        );
        assert_eq!(
            read("qwen", "finetune-QLoRA", json!("Q-LoRA"), ""),
            qlora(all, 64, "int4-g128", false)
        );
        let table = "resource-tables.md line 42";
        assert_eq!(
            read("litgpt", "", json!("LoRA r=8 + bnb.nf4"), table),
            qlora(two, 8, "nf4", false)
        );
        assert_eq!(
            read("litgpt", "", json!("LoRA r=8 + bnb.nf4-dq"), table),
            qlora(two, 8, "nf4", true)
        );
        assert_eq!(read("hf", "", json!("int8 + grad ckpt"), ""), qlora(two, 8, "int8", false));
        let tables = read("qwen", "finetune-LoRA", json!("LoRA (emb)"), "").expect("LoRA");
        assert_eq!(tables["lora"]["train_embeddings"], true);
        assert!(read("litgpt", "", json!("adapter_v2 + bnb.nf4"), table).is_err());
        assert!(read("litgpt", "", json!(7), table).is_err());
    }

    #[test]
    fn losses_follow_the_models_code() {
        let of = |kernels, model| {
            cross_entropy(Words { kernels, ..Words::default() }, source("fmsacc"), model, false)
        };
        assert_eq!(of("none", "Mistral-7B"), None);
        assert_eq!(of("none", "SantaCoder-1.1B"), Some("native"));
        assert_eq!(of("accelerated-peft-bnb-foak", "Mistral-7B"), Some("fused-fp32"));
        assert_eq!(of("foak-fast-kernels", "SantaCoder-1.1B"), Some("fused"));
        assert_eq!(of("foak-fast-kernels-liger", "Llama3-8B"), Some("chunked"));
        let qwen =
            |deepspeed| cross_entropy(Words::default(), source("qwen"), "Qwen-7B", deepspeed);
        assert_eq!((qwen(true), qwen(false)), (Some("native"), None));
    }

    #[test]
    fn each_rung_of_the_ladder_has_those_below() {
        let torchtune = source("torchtune");
        let words = |place| Words { place, ..Words::default() };
        let rung = |place| {
            (
                compiles(words(place), torchtune),
                cross_entropy(words(place), torchtune, "Llama3.2-3B", false),
            )
        };
        assert_eq!(rung("README ladder Llama3.2-3B: + packed"), (false, None));
        assert_eq!(rung("README ladder Llama3.2-3B: + compile"), (true, None));
        let fused = Some("fused");
        assert_eq!(rung("README ladder Llama3.2-3B: + activation checkpointing"), (true, fused));
        assert_eq!(rung("README ladder Llama3.2-3B: QLoRA"), (true, fused));
        assert_eq!(rung("README table Llama3.1-8B LoRA 1xRTX 4090"), (true, fused));
    }
}
