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
        shape.with(|shape| {
            shape.as_ref().map(|shape| {
                let said =
                    |(key, values): (&str, Vec<(&str, String)>)| fill(store.text(key), &values);
                facts_of(shape).into_iter().map(said).collect::<Vec<_>>().join(" · ")
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

/// What there is to say about a shape: keys of texts with their values.
fn facts_of(shape: &ModelShape) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let attention = &shape.attention;
    let count = |number: u64| format_count(number as f64);
    let mut facts = vec![(
        "model.facts",
        vec![
            ("params", count(shape.total_params())),
            ("layers", shape.depth().to_string()),
            ("hidden", shape.hidden.to_string()),
            ("heads", attention.heads.to_string()),
            ("kv_heads", attention.kv_heads.to_string()),
        ],
    )];
    if let Some(experts) = shape.experts {
        let values = vec![
            ("count", experts.count.to_string()),
            ("active", experts.active.to_string()),
            ("params", count(shape.active_params())),
        ];
        facts.push(("model.facts.experts", values));
    }
    if attention.latent.is_some() {
        let channels = attention.cached_per_token().to_string();
        facts.push(("model.facts.latent", vec![("channels", channels)]));
    }
    if let Some(window) = attention.sliding_window {
        facts.push(("model.facts.window", vec![("tokens", window.tokens.to_string())]));
    }
    if shape.encoder_layers > 0 {
        facts.push(("model.facts.encoder", vec![("layers", shape.encoder_layers.to_string())]));
    }
    facts
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

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::quantity::Locale;

    fn said(id: &str) -> Vec<(&'static str, Vec<String>)> {
        let shape = &model::catalog::find(id).expect("listed").shape;
        facts_of(shape)
            .into_iter()
            .map(|(key, values)| (key, values.into_iter().map(|(_, value)| value).collect()))
            .collect()
    }

    #[test]
    fn experts_and_a_latent_are_told_where_a_model_has_them() {
        assert_eq!(said("llama-2-7b").len(), 1);
        let v3 = said("deepseek-v3");
        assert_eq!(v3[1].0, "model.facts.experts");
        assert_eq!(v3[1].1[..2], ["256", "8"]);
        assert_eq!(v3[2], ("model.facts.latent", vec!["576".to_owned()]));
        assert_eq!(said("gpt-oss-20b")[2], ("model.facts.window", vec!["128".to_owned()]));
        let t5 = said("t5-small");
        assert_eq!((&t5[0].1[1], t5[1].0), (&"12".to_owned(), "model.facts.encoder"));
    }

    #[test]
    fn every_fact_has_a_text_in_both_languages() {
        for id in ["deepseek-v3", "gpt-oss-20b", "t5-small"] {
            for (key, values) in facts_of(&model::catalog::find(id).expect("listed").shape) {
                for locale in [Locale::En, Locale::ZhCn] {
                    let text = fill(crate::i18n::find(locale, key).expect(key), &values);
                    assert!(!text.contains('{'), "{text}");
                }
            }
        }
    }
}
