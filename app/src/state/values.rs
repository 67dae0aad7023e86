//! How the values of explanations and settings read.

use crate::i18n::{fill, find, text};
use serde_json::Value as Json;
use sim_core::explain::Value;
use sim_core::hardware;
use sim_core::model;
use sim_core::quantity::{Bytes, Locale, Unit, format_bytes, format_count, format_secs};
use sim_core::scenario::StrategyChoice;

/// A value with its unit: `9.41 GiB`, `43.1 %`.
pub fn in_words(value: Value, unit: Unit) -> String {
    match value {
        Value::Bytes(bytes) => format_bytes(Bytes::new(bytes), unit),
        Value::Seconds(seconds) => format_secs(seconds),
        Value::Flops(flops) => format_flops(flops),
        Value::FlopsPerSecond(rate) => format!("{}\u{a0}TFLOP/s", format_count(rate / 1e12)),
        Value::BytesPerSecond(rate) => format!("{}/s", format_bytes(Bytes::new(rate), Unit::Gb)),
        Value::Count(count) | Value::Number(count) => format_count(count),
        Value::Share(share) => percent(share),
    }
}

/// A share of one: `43.1 %`.
pub fn percent(share: f64) -> String {
    format!("{}\u{a0}%", format_count(share * 100.0))
}

/// A number of floating-point operations with a metric prefix: `68.7 GFLOP`, `1.32 PFLOP`.
fn format_flops(flops: f64) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G")];
    let fits = |(unit, _): &&(f64, &str)| flops.abs() >= 0.9995 * unit;
    let (unit, prefix) = PREFIXES.iter().find(fits).unwrap_or(&(1e6, "M"));
    format!("{}\u{a0}{prefix}FLOP", format_count(flops / unit))
}

/// A value inside a formula: a count keeps its digits, or becomes `6.74·10⁹`, because `6.74 B` reads
/// as bytes there.
pub fn in_formula(value: Value, unit: Unit) -> String {
    match value {
        Value::Count(count) | Value::Number(count) if count.abs() >= 1e6 => scientific(count),
        Value::Count(count) if (count - count.round()).abs() < 1e-9 => format!("{count:.0}"),
        Value::Flops(flops) => scientific(flops),
        other => in_words(other, unit),
    }
}

/// A constant in the unit of its table: `3350 GB/s`; the unit `1` is none. An amount of memory
/// follows the reader's unit.
pub fn constant(locale: Locale, value: f64, unit: &str, memory: Unit) -> String {
    if unit == "MiB" {
        return format_bytes(Bytes::mib(value), memory);
    }
    let number =
        if (1e3..1e6).contains(&value) { format!("{value:.0}") } else { format_count(value) };
    if unit == "1" {
        return number;
    }
    format!("{number}\u{a0}{}", find(locale, &format!("unit.{unit}")).unwrap_or(unit))
}

/// `6.74·10⁹`.
fn scientific(value: f64) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let written = format!("{value:.2e}");
    let Some((mantissa, exponent)) = written.split_once('e') else { return written };
    let raised: String = exponent
        .chars()
        .map(|c| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]))
        .collect();
    format!("{mantissa}·10{raised}")
}

/// `71.2 of 79.3 GiB`: two amounts that share one unit where they can; as (first, second).
pub fn pair(first: Bytes, second: Bytes, unit: Unit) -> (String, String) {
    let (a, b) = (format_bytes(first, unit), format_bytes(second, unit));
    match (a.split_once('\u{a0}'), b.split_once('\u{a0}')) {
        (Some((number, one)), Some((_, other))) if one == other => (number.to_owned(), b),
        _ => (a, b),
    }
}

