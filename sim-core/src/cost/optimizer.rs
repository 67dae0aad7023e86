//! The optimizer step: what it moves, what it computes, and the memory that it needs for itself.

use crate::memory::{Moments, StateBytes};
use crate::operators::{
    ByKind, Engine, ParameterKind, ParameterRole, ParameterTensor, Parameters, Work,
};
use crate::plan::Plan;
use crate::scenario::{Framework, Optimizer, OptimizerImplementation};

/// Parameters that DeepSpeed's ZeRO-3 steps over at a time: `sub_group_size`, default 1e9
/// (DeepSpeed configuration reference).
const DEEPSPEED_SUB_GROUP: u64 = 1_000_000_000;

/// Newton–Schulz iterations of a Muon step (Jordan et al. 2024; `ns_steps` of `torch.optim.Muon`).
const NEWTON_SCHULZ_STEPS: u64 = 5;

/// How a plan steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimizerStep {
    optimizer: Optimizer,
    implementation: OptimizerImplementation,
    states: StateBytes,
    /// Ranks that the optimizer states of each kind of parameters are sharded over.
    shards: ByKind<u64>,
    /// Gradients are cast to fp32 for the whole shard.
    casts_gradients: bool,
    /// They are copied into one 16-bit tensor before the cast (DeepSpeed's
    /// `DeepSpeedZeroOptimizer.step`, ZeRO-1 and 2).
    flattens_gradients: bool,
    /// Parameters stepped over at a time, where not all at once.
    group: Option<u64>,
}

/// An optimizer written out in tensor operations, against one fused kernel.
struct Unfused {
    /// Bytes moved, as a multiple of the fused kernel's.
    passes: f64,
    /// Kernels for a tensor.
    kernels: f64,
}

impl OptimizerStep {
    pub fn new(plan: &Plan, states: StateBytes) -> Self {
        Self {
            optimizer: plan.optimizer,
            implementation: plan.optimizer_implementation,
            states,
            shards: if plan.sharding_stage() >= 1 {
                plan.shards()
            } else {
                ByKind { common: 1, routed: 1 }
            },
            casts_gradients: plan.recipe.has_master && plan.gradient_dtype.bytes() < 4,
            flattens_gradients: plan.framework == Framework::DeepSpeed
                && (1..=2).contains(&plan.zero)
                && plan.recipe.has_master
                && plan.gradient_dtype.bytes() < 4,
            group: (plan.framework == Framework::DeepSpeed && plan.zero >= 3)
                .then_some(DEEPSPEED_SUB_GROUP),
        }
    }

    /// Bytes of the numbers that the optimizer updates.
    fn updated(&self) -> u64 {
        if self.states.optimizer.master > 0 { 4 } else { self.states.weights }
    }

    fn is_flat(&self, shards: u64) -> bool {
        self.states.optimizer.flat || shards > 1
    }

    /// The parameters that are sharded over as many ranks, with those ranks.
    fn parts(&self, parameters: &ByKind<Parameters>) -> Vec<(Parameters, u64)> {
        if self.shards.common == self.shards.routed {
            return vec![(parameters.together(), self.shards.common)];
        }
        let of = |kind| (parameters.of(kind).clone(), *self.shards.of(kind));
        ParameterKind::ALL.map(of).into_iter().filter(|(part, _)| part.trained() > 0).collect()
    }

    /// The kernels of a step over all parameters.
    pub fn work(&self, parameters: &ByKind<Parameters>) -> Vec<Work> {
        let parts = self.parts(parameters);
        parts.iter().flat_map(|(part, shards)| self.work_of(part, *shards)).collect()
    }

