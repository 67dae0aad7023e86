//! The colours of charts, read from the page's custom properties.

use plotters::style::RGBColor;
use sim_core::trace::{Category, Phase};

/// Custom properties that are no category and no phase, in the order of [`Palette`]'s fields.
const PLAIN: [&str; 11] = [
    "--text",
    "--text-muted",
    "--background",
    "--surface",
    "--border",
    "--border-strong",
    "--grid",
    "--lane-background",
    "--accent",
    "--danger",
    "--capacity",
];

/// Every colour that a chart uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    pub categories: [RGBColor; Category::COUNT],
    pub phases: [RGBColor; Phase::ALL.len()],
    pub text: RGBColor,
    pub text_muted: RGBColor,
    pub background: RGBColor,
    pub surface: RGBColor,
    pub border: RGBColor,
    pub border_strong: RGBColor,
    pub grid: RGBColor,
    pub lane_background: RGBColor,
    pub accent: RGBColor,
    pub danger: RGBColor,
    pub capacity: RGBColor,
}

impl Palette {
    /// The palette of the page, given a reader of custom properties that returns a computed colour;
    /// one that is missing or cannot be read becomes black.
    pub fn read(mut property: impl FnMut(&str) -> String) -> Self {
        let mut color = |name: &str| parse(&property(name)).unwrap_or_default();
        let categories = Category::ALL.map(|c| color(&format!("--category-{}", c.name())));
        let phases = Phase::ALL.map(|p| color(&format!("--phase-{}", p.name())));
        let [
            text,
            text_muted,
            background,
            surface,
            border,
            border_strong,
            grid,
            lane_background,
            accent,
            danger,
            capacity,
        ] = PLAIN.map(color);
        Self {
            categories,
            phases,
            text,
            text_muted,
            background,
            surface,
            border,
            border_strong,
            grid,
            lane_background,
            accent,
            danger,
            capacity,
        }
    }

    /// The colour of text on `ground` that can be read best.
    pub fn ink_on(&self, ground: RGBColor) -> RGBColor {
        if contrast(self.text, ground) >= contrast(self.background, ground) {
            self.text
        } else {
            self.background
        }
    }

    /// A distinct colour for every name.
    #[cfg(test)]
    pub fn sample() -> Self {
        let mut next = 0_u8;
        Self::read(|_| {
            next += 8;
            format!("rgb({next}, {}, 128)", 255 - next)
        })
    }
}

/// A computed colour: `rgb(1, 2, 3)`, `rgba(1, 2, 3, 0.5)`, `color(srgb 0.1 0.2 0.3)` or `#0a141e`.
fn parse(text: &str) -> Option<RGBColor> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix('#') {
        let number = u32::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 6)?;
        let [_, r, g, b] = number.to_be_bytes();
        return Some(RGBColor(r, g, b));
    }
    let (name, rest) = text.split_once('(')?;
    let (rest, scale) = match name {
        "rgb" | "rgba" => (rest, 1.0),
        "color" => (rest.strip_prefix("srgb ")?, 255.0),
        _ => return None,
    };
    let mut numbers = rest
        .split([',', ' ', '/', ')'])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse::<f64>().ok().map(|n| (n * scale).round().clamp(0.0, 255.0) as u8));
    Some(RGBColor(numbers.next()??, numbers.next()??, numbers.next()??))
}

/// Contrast of two colours as WCAG 2 defines it: 1 to 21.
fn contrast(a: RGBColor, b: RGBColor) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Relative luminance as WCAG 2 defines it: 0 to 1.
fn luminance(color: RGBColor) -> f64 {
    let linear = |channel: u8| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(color.0) + 0.7152 * linear(color.1) + 0.0722 * linear(color.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_colours_are_read() {
        assert_eq!(parse("rgb(18, 71, 132)"), Some(RGBColor(18, 71, 132)));
        assert_eq!(parse("rgba(18, 71, 132, 0.5)"), Some(RGBColor(18, 71, 132)));
        assert_eq!(parse("color(srgb 1 0.5 0)"), Some(RGBColor(255, 128, 0)));
        assert_eq!(parse(" #124784 "), Some(RGBColor(18, 71, 132)));
        for nonsense in ["", "red", "#12", "rgb(", "rgb(a, b, c)", "color(display-p3 1 1 1)"] {
            assert_eq!(parse(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn text_is_dark_on_light_and_light_on_dark() {
        let palette = Palette {
            text: RGBColor(20, 20, 20),
            background: RGBColor(255, 255, 255),
            ..Palette::default()
        };
        assert_eq!(palette.ink_on(RGBColor(212, 190, 82)), palette.text);
        assert_eq!(palette.ink_on(RGBColor(18, 71, 132)), palette.background);
    }

    #[test]
    fn every_colour_has_its_own_name() {
        let mut names = Vec::new();
        Palette::read(|name| {
            names.push(name.to_owned());
            String::new()
        });
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
