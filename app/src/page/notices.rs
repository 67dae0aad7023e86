//! Things said once, above the answer.

use super::icon::{Icon, Shape};
use super::issues::keep_keyboard;
use super::verdict::VERDICT;
use crate::state::store::NOTICES;
use crate::state::use_store;
use leptos::prelude::*;

#[component]
pub fn Notices() -> impl IntoView {
    let store = use_store();
    view! {
        <div id=NOTICES class="notices" data-testid="notices" role="status" aria-live="polite">
            <For each=move || store.notices.get() key=|notice| notice.id let:notice>
                <p class=format!("notice {}", notice.tone.name())>
                    <span>{move || store.say(&notice.message)}</span>
                    <button
                        class="quiet"
                        aria-label=move || store.text("notice.dismiss")
                        on:click=move |_| {
                            store.dismiss(notice.id);
                            keep_keyboard(VERDICT.to_owned());
                        }
                    >
                        <Icon shape=Shape::Close/>
                    </button>
                </p>
            </For>
        </div>
    }
}
