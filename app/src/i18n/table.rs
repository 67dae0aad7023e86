//! A locale file as a sorted table, and keys that have no text.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex};

/// Texts by key.
pub struct Table {
    rows: Vec<(&'static str, &'static str)>,
}

impl Table {
    /// Reads `key=value` lines; empty lines and those that start with `#` say nothing.
    pub fn parse(file: &'static str) -> Self {
        let mut rows: Vec<_> = Self::lines(file).collect();
        rows.sort_unstable();
        Self { rows }
    }

    /// The rows of a file in its own order.
    pub fn lines(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
        file.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| line.split_once('=').unwrap_or((line, "")))
            .map(|(key, value)| (key.trim(), value.trim()))
    }

    pub fn get(&self, key: &str) -> Option<&'static str> {
        let at = self.rows.binary_search_by(|row| row.0.cmp(key)).ok()?;
        Some(self.rows[at].1)
    }
}

/// A key as its own text. Keys without a text are few: each is kept once, for good.
pub fn intern(key: &str) -> &'static str {
    static MISSING: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut missing = MISSING.lock().expect("no holder of the lock panics");
    if let Some(known) = missing.get(key) {
        return known;
    }
    let kept: &'static str = Box::leak(key.to_owned().into_boxed_str());
    missing.insert(kept);
    kept
}
