//! The scenario in the address: readable, only what differs from the defaults, never half a scenario.
//!
//! `v=1&model=llama-2-7b&hardware.device=a100-sxm-80gb&strategy.zero=3&end`
//!
//! A value is JSON, or the plain text of a string where that cannot be mistaken. The last word is
//! `end`, so that a link that lost its tail on the way is noticed.

use super::findings::refusal_of_field;
use crate::i18n::Message;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;
use sim_core::scenario::{HardwareChoice, ModelChoice, SCENARIO_VERSION, Scenario, ScenarioError};

/// The longest address part that is written and read, in bytes.
pub const MAX_LINK_BYTES: usize = 1 << 20;

/// The word that closes a whole link.
const END: &str = "end";

/// Everything but what an address may hold unescaped after `#` and reads well.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':').remove(b',');

/// A link that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// It never was one.
    Unreadable,
    /// Its tail is missing.
    CutOff,
    /// Made by another version of the page.
    Version { found: String },
    /// A field that does not exist or does not take such a value, and why.
    Field { field: String, reason: Message },
}

impl LinkError {
    /// The sentence that says so.
    pub fn message(&self) -> Message {
        match self {
            Self::Unreadable => Message::new("notice.link.unreadable"),
            Self::CutOff => Message::new("notice.link.cut-off"),
            Self::Version { found } => Message::new("notice.link.version").with("found", found),
            Self::Field { field, reason } => Message::new("notice.link.field")
                .with("field", field)
                .with_message("reason", reason.clone()),
        }
    }
}

/// The part of the address after `#`; none where it would be too long to be read again.
pub fn encode(scenario: &Scenario) -> Option<String> {
    let own = serde_json::to_value(scenario).expect("a scenario has string keys only");
    let mut link = format!("v={SCENARIO_VERSION}");
    differences(&mut Vec::new(), &base(), &own, &mut |path, value| {
        link.push('&');
        link.push_str(path);
        link.push('=');
        link.extend(utf8_percent_encode(&written(value), ESCAPED));
    });
    link.push('&');
    link.push_str(END);
    (link.len() <= MAX_LINK_BYTES).then_some(link)
}

/// Reads what [`encode`] wrote; nothing when there is no link at all.
///
/// # Errors
/// When the text is not a whole link of this version, or not of a scenario.
pub fn decode(hash: &str) -> Result<Option<Scenario>, LinkError> {
    let link = hash.strip_prefix('#').unwrap_or(hash);
    if link.is_empty() {
        return Ok(None);
    }
    if link.len() > MAX_LINK_BYTES || !"v=".starts_with(link.get(..2).unwrap_or(link)) {
        return Err(LinkError::Unreadable);
    }
    let mut pairs: Vec<&str> = link.split('&').collect();
    if pairs.pop() != Some(END) {
        return Err(LinkError::CutOff);
    }
    let mut tree = base();
    for pair in pairs {
        let (path, text) = pair.split_once('=').ok_or(LinkError::Unreadable)?;
        let text = percent_decode_str(text)
            .decode_utf8()
            .map_err(|_| field_error(path, Message::new("field-refusal.not-utf8")))?;
        if path == "v" {
            if *text != SCENARIO_VERSION.to_string() {
                return Err(LinkError::Version { found: text.into_owned() });
            }
            continue;
        }
        let place = place(&mut tree, path)
            .ok_or_else(|| field_error(path, Message::new("field-refusal.unknown")))?;
        *place = read(&text);
    }
    match Scenario::from_value(tree) {
        Ok(scenario) => Ok(Some(scenario)),
        Err(ScenarioError::Field { field, message }) => {
            let reason = refusal_of_field(&field, &message);
            Err(LinkError::Field { field, reason })
        }
        Err(ScenarioError::Version { found }) => {
            Err(LinkError::Version { found: found.to_string() })
        }
        Err(ScenarioError::TooLong { .. } | ScenarioError::NotJson { .. }) => {
            Err(LinkError::Unreadable)
        }
    }
}

fn field_error(field: &str, reason: Message) -> LinkError {
    LinkError::Field { field: field.to_owned(), reason }
}

/// All defaults, with holes where a link must say something.
fn base() -> Value {
    let empty = Scenario {
        version: SCENARIO_VERSION,
        name: String::new(),
        model: ModelChoice::Catalogue(String::new()),
        hardware: serde_json::from_value::<HardwareChoice>(serde_json::json!({ "device": "" }))
            .expect("all other fields have defaults"),
        workload: Default::default(),
        quantization: Default::default(),
        strategy: Default::default(),
    };
    let mut tree = serde_json::to_value(empty).expect("a scenario has string keys only");
    tree["model"] = Value::Null;
    tree["hardware"]["device"] = Value::Null;
    tree
}

/// Calls `found` with the path and value of every leaf of `own` that `base` has otherwise.
fn differences<'a>(
    path: &mut Vec<&'a str>,
    base: &'a Value,
    own: &'a Value,
    found: &mut impl FnMut(&str, &Value),
) {
    match (base, own) {
        (Value::Object(base), Value::Object(own)) if base.keys().eq(own.keys()) => {
            for (name, value) in own {
                path.push(name);
                differences(path, &base[name], value, found);
                path.pop();
            }
        }
        _ if base == own => {}
        _ => found(&path.join("."), own),
    }
}

