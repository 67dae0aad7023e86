//! The answer for screen readers, said once it has come to rest.

use super::verdict::sentence;
use crate::platform::clock::Alarm;
use crate::state::findings::field_name;
use crate::state::use_store;
use leptos::prelude::*;
use sim_core::issue::Severity;

/// How long the answer must stand still before it is said, in milliseconds.
const REST_MS: u32 = 500;

/// The only place that speaks up by itself, apart from notices.
#[component]
pub fn Spoken() -> impl IntoView {
    let store = use_store();
    let spoken = RwSignal::new(String::new());
    let alarm = Alarm::default();
    Effect::new(move |before: Option<String>| {
        let mut now = sentence(store);
        if let Some((field, reason)) = store.held_reasons().into_iter().next() {
            now =
                format!("{now}. {} {}", field_name(store.locale.get(), &field), store.say(&reason));
        } else if let Some(issue) = store.issues().with(|issues| {
            issues.first().filter(|issue| issue.severity == Severity::Error).cloned()
        }) {
            let field = field_name(store.locale.get(), &issue.field);
            now = format!("{now}. {field} {}", store.say_issue(&issue));
        }
        // The page has just been read when it opens.
        if before.is_some_and(|before| before != now) {
            let words = now.clone();
            alarm.set(REST_MS, move || spoken.set(words));
        }
        now
    });
    view! {
        <p class="hidden" role="status" aria-live="polite" data-testid="spoken">
            {move || spoken.get()}
        </p>
    }
}
