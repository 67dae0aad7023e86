//! Ready scenarios: where the page starts, and what the golden tests compute.

use crate::scenario::Scenario;

/// A ready scenario. Its texts are `preset.<id>.title` and `preset.<id>.summary`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    pub id: &'static str,
    json: &'static str,
}

impl Preset {
    /// The scenario.
    pub fn scenario(&self) -> Scenario {
        Scenario::from_json(self.json).expect("presets are valid scenarios")
    }
}

/// All presets; the page starts with the first.
pub const ALL: &[Preset] = &[
    Preset {
        id: "7b-on-8xa100",
        json: r#"{"name": "Llama-2-7B on 8×A100",
            "model": "llama-2-7b",
            "hardware": {"device": "a100-sxm4-80", "devices_per_node": 8},
            "workload": {"sequence": 2048, "micro_batch": 1, "gradient_accumulation": 4}}"#,
    },
    Preset {
        id: "7b-on-24gb",
        json: r#"{"name": "7B on one 24 GB card",
            "model": "llama-2-7b",
            "hardware": {"device": "rtx4090-24"},
            "workload": {"sequence": 2048, "micro_batch": 1, "gradient_accumulation": 4}}"#,
    },
    Preset {
        id: "13b-on-4xa100-40",
        json: r#"{"name": "13B on 4×A100-40",
            "model": "llama-2-13b",
            "hardware": {"device": "a100-sxm4-40", "devices_per_node": 4},
            "workload": {"sequence": 2048, "micro_batch": 1, "gradient_accumulation": 4},
            "strategy": {"zero": 3, "recompute": "full"}}"#,
    },
    Preset {
        id: "70b-on-64xh100",
        json: r#"{"name": "Llama-3-70B on 64×H100",
            "model": "llama-3-70b",
            "hardware": {"device": "h100-sxm5-80", "devices_per_node": 8, "nodes": 8},
            "workload": {"sequence": 4096, "micro_batch": 1, "gradient_accumulation": 16,
                         "framework": "megatron", "gradient_dtype": "fp32"},
            "strategy": {"tp": 8, "pp": 4, "sequence_parallel": true, "zero": 1}}"#,
    },
    Preset {
        id: "8b-fsdp-8xh100",
        json: r#"{"name": "Llama-3.1-8B, FSDP2 on 8×H100",
            "model": "llama-3.1-8b",
            "hardware": {"device": "h100-sxm5-80", "devices_per_node": 8},
            "workload": {"sequence": 8192, "micro_batch": 1, "gradient_accumulation": 1,
                         "framework": "fsdp", "compile": true},
            "strategy": {"fsdp": "full_shard"}}"#,
    },
    Preset {
        id: "mixtral-on-16xh100",
        json: r#"{"name": "Mixtral 8x7B on 16×H100",
            "model": "mixtral-8x7b",
            "hardware": {"device": "h100-sxm5-80", "devices_per_node": 8, "nodes": 2},
            "workload": {"sequence": 4096, "micro_batch": 1, "gradient_accumulation": 8,
                         "framework": "megatron"},
            "strategy": {"ep": 8, "zero": 1, "recompute": "full"}}"#,
    },
    Preset {
        id: "deepseek-v3-on-2048xh800",
        json: r#"{"name": "DeepSeek-V3 on 2048×H800",
            "model": "deepseek-v3",
            "hardware": {"device": "h800-sxm5-80", "devices_per_node": 8, "nodes": 256},
            "workload": {"sequence": 4096, "micro_batch": 1, "gradient_accumulation": 24,
                         "framework": "megatron", "gradient_dtype": "fp32"},
            "strategy": {"pp": 16, "ep": 64, "zero": 1, "recompute": "full"}}"#,
    },
    Preset {
        id: "gpt3-pipeline",
        json: r#"{"name": "GPT-3 175B, TP 8 × PP 16",
            "model": "gpt3-175b",
            "hardware": {"device": "a100-sxm4-80", "devices_per_node": 8, "nodes": 16},
            "workload": {"sequence": 2048, "micro_batch": 1, "gradient_accumulation": 64,
                         "framework": "megatron", "gradient_dtype": "fp32"},
            "strategy": {"tp": 8, "pp": 16, "sequence_parallel": true, "recompute": "selective"}}"#,
    },
    Preset {
        id: "bert-large",
        json: r#"{"name": "BERT-large on one V100",
            "model": "bert-large",
            "hardware": {"device": "v100-sxm2-16"},
            "workload": {"sequence": 512, "micro_batch": 8, "precision": "fp16-mixed",
                         "attention": "eager", "dropout": true}}"#,
    },
    Preset {
        id: "7b-qlora-24gb",
        json: r#"{"name": "QLoRA 7B on one RTX 4090",
            "model": "llama-2-7b",
            "hardware": {"device": "rtx4090-24"},
            "workload": {"sequence": 2048, "micro_batch": 4, "gradient_accumulation": 4,
                         "framework": "pytorch", "optimizer": "adamw-8bit",
                         "finetune": {"qlora": {"rank": 64}}},
            "strategy": {"recompute": "full"}}"#,
    },
    Preset {
        id: "8b-lora-24gb",
        json: r#"{"name": "LoRA 8B on one 24 GB card",
            "model": "llama-3-8b",
            "hardware": {"device": "rtx3090-24"},
            "workload": {"sequence": 2048, "micro_batch": 1, "gradient_accumulation": 16,
                         "framework": "pytorch", "finetune": {"lora": {"rank": 16}}},
            "strategy": {"recompute": "full"}}"#,
    },
    Preset {
        id: "7b-int4-serving",
        json: r#"{"name": "Llama-2-7B in INT4 on one 24 GB card",
            "model": "llama-2-7b",
            "hardware": {"device": "rtx4090-24"},
            "workload": {"kind": "infer", "engine": "vllm", "input_tokens": 1024,
                         "output_tokens": 256, "concurrency": 8, "max_model_len": 4096},
            "quantization": {"weights": "int4-g128"}}"#,
    },
    Preset {
        id: "70b-serving-on-4xa100",
        json: r#"{"name": "Llama-3.1-70B on 4×A100 with vLLM",
            "model": "llama-3.1-70b",
            "hardware": {"device": "a100-sxm4-80", "devices_per_node": 4},
            "workload": {"kind": "infer", "engine": "vllm", "input_tokens": 1024,
                         "output_tokens": 256, "concurrency": 32, "max_model_len": 8192},
            "strategy": {"tp": 4}}"#,
    },
];

/// The preset called `id`.
pub fn find(id: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.id == id)
}
