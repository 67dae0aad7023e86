//! How the module of a model is written in Hugging Face's `transformers`, where that decides what
//! autograd keeps.

use serde::{Deserialize, Serialize};

/// Facts about a module's code (transformers 5.24) that its sizes do not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Query, key and value are slices of one product: none is freed while another is needed.
    pub one_qkv_product: bool,
    /// Gate and up are slices of one product.
    pub one_gate_up_product: bool,
    /// Separate attention kernels compute the softmax in fp32 and cast it back.
    pub fp32_softmax: bool,
    /// The loss is computed from an fp32 copy of the logits.
    pub fp32_loss: bool,
    /// Rotated queries are joined from parts, head by head: fused attention's output then has their
    /// layout, and the output projection reads a copy.
    pub joins_rotated: bool,
    /// The weight of an RMS norm multiplies in fp32, before the cast to the stream's format, instead of
    /// after it.
    pub fp32_norm_product: bool,
    /// Attention scores and logits pass through a tanh that bounds them.
    pub soft_caps: bool,
    /// Attention and MLP read the same stream, each through its norm, and one sum follows both.
    pub parallel_blocks: bool,
    /// Dropout acts on the attention's weights.
    pub drops_attention: bool,
    /// Dropout acts on the embedding's output.
    pub drops_embedding: bool,
}

impl Module {
    /// Llama and what follows its code: Mistral, Qwen, StarCoder2.
    pub const LLAMA: Self = Self {
        one_qkv_product: false,
        one_gate_up_product: false,
        fp32_softmax: true,
        fp32_loss: true,
        joins_rotated: false,
        fp32_norm_product: false,
        soft_caps: false,
        parallel_blocks: false,
        drops_attention: true,
        drops_embedding: true,
    };

    /// One product for query, key and value, one for gate and up (Phi-3, ChatGLM).
    pub const PHI3: Self = Self { one_qkv_product: true, ..Self::GLM };

    /// One product for gate and up alone (GLM-4).
    pub const GLM: Self = Self { one_gate_up_product: true, joins_rotated: true, ..Self::LLAMA };

    /// One product for query, key and value.
    pub const BLOOM: Self = Self { one_qkv_product: true, ..Self::LLAMA };

    /// BLOOM with rotary positions on a part of each head.
    pub const NEOX: Self = Self { joins_rotated: true, ..Self::BLOOM };

    /// The same, with attention and MLP side by side where the configuration says so.
    pub const fn parallel(self, parallel_blocks: bool) -> Self {
        Self { parallel_blocks, ..self }
    }

    /// As BLOOM, with a softmax in the format of its input (GPT-2, Falcon).
    pub const GPT2: Self = Self { fp32_softmax: false, ..Self::BLOOM };

    /// Gemma's norms multiply by one and the weight in fp32.
    pub const GEMMA: Self = Self { fp32_norm_product: true, ..Self::LLAMA };

    /// Gemma, with bounds on scores and logits (Gemma Team 2024, §2).
    pub const GEMMA2: Self = Self { soft_caps: true, ..Self::GEMMA };

    /// No dropout on the embedding (Zhang et al. 2022, §2.2) nor, by default, on the attention's
    /// weights.
    pub const OPT: Self = Self { drops_attention: false, drops_embedding: false, ..Self::LLAMA };

    /// Softmax and loss in the format of their input.
    pub const BERT: Self = Self { fp32_softmax: false, fp32_loss: false, ..Self::LLAMA };
}
