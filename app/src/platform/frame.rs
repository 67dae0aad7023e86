//! Doing something once before the next paint, however often it is asked for, or after it.

use gloo::render::{AnimationFrame, request_animation_frame};
use gloo::timers::callback::Timeout;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;
use wasm_bindgen_futures::spawn_local;

type Act = Box<dyn FnOnce()>;

/// How many rounds of effects may follow each other, one changing what the next one reads, before what
/// they ask for is done: a drawing that did not wait would have to be drawn again in the same frame.
const ROUNDS_OF_EFFECTS: usize = 4;

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
            spawn_local(async {
                for _ in 0..ROUNDS_OF_EFFECTS {
                    others_first().await;
                }
                run(THIS_FRAME.take());
            });
        }
        return;
    }
    in_next_frame(act);
}

/// Calls `act` in the next frame: after the paint that is due, where one is; at once where nothing
/// paints.
pub fn after_paint(act: impl FnOnce() + 'static) {
    if cfg!(target_arch = "wasm32") {
        in_next_frame(act);
    } else {
        act();
    }
}

fn in_next_frame(act: impl FnOnce() + 'static) {
    push(&NEXT_FRAME, act);
    REQUEST.with_borrow_mut(|request| {
        request.get_or_insert_with(|| request_animation_frame(|_| frame()));
    });
}

/// Ready once every task that is waiting now has had its turn.
async fn others_first() {
    let mut has_waited = false;
    poll_fn(|context| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
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
