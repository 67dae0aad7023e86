//! The constants that the answer rests on, with unit, basis and source.

use super::verdict::basis_name;
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
    let rows = move || {
        list.get()
            .into_iter()
            .map(|assumption| {
                let basis = basis_name(assumption.basis);
                view! {
                    <li>
                        <span>{move || store.text(&format!("assumption.{}", assumption.id))}</span>
                        <span class="number">
                            {constant(assumption.value, assumption.unit)}
                        </span>
                        <span class="source">
                            <span class=format!("badge {basis}")>
                                {move || store.text(&format!("basis.{basis}"))}
                            </span>
                            " "
                            {assumption.source}
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
