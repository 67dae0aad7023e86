//! What the driver, the libraries and the allocator take beside allocated tensors.

use crate::quantity::Bytes;
use crate::report::{Assumption, Basis};

/// Share of reserved memory that is allocated at the peak; the rest is fragmentation.
///
/// SimuMax 1.2 uses 0.94 for PyTorch's caching allocator under Megatron.
pub const FRAGMENTATION: Assumption = Assumption {
    id: "allocated-share-of-reserved",
    of: "",
    value: 0.94,
    unit: "1",
    basis: Basis::Published,
    source: "SimuMax 1.2, reserve factor of its memory model",
};

/// Bytes reserved for a byte of training that comes and goes; what is there from the first step to the
/// last lies in few large blocks, which do not fragment.
pub const RESERVED_PER_LIVE_BYTE: Assumption = Assumption {
    id: "reserved-per-live-byte",
    of: "",
    value: 1.3,
    unit: "1",
    basis: Basis::Published,
    source: "SimuMax 1.2, reserved beside allocated memory of its six dense runs; growth by \
             micro-batch of BigScience's and nanotron's runs",
};

/// What PyTorch's allocator has reserved when `allocated` bytes are its highest fill, of which
/// `permanent` are there before the step begins.
///
/// ```
/// use sim_core::memory::reserved_bytes;
/// use sim_core::quantity::Bytes;
///
/// // 10 GiB of weights and optimizer states, 5 GiB of activations: 10 + 1.3 · 5.
/// let reserved = reserved_bytes(Bytes::gib(15.0), Bytes::gib(10.0));
/// assert_eq!(reserved.as_gib(), 16.5);
/// ```
pub fn reserved_bytes(allocated: Bytes, permanent: Bytes) -> Bytes {
    permanent + (allocated - permanent) * RESERVED_PER_LIVE_BYTE.value
}

/// The CUDA context of a process with PyTorch's kernels loaded.
const CONTEXT: Assumption = Assumption {
    id: "cuda-context",
    of: "",
    value: 500.0,
    unit: "MiB",
    basis: Basis::Assumed,
    source: "typical of driver and kernel images; grows with the number of loaded kernels",
};

/// Buffers of NCCL's communicators for two ranks.
const NCCL_TWO_RANKS: Assumption = Assumption {
    id: "nccl-buffers",
    of: "",
    value: 342.0,
    unit: "MiB",
    basis: Basis::Published,
    source: "ai-dynamo/aiconfigurator, measured NCCL memory, 2 GPUs",
};

/// Buffers of NCCL's communicators for four and more ranks.
const NCCL_MORE_RANKS: Assumption = Assumption {
    id: "nccl-buffers",
    of: "",
    value: 392.0,
    unit: "MiB",
    basis: Basis::Published,
    source: "ai-dynamo/aiconfigurator, measured NCCL memory, 4 to 8 GPUs",
};

/// Memory of a process that no tensor accounts for.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeMemory {
    pub bytes: Bytes,
    /// The constants that it adds up.
    pub assumptions: Vec<Assumption>,
}

/// The runtime's memory on each of `devices` GPUs of one job.
pub fn runtime_memory(devices: u64) -> RuntimeMemory {
    let mut assumptions = vec![CONTEXT];
    match devices {
        0 | 1 => {}
        2 | 3 => assumptions.push(NCCL_TWO_RANKS),
        _ => assumptions.push(NCCL_MORE_RANKS),
    }
    let mebibytes = assumptions.iter().map(|a| a.value).sum();
    RuntimeMemory { bytes: Bytes::mib(mebibytes), assumptions }
}
