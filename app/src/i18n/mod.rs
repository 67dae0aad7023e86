//! The page's words: texts by key in two languages, and filling their placeholders.
//!
//! The texts are `public/locales/*.txt`, one `key=value` a line; components hold keys only.

mod message;
mod table;

pub use message::Message;

use sim_core::quantity::Locale;
use std::fmt::Write as _;
use std::sync::LazyLock;
use table::Table;

static ENGLISH: LazyLock<Table> =
    LazyLock::new(|| Table::parse(include_str!("../../../public/locales/en.txt")));
static CHINESE: LazyLock<Table> =
    LazyLock::new(|| Table::parse(include_str!("../../../public/locales/zh-CN.txt")));

/// The languages of the switch, each named in itself.
pub const LOCALES: [(Locale, &str); 2] =
    [(Locale::ZhCn, "language.zh-CN"), (Locale::En, "language.en")];

/// The text of a key: in `locale`, else in English, else the key itself.
pub fn text(locale: Locale, key: &str) -> &'static str {
    find(locale, key).unwrap_or_else(|| table::intern(key))
}

/// The text of a key that may not exist, as for a name out of a user's file.
pub fn find(locale: Locale, key: &str) -> Option<&'static str> {
    let own = match locale {
        Locale::En => &ENGLISH,
        Locale::ZhCn => &CHINESE,
    };
    own.get(key).or_else(|| ENGLISH.get(key))
}

/// `template` with every `{name}` of `values` replaced; unknown placeholders stay.
pub fn fill<V: std::fmt::Display>(template: &str, values: &[(&str, V)]) -> String {
    let mut filled = String::with_capacity(template.len() + 16);
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        let Some(close) = rest.find('}') else { break };
        match values.iter().find(|(name, _)| *name == &rest[1..close]) {
            Some((_, value)) => {
                write!(filled, "{value}").expect("writing to a string cannot fail");
            }
            None => filled.push_str(&rest[..=close]),
        }
        rest = &rest[close + 1..];
    }
    filled.push_str(rest);
    filled
}

/// The text of a key, filled.
pub fn filled<V: std::fmt::Display>(locale: Locale, key: &str, values: &[(&str, V)]) -> String {
    fill(text(locale, key), values)
}

#[cfg(test)]
mod tests;