/// The value of a setting in words: a choice by its text, an id by its catalogue's name, anything
/// else as it stands in the file.
pub fn setting(locale: Locale, field: &str, value: &Json) -> String {
    match value {
        Json::String(name) => find(locale, &format!("choice.{field}.{name}"))
            .or_else(|| catalogue_name(field, name))
            .map_or_else(|| name.clone(), str::to_owned),
        Json::Bool(true) => text(locale, "choice.on").to_owned(),
        Json::Bool(false) => text(locale, "choice.off").to_owned(),
        Json::Null => text(locale, "choice.automatic").to_owned(),
        Json::Object(_) => match find(locale, &format!("choice.{field}.{}", choice_name(value))) {
            Some(words) => words.to_owned(),
            None => value.to_string(),
        },
        other => other.to_string(),
    }
}

/// The name of a choice: the text itself, or the one key of a choice with options.
pub fn choice_name(value: &Json) -> &str {
    let key = || Some(value.as_object()?.keys().next()?.as_str());
    value.as_str().or_else(key).unwrap_or_default()
}

/// How model states are sharded: `ZeRO-3`, or the mode of FSDP.
pub fn sharding(locale: Locale, strategy: &StrategyChoice) -> String {
    match strategy.fsdp {
        Some(mode) => setting(locale, "strategy.fsdp", &Json::from(mode.name())),
        None => fill(text(locale, "edit.strategy.zero"), &[("value", strategy.zero)]),
    }
}

/// The name of an id that a field takes from a catalogue.
fn catalogue_name(field: &str, id: &str) -> Option<&'static str> {
    match field {
        "model" | "model.preset" => model::catalog::find(id).map(|model| model.name),
        "hardware.device" => hardware::catalog::find(id).map(|device| device.name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_counts_in_a_formula_are_powers_of_ten() {
        assert_eq!(in_formula(Value::Count(6_738_415_616.0), Unit::Gib), "6.74·10⁹");
        assert_eq!(in_formula(Value::Count(2048.0), Unit::Gib), "2048");
        assert_eq!(in_formula(Value::Number(0.000_012), Unit::Gib), "0.00");
        assert_eq!(scientific(1.5e-7), "1.50·10⁻⁷");
    }

    #[test]
    fn values_carry_their_unit() {
        let words = |value| in_words(value, Unit::Gib).replace('\u{a0}', " ");
        assert_eq!(words(Value::FlopsPerSecond(312e12)), "312 TFLOP/s");
        assert_eq!(words(Value::BytesPerSecond(300e9)), "300 GB/s");
        assert_eq!(words(Value::Share(0.431)), "43.1 %");
    }

    #[test]
    fn constants_keep_the_unit_of_their_table() {
        let constant = |value, unit| constant(Locale::ZhCn, value, unit, Unit::Gib);
        assert_eq!(constant(3350.0, "GB/s"), "3350\u{a0}GB/s");
        assert_eq!(constant(0.83, "1"), "0.83");
        assert_eq!(constant(500.0, "MiB"), "0.49\u{a0}GiB");
        assert_eq!(constant(500.0, "M elements"), "500\u{a0}百万个元素");
    }

    #[test]
    fn operations_choose_their_prefix() {
        let words = |flops| in_words(Value::Flops(flops), Unit::Gib).replace('\u{a0}', " ");
        assert_eq!(words(3.1e9), "3.10 GFLOP");
        assert_eq!(words(2.5e14), "250 TFLOP");
        assert_eq!(words(1.32e15), "1.32 PFLOP");
        assert_eq!(words(4e19), "40 EFLOP");
        assert_eq!(words(0.0), "0 MFLOP");
    }

    #[test]
    fn a_pair_names_a_shared_unit_once() {
        let (a, b) = pair(Bytes::gib(71.2), Bytes::gib(79.3), Unit::Gib);
        assert_eq!((a.as_str(), b.as_str()), ("71.2", "79.3\u{a0}GiB"));
        let (a, _) = pair(Bytes::mib(20.0), Bytes::gib(79.3), Unit::Gib);
        assert_eq!(a, "20.0\u{a0}MiB");
    }
}
