//! What a reader of an imported shape should know about how it came about.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A remark on one field of the file; the import succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportNote {
    /// Path of the field in the file, such as `text_config.sliding_window`.
    pub field: String,
    pub kind: NoteKind,
}

impl ImportNote {
    pub(super) fn new(field: String, kind: NoteKind) -> Self {
        Self { field, kind }
    }
}

/// The remark itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "code")]
pub enum NoteKind {
    /// The file leaves the field out; its class then takes this value.
    ClassDefault { value: String },
    /// The weights are quantized in a format without a name here: the shape is read, it is not.
    QuantizationNotApplied { method: String },
    /// A sliding window of this many tokens is written but has no effect.
    WindowInactive { tokens: u64 },
    /// The file's width counts gate and up together; each is half of it.
    HalvedWidth { written: u64 },
    /// A context this short is usually an edited copy, not the model's own.
    ContextLooksEdited { tokens: u64 },
    /// A part beside the language model, such as a vision tower: not counted.
    PartNotCounted,
    /// Layers that predict further tokens are in the checkpoint and not in the model.
    NextTokenLayersNotCounted { layers: u64 },
    /// Layers that see everything come at another place of each so many: taken as the last.
    WindowsReordered { full_every: u64 },
    /// Attention within chunks of so many tokens, taken as a window: the same cache at its fullest.
    ChunksAsWindows { tokens: u64 },
    /// So many layers attend to an image; they are taken as self-attention, and so many small
    /// parameters of theirs are not counted.
    CrossAttentionAsSelf { layers: u64, params: u64 },
    /// The shape is that of the language model nested here.
    TextPartRead,
    /// The heads used in pre-training are not counted; the pooler is.
    PretrainingHeadsNotCounted,
    /// No `model_type` in the file; it follows from the class name.
    TypeFromArchitecture { model_type: String },
    /// No `max_position_embeddings`: this class then uses ALiBi.
    AlibiInferred,
}

impl NoteKind {
    /// Stable key, for translations.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ClassDefault { .. } => "class-default",
            Self::QuantizationNotApplied { .. } => "quantization-not-applied",
            Self::WindowInactive { .. } => "window-inactive",
            Self::HalvedWidth { .. } => "halved-width",
            Self::ContextLooksEdited { .. } => "context-looks-edited",
            Self::PartNotCounted => "part-not-counted",
            Self::NextTokenLayersNotCounted { .. } => "next-token-layers-not-counted",
            Self::WindowsReordered { .. } => "windows-reordered",
            Self::ChunksAsWindows { .. } => "chunks-as-windows",
            Self::CrossAttentionAsSelf { .. } => "cross-attention-as-self",
            Self::TextPartRead => "text-part-read",
            Self::PretrainingHeadsNotCounted => "pretraining-heads-not-counted",
            Self::TypeFromArchitecture { .. } => "type-from-architecture",
            Self::AlibiInferred => "alibi-inferred",
        }
    }
}

impl fmt::Display for ImportNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = &self.field;
        match &self.kind {
            NoteKind::ClassDefault { value } => {
                write!(f, "`{field}` is missing: taken as {value}, the default of its class")
            }
            NoteKind::QuantizationNotApplied { method } => {
                write!(
                    f,
                    "`{field}` ({method}): the shape is read; the weights' format has no name here"
                )
            }
            NoteKind::WindowInactive { tokens } => {
                write!(f, "`{field}` of {tokens} tokens has no effect in this file")
            }
            NoteKind::HalvedWidth { written } => {
                write!(f, "`{field}` {written} counts gate and up together: each is half of it")
            }
            NoteKind::ContextLooksEdited { tokens } => {
                write!(
                    f,
                    "`{field}` of only {tokens} tokens looks edited: check the context length"
                )
            }
            NoteKind::PartNotCounted => write!(f, "`{field}` is not counted, only the text model"),
            NoteKind::NextTokenLayersNotCounted { layers } => {
                write!(f, "`{field}`: {layers} layers that predict further tokens are not counted")
            }
            NoteKind::WindowsReordered { full_every } => write!(
                f,
                "`{field}`: of every {full_every} layers the last is taken as the one without a \
                 window"
            ),
            NoteKind::ChunksAsWindows { tokens } => {
                write!(f, "`{field}`: chunks of {tokens} tokens are taken as a sliding window")
            }
            NoteKind::CrossAttentionAsSelf { layers, params } => write!(
                f,
                "`{field}`: {layers} layers attend to an image; they are taken as self-attention, \
                 without {params} parameters of gates, norms and image tokens"
            ),
            NoteKind::TextPartRead => write!(f, "the language model was read from `{field}`"),
            NoteKind::PretrainingHeadsNotCounted => {
                write!(f, "`{field}`: pre-training heads are not counted, the pooler is")
            }
            NoteKind::TypeFromArchitecture { model_type } => {
                write!(f, "`model_type` is missing: read as {model_type} because of `{field}`")
            }
            NoteKind::AlibiInferred => write!(f, "`{field}` is missing: ALiBi positions"),
        }
    }
}
