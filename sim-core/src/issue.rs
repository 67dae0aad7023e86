//! What is wrong, pointless or worth knowing about a scenario: data without prose.
//!
//! The page and the command line turn an issue into a sentence with the text `issue.<code>` of
//! their language, filled with [`Issue::values`].

use crate::scenario::Edit;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Nothing is wrong; something is worth knowing.
    Note,
    /// It is computed, but does not fit, is pointless, or is refused by a named framework.
    Warning,
    /// Nothing can be computed.
    Error,
}

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IssueCode {
    /// The text is no scenario.
    Unreadable,
    UnknownModel,
    BadModelConfig,
    UnknownDevice,
    UnknownLink,
    OutOfRange,
    NotSupported,
    DtypeNotOnDevice,
    DegreesDoNotFill,
    TpDoesNotDivideHeads,
    HeadsDoNotDivideHidden,
    KvHeadsDoNotDivideHeads,
    PpExceedsLayers,
    PpDoesNotDivideLayers,
    BatchDoesNotDivide,
    BatchesDisagree,
    SequenceAboveModel,
    SequenceNotDivisibleByTp,
    SequenceParallelWithoutTp,
    ZeroWithoutReplicas,
    ZeroWithPipeline,
    TpAcrossNodes,
    FewMicroBatches,
    ZeroNotInFramework,
    FsdpWithZero,
    FsdpWithoutMode,
    FsdpNotInFramework,
    FsdpHybridDoesNotDivide,
    FsdpWithoutReplicas,
    FsdpHybridInOneNode,
    FsdpWithPipeline,
    TpDoesNotDivide,
    SequenceAbovePositions,
    LinkOfOtherKind,
    NoAdapters,
    QloraNotInFramework,
    StatesNotFactored,
    OptimizerNotInBackward,
    TooManyTasks,
    TensorsTooLarge,
    ActivationsNeedWeights,
    RequestAboveMaxModelLen,
    KvPoolTooSmall,
    KvPoolBelowMaxModelLen,
    KvPoolOverflow,
    FormatNotInEngine,
    PointlessWhileServing,
    KvCacheDominates,
    EpWithoutExperts,
    EpDoesNotDivideExperts,
    EpDoesNotDivideRanks,
    SequenceNotDivisibleByCp,
    CpNeedsFusedAttention,
    CpWithoutBenefit,
    DoesNotFit,
    /// How a `config.json` was read.
    ModelConfigNote,
    /// A `config.json` says that its weights are stored in another format than the scenario's.
    ModelQuantized,
}

