//! Values of the scenario format that this build does not simulate: refused by name, never ignored.

use super::serving;
use crate::issue::{Issue, IssueCode};
use crate::model::{Architecture, ModelShape};
use crate::precision::{DType, Precision};
use crate::scenario::{
    CrossEntropy, Edit, Framework, Modules, OffloadTarget, Optimizer, Scenario, ScheduleName,
    WorkloadKind,
};
use crate::serving::Engine;
use serde_json::json;

/// One issue for every part of a model whose operators are not written. Served, a latent would be
/// the cache itself, and queries would be brought into it.
pub fn model_not_supported(kind: WorkloadKind, shape: &ModelShape) -> Vec<Issue> {
    let serves_latent = kind == WorkloadKind::Infer && shape.attention.latent.is_some();
    let parts = [
        ("encoder-decoder", shape.architecture == Architecture::EncoderDecoder),
        ("latent-attention", serves_latent),
    ];
    let present = parts.into_iter().filter(|(_, present)| *present);
    present
        .map(|(part, _)| {
            Issue::new(IssueCode::NotSupported, "model")
                .with("value", part)
                .way_out(Edit::new("model", "llama-2-7b"))
        })
        .collect()
}

/// A loss that a model or a way of splitting it does not have: one over the vocabulary without a
/// head, chunks of a head whose rows are spread over ranks.
pub fn loss_not_supported(scenario: &Scenario, shape: &ModelShape) -> Option<Issue> {
    let chosen = scenario.workload.cross_entropy;
    let refused = match chosen {
        // Nothing is trained.
        _ if scenario.workload.kind == WorkloadKind::Infer => false,
        CrossEntropy::Default => false,
        CrossEntropy::Fused | CrossEntropy::FusedFp32 => !shape.lm_head,
        CrossEntropy::Native => {
            let framework = scenario.workload.framework;
            // Their kernels write over an fp32 copy.
            !shape.lm_head || matches!(framework, Framework::Megatron | Framework::Nanotron)
        }
        CrossEntropy::Chunked => !shape.lm_head || scenario.strategy.tp > 1,
    };
    let field = "workload.cross_entropy";
    refused.then(|| {
        Issue::new(IssueCode::NotSupported, field)
            .with("value", chosen.name())
            .way_out(Edit::new(field, CrossEntropy::Fused.name()))
            .way_out(Edit::new(field, CrossEntropy::Default.name()))
    })
}

/// One issue for every choice that is not simulated.
pub fn not_supported(scenario: &Scenario) -> Vec<Issue> {
    if scenario.workload.kind == WorkloadKind::Infer {
        return serving::not_supported(scenario);
    }
    let (workload, strategy) = (&scenario.workload, &scenario.strategy);
    let mut issues = Vec::new();
    let mut refuse = |field: &str, value: &str, instead: serde_json::Value| {
        issues.push(
            Issue::new(IssueCode::NotSupported, field)
                .with("value", value)
                .way_out(Edit::new(field, instead)),
        );
    };
    if workload.precision == Precision::Fp8Mixed {
        refuse("workload.precision", "fp8-mixed", json!("bf16-mixed"));
    }
    if workload.optimizer == Optimizer::Muon && strategy.zero >= 1 {
        // Whole matrices would have to be gathered for the step.
        refuse("strategy.zero", "muon", json!(0));
    }
    if workload.optimizer == Optimizer::Muon && strategy.fsdp.is_some() {
        refuse("strategy.fsdp", "muon", serde_json::Value::Null);
    }
    if strategy.fsdp.is_some() && strategy.ep > 1 {
        refuse("strategy.ep", "FSDP with expert parallelism", json!(1));
    }
    if let Some(modules) = workload.modules {
        let own = match workload.framework {
            Framework::DeepSpeed => true,
            Framework::Megatron => modules == Modules::Megatron,
            Framework::Pytorch | Framework::Fsdp => modules == Modules::HuggingFace,
            Framework::Nanotron => false,
        };
        if !own {
            refuse("workload.modules", modules.name(), serde_json::Value::Null);
        }
    }
    let gradients = workload.gradient_dtype.unwrap_or(DType::Fp32);
    if gradients != DType::Fp32 && gradients != scenario.recipe().weights {
        refuse("workload.gradient_dtype", gradients.name(), serde_json::Value::Null);
    }
    for (field, value) in [
        ("quantization.kv_cache", &scenario.quantization.kv_cache),
        ("quantization.activations", &scenario.quantization.activations),
    ] {
        if !matches!(value.as_str(), "fp16" | "bf16") {
            refuse(field, value, json!("fp16"));
        }
    }
    if Engine::parse(&workload.engine).is_none() {
        refuse("workload.engine", &workload.engine, json!("vllm"));
    }
    if scenario.quantization.weights != "none" {
        refuse("quantization.weights", &scenario.quantization.weights, json!("none"));
    }
    if !matches!(strategy.schedule, ScheduleName::Gpipe | ScheduleName::OneForwardOneBackward) {
        refuse("strategy.schedule", strategy.schedule.name(), json!("1f1b"));
    }
    if strategy.virtual_stages > 1 {
        refuse("strategy.virtual_stages", &strategy.virtual_stages.to_string(), json!(1));
    }
    for (field, target) in [
        ("strategy.offload.optimizer", strategy.offload.optimizer),
        ("strategy.offload.parameters", strategy.offload.parameters),
        ("strategy.offload.activations", strategy.offload.activations),
    ] {
        if target != OffloadTarget::None {
            refuse(field, target.name(), json!("none"));
        }
    }
    issues
}
