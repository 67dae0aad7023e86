//! The timeline of a step: lanes of spans, and the memory curve on the same time axis.

mod canvas;
mod curve;
mod details;
mod draw;
mod facts;
mod gestures;
mod keys;
mod labels;
mod legend;
mod moves;
mod overlay;
mod state;
mod table;

use super::geometry::time_axis_max;
use super::hooks::{glide, use_width};
use super::model::ChartModel;
use crate::i18n::{filled, text};
use canvas::TimelineCanvas;
use details::{Details, Spoken};
use labels::{Labels, Overview};
use legend::Legend;
use leptos::html::Div;
use leptos::prelude::*;
use sim_core::Simulation;
use sim_core::engine::TaskId;
use sim_core::explain::Question;
use sim_core::quantity::{Locale, Unit, format_secs};
use state::{TimelineInputs, TimelineState};
use std::sync::Arc;
use table::PhaseTable;

/// Below this width names lie over the lanes.
const NARROW_PX: i32 = 640;

/// Spans of every lane over the step, and the memory of one rank class.
///
/// The pointer sets `cursor`; a click pins a span, and with it the cursor.
#[component]
pub fn Timeline(
    #[prop(into)] simulation: Signal<Arc<Simulation>>,
    cursor: RwSignal<Option<f64>>,
    pinned: RwSignal<Option<TaskId>>,
    #[prop(into)] unit: Signal<Unit>,
    #[prop(into)] locale: Signal<Locale>,
    selected: RwSignal<Option<Question>>,
) -> impl IntoView {
    let model =
        Memo::new_with_compare(move |_| Arc::new(ChartModel::new(simulation.get())), |_, _| true);
    let (body, place) = (NodeRef::<Div>::new(), NodeRef::<Div>::new());
    let body_width = use_width(body);
    let duration = move || model.with(|model| model.trace().duration());
    let state = TimelineState::new(TimelineInputs {
        model,
        unit,
        locale,
        cursor,
        pinned,
        selected,
        width: use_width(place),
        is_narrow: Signal::derive(move || body_width.get() < NARROW_PX),
        limit: glide(Signal::derive(move || time_axis_max(duration()))),
        memory_axis: glide(Signal::derive(move || model.with(|m| m.memory_axis(unit.get())))),
    });
    let title = move || text(locale.get(), "chart.timeline.title");
    let step =
        move || filled(locale.get(), "chart.timeline.step", &[("time", format_secs(duration()))]);
    let button = move |key: &'static str, act: fn(TimelineState)| {
        let name = move || text(locale.get(), &format!("chart.timeline.{key}"));
        view! {
            <button type="button" class="timeline-button" data-act=key aria-label=name title=name on:click=move |_| act(state)></button>
        }
    };
    view! {
        <figure class="chart timeline">
            <figcaption class="chart-head">
                <h2 class="chart-title">{title}</h2>
                <span class="chart-instant">{step}</span>
                <div class="timeline-buttons" role="group" aria-label=title>
                    {button("zoom-out", |state| state.do_action(keys::Action::Zoom(1.0 / 1.6)))}
                    {button("zoom-in", |state| state.do_action(keys::Action::Zoom(1.6)))}
                    {button("fit", |state| state.fit())}
                </div>
                <Legend state/>
            </figcaption>
            <div class="timeline-body" class:is-narrow=move || body_width.get() < NARROW_PX node_ref=body>
                <Labels state/>
                <TimelineCanvas state place/>
            </div>
            <Overview state/>
            <Details state/>
            <Spoken state/>
            <PhaseTable state/>
        </figure>
    }
}

#[cfg(test)]
mod tests;
