//! The page's state: one scenario, what it comes to, and how the reader looks at it.

use super::findings::{findings, issue_message, not_a_value, place_of};
use super::history::History;
use super::link;
use super::notice::{Notice, Tone};
use super::preferences::Theme;
use crate::i18n::{self, Message};
use crate::platform::{clock, document, frame};
use leptos::prelude::*;
use serde_json::Value as Json;
use sim_core::Simulation;
use sim_core::engine::TaskId;
use sim_core::explain::Question;
use sim_core::issue::{Issue, IssueCode, Severity};
use sim_core::quantity::{Locale, Unit};
use sim_core::scenario::{Edit, ModelChoice, PresetChoice, Scenario};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long the page says that something worked, in milliseconds.
const DONE_MS: u32 = 6000;

/// Id of the list of notices.
pub const NOTICES: &str = "notices";

/// What a scenario comes to.
pub type Outcome = Result<Arc<Simulation>, Arc<Vec<Issue>>>;

/// The state, as cheap to pass around as a handful of numbers.
#[derive(Clone, Copy)]
pub struct Store {
    scenario: RwSignal<Scenario>,
    tree: Memo<Json>,
    /// What stands in a control and cannot even be a scenario's value, by field.
    held: RwSignal<BTreeMap<String, String>>,
    pending: StoredValue<Vec<Edit>>,
    history: RwSignal<History<Scenario>>,
    outcome: Memo<Outcome>,
    shown: Memo<Option<Arc<Simulation>>>,
    issues: Memo<Vec<Issue>>,
    pub locale: RwSignal<Locale>,
    pub theme: RwSignal<Theme>,
    pub unit: RwSignal<Unit>,
    /// The instant that the charts show, in seconds; the peak without one.
    pub cursor: RwSignal<Option<f64>>,
    /// The span that the timeline holds on to.
    pub pinned: RwSignal<Option<TaskId>>,
    /// The number whose reason is asked for.
    pub selected: RwSignal<Option<Question>>,
    pub notices: RwSignal<Vec<Notice>>,
    next_notice: StoredValue<u32>,
}

/// The state of the page around a component.
pub fn use_store() -> Store {
    use_context().expect("the page provides its store")
}

impl Store {
    pub fn new(start: Scenario) -> Self {
        let scenario = RwSignal::new(start);
        let outcome = Memo::new_with_compare(
            move |_| scenario.with(sim_core::simulate).map(Arc::new).map_err(Arc::new),
            |_, _| true,
        );
        let shown = Memo::new_with_compare(
            move |before: Option<&Option<Arc<Simulation>>>| match outcome.get() {
                Ok(simulation) => Some(simulation),
                Err(_) => before.cloned().flatten(),
            },
            |before, now| match (before, now) {
                (Some(Some(before)), Some(Some(now))) => !Arc::ptr_eq(before, now),
                (Some(None), Some(None)) => false,
                _ => true,
            },
        );
        Self {
            scenario,
            tree: Memo::new(move |_| {
                scenario.with(|scenario| {
                    serde_json::to_value(scenario).expect("a scenario has string keys only")
                })
            }),
            held: RwSignal::default(),
            pending: StoredValue::default(),
            history: RwSignal::default(),
            outcome,
            shown,
            issues: Memo::new(move |_| outcome.with(findings)),
            locale: RwSignal::default(),
            theme: RwSignal::default(),
            unit: RwSignal::default(),
            cursor: RwSignal::default(),
            pinned: RwSignal::default(),
            selected: RwSignal::default(),
            notices: RwSignal::default(),
            next_notice: StoredValue::default(),
        }
    }

    // What it is

    pub fn scenario(self) -> RwSignal<Scenario> {
        self.scenario
    }

    /// What the scenario comes to.
    pub fn outcome(self) -> Memo<Outcome> {
        self.outcome
    }

    /// The last scenario that came to something, simulated.
    pub fn shown(self) -> Memo<Option<Arc<Simulation>>> {
        self.shown
    }

    /// True while what is shown is not what the controls say.
    pub fn is_stale(self) -> bool {
        self.outcome.with(Result::is_err) || self.held.with(|held| !held.is_empty())
    }

    /// The value of a field, as it stands in the file.
    pub fn field(self, path: &'static str) -> Memo<Json> {
        let tree = self.tree;
        Memo::new(move |_| tree.with(|tree| at(tree, path).cloned().unwrap_or_default()))
    }

    /// The value of a field with the edits that are on their way.
    pub fn latest(self, path: &str) -> Json {
        let pending = self.pending.with_value(|edits| {
            edits.iter().rev().find(|edit| edit.field == path).map(|edit| edit.value.clone())
        });
        pending.unwrap_or_else(|| {
            self.tree.with_untracked(|tree| at(tree, path).cloned().unwrap_or_default())
        })
    }

    /// What stands in a control and cannot be a value.
    pub fn held_text(self, path: &str) -> Option<String> {
        self.held.with(|held| held.get(path).cloned())
    }

    /// Sentences for everything that stands in a control and cannot be a value.
    pub fn held_reasons(self) -> Vec<(String, Message)> {
        self.held
            .with(|held| held.keys().map(|field| (field.clone(), not_a_value(field))).collect())
    }

    /// All findings about the scenario, the worst first.
    pub fn issues(self) -> Memo<Vec<Issue>> {
        self.issues
    }

    /// The worst finding about a field. That it does not fit is the verdict's to say.
    pub fn issue(self, path: &'static str) -> Memo<Option<Issue>> {
        let here =
            move |issue: &&Issue| place_of(issue) == path && issue.code != IssueCode::DoesNotFit;
        let issues = self.issues;
        Memo::new(move |_| issues.with(|issues| issues.iter().find(here).cloned()))
    }

