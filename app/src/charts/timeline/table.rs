//! The timeline as a table: how long each lane spends in each phase.

use super::state::TimelineState;
use crate::charts::words;
use crate::i18n::text;
use leptos::ev::Event;
use leptos::prelude::*;
use sim_core::quantity::format_secs;
use sim_core::trace::Phase;

/// One line of the table.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    class: String,
    lane: String,
    phase: Option<Phase>,
    seconds: f64,
}

/// Per lane and phase: the time, and its share of the step. Computed while it is open.
#[component]
pub fn PhaseTable(state: TimelineState) -> impl IntoView {
    let locale = state.locale;
    let is_open = RwSignal::new(false);
    let lines = Memo::new(move |_| if is_open.get() { lines(state) } else { Vec::new() });
    let column = move |key: &'static str| {
        view! { <th scope="col">{move || text(locale.get(), key)}</th> }
    };
    let rows = move || {
        let step = state.model.with(|model| model.trace().duration());
        lines
            .get()
            .into_iter()
            .map(|line| {
                let phase = line.phase.map_or_else(
                    || text(locale.get(), "chart.timeline.idle"),
                    |phase| words::phase_name(locale.get(), phase),
                );
                view! {
                    <tr>
                        <td>{line.class}</td>
                        <td>{line.lane}</td>
                        <td>{phase}</td>
                        <td class="is-number">{format_secs(line.seconds)}</td>
                        <td class="is-number">{words::share(line.seconds, step)}</td>
                    </tr>
                }
            })
            .collect_view()
    };
    // The browser opens and closes it; the table follows.
    let on_toggle = move |_: Event| is_open.update(|is_open| *is_open = !*is_open);
    view! {
        <details class="chart-table" on:toggle=on_toggle>
            <summary>{move || text(locale.get(), "chart.as-table")}</summary>
            <table>
                <caption class="visually-hidden">
                    {move || text(locale.get(), "chart.timeline.table")}
                </caption>
                <thead>
                    <tr>
                        {column("chart.span.gpu")} {column("chart.span.lane")}
                        {column("chart.table.phase")} {column("chart.table.time")}
                        {column("chart.table.share-of-step")}
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </details>
    }
}

fn lines(state: TimelineState) -> Vec<Line> {
    let locale = state.locale.get();
    state.model.with(|model| {
        let step = model.trace().duration();
        let mut lines = Vec::new();
        for (i, lane) in model.trace().lanes().iter().enumerate() {
            let busy = model.lane(i).spans.busy_total();
            let line = |phase, seconds| Line {
                class: words::class_name(locale, model.classes(), lane.class),
                lane: words::lane_name(locale, lane),
                phase,
                seconds,
            };
            let phases = Phase::ALL.into_iter().filter(|phase| busy[*phase as usize] > 0.0);
            lines.extend(phases.map(|phase| line(Some(phase), busy[phase as usize])));
            lines.push(line(None, (step - busy.iter().sum::<f64>()).max(0.0)));
        }
        lines
    })
}
