//! A row's model, engine, formats and GPUs, and the inference scenarios that follow from them.

use super::super::vocabulary::{devices, engines, formats, models, quoted};
use super::row::Row;
use engines::{Engine, Family};
use serde_json::{Value, json};
use sim_core::hardware::Device;

/// What must be known for a quantity to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Sizes of tensors before anything runs: no engine, no lengths, no device.
    Weights,
    /// Keys and values of a number of tokens: no engine, no device, no format of the weights.
    Cache,
    /// Sizes of tensors while the engine runs: no device.
    Tensors,
    /// All.
    Run,
}

/// Everything about a row but the lengths of its requests.
#[derive(Clone, Debug)]
pub struct Setup {
    model: Value,
    weights: String,
    kv_cache: &'static str,
    activations: &'static str,
    pub engine: Engine,
    pub device: &'static Device,
    tp: u64,
    pp: u64,
    /// Where the weights live when they are streamed.
    offload: Option<&'static str>,
}

/// Requests that run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    pub batch: u64,
    pub input: u64,
    pub output: u64,
}

/// A device on which every format runs, where only sizes of tensors are compared.
const ANY_DEVICE: &str = "b300-288";

impl Setup {
    /// Reads a row.
    ///
    /// # Errors
    /// The reason why the row cannot be simulated, or what it does not state.
    pub fn of(row: Row<'_>, needs: Needs) -> Result<Self, String> {
        let name = row.text("model", "name").ok_or("the model is not named")?;
        let model = models::model(name, &row.shape()?)?;
        if needs == Needs::Cache {
            let kv_cache = formats::kv_cache(row.text("config", "kv_dtype"))?;
            return Ok(Self { kv_cache, ..Self::resting(model, "none".to_owned()) });
        }
        let format =
            row.text("config", "weight_format").ok_or("the weights' format is not stated")?;
        let bits = row.number("config", "weight_bits")?;
        let weights = formats::weights(format, bits, row.group()?.as_deref())?;
        if needs == Needs::Weights {
            return Ok(Self::resting(model, weights));
        }
        let engine = engine(row)?;
        let device = match device(row) {
            Err(_) if needs == Needs::Tensors => any_device(),
            found => found?,
        };
        let gpus = row.count("hardware", "count")?;
        let (tp, pp) = split(row, gpus.unwrap_or(1).max(1), engine.family)?;
        if gpus.is_none() && needs == Needs::Run {
            return Err("the number of GPUs is not stated".to_owned());
        }
        let stated = row.text("config", "act_dtype").or(Some(format));
        let activations = match formats::activations(stated) {
            "bf16" if device.peaks.bf16_tflops.is_none() => "fp16",
            other => other,
        };
        let kv_cache = kv_cache(row, engine.family, &weights)?;
        let offload = offload(row, &engine)?;
        Ok(Self { model, weights, kv_cache, activations, engine, device, tp, pp, offload })
    }

    /// Weights as an engine loads them, with nothing running.
    fn resting(model: Value, weights: String) -> Self {
        let gguf = weights.starts_with("gguf:");
        let family = if gguf { Family::LlamaCpp } else { Family::Transformers };
        Self {
            model,
            weights,
            kv_cache: "fp16",
            activations: "fp16",
            engine: Engine { family, version: None, streams_weights: false },
            device: any_device(),
            tp: 1,
            pp: 1,
            offload: None,
        }
    }

    /// GPUs that the scenario runs on.
    pub const fn gpus(&self) -> u64 {
        self.tp * self.pp
    }

    /// GPUs that read their part of the weights at the same time.
    pub const fn at_a_time(&self) -> u64 {
        self.tp
    }

    /// The scenario of these requests.
    pub fn scenario(&self, requests: Requests) -> Value {
        // Engines begin with a token, even where the table counts an empty prompt.
        let (input, output) = (requests.input.max(1), requests.output.max(1));
        let bf16 = self.activations == "bf16";
        let mut workload = json!({
            "kind": "infer",
            "input_tokens": input,
            "output_tokens": output,
            "concurrency": requests.batch,
            "max_model_len": input.saturating_add(output),
            "precision": if bf16 { "bf16-pure" } else { "fp16-mixed" },
        });
        for (name, value) in self.engine.fields() {
            workload[name] = value;
        }
        let gpus = self.gpus();
        // Nodes of up to 8: what all tables here were measured on.
        let per_node = if gpus.is_multiple_of(8) { 8 } else { gpus };
        json!({
            "model": self.model,
            "hardware": {
                "device": self.device.id,
                "devices_per_node": per_node,
                "nodes": gpus / per_node,
            },
            "workload": workload,
            "quantization": {
                "weights": self.weights,
                "kv_cache": self.kv_cache,
                "activations": self.activations,
            },
            "strategy": {
                "tp": self.tp,
                "pp": self.pp,
                "offload": {"parameters": self.offload.unwrap_or("none")},
            },
        })
    }
}

fn any_device() -> &'static Device {
    sim_core::hardware::catalog::find(ANY_DEVICE).expect("the catalogue has it")
}

fn engine(row: Row<'_>) -> Result<Engine, String> {
    let name = row.text("config", "engine").ok_or("the engine is not stated")?;
    let engine = engines::engine(name)?;
    if row.0["config"]["num_beams"].as_u64().is_some_and(|beams| beams > 1) {
        return Err("beam search".to_owned());
    }
    Ok(engine)
}

