//! The closed lists of a scenario, with their names in the file.

use serde::{Deserialize, Serialize};

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// All of them, in the order of the file format's documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in a scenario file.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

choice!(
    /// What the GPUs do.
    WorkloadKind {
        #[default]
        Train = "train",
        Infer = "infer",
    }
);

choice!(
    /// The rule that turns gradients into new weights.
    Optimizer {
        #[default]
        AdamW = "adamw",
        AdamW8bit = "adamw-8bit",
        Adafactor = "adafactor",
        Lion = "lion",
        Sgd = "sgd",
        SgdMomentum = "sgd-momentum",
        Muon = "muon",
    }
);

choice!(
    /// What is fp32 beside quantized matrices.
    Upcast {
        /// Nothing: all stay in the format of the products.
        None = "none",
        /// The norms, and with them the residual stream (`qlora.py` of Dettmers et al.; TRL's
        /// `peft_module_casting_to_bf16`).
        #[default]
        Norms = "norms",
        /// Embeddings and head too (PEFT's `prepare_model_for_kbit_training` alone).
        All = "all",
    }
);

choice!(
    /// How the optimizer's kernels walk over the parameters.
    OptimizerImplementation {
        /// One kernel for many tensors, no temporaries.
        #[default]
        Fused = "fused",
        /// Multi-tensor operations with a temporary as large as the parameters.
        Foreach = "foreach",
        /// One tensor at a time.
        Loop = "loop",
    }
);

choice!(
    /// The software that runs the step: named buffers and overheads.
    Framework {
        Pytorch = "pytorch",
        #[default]
        DeepSpeed = "deepspeed",
        Fsdp = "fsdp",
        Megatron = "megatron",
        Nanotron = "nanotron",
    }
);

choice!(
    /// Whose modules a framework runs where it has none of its own.
    Modules {
        /// Hugging Face's, one PyTorch operation at a time.
        #[default]
        HuggingFace = "hf",
        /// Megatron's layers with their fused kernels.
        Megatron = "megatron",
    }
);

choice!(
    /// How attention scores are computed.
    AttentionKernel {
        /// Tiled, scores never reach memory (FlashAttention, fused SDPA).
        #[default]
        Flash = "flash",
        /// Scores, softmax and product as separate kernels.
        Eager = "eager",
    }
);

choice!(
    /// How the loss follows from the last hidden states.
    CrossEntropy {
        /// The framework's usual kernels.
        #[default]
        Default = "default",
        /// In place over the logits in their own format, statistics of rows in fp32 (Liger Kernel,
        /// Transformer Engine).
        Fused = "fused",
        /// In place over an fp32 copy of the logits (the same kernels behind a model's own cast).
        FusedFp32 = "fused-fp32",
        /// Written out in the logits' own format: models whose code made no fp32 copy before
        /// transformers 4.46 (Qwen 1, GPTBigCode).
        Native = "native",
        /// Together with the projection to the vocabulary, some tokens at a time (Liger Kernel's
        /// fused linear cross-entropy, Hsu et al. 2024, §3.2).
        Chunked = "chunked",
    }
);

choice!(
    /// Which activations are computed again in backward instead of kept.
    Recompute {
        #[default]
        None = "none",
        /// Only the attention core, between the query, key, value projections and the output's.
        Selective = "selective",
        /// Whole layers; only their inputs are kept (Chen et al. 2016).
        Full = "full",
    }
);

choice!(
    /// The order in which a pipeline's stages work on micro-batches.
    ScheduleName {
        Gpipe = "gpipe",
        #[default]
        OneForwardOneBackward = "1f1b",
        Interleaved1f1b = "interleaved-1f1b",
        InterleavedGpipe = "interleaved-gpipe",
        InterleavedZeroBubble = "interleaved-zero-bubble",
        Zbv = "zbv",
        DualPipeV = "dualpipe-v",
        ZbH1 = "zb-h1",
        PipeDream = "pipedream",
    }
);

choice!(
    /// How FSDP shards.
    FsdpMode {
        #[default]
        FullShard = "full_shard",
        ShardGradOp = "shard_grad_op",
        Hybrid = "hybrid",
    }
);

choice!(
    /// Where a part of the training state lives beside the GPU.
    OffloadTarget {
        #[default]
        None = "none",
        Cpu = "cpu",
        Nvme = "nvme",
    }
);
