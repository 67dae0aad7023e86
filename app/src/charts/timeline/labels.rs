//! Names beside the lanes, and what the lines of the memory curve mean.

use super::state::TimelineState;
use crate::charts::geometry::{Band, MemoryScale, memory_ticks};
use crate::charts::words;
use crate::i18n::{filled, text};
use leptos::prelude::*;

/// Height of a line of text, in pixels.
const LINE_PX: i32 = 16;

/// What stands beside one row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Label {
    Group { group: usize, has_more: bool },
    Lane { lane: usize, link: Option<&'static str> },
}

/// The column of names; on narrow screens they lie over the lanes.
#[component]
pub fn Labels(state: TimelineState) -> impl IntoView {
    let locale = state.locale;
    // Most simulations have the rows of the one before.
    let labels = Memo::new(move |_| labels(state));
    let group = move |group: usize, has_more: bool, band: Band| {
        let name = move || {
            state.model.with(|model| words::class_name(locale.get(), model.classes(), group))
        };
        view! {
            <button
                type="button"
                class="timeline-group"
                style=band_style(band)
                disabled=!has_more
                aria-expanded=move || state.is_open(group).to_string()
                on:click=move |_| state.toggle(group)
            >
                {name}
            </button>
        }
    };
    let lane = move |lane: usize, link: Option<&'static str>, band: Band| {
        let name = move || {
            state.model.with(|model| {
                model.trace().lanes().get(lane).map(|lane| words::lane_name(locale.get(), lane))
            })
        };
        let kind = move || {
            state
                .model
                .with(|m| m.trace().lanes().get(lane).map(|l| words::lane_kind(locale.get(), l)))
        };
        view! {
            <span class="timeline-lane" style=band_style(band) title=name>
                {kind} {link.map(|link| view! { <small>{link}</small> })}
            </span>
        }
    };
    let names = move || {
        let named = labels.get().into_iter().map(|(label, band)| match label {
            Label::Group { group: index, has_more } => group(index, has_more, band).into_any(),
            Label::Lane { lane: index, link } => lane(index, link, band).into_any(),
        });
        named.collect_view()
    };
    view! {
        <div class="timeline-labels" style=move || state.layout.with(|l| format!("height:{}px", l.height))>
            {names}
            <MemoryAxis state/>
        </div>
    }
}

/// What stands where: the names of groups, then those of rows.
fn labels(state: TimelineState) -> Vec<(Label, Band)> {
    state.model.with(|model| {
        let group = |group: usize| {
            let has_more = model.groups().get(group).is_some_and(|lanes| lanes.len() > 1);
            Label::Group { group, has_more }
        };
        let layout = state.layout.get();
        let headers = layout.headers.iter().map(|(index, band)| (group(*index), *band));
        let rows = layout.lanes.iter().filter_map(|row| {
            if !state.is_open(row.group) {
                return Some((group(row.group), row.name));
            }
            let lane = *model.groups().get(row.group)?.get(row.lane)?;
            let link = model.trace().lanes().get(lane)?.link;
            Some((Label::Lane { lane, link }, row.name))
        });
        headers.chain(rows).collect()
    })
}

/// The name of the memory curve and the marks of its axis.
#[component]
fn MemoryAxis(state: TimelineState) -> impl IntoView {
    let locale = state.locale;
    let class_name = move || {
        let class = state.class.get();
        state.model.with(|m| words::class_name(locale.get(), m.classes(), class))
    };
    let place = move || format!("top:{}px", state.layout.with(|layout| layout.curve_name.top));
    let ticks = move || {
        let axis = state.memory_axis.get();
        state.layout.with(|layout| {
            let most = (layout.curve.height() / 34).max(2) as usize;
            let ticks = memory_ticks(axis, MemoryScale::of(axis, state.unit.get()), most);
            let place =
                |value| (layout.memory_y(value, axis) - LINE_PX / 2).min(layout.height - LINE_PX);
            ticks
                .into_iter()
                .map(|tick| {
                    let style = format!("top:{}px", place(tick.value));
                    view! { <span class="timeline-tick" style=style>{tick.text}</span> }
                })
                .collect_view()
        })
    };
    view! {
        <span class="timeline-memory" style=place>
            <strong>{move || text(locale.get(), "chart.timeline.memory")}</strong>
            <span>{class_name}</span>
        </span>
        {ticks}
    }
}

/// The lines over the memory curve, named at its right end.
#[component]
pub fn MemoryNotes(state: TimelineState) -> impl IntoView {
    let notes = move || {
        let (locale, unit) = (state.locale.get(), state.unit.get());
        let axis = state.memory_axis.get();
        let class = state.class.get();
        state.model.with(|model| {
            let held = model.classes().get(class)?.total;
            let y = |bytes| state.layout.with(|layout| layout.memory_y(bytes, axis));
            let size = |bytes| [("size", words::bytes(bytes, unit))];
            let capacity = filled(locale, "chart.memory.capacity", &size(model.capacity()));
            let peak = filled(locale, "chart.timeline.held", &size(held));
            let (capacity_y, held_y) = (y(model.capacity()), y(held));
            // The higher line's note stands above it, the lower one's below when both are near.
            let is_near = (capacity_y - held_y).abs() < LINE_PX;
            let above = |y: i32| y - LINE_PX;
            let (capacity_top, held_top) = match (is_near, held_y <= capacity_y) {
                (true, true) => (capacity_y + 1, above(held_y)),
                (true, false) => (above(capacity_y), held_y + 1),
                (false, _) => (above(capacity_y), above(held_y)),
            };
            Some(view! {
                <span class="timeline-note is-capacity" style=format!("top:{capacity_top}px")>
                    {capacity}
                </span>
                <span class="timeline-note" style=format!("top:{held_top}px")>{peak}</span>
            })
        })
    };
    view! { {notes} }
}

/// The stretch of the whole step that is shown.
#[component]
pub fn Overview(state: TimelineState) -> impl IntoView {
    let window = move || {
        let view = state.view.get();
        let percent = |time: f64| time / view.limit() * 100.0;
        format!("left:{:.3}%;width:{:.3}%", percent(view.from()), percent(view.span()).max(0.5))
    };
    let label = move || text(state.locale.get(), "chart.timeline.overview");
    view! {
        <div class="timeline-overview" aria-hidden="true" title=label>
            <div
                class="timeline-window"
                class:is-all=move || state.view.with(|view| view.is_fit())
                style=window
            ></div>
        </div>
    }
}

fn band_style(band: Band) -> String {
    format!("top:{}px;height:{}px", band.top, band.height())
}
