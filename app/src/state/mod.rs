//! What the page knows, apart from how it looks.

pub mod config;
pub mod controls;
pub mod edit_words;
pub mod findings;
pub mod fix_finder;
pub mod fixes;
pub mod formula;
pub mod history;
pub mod import;
pub mod link;
pub mod notice;
pub mod preferences;
mod serving_fixes;
pub mod sources;
pub mod start;
pub mod store;
pub mod values;
pub mod verdict;

pub use store::{Store, use_store};
