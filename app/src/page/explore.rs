//! The Explore view: controls, verdict, charts, and the reason of a number.

use super::assumptions::Assumptions;
use super::controls::{CONTROLS_ID, Controls};
use super::header::Header;
use super::icon::{Icon, Shape};
use super::importing::DropTarget;
use super::issues::{Errors, Remarks};
use super::notices::Notices;
use super::spoken::Spoken;
use super::verdict::VerdictLine;
use super::why::Why;
use super::wiring;
use crate::charts::{MemoryBars, Timeline};
use crate::platform::{address, clock, document};
use crate::state::{Store, start, use_store};
use leptos::prelude::*;

/// Id of the charts.
const CHARTS: &str = "charts";

/// Id of the button that opens the controls on a narrow page.
const SHEET_BUTTON: &str = "open-controls";

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
    let (scenario, error) = start::scenario(&address::hash());
    let store = Store::new(scenario);
    provide_context(store);
    wiring::connect(store, error);
    let sheet = RwSignal::new(false);
    // What opens and closes the sheet goes away with it: the keyboard goes along.
    Effect::new(move |before: Option<bool>| {
        let open = sheet.get();
        if before.is_some_and(|before| before != open) {
            let target = if open { CONTROLS_ID } else { SHEET_BUTTON };
            clock::later(0, move || document::focus(target));
        }
        open
    });

    view! {
        <button class="skip" on:click=|_| document::focus("results")>
            {move || store.text("page.skip")}
        </button>
        <Header/>
        <main class="explore" class:sheet-open=move || sheet.get()>
            <Controls sheet/>
            <section
                id="results"
                class="results"
                tabindex="-1"
                aria-label=move || store.text("page.results")
            >
                <VerdictLine/>
                <div class="answer">
                    <Errors/>
                    <Charts/>
                </div>
            </section>
            <aside class="side" aria-label=move || store.text("why.title")>
                <Why/>
                <Remarks/>
                <Assumptions/>
            </aside>
        </main>
        <button
            id=SHEET_BUTTON
            class="sheet-button"
            data-testid="open-controls"
            aria-expanded=move || sheet.get().to_string()
            aria-controls=CONTROLS_ID
            on:click=move |_| {
                sheet.set(true);
                // What moves while a control is dragged should be in view above the sheet.
                document::scroll_to(CHARTS);
            }
        >
            <Icon shape=Shape::Sliders/>
            {move || store.text("page.open-controls")}
        </button>
        <Notices/>
        <Spoken/>
        <DropTarget/>
    }
}

/// Memory and time of the last scenario that came to something.
#[component]
fn Charts() -> impl IntoView {
    let store = use_store();
    let exists = Memo::new(move |_| store.shown().with(Option::is_some));
    view! {
        <Show
            when=move || exists.get()
            fallback=move || view! { <p class="empty">{move || store.text("page.nothing")}</p> }
        >
            <div id=CHARTS class="charts" class:stale=move || store.is_stale()>
                {
                    let simulation = Signal::derive(move || {
                        store.shown().get().expect("what was shown once stays")
                    });
                    let (cursor, pinned, selected) = (store.cursor, store.pinned, store.selected);
                    let unit = Signal::derive(move || store.unit.get());
                    let locale = Signal::derive(move || store.locale.get());
                    let instant = Signal::derive(move || cursor.get());
                    view! {
                        <MemoryBars simulation cursor=instant unit locale selected/>
                        <Timeline simulation cursor pinned unit locale selected/>
                    }
                }
            </div>
        </Show>
    }
}
