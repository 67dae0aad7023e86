//! Why a number is what it is: formula, numbers filled in, symbols, parts, source.

use super::icon::{Icon, Shape};
use super::verdict::basis_name;
use crate::i18n::{fill, find, text};
use crate::state::formula::substituted;
use crate::state::use_store;
use crate::state::values::{in_formula, in_words};
use crate::state::verdict::first_question;
use leptos::prelude::*;
use sim_core::Simulation;
use sim_core::explain::{Explanation, Question};
use sim_core::quantity::{Bytes, Locale, Unit, format_bytes};

/// How many parts are listed before the rest is summed up.
const PARTS: usize = 8;

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
            {move || explanation.get().map(|e| view! { <Body explanation=e/> })}
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

#[component]
fn Body(explanation: Explanation) -> impl IntoView {
    let store = use_store();
    let formula = explanation.formula;
    let symbols = explanation.symbols.clone();
    let expression = explanation.expression;
    let result = explanation.result;
    let with_numbers = move || {
        let unit = store.unit.get();
        let values: Vec<_> =
            symbols.iter().map(|symbol| (symbol.symbol, in_formula(symbol.value, unit))).collect();
        format!("= {}", substituted(expression, &values))
    };
    let rows = explanation
        .symbols
        .iter()
        .map(|symbol| {
            let (name, value) = (symbol.name, symbol.value);
            view! {
                <tr>
                    <th scope="row">{symbol.symbol}</th>
                    <td>{move || store.text(&format!("symbol.{name}"))}</td>
                    <td class="number">{move || in_formula(value, store.unit.get())}</td>
                </tr>
            }
        })
        .collect_view();
    let basis = basis_name(explanation.basis);
    view! {
        <p class="why-formula-name">{move || store.text(&format!("formula.{formula}"))}</p>
        <div class="formula" data-testid="formula">
            <p>{expression}</p>
            <p>{with_numbers}</p>
            <p><strong>"= " {move || in_words(result, store.unit.get())}</strong></p>
        </div>
        {differs(&explanation).then(|| view! {
            <p class="why-differs">{move || store.text("why.differs")}</p>
        })}
        <table class="symbols">
            <caption class="hidden">{move || store.text("why.symbols")}</caption>
            <tbody>{rows}</tbody>
        </table>
        <Parts parts=explanation.parts/>
        <p class="source">
            <span class=format!("badge {basis}")>{move || store.text(&format!("basis.{basis}"))}</span>
            " "
            {explanation.source}
        </p>
    }
}

/// True where the formula counts what is kept, and the instant has noticeably more or less.
fn differs(explanation: &Explanation) -> bool {
    let unit = Unit::default();
    in_words(explanation.result, unit) != in_words(explanation.shown, unit)
}

/// What the number is made of, each with its share.
#[component]
fn Parts(parts: Vec<(&'static str, f64)>) -> impl IntoView {
    let store = use_store();
    if parts.is_empty() {
        return None;
    }
    let largest = parts.iter().map(|part| part.1).fold(f64::MIN_POSITIVE, f64::max);
    let rest: f64 = parts.iter().skip(PARTS).map(|part| part.1).sum();
    let rows = parts
        .iter()
        .take(PARTS)
        .map(|&(name, bytes)| {
            let label = move || {
                let locale = store.locale.get();
                find(locale, &format!("tensor.{name}")).unwrap_or(name)
            };
            view! { <PartRow label=Signal::derive(label) bytes largest/> }
        })
        .collect_view();
    let rest = (rest > 0.0).then(|| {
        let label = Signal::derive(move || store.text("why.rest"));
        view! { <PartRow label bytes=rest largest=largest.max(rest)/> }
    });
    Some(view! {
        <h4>{move || store.text("why.parts")}</h4>
        <ul class="parts">{rows} {rest}</ul>
    })
}

#[component]
fn PartRow(label: Signal<&'static str>, bytes: f64, largest: f64) -> impl IntoView {
    let store = use_store();
    let amount = move || amount(bytes, store.unit.get());
    view! {
        <li>
            <span class="part-name">{move || label.get()}</span>
            <span class="number">{amount}</span>
            <span class="part-bar" style:width=format!("{:.1}%", 100.0 * bytes / largest)></span>
        </li>
    }
}

fn amount(bytes: f64, unit: Unit) -> String {
    format_bytes(Bytes::new(bytes), unit)
}
