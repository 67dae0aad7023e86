//! The page's address: the part after `#`, and the language in the query.

use gloo::events::EventListener;
use gloo::utils::{history, window};
use wasm_bindgen::JsValue;

/// The part after `#`, with it; empty when there is none.
pub fn hash() -> String {
    window().location().hash().unwrap_or_default()
}

/// Puts `hash` behind `#` without a new entry in the history.
pub fn replace_hash(hash: &str) {
    // A browser refuses when called far too often; the next change writes the address again.
    let _ = history().replace_state_with_url(&JsValue::NULL, "", Some(&format!("#{hash}")));
}

/// The whole address, with `hash` behind `#`.
pub fn with_hash(hash: &str) -> String {
    let href = window().location().href().unwrap_or_default();
    let page = href.split('#').next().unwrap_or_default();
    format!("{page}#{hash}")
}

/// Calls `act` whenever the user changes the part after `#`, for as long as the page is open.
pub fn on_hash_change(mut act: impl FnMut() + 'static) {
    EventListener::new(&window(), "hashchange", move |_| act()).forget();
}

/// The value of `name` in the query.
pub fn query(name: &str) -> Option<String> {
    let search = window().location().search().ok()?;
    web_sys::UrlSearchParams::new_with_str(&search).ok()?.get(name)
}
