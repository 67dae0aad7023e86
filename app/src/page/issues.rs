//! Why nothing can be computed, and what is worth knowing: each finding with its ways out.

use super::verdict::VERDICT;
use crate::platform::{clock, document};
use crate::state::edit_words::edit_words;
use crate::state::findings::field_name;
use crate::state::use_store;
use leptos::prelude::*;
use sim_core::issue::{Issue, IssueCode, Severity};
use sim_core::scenario::Edit;

/// How many ways out are offered.
const WAYS_OUT: usize = 3;

/// How long after a press what was pressed may be gone, in milliseconds.
const GONE_MS: u32 = 120;

/// What keeps the scenario from running, over the charts.
#[component]
pub fn Errors() -> impl IntoView {
    let store = use_store();
    let errors = Memo::new(move |_| store.issues().with(|issues| of(issues, true)));
    let held = Memo::new(move |_| store.held_reasons());
    let held_rows = move || {
        held.get()
            .into_iter()
            .map(|(field, reason)| {
                let path = field.clone();
                view! {
                    <li class="issue error" data-field=field>
                        <strong>{move || field_name(store.locale.get(), &path)}</strong>
                        <span>{move || store.say(&reason)}</span>
                    </li>
                }
            })
            .collect_view()
    };
    view! {
        <ul class="issues" data-testid="issues">
            {held_rows}
            {move || errors.get().into_iter().map(|issue| view! { <IssueRow issue/> }).collect_view()}
        </ul>
    }
}

/// What runs and is worth knowing.
#[component]
pub fn Remarks() -> impl IntoView {
    let store = use_store();
    let remarks = Memo::new(move |_| store.issues().with(|issues| of(issues, false)));
    let rows =
        move || remarks.get().into_iter().map(|issue| view! { <IssueRow issue/> }).collect_view();
    view! {
        <Show when=move || !remarks.with(Vec::is_empty)>
            <section class="remarks" data-testid="remarks">
                <h4>{move || store.text("issues.remarks")}</h4>
                <ul>{rows}</ul>
            </section>
        </Show>
    }
}

/// The errors, or everything else. That it does not fit is the verdict's to say.
fn of(issues: &[Issue], errors: bool) -> Vec<Issue> {
    issues
        .iter()
        .filter(|issue| (issue.severity == Severity::Error) == errors)
        .filter(|issue| issue.code != IssueCode::DoesNotFit)
        .cloned()
        .collect()
}

#[component]
fn IssueRow(issue: Issue) -> impl IntoView {
    let store = use_store();
    let said = issue.clone();
    let field = issue.field.clone();
    let class = match issue.severity {
        Severity::Error => "issue error",
        Severity::Warning => "issue warning",
        Severity::Note => "issue note",
    };
    view! {
        <li class=class data-code=issue.code.name() data-field=issue.field>
            <strong>{move || field_name(store.locale.get(), &field)}</strong>
            <span>{move || store.say_issue(&said)}</span>
            <WaysOut edits=issue.ways_out home=VERDICT.to_owned()/>
        </li>
    }
}

/// Buttons that each remove an issue, and themselves: the keyboard then goes to the element `home`.
#[component]
pub fn WaysOut(edits: Vec<Edit>, home: String) -> impl IntoView {
    let store = use_store();
    edits
        .into_iter()
        .take(WAYS_OUT)
        .map(|edit| {
            let words = edit.clone();
            let home = home.clone();
            let apply = move |_| {
                store.edit(edit.clone());
                keep_keyboard(home.clone());
            };
            view! {
                <button class="way-out" on:click=apply>
                    {move || edit_words(store.locale.get(), &words)}
                </button>
            }
        })
        .collect_view()
}

/// Moves the keyboard to the element `home` if what was just pressed is gone.
pub fn keep_keyboard(home: String) {
    clock::later(GONE_MS, move || document::focus_if_lost(&home));
}
