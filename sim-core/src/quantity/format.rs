//! How quantities read on the page and on the command line: one place for digits and units.

use super::Bytes;

/// The unit family for amounts of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Unit {
    /// Base 2, as `nvidia-smi` and PyTorch count.
    #[default]
    Gib,
    /// Base 10, as data sheets count.
    Gb,
}

/// A language the product speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Locale {
    #[default]
    En,
    ZhCn,
}

/// The text does not name a language the product speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a language Headroom speaks: en, zh-CN")]
pub struct ParseLocaleError;

impl Locale {
    /// The BCP 47 tag.
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::ZhCn => "zh-CN",
        }
    }
}

impl std::str::FromStr for Locale {
    type Err = ParseLocaleError;

    /// Reads a BCP 47 tag; any Chinese one means zh-CN, any English one means en.
    fn from_str(tag: &str) -> Result<Self, ParseLocaleError> {
        let lower = tag.to_ascii_lowercase();
        match lower.split('-').next() {
            Some("zh") => Ok(Self::ZhCn),
            Some("en") => Ok(Self::En),
            _ => Err(ParseLocaleError),
        }
    }
}

/// Three to four significant digits without an exponent: `0.42`, `9.41`, `33.1`, `112`.
fn digits(value: f64) -> String {
    let size = value.abs();
    let decimals = if size >= 99.95 {
        0
    } else if size >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

/// An amount of memory with its unit: `9.41 GiB`, `512 MiB`, `80.0 GB`.
///
/// A no-break space stands before the unit.
pub fn format_bytes(bytes: Bytes, unit: Unit) -> String {
    let (step, names): (f64, [&str; 5]) = match unit {
        Unit::Gib => (1024.0, ["B", "KiB", "MiB", "GiB", "TiB"]),
        Unit::Gb => (1000.0, ["B", "kB", "MB", "GB", "TB"]),
    };
    let mut value = bytes.get();
    let mut index = 0;
    // 0.1 GiB reads better than 102 MiB beside other GiB figures.
    while value.abs() >= step * 0.0995 && index < 3 || value.abs() >= step * 9.995 && index < 4 {
        if index == 0 && value.abs() < step {
            break;
        }
        value /= step;
        index += 1;
    }
    if index == 0 {
        format!("{value:.0}\u{a0}B")
    } else {
        format!("{}\u{a0}{}", digits(value), names[index])
    }
}

/// A time with its unit: `412 µs`, `3.20 ms`, `1.92 s`, `12.3 min`, `5.1 h`, `21 d`.
pub fn format_secs(secs: f64) -> String {
    let size = secs.abs();
    let (value, unit) = if size < 0.999_5e-3 {
        (secs * 1e6, "µs")
    } else if size < 0.999_5 {
        (secs * 1e3, "ms")
    } else if size < 119.95 {
        (secs, "s")
    } else if size < 7_200.0 {
        (secs / 60.0, "min")
    } else if size < 172_800.0 {
        (secs / 3600.0, "h")
    } else {
        (secs / 86_400.0, "d")
    };
    format!("{}\u{a0}{unit}", digits(value))
}

/// A count with a metric prefix: `6.74 B` parameters, `34.1 k` tokens.
pub fn format_count(count: f64) -> String {
    let size = count.abs();
    let (value, suffix) = if size < 999.5 {
        return if (count - libm::round(count)).abs() < 1e-9 {
            format!("{count:.0}")
        } else {
            digits(count)
        };
    } else if size < 999_500.0 {
        (count / 1e3, "k")
    } else if size < 999_500_000.0 {
        (count / 1e6, "M")
    } else if size < 999_500_000_000.0 {
        (count / 1e9, "B")
    } else {
        (count / 1e12, "T")
    };
    format!("{}\u{a0}{suffix}", digits(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_keep_three_digits() {
        let gib = |v| format_bytes(Bytes::gib(v), Unit::Gib).replace('\u{a0}', " ");
        assert_eq!(gib(9.413), "9.41 GiB");
        assert_eq!(gib(112.4), "112 GiB");
        assert_eq!(gib(0.25), "0.25 GiB");
        assert_eq!(gib(0.05), "51.2 MiB");
        assert_eq!(gib(12_000.0), "11.7 TiB");
        assert_eq!(format_bytes(Bytes::new(12.0), Unit::Gib), "12\u{a0}B");
        assert_eq!(format_bytes(Bytes::new(0.0), Unit::Gib), "0\u{a0}B");
        assert_eq!(format_bytes(Bytes::gb(80.0), Unit::Gb), "80.0\u{a0}GB");
    }

    #[test]
    fn times_choose_their_unit() {
        let t = |v| format_secs(v).replace('\u{a0}', " ");
        assert_eq!(t(412e-6), "412 µs");
        assert_eq!(t(0.0032), "3.20 ms");
        assert_eq!(t(1.92), "1.92 s");
        assert_eq!(t(1800.0), "30.0 min");
    }

    #[test]
    fn counts_choose_their_prefix() {
        assert_eq!(format_count(6_738_415_616.0), "6.74\u{a0}B");
        assert_eq!(format_count(34_100.0), "34.1\u{a0}k");
        assert_eq!(format_count(8.0), "8");
    }
}
