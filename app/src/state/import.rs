//! A dropped or picked file: a model's `config.json`, or a whole scenario.

use crate::i18n::Message;
use serde_json::Value;
use sim_core::model::hf_config::{self, ImportError, ImportNote, MAX_BYTES, NoteKind, OtherFile};
use sim_core::scenario::{Scenario, ScenarioError};

/// Parts of a `config.json` that name things and have no effect on the shape; a link is too short
/// for them.
const LABELS: [&str; 3] = ["id2label", "label2id", "task_specific_params"];

/// What a file turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Imported {
    /// A model's `config.json`, as it goes into a scenario.
    Model(Value),
    Scenario(Box<Scenario>),
}

/// Reads a file's bytes.
///
/// # Errors
/// A sentence that names the field and the reason.
pub fn read(bytes: &[u8]) -> Result<Imported, Message> {
    match hf_config::from_bytes(bytes) {
        Ok(_) => {
            let text = std::str::from_utf8(bytes).expect("the reader has checked the encoding");
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            let mut config: Value =
                serde_json::from_str(text).expect("the reader has parsed the same text");
            if let Some(fields) = config.as_object_mut() {
                fields.retain(|name, _| !LABELS.contains(&name.as_str()));
            }
            Ok(Imported::Model(config))
        }
        Err(ImportError::NotAModelConfig { file: OtherFile::Scenario, .. }) => {
            let text = String::from_utf8_lossy(bytes);
            match Scenario::from_json(&text) {
                Ok(scenario) => Ok(Imported::Scenario(Box::new(scenario))),
                Err(error) => Err(scenario_refusal(&error)),
            }
        }
        Err(error) => Err(refusal(&error)),
    }
}

/// The sentence for a file that is too large to be read at all.
pub fn too_large(bytes: f64) -> Option<Message> {
    (bytes > MAX_BYTES as f64)
        .then(|| Message::new("import.too-large").with("bytes", bytes).with("limit", MAX_BYTES))
}

fn scenario_refusal(error: &ScenarioError) -> Message {
    match error {
        ScenarioError::Field { field, .. } => {
            Message::new("import.scenario-field").with("field", field)
        }
        ScenarioError::Version { found } => {
            Message::new("import.scenario-version").with("found", found)
        }
        ScenarioError::TooLong { bytes } => Message::new("import.too-large")
            .with("bytes", bytes)
            .with("limit", sim_core::scenario::MAX_SCENARIO_BYTES),
        ScenarioError::NotJson { message } => {
            Message::new("import.not-json").with("message", message)
        }
    }
}

/// The sentence for a refused `config.json`.
pub fn refusal(error: &ImportError) -> Message {
    let sentence = Message::new(format!("import.{}", error.code()));
    match error {
        ImportError::TooLarge { bytes, limit } => {
            sentence.with("bytes", bytes).with("limit", limit)
        }
        ImportError::NotUtf8 { position } => sentence.with("position", position),
        ImportError::NotJson { message, .. } => sentence.with("message", message),
        ImportError::NotAnObject { found } => sentence.with_key("found", format!("json.{found:?}")),
        ImportError::NotAModelConfig { field, file } => {
            sentence.with("field", field).with_key("file", format!("import-file.{file:?}"))
        }
        ImportError::Missing { field, .. } => sentence.with("field", field),
        ImportError::WrongType { field, found, value, .. } => sentence
            .with("field", field)
            .with_key("found", format!("json.{found:?}"))
            .with("value", value),
        ImportError::OutOfRange { field, value, accepted } => sentence
            .with("field", field)
            .with("value", value)
            .with("min", accepted.min)
            .with("max", accepted.max),
        ImportError::Inconsistent { field, value, .. } => {
            sentence.with("field", field).with("value", value)
        }
        ImportError::Unsupported { field, value, reason } => sentence
            .with("field", field)
            .with("value", value)
            .with_key("reason", format!("import-reason.{reason:?}")),
        ImportError::UnknownModelType { field, value, .. } => {
            sentence.with("field", field).with("value", value)
        }
    }
}

/// The sentence for a remark on how a `config.json` was read.
pub fn remark(note: &ImportNote) -> Message {
    let sentence =
        Message::new(format!("import-note.{}", note.kind.code())).with("field", &note.field);
    match &note.kind {
        NoteKind::ClassDefault { value } => sentence.with("value", value),
        NoteKind::QuantizationNotApplied { method } => sentence.with("method", method),
        NoteKind::WindowInactive { tokens } | NoteKind::ContextLooksEdited { tokens } => {
            sentence.with("tokens", tokens)
        }
        NoteKind::HalvedWidth { written } => sentence.with("written", written),
        NoteKind::TypeFromArchitecture { model_type } => sentence.with("model_type", model_type),
        NoteKind::PartNotCounted
        | NoteKind::TextPartRead
        | NoteKind::PretrainingHeadsNotCounted
        | NoteKind::ParallelResidual
        | NoteKind::AlibiInferred => sentence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::quantity::Locale;

    const GPT2: &str = r#"{"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12,
        "n_positions": 1024, "vocab_size": 50257, "id2label": {"0": "LABEL_0"}}"#;

    #[test]
    fn a_config_becomes_a_model_without_its_labels() {
        let Ok(Imported::Model(config)) = read(GPT2.as_bytes()) else {
            panic!("a config.json is a model")
        };
        assert_eq!(config["n_layer"], 12);
        assert!(config.get("id2label").is_none());
    }

    #[test]
    fn a_scenario_file_is_taken_whole() {
        let file = br#"{"model":"gpt2","hardware":{"device":"t4"},"workload":{"sequence":512}}"#;
        let Ok(Imported::Scenario(scenario)) = read(file) else { panic!("it is a scenario") };
        assert_eq!(scenario.workload.sequence, 512);
    }

    #[test]
    fn a_refusal_names_the_field_in_both_languages() {
        let moe = br#"{"model_type":"mixtral","num_local_experts":8}"#;
        let refused = read(moe).expect_err("experts are refused");
        for locale in [Locale::En, Locale::ZhCn] {
            let sentence = refused.render(locale);
            assert!(!sentence.contains('{'), "{sentence}");
            assert!(sentence.contains("mixtral") || sentence.contains("num_local_experts"));
        }
    }

    #[test]
    fn what_is_no_json_says_so() {
        for bytes in [&b"\xff\xfe"[..], b"", b"[1]", b"{", b"\0\0\0", b"{\"a\":", b"NaN"] {
            let refused = read(bytes).expect_err("it is no config.json");
            assert_eq!(refused.topic(), "import");
            let sentence = refused.render(Locale::En);
            assert!(!sentence.starts_with("import."), "{sentence}");
        }
    }
}
