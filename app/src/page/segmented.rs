//! A few choices side by side, one of them taken.

use crate::state::use_store;
use leptos::prelude::*;

/// One of the choices.
#[derive(Clone, Copy, Debug)]
pub struct Segment<T> {
    pub value: T,
    /// Key of its text.
    pub text: &'static str,
    pub test_id: &'static str,
}

/// The choices as a row of buttons.
#[component]
pub fn Segmented<T>(
    /// Key of what is chosen.
    label: &'static str,
    segments: Vec<Segment<T>>,
    chosen: RwSignal<T>,
) -> impl IntoView
where
    T: Copy + PartialEq + Send + Sync + 'static,
{
    let store = use_store();
    let buttons = segments
        .into_iter()
        .map(|segment| {
            view! {
                <button
                    data-testid=segment.test_id
                    aria-pressed=move || (chosen.get() == segment.value).to_string()
                    on:click=move |_| chosen.set(segment.value)
                >
                    {move || store.text(segment.text)}
                </button>
            }
        })
        .collect_view();
    view! {
        <div class="segmented" role="group" aria-label=move || store.text(label)>
            {buttons}
        </div>
    }
}
