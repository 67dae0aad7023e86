//! The browser's edge: apart from the charts' drawing surfaces, the only place that knows `web_sys`,
//! `js_sys` and gloo.
//!
//! Everything else takes values and signals, and so runs natively in tests.

pub mod address;
pub mod canvas;
pub mod clipboard;
pub mod clock;
pub mod document;
pub mod files;
pub mod frame;
pub mod keyboard;
pub mod preferences;
pub mod svg;
