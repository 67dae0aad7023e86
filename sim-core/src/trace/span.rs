//! Spans of the timeline.

use crate::engine::TaskId;

/// What a queue of operations runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneKind {
    /// The GPU's compute stream.
    Compute,
    /// Collectives of the tensor-parallel group.
    TensorParallel,
    /// Tokens on their way to experts and back.
    ExpertParallel,
    /// Keys and values on their way around the ranks that split a sequence.
    ContextParallel,
    /// Collectives of the data-parallel group.
    DataParallel,
    /// Collectives between the ranks that hold the same shard (FSDP's hybrid mode).
    Replicas,
    /// Activations sent to the next pipeline stage.
    PipelineForward,
    /// Gradients sent to the previous pipeline stage.
    PipelineBackward,
}

impl LaneKind {
    /// All of them, in the order in which the lanes of a rank stand.
    pub const ALL: [Self; 8] = [
        Self::Compute,
        Self::TensorParallel,
        Self::ExpertParallel,
        Self::ContextParallel,
        Self::DataParallel,
        Self::Replicas,
        Self::PipelineForward,
        Self::PipelineBackward,
    ];

    /// True for collectives and messages among the ranks of a stage.
    pub const fn is_group(self) -> bool {
        matches!(
            self,
            Self::TensorParallel
                | Self::ExpertParallel
                | Self::ContextParallel
                | Self::DataParallel
                | Self::Replicas
        )
    }

    /// The name in the keys of texts: `lane.<name>`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::TensorParallel => "tensor-parallel",
            Self::ExpertParallel => "expert-parallel",
            Self::ContextParallel => "context-parallel",
            Self::DataParallel => "data-parallel",
            Self::Replicas => "replicas",
            Self::PipelineForward => "pipeline-forward",
            Self::PipelineBackward => "pipeline-backward",
        }
    }
}

/// What part of the step an operation belongs to; it decides the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Forward,
    /// Gradients of activations, and of parameters where they come along.
    Backward,
    /// Gradients of a matrix, a product of its own.
    WeightGradient,
    /// Forward again, inside backward.
    Recompute,
    Optimizer,
    AllReduce,
    ReduceScatter,
    AllGather,
    AllToAll,
    SendReceive,
}

impl Phase {
    pub const ALL: [Self; 10] = [
        Self::Forward,
        Self::Backward,
        Self::WeightGradient,
        Self::Recompute,
        Self::Optimizer,
        Self::AllReduce,
        Self::ReduceScatter,
        Self::AllGather,
        Self::AllToAll,
        Self::SendReceive,
    ];

    /// The name in the keys of texts and colours: `phase.<name>`, `--phase-<name>`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::WeightGradient => "weight-gradient",
            Self::Recompute => "recompute",
            Self::Optimizer => "optimizer",
            Self::AllReduce => "all-reduce",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllGather => "all-gather",
            Self::AllToAll => "all-to-all",
            Self::SendReceive => "send-receive",
        }
    }

    /// True for communication.
    pub const fn is_communication(self) -> bool {
        matches!(
            self,
            Self::AllReduce
                | Self::ReduceScatter
                | Self::AllGather
                | Self::AllToAll
                | Self::SendReceive
        )
    }
}

/// The resource that an operation's duration is bound by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// Arithmetic.
    Compute,
    /// Memory bandwidth.
    Memory,
    /// Launching the kernel.
    Launch,
    /// A link's bandwidth.
    Bandwidth,
    /// A link's latency.
    Latency,
}

impl Bound {
    /// The name in the keys of texts: `bound.<name>`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Launch => "launch",
            Self::Bandwidth => "bandwidth",
            Self::Latency => "latency",
        }
    }
}

/// How a duration was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pricing {
    /// Between timings of the same operator on the same GPU.
    Interpolated,
    /// Beyond them, from what was fitted to them.
    Extrapolated,
    /// From rates and shares of them.
    Formula,
}

impl Pricing {
    /// The name in the keys of texts: `pricing.<name>`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interpolated => "interpolated",
            Self::Extrapolated => "extrapolated",
            Self::Formula => "formula",
        }
    }
}

/// An operation as it runs on one rank; all its spans share it.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationInfo {
    /// Key of its text: `operation.<name>`.
    pub name: &'static str,
    pub phase: Phase,
    /// Floating-point operations on this rank.
    pub flops: f64,
    /// Bytes that pass through the device's memory, or over the link for communication.
    pub bytes: f64,
    /// Seconds.
    pub duration: f64,
    pub bound: Bound,
    pub pricing: Pricing,
}

/// One operation at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span<'a> {
    pub task: TaskId,
    /// Index of its lane.
    pub lane: usize,
    /// Seconds from the step's beginning.
    pub start: f64,
    pub end: f64,
    pub operation: &'a OperationInfo,
    pub layer: Option<u32>,
    pub micro_batch: Option<u32>,
}
