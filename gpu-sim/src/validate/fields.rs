//! Access to the fields of a row that survives whatever the row holds.

use serde_json::Value;

/// Why something is not compared.
pub type Reason = String;

/// Largest count that is read: above every real one, and exact as a 64-bit float.
const MAX_COUNT: f64 = 1e15;

/// A row of a file with JSON objects.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a Value);

impl<'a> Fields<'a> {
    /// The value at `path`, names joined by dots; `None` where it is missing or null.
    pub fn value(self, path: &str) -> Option<&'a Value> {
        let found = path.split('.').try_fold(self.0, |place, name| place.get(name))?;
        (!found.is_null()).then_some(found)
    }

    /// A text.
    ///
    /// # Errors
    /// When there is something else.
    pub fn text(self, path: &str) -> Result<Option<&'a str>, Reason> {
        self.read(path, Value::as_str)
    }

    /// A whole number from 0 on.
    ///
    /// # Errors
    /// When there is something else.
    pub fn count(self, path: &str) -> Result<Option<u64>, Reason> {
        self.read(path, |value| {
            let number = value.as_f64()?;
            let is_count = number.fract() == 0.0 && (0.0..=MAX_COUNT).contains(&number);
            is_count.then_some(number as u64)
        })
    }

    /// A whole number from 1 on.
    ///
    /// # Errors
    /// When there is something else.
    pub fn degree(self, path: &str) -> Result<Option<u64>, Reason> {
        match self.count(path)? {
            Some(0) => Err(unreadable(path)),
            other => Ok(other),
        }
    }

    /// A number.
    ///
    /// # Errors
    /// When there is something else.
    pub fn number(self, path: &str) -> Result<Option<f64>, Reason> {
        self.read(path, |value| value.as_f64().filter(|number| number.is_finite()))
    }

    /// True or false.
    ///
    /// # Errors
    /// When there is something else.
    pub fn flag(self, path: &str) -> Result<Option<bool>, Reason> {
        self.read(path, Value::as_bool)
    }

    fn read<T>(
        self,
        path: &str,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Reason> {
        self.value(path).map(|value| parse(value).ok_or_else(|| unreadable(path))).transpose()
    }
}

/// A field that the row needs and lacks.
pub fn incomplete(path: &str) -> Reason {
    format!("incomplete: {path}")
}

/// A field that holds something else than it should.
pub fn unreadable(path: &str) -> Reason {
    format!("unreadable: {path}")
}

/// A choice that no scenario can express.
pub fn inexpressible(what: &str) -> Reason {
    format!("not in the scenario format: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_are_whole_and_not_negative() {
        let row =
            json!({"a": {"b": 8, "c": 8.0, "d": -1, "e": 1.5, "f": "8", "g": null, "h": 1e300}});
        let fields = Fields(&row);
        assert_eq!(fields.count("a.b"), Ok(Some(8)));
        assert_eq!(fields.count("a.c"), Ok(Some(8)));
        for path in ["a.d", "a.e", "a.f", "a.h"] {
            assert_eq!(fields.count(path), Err(unreadable(path)), "{path}");
        }
        for path in ["a.g", "a.z", "x.y", "a.b.c"] {
            assert_eq!(fields.count(path), Ok(None), "{path}");
        }
    }
}
