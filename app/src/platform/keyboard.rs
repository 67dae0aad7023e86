//! Keys that work everywhere on the page.

use gloo::events::{EventListener, EventListenerOptions};
use gloo::utils::window;
use wasm_bindgen::JsCast;

/// A key of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKey {
    Undo,
    Redo,
}

/// Calls `act` on the page's keys, for as long as the page is open. Boxes for text keep their own
/// undo.
pub fn on_page_key(act: impl Fn(PageKey) + 'static) {
    let options = EventListenerOptions::enable_prevent_default();
    EventListener::new_with_options(&window(), "keydown", options, move |event| {
        let Some(event) = event.dyn_ref::<web_sys::KeyboardEvent>() else { return };
        if let Some(key) = page_key(event)
            && !is_text_box(event)
        {
            event.prevent_default();
            act(key);
        }
    })
    .forget();
}

fn page_key(event: &web_sys::KeyboardEvent) -> Option<PageKey> {
    if !(event.ctrl_key() || event.meta_key()) || event.alt_key() {
        return None;
    }
    match (event.key().to_ascii_lowercase().as_str(), event.shift_key()) {
        ("z", false) => Some(PageKey::Undo),
        ("z", true) | ("y", false) => Some(PageKey::Redo),
        _ => None,
    }
}

fn is_text_box(event: &web_sys::KeyboardEvent) -> bool {
    event
        .target()
        .and_then(|target| target.dyn_into::<web_sys::HtmlInputElement>().ok())
        .is_some_and(|input| matches!(input.type_().as_str(), "text" | "search"))
}