fn device(row: Row<'_>) -> Result<&'static Device, String> {
    let name = row.text("hardware", "gpu").ok_or("the device is not stated")?;
    devices::device(name, row.number("hardware", "mem_gb")?)
}

/// Tensor-parallel degree and number of stages.
fn split(row: Row<'_>, gpus: u64, family: Family) -> Result<(u64, u64), String> {
    let (tp, pp) = (row.count("config", "tp")?, row.count("config", "pp")?);
    let (tp, pp) = match (tp, pp) {
        (Some(tp), Some(pp)) => (tp, pp),
        // A table that says TP 1 of several GPUs means that layers are split.
        (None | Some(1), None) if family.splits_layers() => (1, gpus),
        (Some(tp), None) => (tp, gpus / tp.max(1)),
        (None, Some(pp)) => (gpus / pp.max(1), pp),
        (None, None) => (gpus, 1),
    };
    if tp.checked_mul(pp) == Some(gpus) {
        Ok((tp, pp))
    } else {
        Err("tp · pp is not the number of GPUs".to_owned())
    }
}

/// TensorRT-LLM's tables cache keys and values in fp8 where weights are in fp8 or fp4: `--fp8_kv_cache`
/// in the commands of its performance page (0.6.1), `KV Cache Dtype: FP8` in the log of `trtllm-bench`
/// (0.17), the checkpoints that NVIDIA publishes (1.0).
fn kv_cache(row: Row<'_>, engine: Family, weights: &str) -> Result<&'static str, String> {
    let stated = row.text("config", "kv_dtype");
    let small = engine == Family::TensorRtLlm && matches!(weights, "fp8" | "nvfp4");
    if stated.is_none() && small { Ok("fp8") } else { formats::kv_cache(stated) }
}

/// A run of `trtllm-bench throughput`: all requests at once, as many at a time as fit.
pub fn is_bench(row: Row<'_>) -> bool {
    row.text("config", "engine").is_some_and(|name| name.contains("trtllm-bench"))
}

fn offload(row: Row<'_>, engine: &Engine) -> Result<Option<&'static str>, String> {
    let text = row.text("config", "offload").filter(|text| *text != "none");
    let flag = |name: &str| row.0["hardware"][name] == true;
    let (cpu, nvme) = (flag("cpu_offload"), flag("nvme"));
    match text {
        None if !cpu && !nvme => Ok(None),
        _ if engine.streams_weights && nvme => Ok(Some("nvme")),
        _ if engine.streams_weights && cpu => Ok(Some("cpu")),
        other => Err(format!("offload: {}", quoted(other.unwrap_or("not described")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Value {
        json!({
            "model": {"name": "Llama-2-13B"},
            "hardware": {"gpu": "A100-80GB", "mem_gb": 80, "count": 2},
            "config": {"mode": "decode", "weight_format": "BF16", "weight_bits": 16,
                "act_dtype": "bf16", "engine": "vLLM 0.6.3"},
        })
    }

    const REQUESTS: Requests = Requests { batch: 4, input: 0, output: 128 };

    #[test]
    fn vllm_splits_matrices_and_transformers_layers() {
        let mut value = row();
        let setup = Setup::of(Row(&value), Needs::Run).expect("complete");
        let scenario = setup.scenario(REQUESTS);
        assert_eq!(scenario["strategy"]["tp"], 2);
        assert_eq!(scenario["workload"]["engine"], "vllm");
        assert_eq!(scenario["workload"]["input_tokens"], 1);
        assert_eq!(scenario["workload"]["max_model_len"], 129);
        assert_eq!(scenario["hardware"]["device"], "a100-sxm4-80");
        value["config"]["engine"] = json!("Transformers 4.46");
        value["config"]["tp"] = json!(1);
        let setup = Setup::of(Row(&value), Needs::Run).expect("complete");
        assert_eq!((setup.at_a_time(), setup.gpus()), (1, 2));
    }

    #[test]
    fn what_a_quantity_does_not_need_may_be_missing() {
        let mut value = row();
        value["hardware"] = json!({});
        assert_eq!(
            Setup::of(Row(&value), Needs::Run).map(|_| ()),
            Err("the device is not stated".to_owned())
        );
        assert!(Setup::of(Row(&value), Needs::Tensors).is_ok());
        value["config"]["engine"] = Value::Null;
        assert!(Setup::of(Row(&value), Needs::Tensors).is_err());
        assert!(Setup::of(Row(&value), Needs::Weights).is_ok());
    }

    #[test]
    fn tensorrt_llm_caches_in_fp8_with_fp8_weights() {
        let mut value = row();
        value["config"]["engine"] = json!("TensorRT-LLM 1.0 (trtllm-bench)");
        value["config"]["tp"] = json!(2);
        let cache = |value: &Value| {
            let setup = Setup::of(Row(value), Needs::Run).expect("complete");
            setup.scenario(REQUESTS)["quantization"]["kv_cache"].clone()
        };
        assert_eq!(cache(&value), "fp16");
        value["config"]["weight_format"] = json!("FP8");
        assert_eq!(cache(&value), "fp8");
        value["config"]["kv_dtype"] = json!("bf16");
        assert_eq!(cache(&value), "fp16");
    }

    #[test]
    fn weights_that_are_not_all_on_the_gpu_are_a_reason() {
        let mut value = row();
        value["config"]["offload"] = json!("routed experts on cpu");
        assert!(Setup::of(Row(&value), Needs::Run).is_err());
        value["config"]["engine"] = json!("DeepSpeed ZeRO-Inference 0.7");
        value["config"]["offload"] = json!("cpu");
        value["hardware"]["cpu_offload"] = json!(true);
        let setup = Setup::of(Row(&value), Needs::Run).expect("weights are streamed");
        assert_eq!(setup.scenario(REQUESTS)["strategy"]["offload"]["parameters"], "cpu");
    }
}
