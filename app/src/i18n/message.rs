//! A sentence that is not yet in a language: its key and what fills it.

use super::{fill, find, text};
use sim_core::quantity::Locale;

/// What fills a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// As it stands, in every language.
    Text(String),
    /// A text of its own.
    Key(String),
    /// A sentence of its own.
    Message(Box<Message>),
}

/// A sentence by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    key: String,
    parts: Vec<(&'static str, Part)>,
}

impl Message {
    pub fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), parts: Vec::new() }
    }

    /// Fills `{name}` with a text.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.parts.push((name, Part::Text(value.to_string())));
        self
    }

    /// Fills `{name}` with the text of a key.
    #[must_use]
    pub fn with_key(mut self, name: &'static str, key: impl Into<String>) -> Self {
        self.parts.push((name, Part::Key(key.into())));
        self
    }

    /// Fills `{name}` with a sentence.
    #[must_use]
    pub fn with_message(mut self, name: &'static str, message: Message) -> Self {
        self.parts.push((name, Part::Message(Box::new(message))));
        self
    }

    /// What it is about: the first part of its key.
    pub fn topic(&self) -> &str {
        self.key.split('.').next().unwrap_or(&self.key)
    }

    /// The sentence in a language.
    pub fn render(&self, locale: Locale) -> String {
        let words = |part: &Part| match part {
            Part::Text(value) => value.clone(),
            Part::Key(key) => find(locale, key).unwrap_or(key).to_owned(),
            Part::Message(message) => message.render(locale),
        };
        let values: Vec<_> = self.parts.iter().map(|(name, part)| (*name, words(part))).collect();
        fill(text(locale, &self.key), &values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_nest() {
        let reason = Message::new("import.missing").with("field", "n_layer");
        let message =
            Message::new("import.refused").with("name", "a.json").with_message("reason", reason);
        assert_eq!(message.topic(), "import");
        assert_eq!(
            message.render(Locale::En),
            "a.json: “n_layer” is missing. Nothing has changed."
        );
    }
}
