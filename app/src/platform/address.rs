//! The page's address: the part after `#`, and the language in the query.

use gloo::events::EventListener;
use gloo::utils::{history, window};
use wasm_bindgen::JsValue;

/// The part after `#`, with it; empty when there is none.
pub fn hash() -> String {
    window().location().hash().unwrap_or_default()
}

/// The browser does not let the address be changed, as when it was changed far too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Puts `hash` behind `#` without a new entry in the history; nothing when it is empty.
///
/// # Errors
/// When the browser refuses; the address is as before.
pub fn replace_hash(hash: &str) -> Result<(), Refused> {
    let location = window().location();
    let path = location.pathname().unwrap_or_default();
    let search = location.search().unwrap_or_default();
    replace(&format!("{path}{search}{}", behind_hash(hash)))
}

/// Takes `name` out of the query.
///
/// # Errors
/// When the browser refuses; the address is as before.
pub fn drop_query(name: &str) -> Result<(), Refused> {
    let hash = hash();
    replace(&format!("{}{hash}", path_without(name)))
}

/// The whole address without `name` in the query, and with `hash` behind `#`.
pub fn with_hash(hash: &str, name: &str) -> String {
    let origin = window().location().origin().unwrap_or_default();
    format!("{origin}{}{}", path_without(name), behind_hash(hash))
}

fn behind_hash(hash: &str) -> String {
    if hash.is_empty() { String::new() } else { format!("#{hash}") }
}

fn replace(address: &str) -> Result<(), Refused> {
    history().replace_state_with_url(&JsValue::NULL, "", Some(address)).map_err(|_| Refused)
}

fn path_without(name: &str) -> String {
    let location = window().location();
    let path = location.pathname().unwrap_or_default();
    let search = location.search().unwrap_or_default();
    let Ok(query) = web_sys::UrlSearchParams::new_with_str(&search) else { return path };
    query.delete(name);
    let left = String::from(query.to_string());
    if left.is_empty() { path } else { format!("{path}?{left}") }
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