    /// True when a field has an error, as a text or as a value.
    pub fn has_error(self, path: &'static str) -> bool {
        let wrong = |i: &Issue| place_of(i) == path && i.severity == Severity::Error;
        self.held.with(|held| held.contains_key(path))
            || self.issues.with(|issues| issues.iter().any(wrong))
    }

    // Changing it

    /// Sets a field before the next paint.
    pub fn edit(self, edit: Edit) {
        self.edit_all(vec![edit]);
    }

    /// Sets fields in order before the next paint, as one change.
    pub fn edit_all(self, edits: Vec<Edit>) {
        self.pending.update_value(|pending| pending.extend(edits));
        frame::before_paint(move || self.flush());
    }

    /// Replaces one of a catalogue model's numbers, or gives it back.
    pub fn edit_model(self, path: &'static str, value: Option<u64>) {
        let model = self.latest("model");
        let base = model.as_str().map(|id| Edit::new("model", serde_json::json!({ "preset": id })));
        self.edit_all(base.into_iter().chain([Edit::new(path, value)]).collect());
    }

    /// Keeps what stands in a control although it cannot be a value.
    pub fn hold(self, path: &str, text: String) {
        self.flush();
        self.held.update(|held| {
            held.insert(path.to_owned(), text);
        });
    }

    /// Replaces everything, as a change of its own.
    pub fn replace(self, scenario: Scenario) {
        self.flush();
        self.held.set(BTreeMap::new());
        // A refusal is about what came before.
        self.notices.update(|notices| notices.retain(|notice| notice.tone != Tone::Refused));
        let before = self.scenario.get_untracked();
        if before != scenario {
            self.history.update(|history| history.record(before, None, clock::now_ms()));
            self.put(scenario);
        }
    }

    pub fn undo(self) {
        self.travel(History::undo);
    }

    pub fn redo(self) {
        self.travel(History::redo);
    }

    pub fn can_undo(self) -> bool {
        self.history.with(History::can_undo)
    }

    pub fn can_redo(self) -> bool {
        self.history.with(History::can_redo)
    }

    fn travel(self, step: fn(&mut History<Scenario>, Scenario) -> Option<Scenario>) {
        self.flush();
        let current = self.scenario.get_untracked();
        let Some(target) = self.history.try_update(|history| step(history, current)).flatten()
        else {
            return;
        };
        self.held.set(BTreeMap::new());
        self.put(target);
    }

    /// Makes the changes that wait for the next paint.
    pub fn flush(self) {
        let edits = self.pending.try_update_value(std::mem::take).unwrap_or_default();
        let Some(last) = edits.last().map(|edit| edit.field.clone()) else { return };
        let before = self.scenario.get_untracked();
        let mut scenario = before.clone();
        let mut held = self.held.get_untracked();
        let of_the_model = edits.iter().any(|edit| edit.field.starts_with("model."));
        for edit in edits {
            match scenario.edited(&edit) {
                Ok(edited) => {
                    scenario = edited;
                    held.remove(&edit.field);
                }
                Err(_) => {
                    held.insert(edit.field, edit.value.to_string());
                }
            }
        }
        if of_the_model {
            scenario.model = plainest(scenario.model);
        }
        if held != self.held.get_untracked() {
            self.held.set(held);
        }
        if scenario != before {
            self.history.update(|history| history.record(before, Some(&last), clock::now_ms()));
            self.put(scenario);
        }
    }

    fn put(self, scenario: Scenario) {
        // Spans and instants belong to the step before.
        self.pinned.set(None);
        self.cursor.set(None);
        self.scenario.set(scenario);
    }

    // Saying it

    /// A text in the reader's language.
    pub fn text(self, key: &str) -> &'static str {
        i18n::text(self.locale.get(), key)
    }

    /// What a finding about the scenario says in the reader's language.
    pub fn say_issue(self, issue: &Issue) -> String {
        self.say(&self.scenario.with(|scenario| issue_message(issue, scenario)))
    }

    /// A sentence in the reader's language.
    pub fn say(self, message: &Message) -> String {
        message.render(self.locale.get())
    }

    /// Says something once, in place of what was said on the same topic. What worked goes away by
    /// itself.
    pub fn notify(self, tone: Tone, message: Message) {
        let id = self.next_notice.get_value();
        self.next_notice.set_value(id.wrapping_add(1));
        self.notices.update(|notices| {
            notices.retain(|notice| notice.message.topic() != message.topic());
            notices.push(Notice { id, tone, message });
        });
        if tone == Tone::Done {
            clock::later(DONE_MS, move || self.dismiss_when_left(id));
        }
    }

    /// Takes a notice away, once the keyboard is elsewhere.
    fn dismiss_when_left(self, id: u32) {
        if document::holds_focus(NOTICES) {
            clock::later(DONE_MS, move || self.dismiss_when_left(id));
        } else {
            self.dismiss(id);
        }
    }

    /// Takes a notice away.
    pub fn dismiss(self, id: u32) {
        self.notices.update(|notices| notices.retain(|notice| notice.id != id));
    }

    /// The part of a link behind `#` that leads here; none where that would be too long.
    pub fn link(self) -> Option<String> {
        self.flush();
        self.scenario.with(link::encode)
    }
}

/// A catalogue model whose numbers are all its own, by its id alone.
fn plainest(model: ModelChoice) -> ModelChoice {
    match model {
        ModelChoice::Preset(own) => {
            let bare = PresetChoice { preset: own.preset.clone(), ..Default::default() };
            if own == bare { ModelChoice::Catalogue(own.preset) } else { ModelChoice::Preset(own) }
        }
        other => other,
    }
}

fn at<'a>(tree: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(tree, |place, name| place.get(name))
}

#[cfg(test)]
mod tests;
