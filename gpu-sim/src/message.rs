//! English sentences for issues, from the texts that the page uses too.

use sim_core::issue::{Issue, IssueCode};

const TEXTS: &str = include_str!("../../public/locales/en.txt");

/// The text of a key; the key itself where there is none.
fn text(key: &str) -> &str {
    TEXTS
        .lines()
        .filter_map(|line| line.split_once('='))
        .find(|(name, _)| name.trim() == key)
        .map_or(key, |(_, text)| text.trim())
}

/// The sentence of an issue, its placeholders filled, with the field in front.
pub fn sentence(issue: &Issue) -> String {
    let template = text(&format!("issue.{}", issue.code.name())).to_owned();
    let sentence = filled(&template, issue);
    // The parser's own message begins with the field.
    if issue.code == IssueCode::Unreadable {
        return sentence;
    }
    format!("{}: {sentence}", issue.field)
}

/// Fills placeholders in one pass: a value that looks like a placeholder stays as it is.
fn filled(template: &str, issue: &Issue) -> String {
    let mut sentence = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        sentence.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            sentence.push('{');
            rest = after;
            continue;
        };
        match issue.values.get(name) {
            Some(value) => sentence.push_str(value),
            None => sentence.push_str(&format!("{{{name}}}")),
        }
        rest = behind;
    }
    sentence + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_looks_like_a_placeholder_is_left_alone() {
        let issue = Issue::new(IssueCode::UnknownModel, "model").with("value", "{field}");
        assert_eq!(filled("“{value}” {other}", &issue), "“{field}” {other}");
    }

    #[test]
    fn every_issue_has_a_sentence() {
        for code in IssueCode::ALL {
            let key = format!("issue.{}", code.name());
            assert_ne!(text(&key), key, "{key}");
        }
    }
}
