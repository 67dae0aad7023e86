//! The document as a whole: its language, its theme, its title, and where the keyboard is.

use gloo::utils::{document, document_element};
use wasm_bindgen::JsCast;

/// Tells the document its language.
pub fn set_language(tag: &str) {
    set("lang", Some(tag));
}

/// Sets the theme that the colours follow; the system's without one.
pub fn set_theme(name: Option<&str>) {
    set("data-theme", name);
}

/// Sets the title of the tab.
pub fn set_title(title: &str) {
    document().set_title(title);
}

/// Moves the keyboard to the element of `id`.
pub fn focus(id: &str) {
    if let Some(element) = html_element(id) {
        // An element that cannot take the focus is left alone.
        let _ = element.focus();
    }
}

/// Moves the keyboard to the element of `id` where it is nowhere, as when what was pressed is gone.
pub fn focus_if_lost(id: &str) {
    let lost = document().active_element().is_none_or(|active| active.tag_name() == "BODY");
    if lost && let Some(element) = html_element(id) {
        let options = web_sys::FocusOptions::new();
        options.set_prevent_scroll(true);
        // As in `focus`.
        let _ = element.focus_with_options(&options);
    }
}

/// True while the keyboard is inside the element of `id`.
pub fn holds_focus(id: &str) -> bool {
    let active = document().active_element();
    let element = document().get_element_by_id(id);
    element.is_some_and(|element| element.contains(active.as_deref()))
}

/// Scrolls as far as is needed to see the element of `id`.
pub fn reveal(id: &str) {
    if let Some(element) = document().get_element_by_id(id) {
        show(&element);
    }
}

/// Scrolls as far as is needed to see the first element that `selector` matches.
pub fn reveal_first(selector: &str) {
    let found = document().query_selector(selector).expect("the selector is valid");
    if let Some(element) = found {
        show(&element);
    }
}

fn show(element: &web_sys::Element) {
    let options = web_sys::ScrollIntoViewOptions::new();
    options.set_block(web_sys::ScrollLogicalPosition::Nearest);
    element.scroll_into_view_with_scroll_into_view_options(&options);
}

/// Scrolls the page to the element of `id`.
pub fn scroll_to(id: &str) {
    if let Some(element) = document().get_element_by_id(id) {
        element.scroll_into_view();
    }
}

/// Closes the popover of `id`.
pub fn close_popover(id: &str) {
    if let Some(element) = html_element(id) {
        // It may be closed already.
        let _ = element.hide_popover();
    }
}

/// Clicks the element of `id`.
pub fn click(id: &str) {
    if let Some(element) = html_element(id) {
        element.click();
    }
}

fn html_element(id: &str) -> Option<web_sys::HtmlElement> {
    document().get_element_by_id(id)?.dyn_into().ok()
}

fn set(attribute: &str, value: Option<&str>) {
    let element = document_element();
    let done = match value {
        Some(value) => element.set_attribute(attribute, value),
        None => element.remove_attribute(attribute),
    };
    done.expect("the attribute's name is valid");
}
