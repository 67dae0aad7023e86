//! Typed access to the fields of a JSON object, with their paths in the errors.

use serde_json::{Map, Number, Value};

use super::error::{ImportError, JsonKind};
use crate::model::limits::CountRange;

/// Longest piece of a foreign value that is shown, in characters.
const SHOWN: usize = 60;

/// `text` cut to what fits into a message.
pub(super) fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// A value as it stands in a message; containers by their size.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("\"{}\"", shortened(text)),
        Value::Array(items) => format!("{} items", items.len()),
        Value::Object(fields) => format!("{} fields", fields.len()),
    }
}

/// A JSON object and where it sits in the file. A field that is `null` counts as absent.
pub(super) struct Object<'a> {
    map: &'a Map<String, Value>,
    /// Empty for the file itself, else the path with its final dot.
    prefix: String,
}

impl<'a> Object<'a> {
    pub(super) fn top(map: &'a Map<String, Value>) -> Self {
        Self { map, prefix: String::new() }
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The names of its fields.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.map.keys().map(String::as_str)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// True where the field is in the file, even as `null`.
    pub(super) fn writes(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The first of `names` that is present, as a whole number within `accepted`.
    pub(super) fn count(
        &self,
        names: &[&'static str],
        accepted: CountRange,
    ) -> Result<Option<u64>, ImportError> {
        let Some((name, value)) = names.iter().find_map(|&name| Some((name, self.get(name)?)))
        else {
            return Ok(None);
        };
        let Value::Number(number) = value else {
            return Err(self.wrong_type(name, "a whole number", value));
        };
        match whole(number) {
            Whole::Count(count) if accepted.contains(count) => Ok(Some(count)),
            Whole::Count(_) | Whole::OutOfReach => Err(ImportError::OutOfRange {
                field: self.path_of(name),
                value: number.to_string(),
                accepted,
            }),
            Whole::Fraction => Err(self.wrong_type(name, "a whole number", value)),
        }
    }

    /// As [`Object::count`], and missing is an error; the first name is the one reported.
    pub(super) fn required(
        &self,
        names: &'static [&'static str],
        accepted: CountRange,
    ) -> Result<u64, ImportError> {
        self.count(names, accepted)?.ok_or_else(|| ImportError::Missing {
            field: self.path_of(names[0]),
            alternatives: &names[1..],
        })
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, ImportError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(value) => Err(self.wrong_type(name, "true or false", value)),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, ImportError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(value) => Err(self.wrong_type(name, "a string", value)),
        }
    }

    pub(super) fn list(&self, name: &str) -> Result<Option<&'a [Value]>, ImportError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(value) => Err(self.wrong_type(name, "an array", value)),
        }
    }

    /// A list of whole numbers within `accepted`; an item at fault is named by its place.
    pub(super) fn counts(
        &self,
        name: &str,
        accepted: CountRange,
    ) -> Result<Option<Vec<u64>>, ImportError> {
        let Some(items) = self.list(name)? else { return Ok(None) };
        let read = |(i, item): (usize, &Value)| {
            let number = match item {
                Value::Number(number) => number,
                _ => return Err(self.wrong_type(name, "an array of whole numbers", item)),
            };
            match whole(number) {
                Whole::Count(count) if accepted.contains(count) => Ok(count),
                Whole::Fraction => Err(self.wrong_type(name, "an array of whole numbers", item)),
                Whole::Count(_) | Whole::OutOfReach => Err(ImportError::OutOfRange {
                    field: format!("{}[{i}]", self.path_of(name)),
                    value: number.to_string(),
                    accepted,
                }),
            }
        };
        items.iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
    }

    /// The first item of a list of strings; `None` where the list is missing or empty.
    pub(super) fn first_text(&self, name: &str) -> Result<Option<&'a str>, ImportError> {
        match self.list(name)?.and_then(<[Value]>::first) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(value) => Err(self.wrong_type(name, "an array of strings", value)),
        }
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<Object<'a>>, ImportError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Object(map)) => {
                Ok(Some(Object { map, prefix: format!("{}{name}.", self.prefix) }))
            }
            Some(value) => Err(self.wrong_type(name, "an object", value)),
        }
    }

    fn wrong_type(&self, name: &str, expected: &'static str, value: &Value) -> ImportError {
        ImportError::WrongType {
            field: self.path_of(name),
            expected,
            found: JsonKind::of(value),
            value: shown(value),
        }
    }
}

enum Whole {
    Count(u64),
    /// Whole, but negative or beyond what a double counts exactly.
    OutOfReach,
    Fraction,
}

/// `4096.0` counts as 4096: some writers know only doubles.
fn whole(number: &Number) -> Whole {
    /// 2⁵³: above it doubles skip whole numbers.
    const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
    if let Some(count) = number.as_u64() {
        return Whole::Count(count);
    }
    match number.as_f64() {
        Some(value) if libm::trunc(value) != value => Whole::Fraction,
        Some(value) if (0.0..=LARGEST_EXACT).contains(&value) => Whole::Count(value as u64),
        _ => Whole::OutOfReach,
    }
}
