//! The constants that the answer rests on, with what they belong to, unit, basis and source.

use super::verdict::basis_name;
use crate::i18n::find;
use crate::state::sources::source_words;
use crate::state::use_store;
use crate::state::values::constant;
use leptos::prelude::*;

#[component]
pub fn Assumptions() -> impl IntoView {
    let store = use_store();
    let list = Memo::new(move |_| {
        store.shown().with(|shown| {
            shown.as_ref().map(|shown| shown.report.assumptions.clone()).unwrap_or_default()
        })
    });
    // A framework by its name, anything else as its catalogue calls it.
    let owner = move |of: &'static str| {
        let locale = store.locale.get();
        find(locale, &format!("choice.workload.framework.{of}"))
            .or_else(|| find(locale, &format!("link.{of}")))
            .unwrap_or(of)
    };
    let rows = move || {
        list.get()
            .into_iter()
            .map(|assumption| {
                let basis = basis_name(assumption.basis);
                view! {
                    <li>
                        <span>
                            {move || store.text(&format!("assumption.{}", assumption.id))}
                            {(!assumption.of.is_empty())
                                .then(|| view! { " " <small>{move || owner(assumption.of)}</small> })}
                        </span>
                        <span class="number">
                            {move || {
                                let (locale, memory) = (store.locale.get(), store.unit.get());
                                constant(locale, assumption.value, assumption.unit, memory)
                            }}
                        </span>
                        <span class="source">
                            <span class=format!("badge {basis}")>
                                {move || store.text(&format!("basis.{basis}"))}
                            </span>
                            " "
                            {move || source_words(store.locale.get(), assumption.source)}
                        </span>
                    </li>
                }
            })
            .collect_view()
    };
    view! {
        <details class="assumptions" data-testid="assumptions">
            <summary>{move || store.text("assumptions.title")} " " {move || list.with(Vec::len)}</summary>
            <ul>{rows}</ul>
        </details>
    }
}
