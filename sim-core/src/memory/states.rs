//! Model states: weights, gradients and optimizer states by ZeRO stage.

use crate::operators::{ByKind, ParameterRole, ParameterTensor, Parameters};
use crate::precision::{DType, Recipe};
use crate::report::ModelStateBytes;
use crate::scenario::Optimizer;

/// How each model state is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateBytes {
    /// Bytes of a trainable weight.
    pub weights: u64,
    /// Bytes of a gradient.
    pub gradients: u64,
    pub optimizer: OptimizerStates,
}

/// What an optimizer keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimizerStates {
    /// Bytes of the fp32 master copy of a parameter.
    pub master: u64,
    pub moments: Moments,
    /// The optimizer sees flat buffers instead of tensors with their shapes: under ZeRO, and where
    /// an fp32 master copy is one buffer (DeepSpeed's and Apex's `fp32_groups_flat`).
    pub flat: bool,
}

/// What an optimizer keeps beside the master copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moments {
    /// So many bytes for each parameter.
    PerParameter(u64),
    /// Two 8-bit moments with an fp32 scale for each block (Dettmers et al. 2022; bitsandbytes);
    /// small tensors stay in fp32.
    EightBit,
    /// fp32 sums over rows and over columns of the squared gradients of a matrix (Shazeer and Stern
    /// 2018, §3); of a vector all of them.
    Factored,
    /// One number for each parameter of a matrix, two for all others, in so many bytes (Jordan et al.
    /// 2024; tables and vectors are AdamW's).
    Orthogonalized(u64),
}

/// Number of parameters that share a scale in 8-bit Adam (bitsandbytes, `blocksize` of its
/// block-wise kernels since 0.44; 2048 before).
const EIGHT_BIT_BLOCK: u64 = 256;

/// Tensors with fewer elements keep fp32 states (bitsandbytes, `min_8bit_size`).
const EIGHT_BIT_LEAST: u64 = 4096;

/// What `optimizer` keeps, of tensors with their shapes.
///
/// AdamW keeps two moments, Lion and SGD with momentum one, SGD none.
pub fn optimizer_states(optimizer: Optimizer, recipe: impl Into<Recipe>) -> OptimizerStates {
    let recipe = recipe.into();
    let number = recipe.moments.bytes();
    let moments = match optimizer {
        Optimizer::AdamW => Moments::PerParameter(2 * number),
        Optimizer::AdamW8bit => Moments::EightBit,
        Optimizer::Lion | Optimizer::SgdMomentum => Moments::PerParameter(number),
        Optimizer::Sgd => Moments::PerParameter(0),
        Optimizer::Adafactor => Moments::Factored,
        Optimizer::Muon => Moments::Orthogonalized(number),
    };
    let master = if recipe.has_master { 4 } else { 0 };
    OptimizerStates { master, moments, flat: false }
}

impl OptimizerStates {
    /// Bytes for `parameters`, or for the fullest of `shards` equal shards of them.
    pub fn bytes(self, parameters: &Parameters, shards: u64) -> u64 {
        let shard = parameters.trained().div_ceil(shards);
        let moments = if self.flat || shards > 1 {
            match self.moments {
                Moments::Orthogonalized(number) => {
                    let matrices = parameters.in_matrices();
                    let others = parameters.trained() - matrices;
                    (number * matrices + 2 * number * others).div_ceil(shards)
                }
                _ => self.moments.of(ParameterTensor::vector(shard)),
            }
        } else {
            let each = |(tensor, count): &(ParameterTensor, u64)| self.moments.of(*tensor) * count;
            parameters.trainable.iter().map(each).sum()
        };
        self.master * shard + moments
    }
}

impl Moments {
    /// Bytes for one tensor.
    fn of(self, tensor: ParameterTensor) -> u64 {
        let elements = tensor.elements();
        match self {
            Self::PerParameter(bytes) => bytes * elements,
            Self::EightBit if elements < EIGHT_BIT_LEAST => 8 * elements,
            Self::EightBit => 2 * elements + 8 * elements.div_ceil(EIGHT_BIT_BLOCK),
            Self::Factored if tensor.role == ParameterRole::Vector => 4 * elements,
            Self::Factored => 4 * (tensor.rows + tensor.columns),
            Self::Orthogonalized(number) if tensor.role == ParameterRole::Matrix => {
                number * elements
            }
            Self::Orthogonalized(number) => 2 * number * elements,
        }
    }
}

