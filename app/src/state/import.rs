//! A dropped or picked file: a model's `config.json`, or a whole scenario.

use super::config::without_needless;
use super::findings::refusal_of_field;
use crate::i18n::Message;
use serde_json::Value;
use sim_core::model::hf_config::{self, ImportError, ImportNote, MAX_BYTES, NoteKind, OtherFile};
use sim_core::quantity::{Bytes, Unit, format_bytes};
use sim_core::scenario::{ModelChoice, Scenario, ScenarioError};

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
            let config: Value =
                serde_json::from_str(text).expect("the reader has parsed the same text");
            Ok(Imported::Model(without_needless(config)))
        }
        Err(ImportError::NotAModelConfig { file: OtherFile::Scenario, .. }) => {
            let text = String::from_utf8_lossy(bytes);
            match Scenario::from_json(&text) {
                Ok(mut scenario) => {
                    if let ModelChoice::HfConfig { hf_config: config } = &mut scenario.model {
                        *config = without_needless(config.take());
                    }
                    Ok(Imported::Scenario(Box::new(scenario)))
                }
                Err(error) => Err(scenario_refusal(&error)),
            }
        }
        Err(error) => Err(refusal(&error)),
    }
}

/// The sentence for a file that is too large to be read at all.
pub fn too_large(bytes: f64) -> Option<Message> {
    (bytes > MAX_BYTES as f64).then(|| above(bytes, MAX_BYTES))
}

/// The sentence for `bytes` above a `limit`.
fn above(bytes: f64, limit: usize) -> Message {
    let words = |bytes: f64| format_bytes(Bytes::new(bytes), Unit::default());
    Message::new("import.too-large").with("bytes", words(bytes)).with("limit", words(limit as f64))
}

fn scenario_refusal(error: &ScenarioError) -> Message {
    match error {
        ScenarioError::Field { field, message } => Message::new("import.scenario-field")
            .with("field", field)
            .with_message("reason", refusal_of_field(field, message)),
        ScenarioError::Version { found } => {
            Message::new("import.scenario-version").with("found", found)
        }
        ScenarioError::TooLong { bytes } => {
            above(*bytes as f64, sim_core::scenario::MAX_SCENARIO_BYTES)
        }
        ScenarioError::NotJson { message } => {
            Message::new("import.not-json").with("message", message)
        }
    }
}

/// The sentence for a refused `config.json`.
pub fn refusal(error: &ImportError) -> Message {
    let sentence = Message::new(format!("import.{}", error.code()));
    match error {
        ImportError::TooLarge { bytes, limit } => above(*bytes as f64, *limit),
        ImportError::NotUtf8 { position } => sentence.with("position", position),
        ImportError::NotJson { message, .. } => sentence.with("message", message),
        ImportError::NotAnObject { found } => sentence.with_key("found", format!("json.{found:?}")),
        ImportError::NotAModelConfig { field, file } => {
            sentence.with("field", field).with_key("file", format!("import-file.{file:?}"))
        }
        ImportError::Adapter { field, base_model: Some(base_model), .. } => {
            sentence.with("field", field).with("base_model", base_model)
        }
        ImportError::Adapter { field, base_model: None, .. } => {
            Message::new("import.adapter-unnamed").with("field", field)
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
        NoteKind::WindowInactive { tokens }
        | NoteKind::ContextLooksEdited { tokens }
        | NoteKind::ChunksAsWindows { tokens } => sentence.with("tokens", tokens),
        NoteKind::NextTokenLayersNotCounted { layers } => sentence.with("layers", layers),
        NoteKind::WindowsReordered { full_every } => sentence.with("full_every", full_every),
        NoteKind::CrossAttentionAsSelf { layers, params } => {
            sentence.with("layers", layers).with("params", params)
        }
        NoteKind::HalvedWidth { written } => sentence.with("written", written),
        NoteKind::TypeFromArchitecture { model_type } => sentence.with("model_type", model_type),
        NoteKind::PartNotCounted
        | NoteKind::TextPartRead
        | NoteKind::PretrainingHeadsNotCounted
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
    fn a_refused_scenario_says_what_its_field_accepts() {
        let file = br#"{"model":"gpt2","hardware":{"device":"t4"},"workload":{},
            "strategy":{"zero":"three"}}"#;
        let refused = read(file).expect_err("a stage is a number").render(Locale::En);
        assert!(refused.contains("strategy.zero") && refused.contains("0 to 3"), "{refused}");
    }

    #[test]
    fn sizes_of_files_have_a_unit() {
        let sentence = too_large(5.0 * 1024.0 * 1024.0).expect("it is above").render(Locale::En);
        assert!(
            sentence.contains("5.00\u{a0}MiB") && sentence.contains("4.00\u{a0}MiB"),
            "{sentence}"
        );
    }

    #[test]
    fn a_refusal_names_the_field_in_both_languages() {
        let moe = br#"{"model_type":"llama","num_local_experts":8}"#;
        let refused = read(moe).expect_err("a Llama has no experts");
        for locale in [Locale::En, Locale::ZhCn] {
            let sentence = refused.render(locale);
            assert!(!sentence.contains('{'), "{sentence}");
            assert!(sentence.contains("num_local_experts"));
        }
    }

    #[test]
    fn a_lora_names_the_model_to_take_instead() {
        let adapter = br#"{"peft_type":"LORA","r":8,"base_model_name_or_path":"a/base-7b"}"#;
        let refused = read(adapter).expect_err("an adapter is no model");
        for locale in [Locale::En, Locale::ZhCn] {
            let sentence = refused.render(locale);
            assert!(sentence.contains("a/base-7b") && !sentence.contains('{'), "{sentence}");
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
