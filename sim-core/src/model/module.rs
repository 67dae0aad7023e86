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
        drops_attention: true,
        drops_embedding: true,
    };

    /// One product for query, key and value, one for gate and up (Phi-3, ChatGLM).
    pub const PHI3: Self = Self { one_qkv_product: true, one_gate_up_product: true, ..Self::LLAMA };

    /// One product for gate and up alone (GLM-4).
    pub const GLM: Self = Self { one_gate_up_product: true, ..Self::LLAMA };

    /// One product for query, key and value (BLOOM, GPT-NeoX).
    pub const BLOOM: Self = Self { one_qkv_product: true, ..Self::LLAMA };

    /// As BLOOM, with a softmax in the format of its input (GPT-2, Falcon).
    pub const GPT2: Self = Self { fp32_softmax: false, ..Self::BLOOM };

    /// No dropout on the embedding (Zhang et al. 2022, §2.2) nor, by default, on the attention's
    /// weights.
    pub const OPT: Self = Self { drops_attention: false, drops_embedding: false, ..Self::LLAMA };

    /// Softmax and loss in the format of their input.
    pub const BERT: Self = Self { fp32_softmax: false, fp32_loss: false, ..Self::LLAMA };
}
