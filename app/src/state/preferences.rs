//! How the reader wants the page: language, theme, unit of memory.

use sim_core::quantity::{Locale, Unit};
use std::str::FromStr;

/// The colours' choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the system.
    #[default]
    Auto,
    Light,
    Dark,
}

impl Theme {
    pub const ALL: [Self; 3] = [Self::Auto, Self::Light, Self::Dark];

    /// The name in storage and in the keys of texts: `theme.<name>`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The theme of a name; `Auto` for anything else.
    pub fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|theme| theme.name() == name).unwrap_or_default()
    }

    /// What `data-theme` says.
    pub const fn attribute(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Light | Self::Dark => Some(self.name()),
        }
    }
}

/// The name of a unit in storage and in the keys of texts: `unit.<name>`.
pub const fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Gib => "gib",
        Unit::Gb => "gb",
    }
}

/// The unit of a name; GiB for anything else.
pub fn unit_named(name: &str) -> Unit {
    if name == unit_name(Unit::Gb) { Unit::Gb } else { Unit::Gib }
}

/// The first language that the page speaks, of wishes in order of weight; English without one.
pub fn first_spoken<'a>(wishes: impl IntoIterator<Item = &'a str>) -> Locale {
    wishes.into_iter().find_map(|tag| Locale::from_str(tag).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_spoken_language_wins() {
        assert_eq!(first_spoken(["fr-FR", "zh-TW", "en"]), Locale::ZhCn);
        assert_eq!(first_spoken(["en-GB", "zh-CN"]), Locale::En);
        assert_eq!(first_spoken([]), Locale::En);
    }

    #[test]
    fn names_of_themes_and_units_lead_back() {
        for theme in Theme::ALL {
            assert_eq!(Theme::named(theme.name()), theme);
        }
        for unit in [Unit::Gib, Unit::Gb] {
            assert_eq!(unit_named(unit_name(unit)), unit);
        }
        assert_eq!(Theme::named("neon"), Theme::Auto);
    }
}
