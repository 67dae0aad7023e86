//! Choosing a model and a device out of the catalogues, and what the model is made of.

use super::picker::{Choice, Picker};
use super::row::Row;
use crate::i18n::fill;
use crate::page::importing::ImportButton;
use crate::state::controls::Control;
use crate::state::import;
use crate::state::use_store;
use leptos::prelude::*;
use sim_core::hardware::{self, Segment};
use sim_core::model::{self, hf_config};
use sim_core::quantity::format_count;
use sim_core::scenario::ModelChoice;

#[component]
pub fn ModelPicker(control: &'static Control) -> impl IntoView {
    let store = use_store();
    let choices = model::catalog::MODELS
        .iter()
        .map(|entry| Choice {
            id: entry.id,
            name: entry.name,
            group: entry.family,
            detail: format_count(entry.params as f64),
            words: entry.aliases,
        })
        .collect();
    let name = move || {
        store.scenario().with(|scenario| match &scenario.model {
            ModelChoice::Catalogue(id) => model_name(id),
            ModelChoice::Preset(preset) => {
                fill(store.text("model.changed"), &[("name", model_name(&preset.preset))])
            }
            ModelChoice::HfConfig { hf_config } => {
                let kind = hf_config.get("model_type").and_then(serde_json::Value::as_str);
                fill(store.text("model.imported"), &[("kind", kind.unwrap_or_default())])
            }
        })
    };
    view! {
        <Row control>
            <Picker control choices name=Signal::derive(name)/>
        </Row>
    }
}

/// The catalogue's name; the id itself when there is none.
fn model_name(id: &str) -> String {
    model::catalog::find(id).map_or_else(|| id.to_owned(), |entry| entry.name.to_owned())
}

#[component]
pub fn DevicePicker(control: &'static Control) -> impl IntoView {
    let store = use_store();
    let mut devices: Vec<_> = hardware::catalog::DEVICES.iter().collect();
    devices.sort_by_key(|device| group_order(device.segment));
    let choices = devices
        .into_iter()
        .map(|device| Choice {
            id: device.id,
            name: device.name,
            group: group_key(device.segment),
            detail: format!("{}\u{a0}GB", format_count(device.memory_marketing_gb)),
            words: device.aliases,
        })
        .collect();
    let name = move || {
        store.scenario().with(|scenario| {
            let id = &scenario.hardware.device;
            hardware::catalog::find(id).map_or_else(|| id.clone(), |device| device.name.to_owned())
        })
    };
    view! {
        <Row control>
            <Picker control choices name=Signal::derive(name)/>
        </Row>
    }
}

fn group_order(segment: Segment) -> u8 {
    match segment {
        Segment::DataCenter => 0,
        Segment::Consumer => 1,
        Segment::Workstation => 2,
        Segment::Integrated => 3,
    }
}

fn group_key(segment: Segment) -> &'static str {
    match segment {
        Segment::DataCenter => "device-group.data-center",
        Segment::Consumer => "device-group.consumer",
        Segment::Workstation => "device-group.workstation",
        Segment::Integrated => "device-group.integrated",
    }
}

/// Parameters and shape of the model, how its file was read, and the way to bring another.
#[component]
pub fn ModelFacts() -> impl IntoView {
    let store = use_store();
    let facts = move || {
        store.shown().with(|shown| {
            shown.as_ref().map(|shown| {
                let (plan, params) = (&shown.plan, shown.report.params);
                let params = params.map(|params| format_count(params.total as f64));
                fill(
                    store.text("model.facts"),
                    &[
                        ("params", params.unwrap_or_default()),
                        ("layers", plan.model.layers.to_string()),
                        ("hidden", plan.model.hidden.to_string()),
                        ("heads", plan.model.attention.heads.to_string()),
                        ("kv_heads", plan.model.attention.kv_heads.to_string()),
                    ],
                )
            })
        })
    };
    let remarks = Memo::new(move |_| {
        store.scenario().with(|scenario| match &scenario.model {
            ModelChoice::HfConfig { hf_config } => hf_config::from_value(hf_config)
                .map(|read| read.notes.iter().map(import::remark).collect())
                .unwrap_or_default(),
            ModelChoice::Catalogue(_) | ModelChoice::Preset(_) => Vec::new(),
        })
    });
    view! {
        <p class="facts" data-testid="model-facts">{facts}</p>
        <ul class="import-notes">
            {move || {
                remarks
                    .get()
                    .into_iter()
                    .map(|remark| view! { <li>{move || store.say(&remark)}</li> })
                    .collect_view()
            }}
        </ul>
        <ImportButton/>
    }
}
