//! What the timeline's colours mean.

use super::state::TimelineState;
use crate::charts::words;
use crate::i18n::text;
use leptos::prelude::*;
use sim_core::trace::Phase;

/// The phases that occur, in words.
#[component]
pub fn Legend(state: TimelineState) -> impl IntoView {
    let phases = Memo::new(move |_| {
        state.model.with(|model| {
            let lanes = 0..model.trace().lanes().len();
            let busy = lanes.map(|lane| model.lane(lane).spans.busy_total());
            let busy: Vec<_> = busy.collect();
            let occurs = |phase: &Phase| busy.iter().any(|busy| busy[*phase as usize] > 0.0);
            Phase::ALL.into_iter().filter(occurs).collect::<Vec<_>>()
        })
    });
    let item = move |phase: Phase| {
        view! {
            <li>
                <span
                    class="swatch"
                    data-swatch=phase.name()
                    style=format!("--swatch:var(--phase-{})", phase.name())
                ></span>
                {move || words::phase_name(state.locale.get(), phase)}
            </li>
        }
    };
    view! {
        <ul class="timeline-legend">
            {move || phases.get().into_iter().map(item).collect_view()}
            <li>
                <span class="swatch" data-swatch="idle"></span>
                {move || text(state.locale.get(), "chart.timeline.idle")}
            </li>
        </ul>
    }
}
