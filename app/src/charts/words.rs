//! The names and numbers that charts show, in the reader's language.

use super::model::ClassPeak;
use crate::i18n::{filled, text};
use crate::state::values::in_words;
use sim_core::explain::Value;
use sim_core::quantity::{Bytes, Locale, Unit, format_bytes};
use sim_core::trace::{Category, Lane, Phase};

/// `GPU 0–7 ×8`, or `Stage 2 ×4` where there are several classes.
pub fn class_name(locale: Locale, classes: &[ClassPeak], class: usize) -> String {
    let Some(peak) = classes.get(class) else { return String::new() };
    if classes.len() > 1 {
        let values = [("stage", peak.stage), ("ranks", peak.ranks)];
        return filled(locale, "chart.class.stage", &values);
    }
    match peak.ranks {
        0 | 1 => text(locale, "chart.class.one").to_owned(),
        ranks => filled(locale, "chart.class.all", &[("last", ranks - 1), ("ranks", ranks)]),
    }
}

/// The name of a use of memory.
pub fn category_name(locale: Locale, category: Category) -> &'static str {
    text(locale, &format!("category.{}", category.name()))
}

/// The name of a phase.
pub fn phase_name(locale: Locale, phase: Phase) -> &'static str {
    text(locale, &format!("phase.{}", phase.name()))
}

/// What a lane is for: `Data parallel`.
pub fn lane_kind(locale: Locale, lane: &Lane) -> &'static str {
    text(locale, &format!("lane.{}", lane.kind.name()))
}

/// The name of a lane: `Data parallel · NVLink 3`.
pub fn lane_name(locale: Locale, lane: &Lane) -> String {
    let kind = lane_kind(locale, lane);
    match lane.link {
        Some(link) => filled(locale, "chart.lane.on-link", &[("lane", kind), ("link", link)]),
        None => kind.to_owned(),
    }
}

/// `9.41 GiB`.
pub fn bytes(amount: f64, unit: Unit) -> String {
    format_bytes(Bytes::new(amount), unit)
}

/// `12.3 %`; nothing for a share of nothing.
pub fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 { in_words(Value::Share(part / whole), Unit::Gib) } else { String::new() }
}