    /// Names and bytes of what a step over all parameters needs for itself.
    pub fn temporaries(&self, parameters: &ByKind<Parameters>) -> Vec<(&'static str, u64)> {
        let mut all: Vec<(&'static str, u64)> = Vec::new();
        for (part, shards) in self.parts(parameters) {
            for (name, bytes) in self.temporaries_of(&part, shards) {
                match all.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, sum)) => *sum += bytes,
                    None => all.push((name, bytes)),
                }
            }
        }
        all
    }

    /// The kernels of a step: those that stream, and the products of Muon.
    ///
    /// A fused kernel reads the gradient, reads and writes all states and writes the weights: for Adam
    /// with a master copy 2 + 2·12 + 2 = 28 bytes a parameter with two-byte gradients and weights.
    fn work_of(&self, parameters: &Parameters, shards: u64) -> Vec<Work> {
        let shard = parameters.trained().div_ceil(shards);
        let own = self.states.optimizer.bytes(parameters, shards);
        let weights_read = if self.states.optimizer.master > 0 { 0 } else { self.states.weights };
        let each = self.states.gradients + self.states.weights + weights_read;
        let fused = Work::stream(each * shard + 2 * own, 1);
        let tensors = if self.is_flat(shards) { 1 } else { parameters.tensors() } as f64;
        let mut work = vec![match (self.unfused(), self.implementation) {
            (None, _) | (_, OptimizerImplementation::Fused) => fused,
            (Some(unfused), OptimizerImplementation::Foreach) => {
                Work { bytes: fused.bytes * unfused.passes, launches: unfused.kernels, ..fused }
            }
            (Some(unfused), OptimizerImplementation::Loop) => Work {
                bytes: fused.bytes * unfused.passes,
                launches: unfused.kernels * tensors,
                ..fused
            },
        }];
        match self.states.optimizer.moments {
            Moments::EightBit => work[0].launches = tensors,
            Moments::Factored => work[0] = self.factored(shard, tensors),
            Moments::Orthogonalized(_) => work.push(newton_schulz(parameters)),
            Moments::PerParameter(_) => {}
        }
        work
    }

    /// What one tensor operation at a time costs; `None` where there is one implementation.
    ///
    /// Counted in fp32 from the operations that each writes out, of which a fused kernel moves 28
    /// (AdamW), 20 (one moment) or 12 (none) bytes a parameter.
    fn unfused(&self) -> Option<Unfused> {
        match self.optimizer {
            // Two moment updates of 12 and 20, square root 8, division 8, sum 8, update 16, decay 8:
            // PyTorch's `_multi_tensor_adamw`.
            Optimizer::AdamW => Some(Unfused { passes: 80.0 / 28.0, kernels: 9.0 }),
            // Decay 8, clone 8, product 8, sum 12, sign 8, update 12, moment 8 and 12: lucidrains'
            // `lion-pytorch`.
            Optimizer::Lion => Some(Unfused { passes: 76.0 / 20.0, kernels: 8.0 }),
            // Momentum 8 and 12, update 12: PyTorch's `_multi_tensor_sgd`.
            Optimizer::SgdMomentum => Some(Unfused { passes: 32.0 / 20.0, kernels: 3.0 }),
            Optimizer::Sgd => Some(Unfused { passes: 1.0, kernels: 1.0 }),
            Optimizer::AdamW8bit | Optimizer::Adafactor | Optimizer::Muon => None,
        }
    }

    /// Adafactor, always written out one tensor at a time: square 8, epsilon 8, two means 8, product
    /// of their roots 4, times gradient 12, its norm 4, clipping 8, learning rate 8, norm of the
    /// weights 4, update 12 bytes a parameter in fp32, and casts of gradient and weight to fp32 and
    /// back where they have 16 bits (Hugging Face's `Adafactor`).
    fn factored(&self, shard: u64, tensors: f64) -> Work {
        const WRITTEN_OUT: u64 = 76;
        const KERNELS: f64 = 17.0;
        let cast = |bytes: u64| if bytes < 4 { bytes + 4 } else { 0 };
        let own = if self.states.optimizer.master > 0 { 0 } else { 2 * cast(self.states.weights) };
        let bytes = WRITTEN_OUT + cast(self.states.gradients) + own;
        Work { launches: KERNELS * tensors, ..Work::stream(bytes * shard, 1) }
    }

    /// Names and bytes of what a step over `parameters` needs for itself.
    ///
    /// With a master copy the gradients are cast to fp32 for the whole shard (DeepSpeed's and Apex's
    /// `fp32_groups_flat.grad`); multi-tensor implementations make a temporary as large as what they
    /// update, loops one for the tensor at hand.
    fn temporaries_of(&self, parameters: &Parameters, shards: u64) -> Vec<(&'static str, u64)> {
        let shard = parameters.trained().div_ceil(shards);
        let at_once = self.group.map_or(shard, |group| shard.min(group));
        let largest = if self.is_flat(shards) { at_once } else { parameters.largest() };
        let each = self.updated();
        let mut temporaries = Vec::new();
        if self.casts_gradients {
            temporaries.push(("fp32-gradients", 4 * at_once));
        }
        if self.flattens_gradients {
            temporaries.push(("flat-gradients", self.states.gradients * at_once));
        }
        let written_out = match (self.optimizer, self.implementation) {
            (Optimizer::Adafactor, _) => {
                // The squares, and the update that replaces them; fp32 copies of gradient and weight
                // where they have 16 bits.
                let wide = |bytes: u64| if bytes < 4 { 4 } else { 0 };
                let gradient = if self.casts_gradients { 0 } else { wide(self.states.gradients) };
                (8 + gradient + wide(each)) * largest
            }
            (Optimizer::Muon, _) => self.orthogonalization(parameters),
            (Optimizer::AdamW | Optimizer::Lion, OptimizerImplementation::Foreach) => {
                each * at_once
            }
            // AdamW: the root of the second moment and its quotient; Lion: the copied moment and the
            // update.
            (Optimizer::AdamW | Optimizer::Lion, OptimizerImplementation::Loop) => {
                2 * each * largest
            }
            _ => 0,
        };
        if written_out > 0 {
            temporaries.push(("optimizer-temporary", written_out));
        }
        temporaries
    }

    /// Muon's temporaries for the matrix that needs most: Nesterov's update, two 16-bit copies of it
    /// and two squares of its smaller side (`torch.optim.Muon`).
    fn orthogonalization(&self, parameters: &Parameters) -> u64 {
        let update = if self.casts_gradients { 4 } else { self.states.gradients };
        let of = |tensor: &ParameterTensor| {
            let small = tensor.rows.min(tensor.columns);
            (update + 2 * 2) * tensor.elements() + 2 * 2 * small * small
        };
        let matrices =
            parameters.trainable.iter().filter(|(tensor, _)| tensor.role == ParameterRole::Matrix);
        matrices.map(|(tensor, _)| of(tensor)).max().unwrap_or(0)
    }
}

