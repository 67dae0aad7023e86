//! How a framework keeps and reduces gradients: named buffers and their published defaults.

use crate::plan::Plan;
use crate::scenario::Framework;

/// Elements that DeepSpeed reduces at a time: `reduce_bucket_size`, default 5e8 (DeepSpeed
/// configuration reference).
const DEEPSPEED_BUCKET: u64 = 500_000_000;

/// Bytes that PyTorch's DistributedDataParallel reduces at a time: `bucket_cap_mb`, default 25.
const DDP_BUCKET_BYTES: u64 = 25 << 20;

/// Elements that Megatron's distributed data parallel reduces at a time, at least (and a million
/// for each replica).
const MEGATRON_BUCKET: u64 = 40_000_000;

/// How gradients are kept and reduced on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GradientPolicy {
    /// Bytes of a number as the kernels make it.
    pub fresh: u64,
    /// Bytes of a number as it is kept.
    pub kept: u64,
    /// Kept as a shard: ZeRO-2 and 3.
    pub sharded: bool,
    /// The kept buffer exists from the beginning and kernels add to it.
    pub preallocated: bool,
    /// Reduced after every micro-batch, not only after the last.
    pub every_micro_batch: bool,
    /// Elements reduced at a time.
    pub bucket: u64,
    /// Bytes of bucket buffers during backward.
    pub backward_buffers: u64,
    /// Bytes of buffers that exist for the whole step.
    pub permanent_buffers: u64,
    /// Buckets are copied out before they are reduced.
    pub copies_bucket: bool,
    /// Bytes of a number on the wire.
    pub wire: u64,
}

impl GradientPolicy {
    /// The policy of a plan for a rank with `parameters` parameters.
    pub fn new(plan: &Plan, parameters: u64) -> Self {
        let fresh = plan.precision.compute().bytes();
        let kept = plan.gradient_dtype.bytes();
        let sharded = plan.zero >= 2;
        let replicated = plan.dp > 1;
        let mut policy = Self {
            fresh,
            kept,
            sharded,
            preallocated: false,
            every_micro_batch: sharded,
            bucket: DEEPSPEED_BUCKET,
            backward_buffers: 0,
            permanent_buffers: 0,
            copies_bucket: false,
            wire: if sharded { fresh } else { kept },
        };
        match plan.framework {
            Framework::Megatron | Framework::Nanotron => {
                policy.preallocated = !sharded;
                policy.bucket = MEGATRON_BUCKET.max(1_000_000 * plan.dp);
            }
            Framework::Pytorch | Framework::Fsdp => {
                policy.bucket = DDP_BUCKET_BYTES / kept;
                if replicated && plan.zero == 0 {
                    // The reducer's buckets are a second copy (gradient_as_bucket_view = False).
                    policy.permanent_buffers = parameters * kept;
                }
            }
            Framework::DeepSpeed => match plan.zero {
                0 => policy.copies_bucket = replicated,
                // Two flat buffers with overlap_comm (`ipg_buffer`), whatever the model's size.
                1 | 2 => policy.backward_buffers = 2 * DEEPSPEED_BUCKET * fresh,
                _ => policy.permanent_buffers = DEEPSPEED_BUCKET * fresh,
            },
        }
        policy
    }
}
