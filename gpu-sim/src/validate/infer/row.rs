//! A published row, field by field: what is missing is `None`, what is malformed is a reason.

use super::super::answer::Scope;
use super::super::fields::{Fields, unreadable};
use super::super::vocabulary::models::Stated;
use serde_json::Value;

/// A row of `infer.jsonl`.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a>(pub &'a Value);

/// One measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured<'a> {
    pub metric: &'a str,
    pub value: Reported,
    /// `GiB`, `GB`, or with a question mark where the source does not say.
    pub unit: &'a str,
    /// What the value means, in the source's words.
    pub note: &'a str,
    /// Computed from another value of the row.
    pub derived: bool,
}

/// A measured value: a positive number, or a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reported {
    Number(f64),
    Verdict(bool),
    Malformed,
}

impl<'a> Row<'a> {
    /// A field of a part of the row (`model`, `hardware`, `config`), as far as it is a text.
    pub fn text(self, part: &str, name: &str) -> Option<&'a str> {
        self.0[part][name].as_str().filter(|text| !text.is_empty())
    }

    /// A text of the row itself.
    pub fn own_text(self, name: &str) -> &'a str {
        self.0[name].as_str().unwrap_or("")
    }

    /// A field that counts something.
    ///
    /// # Errors
    /// When it is there and counts nothing.
    pub fn count(self, part: &str, name: &str) -> Result<Option<u64>, String> {
        Fields(self.0).count(&format!("{part}.{name}"))
    }

    /// A field that is a number.
    ///
    /// # Errors
    /// When it is there and none.
    pub fn number(self, part: &str, name: &str) -> Result<Option<f64>, String> {
        Fields(self.0).number(&format!("{part}.{name}"))
    }

    /// How many weights share a scale: a number or a name.
    ///
    /// # Errors
    /// When it is there and neither.
    pub fn group(self) -> Result<Option<String>, String> {
        match &self.0["config"]["group_size"] {
            Value::Null => Ok(None),
            Value::String(name) => Ok(Some(name.clone())),
            value => match value.as_u64() {
                Some(size) => Ok(Some(size.to_string())),
                None => Err(unreadable("config.group_size")),
            },
        }
    }

    /// The model's shape as far as it is stated.
    ///
    /// # Errors
    /// When a field is malformed.
    pub fn shape(self) -> Result<Stated, String> {
        let field = |name| self.count("model", name);
        Ok(Stated {
            layers: field("layers")?,
            hidden: field("hidden")?,
            heads: field("heads")?,
            kv_heads: field("kv_heads")?,
            ffn: field("ffn")?,
            vocab: field("vocab")?,
        })
    }

    /// All measured values.
    pub fn measured(self) -> Vec<Measured<'a>> {
        let all = self.0["measured"].as_array().map_or(&[][..], Vec::as_slice);
        all.iter().map(Measured::of).collect()
    }
}

impl<'a> Measured<'a> {
    fn of(value: &'a Value) -> Self {
        let text = |name: &str| value[name].as_str().unwrap_or("");
        let reported = match &value["value"] {
            Value::Bool(verdict) => Reported::Verdict(*verdict),
            other => match other.as_f64() {
                Some(number) if number.is_finite() && number > 0.0 => Reported::Number(number),
                _ => Reported::Malformed,
            },
        };
        Self {
            metric: text("metric"),
            value: reported,
            unit: text("unit"),
            note: text("note"),
            derived: value["derived"] == true,
        }
    }

    /// GiB in the value's own unit. Where the source prints `GB` and means one or the other, GiB:
    /// tools of PyTorch and the driver divide by powers of 2.
    pub fn in_own_unit(&self, gib: f64) -> f64 {
        const GIB: f64 = 1_073_741_824.0;
        if self.unit == "GB" { gib * GIB / 1e9 } else { gib }
    }
}

/// What notes say about several GPUs: that of the value itself first, then that of the row,
/// which may speak of batches per GPU.
pub fn scope(note: &str, row_note: &str) -> Option<Scope> {
    const SUM: [&str; 5] = ["sum over", "summed over", "total over", "both cards", "total of all"];
    let summed = |text: &str| SUM.iter().any(|sign| text.contains(sign));
    let (note, row_note) = (note.to_lowercase(), row_note.to_lowercase());
    if note.contains("per gpu") {
        Some(Scope::Fullest)
    } else {
        (summed(&note) || summed(&row_note)).then_some(Scope::Sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_and_what_is_malformed_differ() {
        let value =
            json!({"config": {"batch": 4, "tp": -1, "pp": 1.5, "x": "8", "weight_bits": 4.5}});
        let row = Row(&value);
        assert_eq!(row.count("config", "batch"), Ok(Some(4)));
        assert_eq!(row.count("config", "absent"), Ok(None));
        assert_eq!(row.number("config", "weight_bits"), Ok(Some(4.5)));
        for name in ["tp", "pp", "x"] {
            assert_eq!(row.count("config", name), Err(unreadable(&format!("config.{name}"))));
        }
    }

    #[test]
    fn notes_tell_over_which_gpus_a_value_goes() {
        assert_eq!(scope("per GPU max", "memory summed over GPUs"), Some(Scope::Fullest));
        assert_eq!(scope("summed over GPUs", "8 micro-batches per GPU"), Some(Scope::Sum));
        assert_eq!(scope("", "Memory is the total over all GPUs."), Some(Scope::Sum));
        assert_eq!(scope("", "8 micro-batches per GPU"), None);
    }

    #[test]
    fn a_value_is_compared_in_its_own_unit() {
        let value = json!({"metric": "peak_mem_gb", "value": 1, "unit": "GB"});
        assert!((Measured::of(&value).in_own_unit(1.0) - 1.073_741_824).abs() < 1e-12);
        let value = json!({"metric": "peak_mem_gb", "value": 1, "unit": "GB?"});
        assert_eq!(Measured::of(&value).in_own_unit(3.0).to_bits(), 3.0_f64.to_bits());
    }
}
