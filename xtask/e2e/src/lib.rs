//! Drives the page in headless Chromium over the DevTools protocol: no WebDriver, no async, no Node.
//!
//! [`Browser`] is one Chromium, [`Page`] one tab with storage of its own.
//! A journey is a function over a page; [`journeys::ALL`] lists them.

mod browser;
mod chromium;
mod devtools;
mod files;
mod input;
pub mod journeys;
pub mod latency;
mod page;
mod problems;
mod screen;

pub use browser::{Browser, stop_all};
pub use chromium::{FLAGS, find as find_chromium};
pub use input::Point;
pub use page::Page;
pub use problems::{Problem, ProblemKind};
pub use screen::{Locale, Scheme, Viewport};
