//! One line for a closed section, from the scenario as it stands, possible or not.

use crate::i18n::fill;
use crate::state::Store;
use crate::state::controls::Section;
use crate::state::values::{setting, sharding};
use leptos::prelude::*;
use serde_json::{Value, json};
use sim_core::scenario::{ModelChoice, Scenario, WorkloadKind};

/// What the section says, in the reader's language.
pub fn line(store: Store, section: Section) -> String {
    let serves = store.scenario().with(|s| s.workload.kind == WorkloadKind::Infer);
    let own = matches!(section, Section::Job | Section::Strategy | Section::Precision);
    let job = if serves && own { "-serving" } else { "" };
    let template = store.text(&format!("summary.{}{job}", section.name()));
    let values = store.scenario().with(|scenario| values(store, section, scenario));
    fill(template, &values)
}

fn values(store: Store, section: Section, scenario: &Scenario) -> Vec<(&'static str, String)> {
    let (hardware, workload, strategy) =
        (&scenario.hardware, &scenario.workload, &scenario.strategy);
    let words = |field: &str, value: Value| setting(store.locale.get(), field, &value);
    match section {
        Section::Model => vec![("name", model_name(store, &scenario.model))],
        Section::Hardware => vec![
            ("count", hardware.devices_per_node.saturating_mul(hardware.nodes).to_string()),
            ("name", words("hardware.device", json!(hardware.device))),
        ],
        Section::Job => vec![
            ("sequence", workload.sequence.to_string()),
            ("micro_batch", workload.micro_batch.to_string()),
            ("optimizer", words("workload.optimizer", json!(workload.optimizer))),
            ("input", workload.input_tokens.to_string()),
            ("output", workload.output_tokens.to_string()),
            ("concurrency", workload.concurrency.to_string()),
            ("engine", words("workload.engine", json!(workload.engine))),
        ],
        Section::Strategy => vec![
            ("sharding", sharding(store.locale.get(), strategy)),
            ("tp", strategy.tp.to_string()),
            ("pp", strategy.pp.to_string()),
        ],
        Section::Precision => {
            let gradients = workload.gradient_dtype.unwrap_or(scenario.recipe().stored);
            vec![
                ("precision", words("workload.precision", json!(workload.precision))),
                ("gradients", words("workload.gradient_dtype", json!(gradients))),
                ("weights", words("quantization.weights", json!(scenario.quantization.weights))),
                ("kv_cache", words("quantization.kv_cache", json!(scenario.quantization.kv_cache))),
            ]
        }
    }
}

/// The name of the model that a scenario chooses.
pub fn model_name(store: Store, model: &ModelChoice) -> String {
    let named = |id: &str| setting(store.locale.get(), "model", &json!(id));
    match model {
        ModelChoice::Catalogue(id) => named(id),
        ModelChoice::Preset(preset) => {
            fill(store.text("model.changed"), &[("name", named(&preset.preset))])
        }
        ModelChoice::HfConfig { hf_config } => {
            let kind = hf_config.get("model_type").and_then(Value::as_str).unwrap_or_default();
            fill(store.text("model.imported"), &[("kind", kind)])
        }
    }
}
