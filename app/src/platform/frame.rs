//! Doing something once before the next paint, however often it is asked for.

use gloo::render::{AnimationFrame, request_animation_frame};
use std::cell::RefCell;

type Act = Box<dyn FnOnce()>;

thread_local! {
    static WAITING: RefCell<Vec<Act>> = const { RefCell::new(Vec::new()) };
    static FRAME: RefCell<Option<AnimationFrame>> = const { RefCell::new(None) };
}

/// Calls `act` before the next paint; at once where nothing paints.
pub fn before_paint(act: impl FnOnce() + 'static) {
    if !cfg!(target_arch = "wasm32") {
        act();
        return;
    }
    WAITING.with_borrow_mut(|waiting| waiting.push(Box::new(act)));
    FRAME.with_borrow_mut(|frame| {
        frame.get_or_insert_with(|| request_animation_frame(|_| run()));
    });
}

fn run() {
    drop(FRAME.take());
    for act in WAITING.take() {
        act();
    }
}
