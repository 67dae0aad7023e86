//! The pinned span in full below the timeline, and the pointed-at one in short beside the pointer.

use super::facts::{Facts, facts};
use super::state::TimelineState;
use crate::charts::words;
use crate::i18n::text;
use leptos::prelude::*;

/// How far the tooltip stands from the pointer, and how wide it is at most, in pixels.
const TOOLTIP_GAP_PX: f64 = 14.0;
const TOOLTIP_WIDTH_PX: f64 = 300.0;

/// The pinned span; without one, how to use the timeline.
#[component]
pub fn Details(state: TimelineState) -> impl IntoView {
    let locale = state.locale;
    let pinned = Memo::new(move |_| {
        let task = state.pinned.get()?;
        state.model.with(|model| facts(model, task, state.locale.get(), state.unit.get()))
    });
    view! {
        <div class="timeline-details" data-pinned=move || pinned.with(Option::is_some).to_string()>
            {move || match pinned.get() {
                Some(facts) => view! { <Pinned state facts/> }.into_any(),
                // The style sheet shows the one for what the reader has in hand.
                None => view! {
                    <p class="timeline-hint is-mouse">
                        {move || text(locale.get(), "chart.timeline.hint")}
                    </p>
                    <p class="timeline-hint is-touch">
                        {move || text(locale.get(), "chart.timeline.hint-touch")}
                    </p>
                }
                .into_any(),
            }}
        </div>
    }
}

#[component]
fn Pinned(state: TimelineState, facts: Facts) -> impl IntoView {
    let locale = state.locale;
    let label = move |key: &str| text(locale.get_untracked(), &format!("chart.span.{key}"));
    let row = |(key, value): (&'static str, String)| {
        view! { <div><dt>{label(key)}</dt><dd>{value}</dd></div> }
    };
    let waited = facts.waited_for.map(|(task, title)| {
        view! {
            <div class="timeline-waited">
                <dt>{label("waited-for")}</dt>
                <dd>
                    <button type="button" class="link" on:click=move |_| state.go_to(task)>
                        {title}
                    </button>
                </dd>
            </div>
        }
    });
    view! {
        <div class="timeline-pinned">
            <span
                class="swatch"
                data-swatch=facts.phase.name()
                style=format!("--swatch:var(--phase-{})", facts.phase.name())
            ></span>
            <strong>{facts.title}</strong>
            <span class="timeline-phase">{words::phase_name(locale.get_untracked(), facts.phase)}</span>
            <button
                type="button"
                class="timeline-unpin"
                on:click=move |_| {
                    state.pinned_at.set(None);
                    state.pinned.set(None);
                    state.cursor.set(None);
                }
            >
                {text(locale.get_untracked(), "chart.timeline.unpin")}
            </button>
        </div>
        <dl>{facts.rows.into_iter().map(row).collect_view()} {waited}</dl>
    }
}

/// The span under the pointer.
#[component]
pub fn Tooltip(state: TimelineState) -> impl IntoView {
    let content = Memo::new(move |_| {
        let task = state.hover.get()?.task?;
        state.model.with(|model| facts(model, task, state.locale.get(), state.unit.get()))
    });
    let place = move || {
        let Some(hover) = state.hover.get() else { return String::new() };
        let width = f64::from(state.width.get());
        let has_room_right = hover.x + TOOLTIP_GAP_PX + TOOLTIP_WIDTH_PX <= width;
        let x = if has_room_right || hover.x < width / 2.0 {
            hover.x + TOOLTIP_GAP_PX
        } else {
            hover.x - TOOLTIP_GAP_PX
        };
        let shift = if has_room_right || hover.x < width / 2.0 { "0" } else { "-100%" };
        let y = hover.y + TOOLTIP_GAP_PX;
        format!("transform:translate({x:.0}px,{y:.0}px) translateX({shift})")
    };
    view! {
        <div class="timeline-tooltip" aria-hidden="true" hidden=move || content.with(Option::is_none) style=place>
            {move || content.get().map(|facts| view! {
                <strong>{facts.title}</strong>
                <span>{facts.short}</span>
                <span>{facts.pace}</span>
            })}
        </div>
    }
}

/// Says what the keyboard has come to.
#[component]
pub fn Spoken(state: TimelineState) -> impl IntoView {
    let sentence = move || {
        let task = state.spoken.get()?;
        state.model.with(|model| {
            let facts = facts(model, task, state.locale.get(), state.unit.get())?;
            Some([facts.title, facts.short, facts.pace].join(", "))
        })
    };
    view! { <p class="visually-hidden" aria-live="polite">{sentence}</p> }
}
