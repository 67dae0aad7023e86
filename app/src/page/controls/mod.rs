//! The left column: five sections of controls, each with one line of summary while closed.

mod choice;
mod model;
mod number;
mod picker;
mod row;
mod summary;

use super::icon::{Icon, Shape};
use super::issues::keep_keyboard;
use crate::i18n::fill;
use crate::state::controls::{CONTROLS, Control, Kind, Section};
use crate::state::use_store;
use choice::{ChoiceControl, ToggleControl};
use leptos::ev;
use leptos::prelude::*;
use model::{DevicePicker, ModelFacts, ModelPicker};
use number::{ModelNumberControl, NumberControl, StagesControl};
use serde_json::Value as Json;
use sim_core::scenario::Edit;

/// Id of the controls.
pub const CONTROLS_ID: &str = "controls";

/// The field of the number of replicas.
const DP: &str = "strategy.dp";

/// Id of the line with the number of replicas.
const REPLICAS: &str = "field-dp";

/// All controls; on a narrow page a sheet that `sheet` opens.
#[component]
pub fn Controls(sheet: RwSignal<bool>) -> impl IntoView {
    let store = use_store();
    let sections =
        Section::ALL.into_iter().map(|section| view! { <SectionView section/> }).collect_view();
    let keyed = move |event: ev::KeyboardEvent| {
        // An open list has taken Escape for itself.
        if event.key() == "Escape" && sheet.get_untracked() && !event.default_prevented() {
            sheet.set(false);
        }
    };
    view! {
        <aside
            id=CONTROLS_ID
            tabindex="-1"
            on:keydown=keyed
            class="controls"
            class:open=move || sheet.get()
            aria-label=move || store.text("page.controls")
        >
            <button
                class="quiet sheet-close"
                aria-label=move || store.text("page.close-controls")
                on:click=move |_| sheet.set(false)
            >
                <Icon shape=Shape::Close/>
            </button>
            {sections}
        </aside>
    }
}

#[component]
fn SectionView(section: Section) -> impl IntoView {
    let store = use_store();
    let of_section = move |expert: bool| {
        CONTROLS.iter().filter(move |c| c.section == section && c.expert == expert)
    };
    let troubled = move || {
        CONTROLS.iter().any(|control| control.section == section && store.has_error(control.field))
    };
    let basic = of_section(false).map(|control| view! { <ControlView control/> }).collect_view();
    let expert = of_section(true).next().map(|_| {
        let controls =
            of_section(true).map(|control| view! { <ControlView control/> }).collect_view();
        view! {
            <details class="expert">
                <summary>{move || store.text("section.expert")}</summary>
                {controls}
            </details>
        }
    });
    // The two sections that a first question is about stand open.
    let open = matches!(section, Section::Model | Section::Strategy);
    view! {
        <details class="section" class:troubled=troubled data-section=section.name() open=open>
            <summary>
                <h2>{move || store.text(&format!("section.{}", section.name()))}</h2>
                <span class="section-summary">{move || summary::line(store, section)}</span>
                <Icon shape=Shape::Chevron/>
            </summary>
            <div class="section-body">
                {basic}
                {(section == Section::Model).then(|| view! { <ModelFacts/> })}
                {(section == Section::Strategy).then(|| view! { <Replicas/> })}
                {expert}
            </div>
        </details>
    }
}

#[component]
fn ControlView(control: &'static Control) -> impl IntoView {
    let store = use_store();
    let applies = Memo::new(move |_| store.scenario().with(control.applies));
    view! {
        <Show when=move || applies.get()>
            {match control.kind {
                Kind::Number(stops) => {
                    view! { <NumberControl control stops optional=false/> }.into_any()
                }
                Kind::OptionalNumber(stops) => {
                    view! { <NumberControl control stops optional=true/> }.into_any()
                }
                Kind::Stages(stops) => view! { <StagesControl control stops/> }.into_any(),
                Kind::Choice(names) => view! { <ChoiceControl control names/> }.into_any(),
                Kind::Toggle => view! { <ToggleControl control/> }.into_any(),
                Kind::ModelNumber => view! { <ModelNumberControl control/> }.into_any(),
                Kind::ModelPicker => view! { <ModelPicker control/> }.into_any(),
                Kind::DevicePicker => view! { <DevicePicker control/> }.into_any(),
            }}
        </Show>
    }
}

/// How many copies of the model there are: what the other degrees leave, or what a file has set.
#[component]
fn Replicas() -> impl IntoView {
    let store = use_store();
    let set = store.field(DP);
    let is_set = Memo::new(move |_| !set.with(Json::is_null));
    let derive = move |_| {
        store.edit(Edit::new(DP, Json::Null));
        keep_keyboard(REPLICAS.to_owned());
    };
    let replicas =
        move || store.shown().with(|shown| shown.as_ref().map(|shown| shown.plan.dp.to_string()));
    view! {
        <p id=REPLICAS class="derived" tabindex="-1" data-testid="derived-dp">
            <span>{move || store.text("field.strategy.dp")}</span>
            <Show
                when=move || is_set.get()
                fallback=move || {
                    view! {
                        <span class="derived-note">{move || store.text("control.derived")}</span>
                        <output>{replicas}</output>
                    }
                }
            >
                <span>{move || fill(store.text("control.set"), &[("value", set.get())])}</span>
                <button class="link" data-testid="derive-dp" on:click=derive>
                    {move || store.text("control.derive")}
                </button>
            </Show>
        </p>
    }
}
