//! Doing something once before the next paint, however often it is asked for.

use gloo::render::{AnimationFrame, request_animation_frame};
use gloo::timers::callback::Timeout;
use std::cell::{Cell, RefCell};
use wasm_bindgen_futures::spawn_local;

type Act = Box<dyn FnOnce()>;

/// What the page is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Anything, outside of a frame.
    Between,
    /// Calling what was asked for.
    Acting,
    /// Between the frame's callback and its paint: effects answer what has changed.
    BeforePaint,
}

thread_local! {
    static MOMENT: Cell<Moment> = const { Cell::new(Moment::Between) };
    static THIS_FRAME: RefCell<Vec<Act>> = const { RefCell::new(Vec::new()) };
    static NEXT_FRAME: RefCell<Vec<Act>> = const { RefCell::new(Vec::new()) };
    static REQUEST: RefCell<Option<AnimationFrame>> = const { RefCell::new(None) };
}

/// Calls `act` before the next paint; at once where nothing paints.
///
/// What an effect asks for in answer to a change that this frame has made, such as a chart's drawing,
/// still makes this frame. What an `act` itself asks for, such as the next step of a movement, waits
/// for the next one.
pub fn before_paint(act: impl FnOnce() + 'static) {
    if !cfg!(target_arch = "wasm32") {
        act();
        return;
    }
    if MOMENT.get() == Moment::BeforePaint {
        if push(&THIS_FRAME, act) == 1 {
            // After the effects that are running, and before the paint.
            spawn_local(async { run(THIS_FRAME.take()) });
        }
        return;
    }
    push(&NEXT_FRAME, act);
    REQUEST.with_borrow_mut(|request| {
        request.get_or_insert_with(|| request_animation_frame(|_| frame()));
    });
}

fn push(
    queue: &'static std::thread::LocalKey<RefCell<Vec<Act>>>,
    act: impl FnOnce() + 'static,
) -> usize {
    queue.with_borrow_mut(|queue| {
        queue.push(Box::new(act));
        queue.len()
    })
}

fn frame() {
    drop(REQUEST.take());
    // A timer comes after the paint.
    Timeout::new(0, || MOMENT.set(Moment::Between)).forget();
    run(NEXT_FRAME.take());
}

fn run(acts: Vec<Act>) {
    MOMENT.set(Moment::Acting);
    for act in acts {
        act();
    }
    MOMENT.set(Moment::BeforePaint);
}
