//! The width of an element.

use crate::platform::canvas::{Watch, watch_width};
use crate::platform::frame::before_paint;
use leptos::html::Div;
use leptos::prelude::*;

/// The width of `element` in whole pixels; 0 until it is in the page.
pub fn use_width(element: NodeRef<Div>) -> Signal<i32> {
    let width = RwSignal::new(0);
    let watch = StoredValue::new_local(None::<Watch>);
    Effect::new(move |_| {
        let Some(element) = element.get() else { return };
        watch.set_value(watch_width(&element, move |now| {
            // Not at once: a browser complains when an observer of sizes changes sizes.
            before_paint(move || {
                let now = now.floor() as i32;
                if width.try_get_untracked().is_some_and(|before| before != now) {
                    width.set(now);
                }
            });
        }));
    });
    width.into()
}
