//! Reads the `config.json` of a Hugging Face checkpoint into a [`ModelShape`].
//!
//! The dialects differ in names and in what a missing field means; each is read the way its class
//! in `transformers` (or in the checkpoint's own code) reads it, and every value that the file did
//! not spell out becomes an [`ImportNote`].
//! What a dense [`ModelShape`] cannot hold is refused by name; nothing is guessed.

mod dialects;
mod error;
mod fields;
mod note;
mod refusal;

pub use dialects::{Dialect, known_model_types};
pub use error::{ImportError, JsonKind, OtherFile};
pub use note::{ImportNote, NoteKind};
pub use refusal::Inexpressible;

use serde_json::Value;

use super::shape::ModelShape;
use super::{limits, suggest};
use fields::Object;

/// Largest text that is parsed, in bytes. Real files stay under 0.2 MB.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

/// A shape read from a file, and what a reader should know about how it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    pub shape: ModelShape,
    /// The `model_type` whose rules were applied.
    pub model_type: String,
    pub notes: Vec<ImportNote>,
}

/// Reads a `config.json` given as text; a byte order mark is skipped.
///
/// # Errors
/// See [`ImportError`]: every refusal names the field, what was found and what is accepted.
///
/// ```
/// let import = sim_core::model::hf_config::from_json(
///     r#"{"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12,
///         "n_positions": 1024, "vocab_size": 50257}"#,
/// )?;
/// assert_eq!(import.shape.total_params(), 124_439_808);
/// # Ok::<(), sim_core::model::hf_config::ImportError>(())
/// ```
pub fn from_json(text: &str) -> Result<Import, ImportError> {
    if text.len() > MAX_BYTES {
        return Err(ImportError::TooLarge { bytes: text.len(), limit: MAX_BYTES });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value = serde_json::from_str(text).map_err(|error| ImportError::NotJson {
        line: error.line(),
        column: error.column(),
        message: error.to_string(),
    })?;
    from_value(&value)
}

/// Reads a `config.json` given as bytes, as a file picker hands them over.
///
/// # Errors
/// As [`from_json`], and [`ImportError::NotUtf8`].
pub fn from_bytes(bytes: &[u8]) -> Result<Import, ImportError> {
    if bytes.len() > MAX_BYTES {
        return Err(ImportError::TooLarge { bytes: bytes.len(), limit: MAX_BYTES });
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ImportError::NotUtf8 { position: error.valid_up_to() })?;
    from_json(text)
}

/// Reads a `config.json` that is already parsed, such as the `hf_config` of a scenario.
///
/// # Errors
/// As [`from_json`], without those of parsing.
pub fn from_value(value: &Value) -> Result<Import, ImportError> {
    let Value::Object(map) = value else {
        return Err(ImportError::NotAnObject { found: JsonKind::of(value) });
    };
    let top = Object::top(map);
    refusal::refuse_other_files(&top)?;
    let mut notes = Vec::new();
    let text_part = text_part(&top, &mut notes)?;
    let config = text_part.as_ref().unwrap_or(&top);
    refusal::refuse_inexpressible(&top)?;
    if text_part.is_some() {
        refusal::refuse_inexpressible(config)?;
    }
    note_quantization(&top, &mut notes)?;
    let (dialect, model_type) = dialect_of(config, &mut notes)?;
    let shape = dialects::read(dialect, config, &mut notes)?;
    refuse_shape_out_of_limits(&shape)?;
    Ok(Import { shape, model_type, notes })
}

/// Names under which multimodal files nest their language model.
const TEXT_PARTS: [&str; 3] = ["text_config", "llm_config", "language_config"];
/// Names of parts beside the language model, which are not counted.
const OTHER_PARTS: [&str; 4] = ["vision_config", "audio_config", "vision_tower", "visual"];

fn text_part<'a>(
    top: &Object<'a>,
    notes: &mut Vec<ImportNote>,
) -> Result<Option<Object<'a>>, ImportError> {
    for name in OTHER_PARTS {
        if top.has(name) {
            notes.push(ImportNote::new(top.path_of(name), NoteKind::PartNotCounted));
        }
    }
    for name in TEXT_PARTS {
        if let Some(part) = top.object(name)? {
            notes.push(ImportNote::new(top.path_of(name), NoteKind::TextPartRead));
            return Ok(Some(part));
        }
    }
    Ok(None)
}

fn note_quantization(top: &Object<'_>, notes: &mut Vec<ImportNote>) -> Result<(), ImportError> {
    if let Some(quantization) = top.object("quantization_config")? {
        let method = ["quant_method", "quant_algo", "quant_library"]
            .into_iter()
            .find_map(|name| quantization.text(name).transpose())
            .transpose()?;
        let method = method.map_or_else(|| "unnamed".to_owned(), fields::shortened);
        let field = top.path_of("quantization_config");
        notes.push(ImportNote::new(field, NoteKind::QuantizationNotApplied { method }));
    }
    Ok(())
}

fn dialect_of(
    config: &Object<'_>,
    notes: &mut Vec<ImportNote>,
) -> Result<(Dialect, String), ImportError> {
    let field = config.path_of("model_type");
    if let Some(model_type) = config.text("model_type")? {
        refusal::refuse_model_type(&field, model_type)?;
        return match Dialect::of_model_type(model_type) {
            Some(dialect) => Ok((dialect, model_type.to_owned())),
            None => Err(unknown_type(field, model_type)),
        };
    }
    let Some(class) = config.first_text("architectures")? else {
        return Err(ImportError::Missing { field, alternatives: &["architectures"] });
    };
    let class_field = config.path_of("architectures");
    refusal::refuse_class(&class_field, class)?;
    match Dialect::of_class(class) {
        Some((dialect, model_type)) => {
            let kind = NoteKind::TypeFromArchitecture { model_type: model_type.to_owned() };
            notes.push(ImportNote::new(class_field, kind));
            Ok((dialect, model_type.to_owned()))
        }
        None => Err(unknown_type(class_field, class)),
    }
}

fn unknown_type(field: String, value: &str) -> ImportError {
    let nearest = suggest::nearest(value, known_model_types(), 3);
    ImportError::UnknownModelType { field, value: fields::shortened(value), nearest }
}

/// Field by field everything is in range; this catches what only shows in combination.
fn refuse_shape_out_of_limits(shape: &ModelShape) -> Result<(), ImportError> {
    match limits::violations(shape).first() {
        None => Ok(()),
        Some(violation) => Err(ImportError::OutOfRange {
            field: violation.field.to_owned(),
            value: violation.value.to_string(),
            accepted: violation.accepted,
        }),
    }
}

#[cfg(test)]
mod tests;
