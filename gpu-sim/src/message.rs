//! English sentences for issues, from the texts that the page uses too.

use sim_core::issue::Issue;

const TEXTS: &str = include_str!("../../public/locales/en.txt");

/// The text of a key; the key itself where there is none.
fn text(key: &str) -> &str {
    TEXTS
        .lines()
        .filter_map(|line| line.split_once('='))
        .find(|(name, _)| name.trim() == key)
        .map_or(key, |(_, text)| text.trim())
}

/// The sentence of an issue, its placeholders filled.
pub fn sentence(issue: &Issue) -> String {
    let key = format!("issue.{}", issue.code.name());
    let mut sentence = text(&key).to_owned();
    for (name, value) in &issue.values {
        sentence = sentence.replace(&format!("{{{name}}}"), value);
    }
    sentence.replace("{field}", &issue.field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::issue::IssueCode;

    #[test]
    fn every_issue_has_a_sentence() {
        for code in IssueCode::ALL {
            let key = format!("issue.{}", code.name());
            assert_ne!(text(&key), key, "{key}");
        }
    }
}
