//! Numbers: a slider over the usual values and a box for any.

use super::row::{Row, help_id, input_id, reason_id};
use crate::i18n::find;
use crate::state::controls::{Control, neighbour, position};
use crate::state::{Store, use_store};
use leptos::ev;
use leptos::prelude::*;
use serde_json::Value as Json;
use sim_core::plan::Plan;
use sim_core::scenario::Edit;

/// A number with a slider over `stops`. An empty box leaves an `optional` one to be derived.
#[component]
pub fn NumberControl(
    control: &'static Control,
    stops: &'static [u64],
    optional: bool,
) -> impl IntoView {
    let store = use_store();
    let field = control.field;
    let value = store.field(field);
    let derived = Memo::new(move |_| derived(store, field));
    let effective = move || value.get().as_u64().or_else(|| derived.get());
    let set = move |number: u64| store.edit(Edit::new(field, number));
    let at = move || effective().map_or(0, |number| position(stops, number));
    let slide = move |event: ev::Event| {
        if let Some(&stop) = slider_stop(stops, &event) {
            set(stop);
        }
    };
    view! {
        <Row control>
            <NumberBox control value=Signal::from(value) derived stops optional/>
            <input
                type="range"
                class="slider"
                data-slider=control.short_name()
                aria-label=move || store.text(&format!("field.{field}"))
                aria-valuetext=move || effective().map(|number| number.to_string())
                min="0"
                max=stops.len() - 1
                step="1"
                prop:value=move || at().to_string()
                style=("--fill", move || share(at(), stops))
                on:input=slide
            />
        </Row>
    }
}

/// A number of a catalogue model, replaced where the box is not empty.
#[component]
pub fn ModelNumberControl(control: &'static Control) -> impl IntoView {
    let store = use_store();
    let value = store.field(control.field);
    let derived = Memo::new(move |_| derived(store, control.field));
    view! {
        <Row control>
            <NumberBox control value=Signal::from(value) derived stops=&[] optional=true/>
        </Row>
    }
}

/// Few values, each named below the slider.
#[component]
pub fn StagesControl(control: &'static Control, stops: &'static [u64]) -> impl IntoView {
    let store = use_store();
    let field = control.field;
    let value = store.field(field);
    let at = move || position(stops, value.get().as_u64().unwrap_or_default());
    let slide = move |event: ev::Event| {
        if let Some(&stop) = slider_stop(stops, &event) {
            store.edit(Edit::new(field, stop));
        }
    };
    // A link may hold a value that is no stage: it stands for itself.
    let name = move |stop: &Json| {
        let words = find(store.locale.get(), &format!("choice.{field}.{stop}"));
        words.map_or_else(|| stop.to_string(), str::to_owned)
    };
    let spoken = move || {
        let stage = value.get();
        format!("{stage}: {}", name(&stage))
    };
    let ticks = stops
        .iter()
        .map(|&stop| {
            view! {
                <button
                    tabindex="-1"
                    title=move || name(&stop.into())
                    aria-pressed=move || (value.get() == stop).to_string()
                    on:click=move |_| store.edit(Edit::new(field, stop))
                >
                    {stop}
                </button>
            }
        })
        .collect_view();
    view! {
        <Row control>
            <output class="stage-name" for=input_id(control)>{move || name(&value.get())}</output>
            <input
                type="range"
                class="slider stages"
                id=input_id(control)
                data-control=control.short_name()
                aria-describedby=format!("{} {}", help_id(control), reason_id(control))
                aria-valuetext=spoken
                min="0"
                max=stops.len() - 1
                step="1"
                prop:value=move || at().to_string()
                style=("--fill", move || share(at(), stops))
                on:input=slide
            />
            <div class="ticks">{ticks}</div>
        </Row>
    }
}

