//! A `config.json` without what has no effect on how it is read, so that it goes into a link.

use serde_json::{Map, Value};
use sim_core::model::hf_config::{self, Import};

/// What the page calls an imported model by.
const NAME: &str = "model_type";

/// `config` without every field, nested ones too, whose absence changes neither the shape nor the
/// remarks; as it is where it cannot be read.
pub fn without_needless(mut config: Value) -> Value {
    let Ok(reading) = hf_config::from_value(&config) else { return config };
    trim(&mut config, &reading, &mut Vec::new());
    debug_assert_eq!(hf_config::from_value(&config).as_ref(), Ok(&reading));
    config
}

/// Trims the object at `path`, then those inside it.
fn trim(config: &mut Value, reading: &Import, path: &mut Vec<String>) {
    let names: Vec<String> = match object(config, path) {
        Some(fields) => fields.keys().filter(|name| *name != NAME).cloned().collect(),
        None => return,
    };
    remove(config, reading, path, &names);
    let left: Vec<String> = match object(config, path) {
        Some(fields) => fields.keys().cloned().collect(),
        None => return,
    };
    for name in left {
        shorten(config, reading, path, &name);
        path.push(name);
        trim(config, reading, path);
        path.pop();
    }
}

/// Removes all of `names` at once where none is needed, else looks at each half.
fn remove(config: &mut Value, reading: &Import, path: &[String], names: &[String]) {
    let Some(fields) = object(config, path).filter(|_| !names.is_empty()) else { return };
    let removed: Vec<(String, Value)> =
        names.iter().filter_map(|name| fields.remove_entry(name)).collect();
    if reads_alike(config, reading) {
        return;
    }
    if let Some(fields) = object(config, path) {
        fields.extend(removed);
    }
    if names.len() > 1 {
        let (front, back) = names.split_at(names.len() / 2);
        remove(config, reading, path, front);
        remove(config, reading, path, back);
    }
}

/// Cuts a list to its first item where the others say nothing.
fn shorten(config: &mut Value, reading: &Import, path: &[String], name: &str) {
    let Some(Value::Array(items)) = object(config, path).and_then(|fields| fields.get_mut(name))
    else {
        return;
    };
    if items.len() < 2 {
        return;
    }
    let rest = items.split_off(1);
    if !reads_alike(config, reading)
        && let Some(Value::Array(items)) =
            object(config, path).and_then(|fields| fields.get_mut(name))
    {
        items.extend(rest);
    }
}

fn reads_alike(config: &Value, reading: &Import) -> bool {
    hf_config::from_value(config).as_ref() == Ok(reading)
}

fn object<'a>(config: &'a mut Value, path: &[String]) -> Option<&'a mut Map<String, Value>> {
    path.iter().try_fold(config, |place, name| place.get_mut(name))?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn llama() -> Value {
        json!({
            "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
            "vocab_size": 32000, "max_position_embeddings": 4096, "hidden_act": "silu",
            "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "attention_bias": false,
        })
    }

    #[test]
    fn what_is_needed_stays_and_reads_the_same() {
        let mut full = llama();
        full["id2label"] = (0..50_000).map(|i| (i.to_string(), json!("a label"))).collect();
        full["_name_or_path"] = "/somewhere".into();
        let before = hf_config::from_value(&full).expect("it is a Llama");
        let trimmed = without_needless(full);
        assert_eq!(hf_config::from_value(&trimmed).as_ref(), Ok(&before));
        assert!(trimmed.get("id2label").is_none() && trimmed.get("_name_or_path").is_none());
        assert!(trimmed.to_string().len() < 400, "{trimmed}");
    }

    #[test]
    fn nested_parts_are_trimmed_as_well() {
        let full = json!({
            "model_type": "llava", "text_config": llama(),
            "vision_config": { "hidden_size": 1024, "labels": vec!["a"; 1000] },
        });
        let Ok(before) = hf_config::from_value(&full) else { panic!("the text part is a Llama") };
        let trimmed = without_needless(full);
        assert_eq!(hf_config::from_value(&trimmed), Ok(before));
        assert_eq!(trimmed["model_type"], "llava");
        assert!(trimmed.to_string().len() < 450, "{trimmed}");
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        assert_eq!(without_needless(json!({ "a": 1 })), json!({ "a": 1 }));
    }
}