impl IssueCode {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Unreadable,
        Self::UnknownModel,
        Self::BadModelConfig,
        Self::UnknownDevice,
        Self::UnknownLink,
        Self::OutOfRange,
        Self::NotSupported,
        Self::DtypeNotOnDevice,
        Self::DegreesDoNotFill,
        Self::TpDoesNotDivideHeads,
        Self::HeadsDoNotDivideHidden,
        Self::KvHeadsDoNotDivideHeads,
        Self::PpExceedsLayers,
        Self::PpDoesNotDivideLayers,
        Self::BatchDoesNotDivide,
        Self::BatchesDisagree,
        Self::SequenceAboveModel,
        Self::SequenceNotDivisibleByTp,
        Self::SequenceParallelWithoutTp,
        Self::ZeroWithoutReplicas,
        Self::ZeroWithPipeline,
        Self::TpAcrossNodes,
        Self::FewMicroBatches,
        Self::ZeroNotInFramework,
        Self::FsdpWithZero,
        Self::FsdpWithoutMode,
        Self::FsdpNotInFramework,
        Self::FsdpHybridDoesNotDivide,
        Self::FsdpWithoutReplicas,
        Self::FsdpHybridInOneNode,
        Self::FsdpWithPipeline,
        Self::TpDoesNotDivide,
        Self::SequenceAbovePositions,
        Self::LinkOfOtherKind,
        Self::NoAdapters,
        Self::QloraNotInFramework,
        Self::StatesNotFactored,
        Self::OptimizerNotInBackward,
        Self::TooManyTasks,
        Self::TensorsTooLarge,
        Self::ActivationsNeedWeights,
        Self::RequestAboveMaxModelLen,
        Self::KvPoolTooSmall,
        Self::KvPoolBelowMaxModelLen,
        Self::KvPoolOverflow,
        Self::FormatNotInEngine,
        Self::PointlessWhileServing,
        Self::KvCacheDominates,
        Self::EpWithoutExperts,
        Self::EpDoesNotDivideExperts,
        Self::EpDoesNotDivideRanks,
        Self::SequenceNotDivisibleByCp,
        Self::CpNeedsFusedAttention,
        Self::CpWithoutBenefit,
        Self::DoesNotFit,
        Self::ModelConfigNote,
        Self::ModelQuantized,
    ];

    /// The name in reports and in the keys of texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::UnknownModel => "unknown-model",
            Self::BadModelConfig => "bad-model-config",
            Self::UnknownDevice => "unknown-device",
            Self::UnknownLink => "unknown-link",
            Self::OutOfRange => "out-of-range",
            Self::NotSupported => "not-supported",
            Self::DtypeNotOnDevice => "dtype-not-on-device",
            Self::DegreesDoNotFill => "degrees-do-not-fill",
            Self::TpDoesNotDivideHeads => "tp-does-not-divide-heads",
            Self::HeadsDoNotDivideHidden => "heads-do-not-divide-hidden",
            Self::KvHeadsDoNotDivideHeads => "kv-heads-do-not-divide-heads",
            Self::PpExceedsLayers => "pp-exceeds-layers",
            Self::PpDoesNotDivideLayers => "pp-does-not-divide-layers",
            Self::BatchDoesNotDivide => "batch-does-not-divide",
            Self::BatchesDisagree => "batches-disagree",
            Self::SequenceAboveModel => "sequence-above-model",
            Self::SequenceNotDivisibleByTp => "sequence-not-divisible-by-tp",
            Self::SequenceParallelWithoutTp => "sequence-parallel-without-tp",
            Self::ZeroWithoutReplicas => "zero-without-replicas",
            Self::ZeroWithPipeline => "zero-with-pipeline",
            Self::TpAcrossNodes => "tp-across-nodes",
            Self::FewMicroBatches => "few-micro-batches",
            Self::ZeroNotInFramework => "zero-not-in-framework",
            Self::FsdpWithZero => "fsdp-with-zero",
            Self::FsdpWithoutMode => "fsdp-without-mode",
            Self::FsdpNotInFramework => "fsdp-not-in-framework",
            Self::FsdpHybridDoesNotDivide => "fsdp-hybrid-does-not-divide",
            Self::FsdpWithoutReplicas => "fsdp-without-replicas",
            Self::FsdpHybridInOneNode => "fsdp-hybrid-in-one-node",
            Self::FsdpWithPipeline => "fsdp-with-pipeline",
            Self::TpDoesNotDivide => "tp-does-not-divide",
            Self::SequenceAbovePositions => "sequence-above-positions",
            Self::LinkOfOtherKind => "link-of-other-kind",
            Self::NoAdapters => "no-adapters",
            Self::QloraNotInFramework => "qlora-not-in-framework",
            Self::StatesNotFactored => "states-not-factored",
            Self::OptimizerNotInBackward => "optimizer-not-in-backward",
            Self::TooManyTasks => "too-many-tasks",
            Self::TensorsTooLarge => "tensors-too-large",
            Self::ActivationsNeedWeights => "activations-need-weights",
            Self::RequestAboveMaxModelLen => "request-above-max-model-len",
            Self::KvPoolTooSmall => "kv-pool-too-small",
            Self::KvPoolBelowMaxModelLen => "kv-pool-below-max-model-len",
            Self::KvPoolOverflow => "kv-pool-overflow",
            Self::FormatNotInEngine => "format-not-in-engine",
            Self::PointlessWhileServing => "pointless-while-serving",
            Self::KvCacheDominates => "kv-cache-dominates",
            Self::EpWithoutExperts => "ep-without-experts",
            Self::EpDoesNotDivideExperts => "ep-does-not-divide-experts",
            Self::EpDoesNotDivideRanks => "ep-does-not-divide-ranks",
            Self::SequenceNotDivisibleByCp => "sequence-not-divisible-by-cp",
            Self::CpNeedsFusedAttention => "cp-needs-fused-attention",
            Self::CpWithoutBenefit => "cp-without-benefit",
            Self::DoesNotFit => "does-not-fit",
            Self::ModelConfigNote => "model-config-note",
            Self::ModelQuantized => "model-quantized",
        }
    }

    /// True where a serving engine refuses to start though the device has the memory.
    pub const fn stops_the_engine(self) -> bool {
        matches!(self, Self::KvPoolTooSmall | Self::KvPoolBelowMaxModelLen)
    }

    /// How bad it is.
    pub const fn severity(self) -> Severity {
        match self {
            Self::PpDoesNotDivideLayers
            | Self::SequenceAboveModel
            | Self::SequenceParallelWithoutTp
            | Self::ZeroWithoutReplicas
            | Self::ZeroWithPipeline
            | Self::TpAcrossNodes
            | Self::FewMicroBatches
            | Self::ZeroNotInFramework
            | Self::FsdpWithoutReplicas
            | Self::FsdpHybridInOneNode
            | Self::FsdpWithPipeline
            | Self::LinkOfOtherKind
            | Self::QloraNotInFramework
            | Self::StatesNotFactored
            | Self::SequenceAbovePositions
            | Self::RequestAboveMaxModelLen
            | Self::KvPoolTooSmall
            | Self::KvPoolBelowMaxModelLen
            | Self::KvPoolOverflow
            | Self::FormatNotInEngine
            | Self::PointlessWhileServing
            | Self::EpWithoutExperts
            | Self::CpWithoutBenefit
            | Self::DoesNotFit => Severity::Warning,
            Self::ModelConfigNote | Self::ModelQuantized | Self::KvCacheDominates => Severity::Note,
            _ => Severity::Error,
        }
    }
}

impl Serialize for IssueCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Characters of a value that a sentence shows.
const LONGEST_VALUE: usize = 300;

/// One finding about a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Issue {
    pub severity: Severity,
    pub code: IssueCode,
    /// The field at fault, names joined by dots as in the file.
    pub field: String,
    /// What the sentence is filled with.
    pub values: BTreeMap<&'static str, String>,
    /// Edits that each remove the issue without a new error, the nearest first.
    pub ways_out: Vec<Edit>,
}

impl Issue {
    /// An issue of a field, without values and ways out yet.
    pub fn new(code: IssueCode, field: impl Into<String>) -> Self {
        Self {
            severity: code.severity(),
            code,
            field: field.into(),
            values: BTreeMap::new(),
            ways_out: Vec::new(),
        }
    }

    /// Adds a value for the sentence.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        let mut text = value.to_string();
        if let Some((end, _)) = text.char_indices().nth(LONGEST_VALUE) {
            text.truncate(end);
            text.push('…');
        }
        self.values.insert(name, text);
        self
    }

    /// Adds a way out.
    #[must_use]
    pub fn way_out(mut self, edit: Edit) -> Self {
        if !self.ways_out.contains(&edit) {
            self.ways_out.push(edit);
        }
        self
    }
}
