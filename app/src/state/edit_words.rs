//! A change of the scenario in words: `ZeRO-3 + full recomputation`.

use super::values::setting;
use crate::i18n::{fill, find, text};
use serde_json::Value;
use sim_core::quantity::Locale;
use sim_core::scenario::Edit;

/// One change.
pub fn edit_words(locale: Locale, edit: &Edit) -> String {
    let value = setting(locale, &edit.field, &edit.value);
    let of_value =
        edit.value.as_str().and_then(|name| find(locale, &format!("edit.{}.{name}", edit.field)));
    match of_value.or_else(|| find(locale, &format!("edit.{}", edit.field))) {
        Some(template) => fill(template, &[("value", value)]),
        None => {
            let label = text(locale, &format!("field.{}", edit.field));
            fill(text(locale, "edit.other"), &[("field", label), ("value", &value)])
        }
    }
}

/// Several changes at once. What only returns to being derived goes without saying.
pub fn edits_words(locale: Locale, edits: &[Edit]) -> String {
    let words: Vec<String> = edits
        .iter()
        .filter(|edit| edits.len() == 1 || edit.value != Value::Null)
        .map(|edit| edit_words(locale, edit))
        .collect();
    words.join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_as_a_list() {
        let edits = [
            Edit::new("hardware.devices_per_node", 8),
            Edit::new("strategy.dp", Value::Null),
            Edit::new("strategy.zero", 3),
            Edit::new("strategy.recompute", "full"),
        ];
        assert_eq!(edits_words(Locale::En, &edits), "8 GPUs + ZeRO-3 + full recompute");
    }
}
