//! Findings about a scenario: where they are shown, what they are about, and what they say.

use super::import;
use super::store::Outcome;
use crate::i18n::{Message, find};
use sim_core::check::range_of;
use sim_core::issue::{Issue, IssueCode};
use sim_core::model::hf_config;
use sim_core::quantity::Locale;
use sim_core::scenario::{ModelChoice, Scenario};

/// All findings of an outcome, the worst first; how a `config.json` was read is told beside the
/// model.
pub fn findings(outcome: &Outcome) -> Vec<Issue> {
    let mut issues = match outcome {
        Ok(simulation) => simulation.report.issues.clone(),
        Err(issues) => issues.to_vec(),
    };
    issues.retain(|issue| issue.code != IssueCode::ModelConfigNote);
    issues.sort_by_key(|issue| std::cmp::Reverse(issue.severity));
    issues
}

/// The field whose control shows a finding. That the degrees do not fill the GPUs is said where the
/// degree is that does not divide them; the number of replicas has no control.
pub fn place_of(issue: &Issue) -> &str {
    if issue.code != IssueCode::DegreesDoNotFill {
        return &issue.field;
    }
    let number = |name| issue.values.get(name).and_then(|value: &String| value.parse::<u64>().ok());
    match (number("tp"), number("pp"), number("devices")) {
        (Some(tp), _, Some(devices)) if tp > 0 && !devices.is_multiple_of(tp) => "strategy.tp",
        (_, Some(pp), Some(_)) if pp > 1 => "strategy.pp",
        _ if number("cp").is_some_and(|cp| cp > 1) => "strategy.cp",
        _ => "strategy.tp",
    }
}

/// The name of a field's control; the path of one that has none.
pub fn field_name(locale: Locale, path: &str) -> String {
    find(locale, &format!("field.{path}")).unwrap_or(path).to_owned()
}

/// What a field accepts, where it has refused a value with an English `message` of the parser.
pub fn refusal_of_field(field: &str, message: &str) -> Message {
    if message.starts_with("unknown field") || message.starts_with("there is no such field") {
        Message::new("field-refusal.unknown")
    } else if message.starts_with("missing field") {
        Message::new("field-refusal.missing")
    } else if let Some(range) = range_of(field) {
        Message::new("field-refusal.range").with("min", range.min).with("max", range.max)
    } else {
        Message::new("field-refusal.other").with("message", message)
    }
}

/// The sentence for a text that is no value of `field`.
pub fn not_a_value(field: &str) -> Message {
    match range_of(field) {
        Some(range) => {
            Message::new("control.whole-number-in").with("min", range.min).with("max", range.max)
        }
        None => Message::new("control.whole-number"),
    }
}

/// The sentence for a finding about `scenario`.
pub fn issue_message(issue: &Issue, scenario: &Scenario) -> Message {
    let message = Message::new(format!("issue.{}", issue.code.name()));
    if let (IssueCode::BadModelConfig, ModelChoice::HfConfig { hf_config: config }) =
        (issue.code, &scenario.model)
        && let Err(error) = hf_config::from_value(config)
    {
        return message.with_message("reason", import::refusal(&error));
    }
    issue.values.iter().fold(message, |message, (name, value)| match *name {
        "part" => message.with_key("part", format!("part.{value}")),
        "framework" => message.with_key("framework", format!("choice.workload.framework.{value}")),
        name => message.with(name, value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfilled(tp: u64, pp: u64, devices: u64) -> Issue {
        Issue::new(IssueCode::DegreesDoNotFill, "strategy.dp")
            .with("tp", tp)
            .with("pp", pp)
            .with("devices", devices)
    }

    #[test]
    fn a_field_is_named_by_its_control_or_by_its_path() {
        assert_eq!(field_name(Locale::En, "strategy.zero"), "ZeRO stage");
        assert_eq!(field_name(Locale::En, "hardware.intra.gb_per_s"), "hardware.intra.gb_per_s");
    }

    #[test]
    fn a_refused_field_says_what_it_accepts() {
        let said = |field, message| refusal_of_field(field, message).render(Locale::En);
        assert!(said("strategy.zero", "invalid type: string").contains("0 to 3"));
        assert!(!said("strategy.nine", "unknown field `nine`").contains("nine"));
        assert!(said("workload.precision", "unknown variant `int3`").contains("int3"));
    }

    #[test]
    fn what_does_not_divide_is_named_in_the_readers_language() {
        let scenario = sim_core::presets::ALL[0].scenario();
        let issue = Issue::new(IssueCode::TpDoesNotDivide, "strategy.tp")
            .with("tp", 3)
            .with("part", "kv_heads")
            .with("size", 32);
        for locale in [Locale::En, Locale::ZhCn] {
            let said = issue_message(&issue, &scenario).render(locale);
            assert!(!said.contains("kv_heads") && !said.contains("part."), "{said}");
        }
    }

    #[test]
    fn degrees_that_do_not_fill_are_shown_at_the_one_that_does_not_divide() {
        assert_eq!(place_of(&unfilled(3, 1, 8)), "strategy.tp");
        assert_eq!(place_of(&unfilled(2, 3, 8)), "strategy.pp");
        assert_eq!(place_of(&unfilled(1, 1, 8)), "strategy.tp");
        assert_eq!(place_of(&Issue::new(IssueCode::OutOfRange, "strategy.zero")), "strategy.zero");
    }
}
