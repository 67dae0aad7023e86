//! Formats of the KV cache.

use super::Block;
use crate::model::suggest;
use crate::precision::DType;

/// How keys and values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvFormat {
    /// Numbers as they are.
    Plain(DType),
    /// One byte a number and one scale a tensor (vLLM's and TensorRT-LLM's fp8 cache).
    Fp8,
    /// Codes of so many bits; a scale and a zero point in half precision for every head of every
    /// token (LMDeploy, `docs/en/quantization/kv_quant.md`).
    Int { bits: u64 },
    /// llama.cpp's `--cache-type-k` and `--cache-type-v`.
    Gguf(Block),
}

const NAMES: &[(&str, KvFormat)] = &[
    ("fp16", KvFormat::Plain(DType::Fp16)),
    ("bf16", KvFormat::Plain(DType::Bf16)),
    ("fp32", KvFormat::Plain(DType::Fp32)),
    ("fp8", KvFormat::Fp8),
    ("int8", KvFormat::Int { bits: 8 }),
    ("int4", KvFormat::Int { bits: 4 }),
    ("q8_0", KvFormat::Gguf(Block::Q8_0)),
    ("q5_1", KvFormat::Gguf(Block::Q5_1)),
    ("q5_0", KvFormat::Gguf(Block::Q5_0)),
    ("q4_1", KvFormat::Gguf(Block::Q4_1)),
    ("q4_0", KvFormat::Gguf(Block::Q4_0)),
];

impl KvFormat {
    /// The format called `name` in a scenario.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// All names, in the order of the documentation.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// The `count` names nearest to `name`.
    pub fn suggest(name: &str, count: usize) -> Vec<&'static str> {
        suggest::nearest(name, Self::names(), count)
    }

    /// Bytes of one key or one value of `numbers` channels: a head's, or a latent.
    ///
    /// ```
    /// use sim_core::formats::KvFormat;
    /// let bytes = |name| KvFormat::parse(name).unwrap().vector_bytes(128);
    /// assert_eq!((bytes("fp16"), bytes("fp8"), bytes("q8_0"), bytes("q4_0")), (256, 128, 136, 72));
    /// assert_eq!((bytes("int8"), bytes("int4")), (132, 68));
    /// ```
    pub const fn vector_bytes(self, numbers: u64) -> u64 {
        match self {
            Self::Plain(dtype) => numbers * dtype.bytes(),
            Self::Fp8 => numbers,
            Self::Int { bits } => (numbers * bits).div_ceil(8) + 4,
            Self::Gguf(block) => block.bytes(numbers),
        }
    }

    /// True for fewer than 16 bits a number.
    pub const fn is_quantized(self) -> bool {
        !matches!(self, Self::Plain(_))
    }
}
