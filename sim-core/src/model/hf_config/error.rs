//! Why a `config.json` was refused: data first, one English sentence as its display.

use std::fmt;

use serde_json::Value;

use super::refusal::Inexpressible;
use crate::model::limits::CountRange;

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl JsonKind {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

impl fmt::Display for JsonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}

/// A JSON file of a checkpoint that is not its `config.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherFile {
    /// `hf_quant_config.json` or `quantize_config.json`.
    QuantizationSideFile,
    /// `generation_config.json`.
    GenerationConfig,
    /// `tokenizer_config.json` or `tokenizer.json`.
    Tokenizer,
    /// `model.safetensors.index.json`.
    WeightIndex,
    /// A scenario of Headroom.
    Scenario,
}

impl fmt::Display for OtherFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::QuantizationSideFile => "a quantization side file",
            Self::GenerationConfig => "a generation_config.json",
            Self::Tokenizer => "a tokenizer file",
            Self::WeightIndex => "the index of a weight file",
            Self::Scenario => "a Headroom scenario",
        })
    }
}

/// Why a file was refused. `field` is the path inside the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("the file has {bytes} bytes; a config.json of up to {limit} bytes is read")]
    TooLarge { bytes: usize, limit: usize },

    #[error("the file is not UTF-8 text (byte {position})")]
    NotUtf8 { position: usize },

    #[error("the file is not JSON: {message}")]
    NotJson { line: usize, column: usize, message: String },

    #[error("a config.json is an object, this file is {found}")]
    NotAnObject { found: JsonKind },

    #[error("`{field}` shows that this is {file}; drop the model's config.json instead")]
    NotAModelConfig { field: String, file: OtherFile },

    #[error(
        "`{field}` shows that this is the adapter_config.json of a LoRA{}; drop the config.json of \
         its base model{}",
        of_rank(*.rank),
        named(.base_model)
    )]
    Adapter {
        field: String,
        /// The model that it adapts, as the file names it.
        base_model: Option<String>,
        rank: Option<u64>,
    },

    #[error("`{field}` is missing{}", or_names(.alternatives))]
    Missing {
        field: String,
        /// Other names that are accepted for it.
        alternatives: &'static [&'static str],
    },

    #[error("`{field}` must be {expected}, found {found} ({value})")]
    WrongType { field: String, expected: &'static str, found: JsonKind, value: String },

    #[error(
        "`{field}` is {value}; accepted: whole numbers from {} to {}",
        .accepted.min,
        .accepted.max
    )]
    OutOfRange { field: String, value: String, accepted: CountRange },

    #[error("`{field}` is {value}, which {rule}")]
    Inconsistent { field: String, value: String, rule: &'static str },

    #[error("`{field}` ({value}): {reason}")]
    Unsupported { field: String, value: String, reason: Inexpressible },

    #[error(
        "`{field}` is \"{value}\", a class that is not known here{}; if its layers are Llama's, \
         set `model_type` to \"llama\"",
        did_you_mean(.nearest)
    )]
    UnknownModelType { field: String, value: String, nearest: Vec<&'static str> },
}

impl ImportError {
    /// Path of the field at fault, where there is one.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::TooLarge { .. }
            | Self::NotUtf8 { .. }
            | Self::NotJson { .. }
            | Self::NotAnObject { .. } => None,
            Self::NotAModelConfig { field, .. }
            | Self::Adapter { field, .. }
            | Self::Missing { field, .. }
            | Self::WrongType { field, .. }
            | Self::OutOfRange { field, .. }
            | Self::Inconsistent { field, .. }
            | Self::Unsupported { field, .. }
            | Self::UnknownModelType { field, .. } => Some(field),
        }
    }

    /// Stable key, for translations.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too-large",
            Self::NotUtf8 { .. } => "not-utf8",
            Self::NotJson { .. } => "not-json",
            Self::NotAnObject { .. } => "not-an-object",
            Self::NotAModelConfig { .. } => "not-a-model-config",
            Self::Adapter { .. } => "adapter",
            Self::Missing { .. } => "missing",
            Self::WrongType { .. } => "wrong-type",
            Self::OutOfRange { .. } => "out-of-range",
            Self::Inconsistent { .. } => "inconsistent",
            Self::Unsupported { .. } => "unsupported",
            Self::UnknownModelType { .. } => "unknown-model-type",
        }
    }
}

fn of_rank(rank: Option<u64>) -> String {
    rank.map(|rank| format!(" of rank {rank}")).unwrap_or_default()
}

fn named(base_model: &Option<String>) -> String {
    base_model.as_ref().map(|name| format!(", {name}")).unwrap_or_default()
}

fn or_names(names: &[&str]) -> String {
    if names.is_empty() { String::new() } else { format!(" (or {})", names.join(", ")) }
}

fn did_you_mean(nearest: &[&str]) -> String {
    if nearest.is_empty() { String::new() } else { format!(" (like {}?)", nearest.join(", ")) }
}
