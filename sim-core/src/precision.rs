//! Number formats, and which of them each part of training uses.

use serde::{Deserialize, Serialize};

/// A number format in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    Fp32,
    Fp16,
    Bf16,
    Fp8,
}

impl DType {
    /// The name in a scenario file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Fp8 => "fp8",
        }
    }

    /// Bytes of one number.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Fp32 => 4,
            Self::Fp16 | Self::Bf16 => 2,
            Self::Fp8 => 1,
        }
    }
}

/// The arithmetic of matrix multiplications, which decides the peak rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MathMode {
    Fp32,
    Tf32,
    Fp16,
    Bf16,
    Fp8,
}

/// How training stores and multiplies numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Everything in 32 bits.
    Fp32,
    /// As `fp32`, with matrix multiplications in TF32.
    Tf32,
    /// FP16 weights, gradients and activations with an fp32 master copy (Micikevicius et al. 2018).
    Fp16Mixed,
    /// As `fp16-mixed`, in bfloat16.
    #[default]
    Bf16Mixed,
    /// Everything in bfloat16, the optimizer's states too, without a master copy.
    Bf16Pure,
    /// As `bf16-mixed`, with matrix multiplications in FP8.
    Fp8Mixed,
}

impl Precision {
    /// The format of the weights that the layers read, and of the activations between layers.
    pub const fn compute(self) -> DType {
        match self {
            Self::Fp32 | Self::Tf32 => DType::Fp32,
            Self::Fp16Mixed => DType::Fp16,
            Self::Bf16Mixed | Self::Bf16Pure | Self::Fp8Mixed => DType::Bf16,
        }
    }

    /// The arithmetic of matrix multiplications.
    pub const fn math(self) -> MathMode {
        match self {
            Self::Fp32 => MathMode::Fp32,
            Self::Tf32 => MathMode::Tf32,
            Self::Fp16Mixed => MathMode::Fp16,
            Self::Bf16Mixed | Self::Bf16Pure => MathMode::Bf16,
            Self::Fp8Mixed => MathMode::Fp8,
        }
    }

    /// True when the optimizer keeps its own fp32 copy of the weights.
    pub const fn has_master_weights(self) -> bool {
        matches!(self, Self::Fp16Mixed | Self::Bf16Mixed | Self::Fp8Mixed)
    }

    /// The format of Adam's moments.
    pub const fn optimizer_state(self) -> DType {
        match self {
            Self::Bf16Pure => DType::Bf16,
            _ => DType::Fp32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_precision_keeps_two_byte_weights_and_a_master_copy() {
        for precision in [Precision::Fp16Mixed, Precision::Bf16Mixed, Precision::Fp8Mixed] {
            assert_eq!(precision.compute().bytes(), 2);
            assert!(precision.has_master_weights());
            assert_eq!(precision.optimizer_state(), DType::Fp32);
        }
    }
}