impl StateBytes {
    /// What a recipe and an optimizer need.
    pub fn new(recipe: impl Into<Recipe>, gradient: DType, optimizer: Optimizer) -> Self {
        let recipe = recipe.into();
        Self {
            weights: recipe.stored.bytes(),
            gradients: gradient.bytes(),
            optimizer: optimizer_states(optimizer, recipe),
        }
    }
}

/// What a rank keeps of the model states of its `parameters` (its tensor-parallel and pipeline
/// share) at ZeRO stage `zero` over `dp` replicas.
///
/// With Ψ parameters, mixed precision and Adam: 16Ψ, 4Ψ + 12Ψ/N, 2Ψ + 14Ψ/N and 16Ψ/N bytes for
/// stages 0 to 3 (Rajbhandari et al. 2020, §5, Figure 1). Shards are rounded up to whole
/// parameters.
///
/// ```
/// use sim_core::memory::{StateBytes, model_states};
/// use sim_core::precision::{DType, Precision};
/// use sim_core::scenario::Optimizer;
///
/// let bytes = StateBytes::new(Precision::Bf16Mixed, DType::Bf16, Optimizer::AdamW);
/// // 7.5 billion parameters over 64 GPUs: 120, 31.4, 16.6 and 1.9 GB.
/// let gb = |zero| model_states(bytes, 7_500_000_000, 64, zero).total() as f64 / 1e9;
/// assert_eq!(gb(0), 120.0);
/// assert!((gb(1) - 31.4).abs() < 0.05);
/// assert!((gb(2) - 16.6).abs() < 0.05);
/// assert!((gb(3) - 1.9).abs() < 0.05);
/// ```
pub fn model_states(bytes: StateBytes, parameters: u64, dp: u64, zero: u64) -> ModelStateBytes {
    held_states(bytes, &Parameters::flat(parameters), dp, zero)
}

/// As [`model_states`] for parameters with their shapes, some of them frozen: those have weights
/// only.
pub fn held_states(
    bytes: StateBytes,
    parameters: &Parameters,
    dp: u64,
    zero: u64,
) -> ModelStateBytes {
    let dp = dp.max(1);
    let shards = |from: u64| if zero >= from { dp } else { 1 };
    let trained = |from: u64| parameters.trained().div_ceil(shards(from));
    ModelStateBytes {
        weights: bytes.weights * trained(3) + parameters.frozen_bytes.div_ceil(shards(3)),
        gradients: bytes.gradients * trained(2),
        optimizer: bytes.optimizer.bytes(parameters, shards(1)),
    }
}

