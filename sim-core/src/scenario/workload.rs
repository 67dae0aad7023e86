//! The job: what is trained, or what is served.

use super::{
    AttentionKernel, CrossEntropy, Finetune, Framework, Modules, Optimizer,
    OptimizerImplementation, Upcast, WorkloadKind,
};
use crate::precision::{DType, Precision, Recipe};
use serde::{Deserialize, Serialize};

/// The job. Fields of the other kind than `kind` are kept and have no effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkloadChoice {
    pub kind: WorkloadKind,

    /// Tokens in a training sample.
    pub sequence: u64,
    /// Samples that one model replica works on at a time.
    pub micro_batch: u64,
    /// Samples in an optimizer step over all replicas; derived when missing.
    pub global_batch: Option<u64>,
    /// Micro-batches in an optimizer step on each replica; derived when missing.
    pub gradient_accumulation: Option<u64>,
    pub precision: Precision,
    /// Format of the gradients between micro-batches; that of the weights when missing.
    pub gradient_dtype: Option<DType>,
    pub optimizer: Optimizer,
    pub optimizer_implementation: OptimizerImplementation,
    /// Each parameter is updated when its gradient is there, which is then freed.
    pub optimizer_in_backward: bool,
    pub finetune: Finetune,
    pub attention: AttentionKernel,
    pub cross_entropy: CrossEntropy,
    /// Dropout after attention, on its scores and after the MLP.
    pub dropout: bool,
    pub framework: Framework,
    /// Whose modules DeepSpeed runs; other frameworks have one kind.
    pub modules: Option<Modules>,
    /// Kernels fused by a compiler.
    pub compile: bool,

    /// Tokens in a request's prompt.
    pub input_tokens: u64,
    /// Tokens generated for a request.
    pub output_tokens: u64,
    /// Requests served at a time.
    pub concurrency: u64,
    /// The longest prompt and answer together, in tokens.
    pub max_model_len: u64,
    /// Share of the device's memory that the engine may take, 0 to 1.
    pub memory_utilization: f64,
    /// Tokens in a block of the paged KV cache.
    pub block_size: u64,
    /// Serving engine: vllm, hf, llama.cpp, tensorrt-llm.
    pub engine: String,
    /// Its version, such as `4.46`; the newest when missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
}

impl Default for WorkloadChoice {
    fn default() -> Self {
        Self {
            kind: WorkloadKind::Train,
            sequence: 2048,
            micro_batch: 1,
            global_batch: None,
            gradient_accumulation: None,
            precision: Precision::Bf16Mixed,
            gradient_dtype: None,
            optimizer: Optimizer::AdamW,
            optimizer_implementation: OptimizerImplementation::Fused,
            optimizer_in_backward: false,
            finetune: Finetune::Full,
            attention: AttentionKernel::Flash,
            cross_entropy: CrossEntropy::Default,
            dropout: false,
            framework: Framework::DeepSpeed,
            modules: None,
            compile: false,
            input_tokens: 1024,
            output_tokens: 128,
            concurrency: 1,
            max_model_len: 4096,
            memory_utilization: 0.9,
            block_size: 16,
            engine: "vllm".to_owned(),
            engine_version: None,
        }
    }
}

impl WorkloadChoice {
    /// Formats of the model's own weights: those of what trains unless the weights are frozen.
    ///
    /// PyTorch alone freezes 16-bit weights, and fp32 norms beside matrices quantized by
    /// bitsandbytes.
    pub fn model_recipe(&self) -> Recipe {
        let upcasts = match &self.finetune {
            Finetune::Full => return self.recipe(),
            Finetune::Lora(_) => false,
            Finetune::Qlora(choice) => choice.upcasts() != Upcast::None,
        };
        if upcasts { self.recipe() } else { Recipe::with_master(self.precision) }
    }

    /// Format of frozen embeddings and of a frozen head.
    pub fn table_format(&self) -> DType {
        match &self.finetune {
            Finetune::Qlora(choice) if choice.upcasts() == Upcast::Norms => {
                self.precision.compute()
            }
            _ => self.model_recipe().weights,
        }
    }

    /// The framework whose kernels run: Megatron's under DeepSpeed where `modules` says so.
    pub fn kernels(&self) -> Framework {
        match (self.framework, self.modules) {
            (Framework::DeepSpeed, Some(Modules::Megatron)) => Framework::Megatron,
            (framework, _) => framework,
        }
    }

    /// Which format each part of training has: PyTorch alone trains mixed precision by autocast over
    /// fp32 weights, FSDP gathers them in 16 bits, the others keep a master copy.
    pub fn recipe(&self) -> Recipe {
        match self.framework {
            Framework::Pytorch => Recipe::autocast(self.precision),
            Framework::Fsdp => Recipe::gathered(self.precision),
            Framework::DeepSpeed | Framework::Megatron | Framework::Nanotron => {
                Recipe::with_master(self.precision)
            }
        }
    }
}