/// The box. It keeps whatever is typed; arrow keys go to the neighbouring stop.
#[component]
fn NumberBox(
    control: &'static Control,
    value: Signal<Json>,
    /// What stands for an empty box.
    derived: Memo<Option<u64>>,
    stops: &'static [u64],
    optional: bool,
) -> impl IntoView {
    let store = use_store();
    let field = control.field;
    let shown = Memo::new(move |_| store.held_text(field).unwrap_or_else(|| value.with(in_box)));
    let put = move |number: Option<u64>| {
        if field.starts_with("model.") {
            store.edit_model(field, number);
        } else {
            store.edit(Edit::new(field, number));
        }
    };
    let take = move |text: String, finished: bool| match text.trim() {
        "" if optional => put(None),
        // Emptied to be typed anew: wait until that is done.
        "" if !finished => {}
        trimmed => match parse_count(trimmed) {
            Some(number) => put(Some(number)),
            None => store.hold(field, text),
        },
    };
    let keyed = move |event: ev::KeyboardEvent| {
        let upwards = match event.key().as_str() {
            "ArrowUp" => true,
            "ArrowDown" => false,
            _ => return,
        };
        event.prevent_default();
        let Some(current) = store.latest(field).as_u64().or_else(|| derived.get_untracked()) else {
            return;
        };
        let next = if stops.is_empty() {
            if upwards { current.checked_add(1) } else { current.checked_sub(1) }
        } else {
            neighbour(stops, current, upwards)
        };
        if let Some(next) = next {
            put(Some(next));
        }
    };
    view! {
        <input
            type="text"
            inputmode="numeric"
            autocomplete="off"
            class="number-box"
            id=input_id(control)
            data-control=control.short_name()
            aria-describedby=format!("{} {}", help_id(control), reason_id(control))
            aria-invalid=move || store.has_error(field).to_string()
            placeholder=move || {
                derived.get().map_or_else(
                    || store.text("choice.automatic").to_owned(),
                    |number| number.to_string(),
                )
            }
            prop:value=move || shown.get()
            on:input=move |event| take(event_target_value(&event), false)
            on:change=move |event| take(event_target_value(&event), true)
            on:keydown=keyed
        />
    }
}

/// What the plan takes for a field that the scenario leaves open.
fn derived(store: Store, field: &str) -> Option<u64> {
    store.shown().with(|shown| shown.as_ref().and_then(|shown| planned(&shown.plan, field)))
}

fn planned(plan: &Plan, field: &str) -> Option<u64> {
    match field {
        "workload.global_batch" => Some(plan.global_batch),
        "workload.gradient_accumulation" => Some(plan.micro_batches),
        "model.layers" => Some(plan.model.layers),
        "model.hidden" => Some(plan.model.hidden),
        "model.heads" => Some(plan.model.attention.heads),
        "model.kv_heads" => Some(plan.model.attention.kv_heads),
        "model.ffn" => Some(plan.model.mlp.ffn),
        "model.vocab" => Some(plan.model.vocab),
        _ => None,
    }
}

/// What stands in the box for a value.
fn in_box(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A whole number as people write it: `4096`, `4 096`, `4,096`, `4k`.
fn parse_count(text: &str) -> Option<u64> {
    let compact: String =
        text.chars().filter(|c| !c.is_whitespace() && !matches!(c, ',' | '_')).collect();
    let (digits, factor) = match compact.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1024),
        None => (compact.as_str(), 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

fn slider_stop<'a>(stops: &'a [u64], event: &ev::Event) -> Option<&'a u64> {
    stops.get(event_target_value(event).parse::<usize>().ok()?)
}

/// How far a slider is filled, in percent.
fn share(at: usize, stops: &[u64]) -> String {
    format!("{:.1}%", 100.0 * at as f64 / (stops.len().max(2) - 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_as_people_write_them() {
        assert_eq!(parse_count("4096"), Some(4096));
        assert_eq!(parse_count("4 096"), Some(4096));
        assert_eq!(parse_count("131,072"), Some(131_072));
        assert_eq!(parse_count("128k"), Some(131_072));
        for text in ["-1", "1.5", "NaN", "1e999", "k", "99999999999999999999", "٣"] {
            assert_eq!(parse_count(text), None, "{text}");
        }
    }
}