/// The place of an existing field.
fn place<'a>(tree: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.').try_fold(tree, |place, name| place.as_object_mut()?.get_mut(name))
}

/// A value as text: bare where [`read`] gives the same back.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() => text.clone(),
        _ => value.to_string(),
    }
}

/// JSON where it is JSON, else the text itself.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sim_core::quantity::Locale;
    use sim_core::scenario::{Edit, PresetChoice};

    fn plain() -> Scenario {
        Scenario::from_json(r#"{"model":"llama-2-7b","hardware":{"device":"a100-sxm-80gb"}}"#)
            .expect("the scenario is whole")
    }

    #[test]
    fn a_link_holds_only_what_differs_from_the_defaults() {
        let scenario = plain().edited(&Edit::new("strategy.zero", 3)).expect("ZeRO has stage 3");
        assert_eq!(
            encode(&scenario).as_deref(),
            Some("v=1&hardware.device=a100-sxm-80gb&model=llama-2-7b&strategy.zero=3&end")
        );
    }

    #[test]
    fn no_hash_is_no_link() {
        assert_eq!(decode(""), Ok(None));
        assert_eq!(decode("#"), Ok(None));
    }

    #[test]
    fn a_broken_link_names_what_is_broken() {
        let field = |name: &str| Err(Some(name.to_owned()));
        let decode = |link| match super::decode(link) {
            Err(LinkError::Field { field, .. }) => Err(Some(field)),
            other => Ok(other),
        };
        assert_eq!(decode("#section-2"), Ok(Err(LinkError::Unreadable)));
        let version = LinkError::Version { found: "2".to_owned() };
        assert_eq!(decode("#v=2&end"), Ok(Err(version)));
        assert_eq!(
            decode("#v=1&model=gpt2&hardware.device=t4&strategy.zero=x&end"),
            field("strategy.zero")
        );
        assert_eq!(
            decode("#v=1&model=gpt2&hardware.device=t4&strategy.nine=1&end"),
            field("strategy.nine")
        );
        assert_eq!(decode("#v=1&model=gpt2&hardware.device=%ff&end"), field("hardware.device"));
        assert_eq!(decode("#v=1&hardware.device=t4&end"), field("model"));
    }

    #[test]
    fn no_beginning_of_a_link_is_a_link() {
        let scenario = plain().edited(&Edit::new("workload.global_batch", 256)).expect("a number");
        let link = encode(&scenario).expect("it is short");
        for length in 1..link.len() {
            assert!(decode(&link[..length]).is_err(), "{}", &link[..length]);
        }
    }

    #[test]
    fn a_link_says_what_its_field_accepts() {
        let link = "#v=1&model=gpt2&hardware.device=t4&strategy.zero=x&end";
        let said = decode(link).expect_err("x is no stage").message().render(Locale::En);
        assert!(said.contains("strategy.zero") && said.contains("0 to 3"), "{said}");
    }

    #[test]
    fn what_would_not_be_read_is_not_written() {
        let mut scenario = plain();
        scenario.name = "n".repeat(MAX_LINK_BYTES);
        assert_eq!(encode(&scenario), None);
    }

    fn model() -> impl Strategy<Value = ModelChoice> {
        prop_oneof![
            any::<String>().prop_map(ModelChoice::Catalogue),
            (any::<String>(), any::<Option<u64>>()).prop_map(|(preset, layers)| {
                ModelChoice::Preset(PresetChoice { preset, layers, ..Default::default() })
            }),
            (any::<String>(), any::<i64>()).prop_map(|(key, number)| ModelChoice::HfConfig {
                hf_config: serde_json::json!({ key: [number, true, null] })
            }),
        ]
    }

    proptest! {
        #[test]
        fn decoding_gives_back_what_was_encoded(
            model in model(),
            name in any::<String>(),
            device in any::<String>(),
            numbers in any::<[u64; 4]>(),
            global_batch in any::<Option<u64>>(),
            host in 0.0..1e9f64,
            dropout in any::<bool>(),
        ) {
            let mut scenario = plain();
            scenario.name = name;
            scenario.model = model;
            scenario.hardware.device = device;
            scenario.hardware.nodes = numbers[0];
            scenario.hardware.host_memory_gib = host;
            scenario.workload.sequence = numbers[1];
            scenario.workload.global_batch = global_batch;
            scenario.workload.dropout = dropout;
            scenario.strategy.zero = numbers[2];
            scenario.strategy.dp = Some(numbers[3]);
            let link = encode(&scenario).expect("it is short");
            prop_assert_eq!(decode(&link), Ok(Some(scenario)));
        }

        #[test]
        fn no_text_is_too_strange(text in any::<String>(), tail in "[a-z.=&%0-9]{0,40}") {
            let _ = decode(&text);
            let _ = decode(&format!("#v=1&{tail}&end"));
        }
    }
}
