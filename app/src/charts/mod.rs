//! Charts: pure geometry, and thin views that draw it.
//!
//! `geometry` turns numbers into pixels, `model` prepares a simulation for drawing, `bars` and
//! `timeline` are the two charts of a step. plotters draws: SVG for bars, a canvas for the timeline.

mod bars;
mod geometry;
mod hooks;
mod model;
mod painter;
mod palette;
mod timeline;
mod words;

pub use bars::MemoryBars;
pub use timeline::Timeline;
