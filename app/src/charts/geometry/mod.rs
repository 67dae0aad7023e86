//! Where things go on a chart: pure functions from plain numbers to pixels.
//!
//! Nothing here knows the browser, the page's state or a language, so that all of it is tested
//! natively.

mod axis;
mod bars;
mod curve;
mod hatch;
mod lanes;
mod spans;
mod ticks;
mod viewport;

pub use axis::{memory_axis_max, time_axis_max};
pub use bars::{BarRow, BarSpec, BarsLayout, BarsOptions};
pub use curve::{Column, CurveIndex, Stack};
pub use hatch::Hatch;
pub use lanes::{Band, GroupSpec, LaneRow, LanesLayout, LanesOptions};
pub use spans::{LaneSpans, Run};
pub use ticks::{MemoryScale, Tick, memory_ticks, time_text, time_ticks};
pub use viewport::Viewport;

/// An axis-parallel box in pixels; right and bottom lie outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rect {
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
}

impl Rect {
    /// In pixels, never negative.
    pub fn width(self) -> i32 {
        (self.right - self.left).max(0)
    }

    /// In pixels, never negative.
    pub fn height(self) -> i32 {
        (self.bottom - self.top).max(0)
    }

    /// True when the pixel lies inside.
    pub fn contains(self, x: f64, y: f64) -> bool {
        x >= f64::from(self.left)
            && x < f64::from(self.right)
            && y >= f64::from(self.top)
            && y < f64::from(self.bottom)
    }
}

/// The nearest pixel edge, held within `low..=high`; whatever is not a number goes to `low`.
fn pixel(position: f64, low: i32, high: i32) -> i32 {
    if position.is_nan() {
        return low;
    }
    // In range after the clamp, so the cast only drops the fraction.
    position.round().clamp(f64::from(low), f64::from(high.max(low))) as i32
}
