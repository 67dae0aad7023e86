//! What charts need to know about their surroundings, as signals.

mod glide;
mod redraw;
mod theme;
mod width;

pub use glide::glide;
pub use redraw::redraw;
pub use theme::{Theme, use_theme};
pub use width::use_width;
