//! Choosing a model and a device out of the catalogues, and what the model is made of.

use super::picker::{Choice, Detail, Picker};
use super::row::Row;
use super::summary::model_name;
use crate::i18n::fill;
use crate::page::importing::ImportButton;
use crate::state::controls::Control;
use crate::state::import;
use crate::state::use_store;
use crate::state::values::setting;
use leptos::prelude::*;
use sim_core::hardware::{self, Segment};
use sim_core::model::{self, ModelShape, hf_config};
use sim_core::quantity::{Bytes, format_count};
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
            detail: Detail::Count(entry.params as f64),
            words: entry.aliases,
        })
        .collect();
    let name = move || store.scenario().with(|scenario| model_name(store, &scenario.model));
    view! {
        <Row control>
            <Picker control choices name=Signal::derive(name)/>
        </Row>
    }
}

#[component]
pub fn DevicePicker(control: &'static Control) -> impl IntoView {
    let store = use_store();
    let mut devices: Vec<_> = hardware::catalog::devices().collect();
    devices.sort_by_key(|device| group_order(device.segment));
    let choices = devices
        .into_iter()
        .map(|device| Choice {
            id: device.id,
            name: device.name,
            group: group_key(device.segment),
            detail: Detail::Memory(Bytes::gib(device.memory_usable_gib())),
            words: device.aliases,
        })
        .collect();
    let name = move || {
        let id = store.scenario().with(|scenario| scenario.hardware.device.clone());
        setting(store.locale.get(), control.field, &id.into())
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
    let shape = Memo::new(move |_| {
        store.scenario().with(|scenario| own_shape(&scenario.model)).or_else(|| {
            store.shown().with(|shown| shown.as_ref().map(|shown| shown.plan.model.clone()))
        })
    });
    let facts = move || {
        let template = store.text("model.facts");
        shape.with(|shape| {
            shape.as_ref().map(|shape| {
                let values = [
                    ("params", format_count(shape.total_params() as f64)),
                    ("layers", shape.layers.to_string()),
                    ("hidden", shape.hidden.to_string()),
                    ("heads", shape.attention.heads.to_string()),
                    ("kv_heads", shape.attention.kv_heads.to_string()),
                ];
                fill(template, &values)
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

/// The shape of a model that can be told without the rest of the scenario, which may have errors.
fn own_shape(model: &ModelChoice) -> Option<ModelShape> {
    match model {
        ModelChoice::Catalogue(id) => model::catalog::find(id).map(|entry| entry.shape.clone()),
        ModelChoice::HfConfig { hf_config } => {
            hf_config::from_value(hf_config).ok().map(|read| read.shape)
        }
        ModelChoice::Preset(_) => None,
    }
}
