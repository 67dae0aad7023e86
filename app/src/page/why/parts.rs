//! What a number is made of, each part with its share.

use crate::i18n::find;
use crate::state::use_store;
use leptos::prelude::*;
use sim_core::explain::Explanation;
use sim_core::quantity::{Bytes, format_bytes};

/// How many parts are listed before the rest is summed up.
const LISTED: usize = 8;

/// A part by the key of its name, with its bytes; without a key the rest.
type Part = (Option<&'static str>, f64);

#[component]
pub fn Parts(explanation: Memo<Option<Explanation>>) -> impl IntoView {
    let store = use_store();
    let parts = Memo::new(move |_| {
        explanation.with(|e| e.as_ref().map(|e| listed(&e.parts)).unwrap_or_default())
    });
    let largest = Memo::new(move |_| {
        parts.with(|parts| parts.iter().map(|part| part.1).fold(f64::MIN_POSITIVE, f64::max))
    });
    let bytes = move |name: Option<&'static str>| {
        let found = parts.with(|parts| parts.iter().find(|part| part.0 == name).map(|part| part.1));
        found.unwrap_or_default()
    };
    let label = move |name: Option<&'static str>| match name {
        Some(name) => find(store.locale.get(), &format!("tensor.{name}")).unwrap_or(name),
        None => store.text("why.rest"),
    };
    view! {
        <Show when=move || !parts.with(Vec::is_empty)>
            <h4>{move || store.text("why.parts")}</h4>
            <ul class="parts">
                <For each=move || parts.get() key=|part| part.0 let((name, _))>
                    <li>
                        <span class="part-name">{move || label(name)}</span>
                        <span class="number">
                            {move || format_bytes(Bytes::new(bytes(name)), store.unit.get())}
                        </span>
                        <span
                            class="part-bar"
                            style:width=move || {
                                format!("{:.1}%", 100.0 * bytes(name) / largest.get())
                            }
                        ></span>
                    </li>
                </For>
            </ul>
        </Show>
    }
}

/// The largest parts, and the sum of all others.
fn listed(parts: &[(&'static str, f64)]) -> Vec<Part> {
    let mut listed: Vec<Part> =
        parts.iter().take(LISTED).map(|&(name, bytes)| (Some(name), bytes)).collect();
    let rest: f64 = parts.iter().skip(LISTED).map(|part| part.1).sum();
    if rest > 0.0 {
        listed.push((None, rest));
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_is_summed_up() {
        let parts: Vec<(&str, f64)> =
            ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"].map(|name| (name, 2.0)).to_vec();
        let listed = listed(&parts);
        assert_eq!(listed.len(), LISTED + 1);
        assert_eq!(listed[LISTED], (None, 4.0));
        assert_eq!(super::listed(&parts[..3]).len(), 3);
    }
}
