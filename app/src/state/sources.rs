//! Sources of numbers in the reader's language: citations as they stand, remarks translated.

use crate::i18n::find;
use sim_core::quantity::Locale;

/// A source that the core gives in English. Only remarks have a text `source.<slug>`; a citation
/// reads alike in every language.
pub fn source_words(locale: Locale, source: &'static str) -> &'static str {
    find(locale, &format!("source.{}", slug(source))).unwrap_or(source)
}

/// `The trace: now` to `the-trace-now`.
pub fn slug(source: &str) -> String {
    let words: Vec<String> = source
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_translated_and_citations_stand() {
        assert_eq!(source_words(Locale::ZhCn, "definition"), "按定义");
        assert_eq!(source_words(Locale::En, "definition"), "definition");
        assert_eq!(source_words(Locale::ZhCn, "PCI-SIG; x"), "PCI-SIG; x");
    }

    #[test]
    fn english_remarks_are_those_of_the_core() {
        for formula in sim_core::formulas::ALL {
            assert_eq!(source_words(Locale::En, formula.source), formula.source);
        }
    }
}
