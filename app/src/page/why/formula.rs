//! The formula of a number: in symbols, with numbers, and what the symbols mean.

use crate::page::verdict::basis_name;
use crate::state::formula::substituted;
use crate::state::sources::source_words;
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
    let differs = Memo::new(move |_| explanation.with(|e| e.as_ref().and_then(difference)));
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
        <Show when=move || differs.get().is_some()>
            <p class="why-differs">{move || differs.get().map(|key| store.text(key))}</p>
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

/// Key of the sentence that says why what is shown is noticeably not what the formula gives: an
/// instant has more or less than is kept, and a timeline is not ideal.
fn difference(explanation: &Explanation) -> Option<&'static str> {
    let unit = Unit::default();
    let differs = in_words(explanation.result, unit) != in_words(explanation.shown, unit);
    differs.then_some(match explanation.shown {
        Value::Bytes(_) => "why.differs",
        _ => "why.differs-from-ideal",
    })
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
    view! { <p class="source">{badge} " " {move || source.get().map(|source| source_words(store.locale.get(), source.0))}</p> }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::explain::Question;
    use sim_core::presets;

    #[test]
    fn a_bubble_that_is_not_ideal_is_not_explained_as_memory() {
        let deep = presets::ALL.iter().find(|preset| preset.id == "gpt3-pipeline");
        let scenario = deep.expect("the preset is there").scenario();
        let simulation = sim_core::simulate(&scenario).expect("the preset has no errors");
        let bubble = simulation.explain(Question::Bubble, None);
        assert_eq!(difference(&bubble), Some("why.differs-from-ideal"));
        assert_eq!(difference(&simulation.explain(Question::StepTime, None)), None);
    }
}
