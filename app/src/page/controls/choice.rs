//! Choices between names, and switches.

use super::row::{Row, help_id, input_id, reason_id};
use crate::state::controls::Control;
use crate::state::use_store;
use crate::state::values::{choice_name, setting};
use leptos::prelude::*;
use serde_json::Value as Json;
use sim_core::scenario::Edit;

/// What stands in the list for a value that is left to be derived.
const AUTOMATIC: &str = "";

/// One of `names`; a value from a file that is not among them is listed as well.
#[component]
pub fn ChoiceControl(
    control: &'static Control,
    names: &'static [Option<&'static str>],
) -> impl IntoView {
    let store = use_store();
    let field = control.field;
    let value = store.field(field);
    let chosen = Memo::new(move |_| value.with(|value| choice_name(value).to_owned()));
    let foreign = Memo::new(move |_| {
        chosen.with(|chosen| {
            let listed = names.iter().any(|name| name.unwrap_or(AUTOMATIC) == chosen);
            (!listed).then(|| chosen.clone())
        })
    });
    let option = move |name: String| {
        let value = if name == AUTOMATIC { Json::Null } else { Json::from(name.as_str()) };
        let own = name.clone();
        view! {
            <option value=name selected=move || chosen.with(|chosen| *chosen == own)>
                {move || setting(store.locale.get(), field, &value)}
            </option>
        }
    };
    let choose = move |event| {
        let name: String = event_target_value(&event);
        let value = if name == AUTOMATIC { Json::Null } else { Json::from(name) };
        store.edit(Edit::new(field, value));
    };
    let options =
        names.iter().map(|name| option(name.unwrap_or(AUTOMATIC).to_owned())).collect_view();
    view! {
        <Row control>
            <select
                id=input_id(control)
                data-control=control.short_name()
                aria-describedby=format!("{} {}", help_id(control), reason_id(control))
                aria-invalid=move || store.has_error(field).to_string()
                prop:value=move || chosen.get()
                on:change=choose
            >
                {options}
                {move || foreign.get().map(option)}
            </select>
        </Row>
    }
}

/// On or off.
#[component]
pub fn ToggleControl(control: &'static Control) -> impl IntoView {
    let store = use_store();
    let field = control.field;
    let value = store.field(field);
    view! {
        <Row control>
            <input
                type="checkbox"
                class="toggle"
                id=input_id(control)
                data-control=control.short_name()
                aria-describedby=format!("{} {}", help_id(control), reason_id(control))
                prop:checked=move || value.get() == true
                on:change=move |event| store.edit(Edit::new(field, event_target_checked(&event)))
            />
        </Row>
    }
}
