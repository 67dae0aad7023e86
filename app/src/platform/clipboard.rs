//! Copying text.

use gloo::utils::window;
use wasm_bindgen_futures::{JsFuture, spawn_local};

/// Copies `text`, then says whether that worked.
pub fn copy(text: &str, then: impl FnOnce(bool) + 'static) {
    if !window().is_secure_context() {
        // Pages from a plain http address have no clipboard.
        then(false);
        return;
    }
    let written = JsFuture::from(window().navigator().clipboard().write_text(text));
    spawn_local(async move { then(written.await.is_ok()) });
}
