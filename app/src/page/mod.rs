//! The page: its frame and the Explore view.

mod assumptions;
mod controls;
mod explore;
mod header;
mod icon;
mod importing;
mod issues;
mod notices;
mod presets;
mod segmented;
mod spoken;
mod verdict;
mod why;
mod wiring;

pub use explore::App;

#[cfg(test)]
mod tests;
