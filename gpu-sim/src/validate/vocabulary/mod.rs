//! What the names of published tables mean here: models, devices, number formats, engines.
//!
//! A name that is in no table is a reason to skip its row, never a reason to guess.

pub mod devices;
pub mod engines;
pub mod formats;
pub mod models;

/// Longest name that is looked at, in bytes; a reason quotes no more of it.
const LONGEST_NAME: usize = 80;

/// Lower case, without what stands in parentheses, blanks at the ends and repeated blanks.
fn clean(name: &str) -> String {
    let mut depth = 0_u32;
    let outside: String = name
        .chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect();
    let words: Vec<String> = outside.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// A name as a reason shows it.
pub fn quoted(name: &str) -> String {
    let short: String = name.chars().take(LONGEST_NAME).collect();
    short.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cleaned_of_case_and_parentheses() {
        assert_eq!(clean("  H100-96GB (HBM2e (2.4 TB/s)) x "), "h100-96gb x");
        assert_eq!(clean("a ) b ( c"), "a b");
    }
}