/// The products of Muon: in each iteration X·Xᵀ, its square and their product with X, 4·m²·k + 2·m³
/// operations for a matrix of sides m ≤ k in 16 bits (Jordan et al. 2024).
fn newton_schulz(parameters: &Parameters) -> Work {
    let mut work = Work::of(Engine::Gemm, 0.0, 0.0, 0.0);
    for (tensor, count) in &parameters.trainable {
        if tensor.role != ParameterRole::Matrix {
            continue;
        }
        let (small, large) = (tensor.rows.min(tensor.columns), tensor.rows.max(tensor.columns));
        let times = (count * NEWTON_SCHULZ_STEPS) as f64;
        let (m, k) = (small as f64, large as f64);
        work.flops += times * (4.0 * m * m * k + 2.0 * m * m * m);
        // X is read three times and written once, the square of its small side read and written
        // three times each.
        work.bytes += times * 2.0 * (4.0 * m * k + 6.0 * m * m);
        work.launches += times * 3.0;
    }
    work
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_of_newton_schulz_is_three_products() {
        let mut parameters = Parameters::flat(10);
        parameters.add_tensors(ParameterTensor::matrix(200, 100), 2);
        let work = newton_schulz(&parameters);
        let products = 2.0 * 100.0 * 100.0 * 200.0 * 2.0 + 2.0 * 100.0 * 100.0 * 100.0;
        assert_eq!(work.flops, 2.0 * 5.0 * products);
        assert_eq!(work.launches, 30.0);
    }
}
