//! The formula of a number: in symbols, with numbers, and what the symbols mean.

use crate::page::verdict::basis_name;
use crate::state::formula::substituted;
use crate::state::use_store;
use crate::state::values::{in_formula, in_words};
use leptos::prelude::*;
use sim_core::explain::{Explanation, Value};
use sim_core::quantity::Unit;

/// The formula. Its rows are built anew when another formula is asked for; otherwise only their
/// numbers change.
#[component]
pub fn FormulaView(explanation: Memo<Option<Explanation>>) -> impl IntoView {
    let store = use_store();
    let formula = Memo::new(move |_| explanation.with(|e| e.as_ref().map(|e| e.formula)));
    let expression = move || explanation.with(|e| e.as_ref().map(|e| e.expression));
    let name = move || formula.get().map(|id| store.text(&format!("formula.{id}")));
    let with_numbers = move || {
        let unit = store.unit.get();
        explanation.with(|e| e.as_ref().map(|e| format!("= {}", in_numbers(e, unit))))
    };
    let result = move || {
        let unit = store.unit.get();
        explanation.with(|e| e.as_ref().map(|e| format!("= {}", in_words(e.result, unit))))
    };
    let differs = Memo::new(move |_| explanation.with(|e| e.as_ref().is_some_and(differs)));
    let symbols = Memo::new(move |_| {
        explanation.with(|e| {
            let symbols = e.as_ref().map(|e| e.symbols.as_slice()).unwrap_or_default();
            symbols.iter().map(|symbol| (symbol.symbol, symbol.name)).collect::<Vec<_>>()
        })
    });
    let value = move |i: usize| {
        let value: Option<Value> = explanation.with(|e| Some(e.as_ref()?.symbols.get(i)?.value));
        value.map(|value| in_formula(value, store.unit.get()))
    };
    let rows = move || {
        symbols
            .get()
            .into_iter()
            .enumerate()
            .map(|(i, (symbol, name))| {
                view! {
                    <tr>
                        <th scope="row">{symbol}</th>
                        <td>{move || store.text(&format!("symbol.{name}"))}</td>
                        <td class="number">{move || value(i)}</td>
                    </tr>
                }
            })
            .collect_view()
    };
    view! {
        <p class="why-formula-name">{name}</p>
        <div class="formula" data-testid="formula">
            <p>{expression}</p>
            <Show when=move || !symbols.with(Vec::is_empty)>
                <p>{with_numbers}</p>
            </Show>
            <p>
                <strong>{result}</strong>
            </p>
        </div>
        <Show when=move || differs.get()>
            <p class="why-differs">{move || store.text("why.differs")}</p>
        </Show>
        <table class="symbols">
            <caption class="hidden">{move || store.text("why.symbols")}</caption>
            <tbody>{rows}</tbody>
        </table>
    }
}

fn in_numbers(explanation: &Explanation, unit: Unit) -> String {
    let values: Vec<_> = explanation
        .symbols
        .iter()
        .map(|symbol| (symbol.symbol, in_formula(symbol.value, unit)))
        .collect();
    substituted(explanation.expression, &values)
}

/// True where the formula counts what is kept, and the instant has noticeably more or less.
fn differs(explanation: &Explanation) -> bool {
    let unit = Unit::default();
    in_words(explanation.result, unit) != in_words(explanation.shown, unit)
}

/// Where the formula comes from, and how well it is known.
#[component]
pub fn Source(explanation: Memo<Option<Explanation>>) -> impl IntoView {
    let store = use_store();
    let source = Memo::new(move |_| {
        explanation.with(|e| e.as_ref().map(|e| (e.source, basis_name(e.basis))))
    });
    let badge = move || {
        source.get().map(|(_, basis)| {
            let text = move || store.text(&format!("basis.{basis}"));
            view! { <span class=format!("badge {basis}")>{text}</span> }
        })
    };
    view! { <p class="source">{badge} " " {move || source.get().map(|source| source.0)}</p> }
}
