//! One line for a closed section.

use crate::i18n::fill;
use crate::state::Store;
use crate::state::controls::Section;
use crate::state::values::setting;
use leptos::prelude::*;
use sim_core::plan::Plan;
use sim_core::quantity::format_count;
use sim_core::report::ParamsReport;

/// What the section says, in the reader's language.
pub fn line(store: Store, section: Section) -> String {
    let values = store.shown().with(|shown| {
        shown.as_ref().map(|shown| values(store, section, &shown.plan, shown.report.params))
    });
    match values {
        Some(values) => fill(store.text(&format!("summary.{}", section.name())), &values),
        None => String::new(),
    }
}

fn values(
    store: Store,
    section: Section,
    plan: &Plan,
    params: Option<ParamsReport>,
) -> Vec<(&'static str, String)> {
    let choice = |field: &str, name: String| {
        setting(store.locale.get(), field, &serde_json::Value::String(name))
    };
    let json_name = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    match section {
        Section::Model => vec![
            ("name", plan.model_name.clone()),
            ("params", params.map(|p| format_count(p.total as f64)).unwrap_or_default()),
        ],
        Section::Hardware => vec![
            ("count", (plan.devices_per_node * plan.nodes).to_string()),
            ("name", plan.device.name.to_owned()),
        ],
        Section::Job => vec![
            ("sequence", plan.sequence.to_string()),
            ("micro_batch", plan.micro_batch.to_string()),
            ("optimizer", choice("workload.optimizer", plan.optimizer.name().to_owned())),
        ],
        Section::Strategy => vec![
            ("zero", plan.zero.to_string()),
            ("dp", plan.dp.to_string()),
            ("tp", plan.tp.to_string()),
            ("pp", plan.pp.to_string()),
        ],
        Section::Precision => vec![
            (
                "precision",
                choice("workload.precision", json_name(serde_json::json!(plan.precision))),
            ),
            (
                "gradients",
                choice("workload.gradient_dtype", json_name(serde_json::json!(plan.gradient_dtype))),
            ),
        ],
    }
}
