//! Files that the user brings: by a button, or dropped anywhere on the page.

use super::icon::{Icon, Shape};
use crate::i18n::Message;
use crate::platform::document;
use crate::platform::files::{self, Hover, PickedFile};
use crate::state::findings::issue_message;
use crate::state::import::{self, Imported};
use crate::state::notice::Tone;
use crate::state::{Store, use_store};
use leptos::ev;
use leptos::prelude::*;
use sim_core::issue::Severity;
use sim_core::scenario::{Edit, Scenario};

/// Id of the hidden input behind the button.
const INPUT: &str = "import-input";

/// Picks a file.
#[component]
pub fn ImportButton() -> impl IntoView {
    let store = use_store();
    let picked = move |event: ev::Event| {
        if let Some(file) = files::picked(&event) {
            take(store, file);
        }
    };
    view! {
        <button
            class="import"
            data-testid="import-button"
            title=move || store.text("import.help")
            on:click=|_| document::click(INPUT)
        >
            <Icon shape=Shape::Import/>
            {move || store.text("import.button")}
        </button>
        <input
            id=INPUT
            class="hidden"
            type="file"
            accept=".json,application/json"
            data-testid=INPUT
            tabindex="-1"
            aria-label=move || store.text("import.button")
            on:change=picked
        />
    }
}

/// Takes a file dropped anywhere, and says so while it hovers.
#[component]
pub fn DropTarget() -> impl IntoView {
    let store = use_store();
    let over = RwSignal::new(false);
    files::on_drop(move |hover| over.set(hover == Hover::Over), move |file| take(store, file));
    view! {
        <div class="drop" class:over=move || over.get() aria-hidden="true">
            <p>{move || store.text("import.drop")}</p>
        </div>
    }
}

fn take(store: Store, file: PickedFile) {
    let name = file.name();
    if let Some(refusal) = import::too_large(file.bytes()) {
        refuse(store, &name, refusal);
        return;
    }
    file.read(move |read| match read {
        Ok(bytes) => apply(store, &name, &bytes),
        Err(_) => refuse(store, &name, Message::new("import.unreadable")),
    });
}

/// Takes what a file holds into the scenario; one that the model's checks refuse changes nothing.
fn apply(store: Store, name: &str, bytes: &[u8]) {
    store.flush();
    let current = store.scenario().get_untracked();
    match read(&current, bytes) {
        Ok(scenario) => {
            store.replace(scenario);
            store.notify(Tone::Done, Message::new("import.done").with("name", name));
        }
        Err(refusal) => refuse(store, name, refusal),
    }
}

fn refuse(store: Store, name: &str, reason: Message) {
    let sentence = Message::new("import.refused").with("name", name).with_message("reason", reason);
    store.notify(Tone::Refused, sentence);
}

fn read(current: &Scenario, bytes: &[u8]) -> Result<Scenario, Message> {
    match import::read(bytes)? {
        Imported::Scenario(scenario) => Ok(*scenario),
        Imported::Model(config) => {
            let model = Edit::new("model", serde_json::json!({ "hf_config": config }));
            let scenario = current.edited(&model).map_err(|_| {
                Message::new("import.not-an-object").with_key("found", "json.Object")
            })?;
            let refused = sim_core::simulate(&scenario).err().unwrap_or_default();
            let of_the_model = refused.into_iter().find(|issue| {
                issue.severity == Severity::Error
                    && (issue.field == "model" || issue.field.starts_with("model."))
            });
            match of_the_model {
                Some(issue) => Err(issue_message(&issue, &scenario)),
                None => Ok(scenario),
            }
        }
    }
}
