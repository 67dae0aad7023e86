//! What every control has: a label with its explanation, and a line that says what is wrong.

use crate::page::issues::WaysOut;
use crate::state::controls::Control;
use crate::state::findings::not_a_value;
use crate::state::use_store;
use leptos::prelude::*;
use sim_core::issue::Severity;

/// Id of a control's main input.
pub fn input_id(control: &Control) -> String {
    format!("control-{}", control.short_name())
}

/// Id of the text that describes a control.
pub fn help_id(control: &Control) -> String {
    format!("help-{}", control.short_name())
}

/// Id of the line that says what is wrong.
pub fn reason_id(control: &Control) -> String {
    format!("reason-{}", control.short_name())
}

/// Id of a control with all that belongs to it.
fn row_id(control: &Control) -> String {
    format!("field-{}", control.short_name())
}

/// A control with its label before and its reason below.
#[component]
pub fn Row(control: &'static Control, children: Children) -> impl IntoView {
    let store = use_store();
    let field = control.field;
    let issue = store.issue(field);
    let held = Memo::new(move |_| store.held_text(field).is_some());
    let amber = move || {
        held.get()
            || issue.with(|issue| issue.as_ref().is_some_and(|i| i.severity == Severity::Error))
    };
    let noted =
        move || issue.with(|issue| issue.as_ref().is_some_and(|i| i.severity != Severity::Error));
    let reason = move || {
        if held.get() {
            Some(store.say(&not_a_value(field)))
        } else {
            issue.with(|issue| issue.as_ref().map(|issue| store.say_issue(issue)))
        }
    };
    let ways_out = move || {
        let issue = if held.get() { None } else { issue.get() };
        issue.map(|issue| view! { <WaysOut edits=issue.ways_out home=row_id(control)/> })
    };
    view! {
        <div
            id=row_id(control)
            class="control"
            class:amber=amber
            class:noted=noted
            tabindex="-1"
            data-field=field
        >
            <label for=input_id(control)>{move || store.text(&format!("field.{field}"))}</label>
            <span class="help" id=help_id(control) role="tooltip">
                {move || store.text(&format!("field.{field}.help"))}
            </span>
            {children()}
            <div class="reason" id=reason_id(control)>
                <span>{reason}</span>
                {ways_out}
            </div>
        </div>
    }
}
