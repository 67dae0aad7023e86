//! What the page remembers about its reader, and what the browser says about them.

use gloo::storage::{LocalStorage, Storage};
use gloo::utils::window;

/// The remembered text of `name`. A browser that stores nothing remembers nothing.
pub fn remembered(name: &str) -> Option<String> {
    LocalStorage::get::<String>(stored_name(name)).ok()
}

/// Remembers a text.
pub fn remember(name: &str, value: &str) {
    // Private windows may refuse; the choice then lasts as long as the page.
    let _ = LocalStorage::set(stored_name(name), value);
}

/// The language tags that the browser asks for, the preferred one first.
pub fn languages() -> Vec<String> {
    window().navigator().languages().iter().filter_map(|tag| tag.as_string()).collect()
}

fn stored_name(name: &str) -> String {
    format!("headroom.{name}")
}
