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
    Int8,
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
    /// The format of matrix products and of the activations between them.
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

    /// True for 16- or 8-bit products beside fp32 states.
    pub const fn is_mixed(self) -> bool {
        matches!(self, Self::Fp16Mixed | Self::Bf16Mixed | Self::Fp8Mixed)
    }
}

/// Which format each part of training has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The weights as they are kept between steps.
    pub stored: DType,
    /// The weights that the modules compute with; what a sharded job gathers.
    pub weights: DType,
    /// The residual stream and the norms.
    pub stream: DType,
    /// Inputs and outputs of matrix products.
    pub compute: DType,
    /// The optimizer keeps an fp32 copy of the weights.
    pub has_master: bool,
    /// The optimizer's moments.
    pub moments: DType,
}

impl Recipe {
    /// Weights in the format of the products, and a master copy where that is below fp32:
    /// DeepSpeed's and Megatron's mixed precision (Micikevicius et al. 2018, §3.1).
    pub const fn with_master(precision: Precision) -> Self {
        let compute = precision.compute();
        let moments =
            if matches!(precision, Precision::Bf16Pure) { DType::Bf16 } else { DType::Fp32 };
        let has_master = precision.is_mixed();
        Self { stored: compute, weights: compute, stream: compute, compute, has_master, moments }
    }

    /// fp32 weights whose copies PyTorch's autocast makes for each matrix product; the stream stays
    /// in fp32. The same as [`Recipe::with_master`] without mixed precision.
    pub const fn autocast(precision: Precision) -> Self {
        let recipe = Self::with_master(precision);
        if !precision.is_mixed() {
            return recipe;
        }
        let fp32 = DType::Fp32;
        Self { stored: fp32, weights: fp32, stream: fp32, has_master: false, ..recipe }
    }

    /// fp32 shards that are gathered in the format of the products: the mixed-precision policy of
    /// PyTorch's FSDP2 with `param_dtype` below fp32. The shards are what the optimizer updates, so
    /// there is no other copy. The same as [`Recipe::with_master`] without mixed precision.
    pub const fn gathered(precision: Precision) -> Self {
        let recipe = Self::with_master(precision);
        if !precision.is_mixed() {
            return recipe;
        }
        Self { stored: DType::Fp32, has_master: false, ..recipe }
    }

    /// True when matrix products read copies in another format.
    pub fn casts(self) -> bool {
        self.weights != self.compute
    }
}

impl From<Precision> for Recipe {
    fn from(precision: Precision) -> Self {
        Self::with_master(precision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_precision_keeps_two_byte_weights_and_a_master_copy() {
        for precision in [Precision::Fp16Mixed, Precision::Bf16Mixed, Precision::Fp8Mixed] {
            let recipe = Recipe::with_master(precision);
            assert_eq!((recipe.weights.bytes(), recipe.moments), (2, DType::Fp32));
            assert!(recipe.has_master && !recipe.casts());
        }
    }

    #[test]
    fn autocast_keeps_fp32_weights_and_no_copy_of_them() {
        let recipe = Recipe::autocast(Precision::Bf16Mixed);
        assert_eq!(
            (recipe.weights, recipe.stream, recipe.compute),
            (DType::Fp32, DType::Fp32, DType::Bf16)
        );
        assert!(!recipe.has_master && recipe.casts());
        assert_eq!(Recipe::autocast(Precision::Bf16Pure), Precision::Bf16Pure.into());
    }

    #[test]
    fn gathered_weights_are_fp32_shards_and_two_bytes_in_use() {
        let recipe = Recipe::gathered(Precision::Bf16Mixed);
        assert_eq!(
            (recipe.stored, recipe.weights, recipe.stream),
            (DType::Fp32, DType::Bf16, DType::Bf16)
        );
        assert!(!recipe.has_master && !recipe.casts());
        assert_eq!(Recipe::gathered(Precision::Bf16Pure), Precision::Bf16Pure.into());
    }
}