/// As [`held_states`] when routed experts are on `ranks.routed` ranks and the rest on
/// `ranks.common`: each kind is sharded over the ranks that hold it (Megatron's expert data
/// parallelism; Singh et al. 2023 (DeepSpeed-TED)).
pub fn held_by_kind(
    bytes: StateBytes,
    parameters: &ByKind<Parameters>,
    ranks: ByKind<u64>,
    zero: u64,
) -> ModelStateBytes {
    let common = held_states(bytes, &parameters.common, ranks.common, zero);
    let routed = held_states(bytes, &parameters.routed, ranks.routed, zero);
    ModelStateBytes {
        weights: common.weights + routed.weights,
        gradients: common.gradients + routed.gradients,
        optimizer: common.optimizer + routed.optimizer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precision::Precision;

    /// Rajbhandari et al. 2020, Table 1: GB per device of 7.5B, 128B and 1T parameters by data-
    /// parallel degree, for stages 1, 2 and 3.
    #[test]
    fn zero_table_1() {
        let table: [(u64, [[f64; 3]; 3]); 6] = [
            (1, [[120.0, 120.0, 120.0], [2048.0, 2048.0, 2048.0], [16000.0, 16000.0, 16000.0]]),
            (4, [[52.5, 41.3, 30.0], [896.0, 704.0, 512.0], [7000.0, 5500.0, 4000.0]]),
            (16, [[35.6, 21.6, 7.5], [608.0, 368.0, 128.0], [4750.0, 2875.0, 1000.0]]),
            (64, [[31.4, 16.6, 1.88], [536.0, 284.0, 32.0], [4187.0, 2218.0, 250.0]]),
            (256, [[30.4, 15.4, 0.47], [518.0, 263.0, 8.0], [4046.0, 2054.0, 62.5]]),
            (1024, [[30.1, 15.1, 0.12], [513.0, 257.0, 2.0], [4011.0, 2013.0, 15.6]]),
        ];
        let bytes = StateBytes::new(Precision::Fp16Mixed, DType::Fp16, Optimizer::AdamW);
        for (dp, rows) in table {
            let models = [7_500_000_000_u64, 128_000_000_000, 1_000_000_000_000];
            for (parameters, row) in models.into_iter().zip(rows) {
                for (zero, printed) in (1..=3).zip(row) {
                    let gb = model_states(bytes, parameters, dp, zero).total() as f64 / 1e9;
                    // The paper prints three to four digits and truncates some (4187.5 as 4187).
                    let last_digit = if printed >= 100.0 {
                        1.0
                    } else if printed >= 10.0 {
                        0.1
                    } else {
                        0.01
                    };
                    assert!((gb - printed).abs() < last_digit, "{dp} {zero}: {gb} {printed}");
                }
            }
        }
    }

    #[test]
    fn llama_2_7b_on_eight_gpus_to_the_byte() {
        let bytes = StateBytes::new(Precision::Bf16Mixed, DType::Bf16, Optimizer::AdamW);
        let psi = 6_738_415_616;
        let total = |zero| model_states(bytes, psi, 8, zero).total();
        assert_eq!(total(0), 16 * psi);
        assert_eq!(total(1), 4 * psi + 12 * psi / 8);
        assert_eq!(total(2), 2 * psi + 14 * psi / 8);
        assert_eq!(total(3), 16 * psi / 8);
    }

    #[test]
    fn bytes_per_parameter_by_recipe() {
        let per_parameter = |precision, gradient, optimizer| {
            let bytes = StateBytes::new(precision, gradient, optimizer);
            model_states(bytes, 1 << 20, 1, 0).total() as f64 / f64::from(1 << 20)
        };
        use Optimizer::{AdamW, AdamW8bit, Lion, Sgd, SgdMomentum};
        assert_eq!(per_parameter(Precision::Fp32, DType::Fp32, AdamW), 16.0);
        assert_eq!(per_parameter(Precision::Bf16Mixed, DType::Fp32, AdamW), 18.0);
        assert_eq!(per_parameter(Precision::Bf16Pure, DType::Bf16, AdamW), 8.0);
        assert_eq!(per_parameter(Precision::Bf16Mixed, DType::Bf16, Lion), 12.0);
        assert_eq!(per_parameter(Precision::Bf16Mixed, DType::Bf16, SgdMomentum), 12.0);
        assert_eq!(per_parameter(Precision::Bf16Mixed, DType::Bf16, Sgd), 8.0);
        assert_eq!(per_parameter(Precision::Bf16Pure, DType::Bf16, AdamW8bit), 6.03125);
    }

    /// By hand for one matrix `[4096, 1024]` and one vector `[1024]`.
    #[test]
    fn states_follow_from_the_shapes() {
        let mut parameters = Parameters::default();
        parameters.add_tensors(ParameterTensor::matrix(4096, 1024), 1);
        parameters.add_tensors(ParameterTensor::vector(1024), 1);
        let of = |optimizer, flat| {
            let states = optimizer_states(optimizer, Precision::Fp32);
            OptimizerStates { flat, ..states }.bytes(&parameters, 1)
        };
        let (matrix, vector) = (4096 * 1024, 1024);
        assert_eq!(of(Optimizer::Adafactor, false), 4 * (4096 + 1024) + 4 * vector);
        assert_eq!(of(Optimizer::Adafactor, true), 4 * (matrix + vector));
        assert_eq!(of(Optimizer::Muon, false), 4 * matrix + 8 * vector);
        assert_eq!(of(Optimizer::AdamW8bit, false), 2 * matrix + 8 * matrix / 256 + 8 * vector);
        assert_eq!(of(Optimizer::AdamW, false), 8 * (matrix + vector));
    }
}
