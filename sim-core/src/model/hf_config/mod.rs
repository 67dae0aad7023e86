//! Reads the `config.json` of a Hugging Face checkpoint into a [`ModelShape`].
//!
//! The dialects differ in names and in what a missing field means; each is read the way its class
//! in `transformers` (or in the checkpoint's own code) reads it, and every value that the file did
//! not spell out becomes an [`ImportNote`].
//! What a [`ModelShape`] cannot hold is refused by name; nothing is guessed.

mod dialects;
mod error;
mod fields;
mod note;
mod parts;
mod quantization;
mod refusal;

pub use dialects::{Dialect, known_model_types};
pub use error::{ImportError, JsonKind, OtherFile};
pub use note::{ImportNote, NoteKind};
pub use quantization::Quantization;
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
    /// How the file says that its checkpoint stores the weights; the shape does not depend on it.
    pub quantization: Option<Quantization>,
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
    let part = parts::language_part(&top, &mut notes)?;
    let config = part.as_ref().unwrap_or(&top);
    let (dialect, model_type) = match dialect_of(config, &top, &mut notes) {
        Ok(found) => found,
        // Where the structure tells why the class is not known, it says more than its name.
        Err(unknown) => {
            refusal::refuse_inexpressible(config, &[])?;
            return Err(unknown);
        }
    };
    refusal::refuse_inexpressible(config, dialect.reads)?;
    let quantization = quantization::find(&top, part.as_ref())?;
    if let Some(found) = quantization.as_ref().filter(|found| found.format.is_none()) {
        let kind = NoteKind::QuantizationNotApplied { method: found.method.clone() };
        notes.push(ImportNote::new(found.field.clone(), kind));
    }
    let outer = part.is_some().then_some(&top);
    let shape = dialect.read(config, outer, &mut notes)?;
    refuse_shape_out_of_limits(&shape)?;
    Ok(Import { shape, model_type, quantization, notes })
}

/// The dialect of `config`; a part without a class has that of the file around it.
fn dialect_of(
    config: &Object<'_>,
    top: &Object<'_>,
    notes: &mut Vec<ImportNote>,
) -> Result<(&'static Dialect, String), ImportError> {
    let names_class = |object: &Object<'_>| object.has("model_type") || object.has("architectures");
    let named = if names_class(config) { config } else { top };
    let field = named.path_of("model_type");
    if let Some(model_type) = named.text("model_type")? {
        refusal::refuse_model_type(&field, model_type)?;
        return match Dialect::of_model_type(model_type) {
            Some(dialect) => Ok((dialect, model_type.to_owned())),
            None => Err(unknown_type(field, model_type)),
        };
    }
    let Some(class) = named.first_text("architectures")? else {
        return Err(ImportError::Missing { field, alternatives: &["architectures"] });
    };
    let class_field = named.path_of("architectures");
    refusal::refuse_class(&class_field, class)?;
    match Dialect::of_class(class) {
        Some(dialect) => {
            let model_type = dialect.model_type();
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
