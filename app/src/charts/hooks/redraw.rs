//! Drawing at most once a frame.

use crate::platform::frame::before_paint;
use leptos::prelude::*;

/// Calls `paint` before the next paint whenever a signal that `track` reads has changed.
pub fn redraw(track: impl Fn() + 'static, paint: impl Fn() + Clone + 'static) {
    let is_waiting = StoredValue::new(false);
    Effect::new(move |_| {
        track();
        if is_waiting.get_value() {
            return;
        }
        is_waiting.set_value(true);
        let paint = paint.clone();
        before_paint(move || {
            // A chart that has left the page in the meantime has nothing to draw.
            if is_waiting.try_set_value(false).is_none() {
                paint();
            }
        });
    });
}
