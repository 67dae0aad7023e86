//! Time: what it is, and doing something later.

use gloo::timers::callback::Timeout;
use std::cell::RefCell;
use std::rc::Rc;

/// Milliseconds since some fixed instant.
pub fn now_ms() -> f64 {
    if cfg!(target_arch = "wasm32") { js_sys::Date::now() } else { 0.0 }
}

/// Calls `act` in `milliseconds`.
pub fn later(milliseconds: u32, act: impl FnOnce() + 'static) {
    if cfg!(target_arch = "wasm32") {
        Timeout::new(milliseconds, act).forget();
    }
}

/// Something to do after a while; setting it again starts the while anew.
#[derive(Clone, Default)]
pub struct Alarm(Rc<RefCell<Option<Timeout>>>);

impl Alarm {
    /// Calls `act` in `milliseconds`, and not what was set before.
    pub fn set(&self, milliseconds: u32, act: impl FnOnce() + 'static) {
        let timeout = Timeout::new(milliseconds, act);
        // The earlier one is cancelled by being dropped.
        drop(self.0.replace(Some(timeout)));
    }
}
