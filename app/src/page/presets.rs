//! Scenarios to start from.

use super::icon::{Icon, Shape};
use crate::platform::document;
use crate::state::use_store;
use leptos::prelude::*;
use sim_core::presets;

/// Id of the list, which the browser opens over the page.
const LIST: &str = "presets";

#[component]
pub fn Presets() -> impl IntoView {
    let store = use_store();
    let rows = presets::ALL
        .iter()
        .map(|preset| {
            let load = move |_| {
                store.replace(preset.scenario());
                document::close_popover(LIST);
            };
            view! {
                <li>
                    <button data-preset=preset.id on:click=load>
                        <strong>{move || store.text(&format!("preset.{}.title", preset.id))}</strong>
                        <span>{move || store.text(&format!("preset.{}.summary", preset.id))}</span>
                    </button>
                </li>
            }
        })
        .collect_view();
    view! {
        <button class="presets-button" data-testid="presets" popovertarget=LIST>
            {move || store.text("header.presets")}
            <Icon shape=Shape::Chevron/>
        </button>
        <div class="presets" id=LIST popover aria-label=move || store.text("header.presets")>
            <ul>{rows}</ul>
        </div>
    }
}
