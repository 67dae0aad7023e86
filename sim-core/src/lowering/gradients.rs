//! How a framework keeps and reduces gradients: named buffers and their published defaults.

use crate::hardware::Basis;
use crate::operators::{ByKind, ParameterRole, Parameters};
use crate::plan::Plan;
use crate::report::Assumption;
use crate::scenario::Framework;

/// Elements that DeepSpeed reduces at a time: `reduce_bucket_size`, default 5e8 (DeepSpeed
/// configuration reference).
const DEEPSPEED_BUCKET: u64 = 500_000_000;

/// Bytes that PyTorch's DistributedDataParallel reduces at a time: `bucket_cap_mb`, default 25.
const DDP_BUCKET_BYTES: u64 = 25 << 20;

/// Elements that Megatron's distributed data parallel reduces at a time, at least, and a million for
/// each replica (Megatron-LM, `DistributedDataParallelConfig.bucket_size`).
const MEGATRON_BUCKET: u64 = 40_000_000;

/// How gradients are kept and reduced on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GradientPolicy {
    /// Bytes of a weight, which is what ZeRO gathers.
    pub weights: u64,
    /// Bytes of a number as it is kept.
    pub kept: u64,
    /// Kept as a shard: ZeRO-2 and 3.
    pub sharded: bool,
    /// The kept buffer exists from the beginning and kernels add to it.
    pub preallocated: bool,
    /// What a micro-batch makes is kept until its backward has ended and then added to the buffer.
    pub adds_after_backward: bool,
    /// Reduced after every micro-batch, not only after the last.
    pub every_micro_batch: bool,
    /// Elements reduced at a time; [`u64::MAX`] where everything is reduced when backward has ended.
    pub bucket: u64,
    /// Bytes of bucket buffers during backward.
    pub backward_buffers: u64,
    /// Bytes of buffers that exist for the whole step.
    pub permanent_buffers: u64,
    /// Bytes of autograd's own gradients, kept beside those that the optimizer reads.
    pub own_gradients: u64,
    /// Buckets are copied out before they are reduced.
    pub copies_bucket: bool,
    /// Bytes of a number on the wire.
    pub wire: u64,
    /// Two buffers take turns: the next bucket is filled when the one before the newest has been
    /// reduced.
    pub takes_turns: bool,
}

impl GradientPolicy {
    /// The policy of a plan for a rank with `parameters` parameters.
    pub fn new(plan: &Plan, parameters: u64) -> Self {
        let weights = plan.recipe.weights.bytes();
        let kept = plan.kept_gradients().bytes();
        let sharded = plan.zero >= 2;
        let replicas = plan.replicas().common;
        let replicated = replicas > 1;
        let mut policy = Self {
            weights,
            kept,
            sharded,
            preallocated: false,
            adds_after_backward: false,
            every_micro_batch: sharded,
            bucket: DEEPSPEED_BUCKET,
            backward_buffers: 0,
            permanent_buffers: 0,
            own_gradients: 0,
            copies_bucket: false,
            wire: if sharded { weights } else { kept },
            takes_turns: false,
        };
        if plan.fsdp.is_some() {
            // Groups of parameters take the place of buckets: see `fsdp`.
            policy.wire = plan.gradient_dtype.bytes();
            return policy;
        }
        match plan.framework {
            Framework::Megatron => {
                policy.preallocated = !sharded;
                policy.bucket = MEGATRON_BUCKET.max(1_000_000 * replicas);
            }
            Framework::Nanotron => {
                // FP32GradientAccumulator: autograd's own gradients stay to the end of backward.
                policy.preallocated = kept != weights;
                policy.adds_after_backward = policy.preallocated;
                if policy.preallocated && plan.zero > 0 {
                    // Its ZeRO-1 takes the place of DistributedDataParallel and reduces in the end.
                    policy.bucket = u64::MAX;
                } else {
                    policy.bucket = DDP_BUCKET_BYTES / weights;
                    policy.permanent_buffers = parameters * weights;
                }
            }
            Framework::Pytorch | Framework::Fsdp => {
                policy.bucket = DDP_BUCKET_BYTES / kept;
                if replicated && plan.zero == 0 {
                    // The reducer's buckets are a second copy (gradient_as_bucket_view = False).
                    policy.permanent_buffers = parameters * kept;
                }
            }
            // BF16_Optimizer: autograd's gradients are cleared, not freed, beside the fp32 ones that
            // they are added to.
            Framework::DeepSpeed if kept != weights && plan.zero <= 1 => {
                policy.preallocated = true;
                policy.own_gradients = parameters * weights;
                policy.copies_bucket = replicated;
            }
            Framework::DeepSpeed => match plan.zero {
                0 => policy.copies_bucket = replicated,
                // Two flat buffers (`ipg_buffer`), whatever the model's size.
                1 | 2 => {
                    policy.backward_buffers = 2 * DEEPSPEED_BUCKET * weights;
                    policy.takes_turns = true;
                }
                _ => policy.permanent_buffers = DEEPSPEED_BUCKET * weights,
            },
        }
        policy
    }
}

/// Bytes of the tensors that stand for the gradients of matrices whose kernels add to Megatron's
/// buffer instead: Transformer Engine gives autograd one of each shape, in the weights' format, and
/// keeps it (`get_dummy_wgrad`). The head is a product of Megatron's own.
pub fn placeholder_gradients(plan: &Plan, parameters: &ByKind<Parameters>) -> u64 {
    if plan.framework != Framework::Megatron || plan.zero >= 2 {
        return 0;
    }
    let shapes = parameters.together().trainable;
    let matrices = shapes.iter().filter(|(tensor, _)| tensor.role == ParameterRole::Matrix);
    let elements: u64 = matrices.map(|(tensor, _)| tensor.elements()).sum();
    elements * plan.recipe.weights.bytes()
}

/// The buffers behind a plan's gradients: `overlap_comm` is taken as on, as DeepSpeed's tutorials
/// set it for ZeRO-1 and 2 (its own default there is off).
pub fn assumptions(plan: &Plan) -> Vec<Assumption> {
    if plan.fsdp.is_some() {
        return Vec::new();
    }
    let policy = GradientPolicy::new(plan, 0);
    let of = plan.framework.name();
    let mut list = Vec::new();
    if policy.bucket < u64::MAX {
        list.push(Assumption {
            id: "gradient-bucket",
            of,
            value: policy.bucket as f64 / 1e6,
            unit: "M elements",
            basis: Basis::Published,
            source: "the framework's default",
        });
    }
    if policy.takes_turns {
        list.push(Assumption {
            id: "overlap-comm",
            of,
            value: 1.0,
            unit: "1",
            basis: Basis::Assumed,
            source: "on as in DeepSpeed's tutorials; its default is off for ZeRO-1 and 2",
        });
    }
    list
}
