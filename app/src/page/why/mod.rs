//! Why a number is what it is: formula, numbers filled in, symbols, parts, source.

mod formula;
mod parts;

use super::icon::{Icon, Shape};
use crate::i18n::{fill, text};
use crate::platform::document;
use crate::state::use_store;
use crate::state::values::in_words;
use crate::state::verdict::first_question;
use formula::{FormulaView, Source};
use leptos::prelude::*;
use parts::Parts;
use sim_core::Simulation;
use sim_core::explain::Question;
use sim_core::quantity::Locale;

/// The timeline among the charts.
const TIMELINE: &str = "#charts .timeline";

#[component]
pub fn Why() -> impl IntoView {
    let store = use_store();
    let question = Memo::new(move |_| {
        let selected = store.selected.get();
        store.shown().with(|shown| {
            let shown = shown.as_deref()?;
            selected.filter(|question| is_there(shown, *question)).or_else(|| first_question(shown))
        })
    });
    let explanation = Memo::new(move |_| {
        let at = store.cursor.get();
        let question = question.get()?;
        store.shown().with(|shown| shown.as_ref().map(|shown| shown.explain(question, at)))
    });
    let name = move || {
        let locale = store.locale.get();
        question.get().map(|question| question_name(locale, question))
    };
    let whose = move || {
        let locale = store.locale.get();
        store.shown().with(|shown| {
            shown.as_deref().zip(question.get()).and_then(|(shown, q)| class_name(locale, shown, q))
        })
    };
    let result =
        move || explanation.with(|e| e.as_ref().map(|e| in_words(e.shown, store.unit.get())));
    let instant = move || {
        store.text(if store.cursor.get().is_some() { "why.at-cursor" } else { "why.at-peak" })
    };
    let colour = move || match question.get() {
        Some(Question::Memory { category, .. }) => format!("var(--category-{})", category.name()),
        _ => "var(--accent)".to_owned(),
    };
    let is_memory = move || matches!(question.get(), Some(Question::Memory { .. }));
    let locate = move |_| {
        if store.cursor.get_untracked().is_some() {
            store.cursor.set(None);
            return;
        }
        store.cursor.set(store.shown().with_untracked(|shown| {
            let class = match question.get_untracked()? {
                Question::Memory { class, .. } => class,
                _ => 0,
            };
            Some(shown.as_ref()?.trace.memory(class).peak_time())
        }));
        document::reveal_first(TIMELINE);
    };
    view! {
        <section
            class="why"
            data-testid="why"
            class:stale=move || store.is_stale()
            style=("--asked", colour)
        >
            <h2>{move || store.text("why.title")}</h2>
            <h3 class="why-name">
                <Show when=is_memory>
                    <span class="swatch"></span>
                </Show>
                {name}
                " "
                <small>{whose}</small>
            </h3>
            <p class="why-result" data-testid="why-result">{result}</p>
            <Show when=is_memory>
                <p class="why-instant">
                    {instant}
                    <button class="link" data-testid="locate-peak" on:click=locate>
                        <Icon shape=Shape::Locate/>
                        {move || {
                            let held = store.cursor.get().is_some();
                            store.text(if held { "why.release" } else { "why.locate" })
                        }}
                    </button>
                </p>
            </Show>
            <FormulaView explanation/>
            <Parts explanation/>
            <Source explanation/>
        </section>
    }
}

/// True while the number still exists: a pipeline may have lost stages since it was asked for.
fn is_there(simulation: &Simulation, question: Question) -> bool {
    match question {
        Question::Memory { class, .. } => class < simulation.trace.classes().len(),
        _ => true,
    }
}

fn question_name(locale: Locale, question: Question) -> &'static str {
    match question {
        Question::Memory { category, .. } => text(locale, &format!("category.{}", category.name())),
        Question::StepTime => text(locale, "question.step-time"),
        Question::TimeToFirstToken => text(locale, "question.time-to-first-token"),
        Question::TimePerOutputToken => text(locale, "question.time-per-output-token"),
        Question::TokensPerSecond => text(locale, "question.tokens-per-second"),
        Question::Mfu => text(locale, "question.mfu"),
        Question::Bubble => text(locale, "question.bubble"),
        Question::ExposedCommunication => text(locale, "question.exposed-communication"),
        Question::Capacity => text(locale, "question.capacity"),
    }
}

/// Whose memory it is, where GPUs differ.
fn class_name(locale: Locale, simulation: &Simulation, question: Question) -> Option<String> {
    let Question::Memory { class, .. } = question else { return None };
    let classes = simulation.trace.classes();
    let own = classes.get(class)?;
    let key = match (classes.len(), own.ranks) {
        (1, 1) => "why.one",
        (1, _) => "why.each",
        _ => "why.stage",
    };
    Some(fill(text(locale, key), &[("stage", own.stage), ("ranks", own.ranks)]))
}
