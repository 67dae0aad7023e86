//! One layer of a row's model: what it keeps, how long it takes.

use super::setup::Setup;
use crate::validate::fields::Reason;
use serde_json::{Value, json};
use sim_core::Simulation;
use sim_core::scenario::Scenario;
use sim_core::trace::Category;

/// Bytes that forward through one more layer leaves for backward, under changes of the strategy.
///
/// # Errors
/// When such a stage is not simulated.
pub fn kept_by_layer(setup: &Setup, strategy: &Value) -> Result<f64, Reason> {
    let kept = |layers: u64| -> Result<i64, Reason> {
        let trace = simulate(&on_one_stage(setup, layers, strategy)?)?.trace;
        let at_end = trace.breakdown_at(0, Some(trace.classes()[0].forward_end));
        Ok(at_end[Category::Activations as usize])
    };
    Ok((kept(2)? - kept(1)?) as f64)
}

/// Seconds that one more layer adds to forward and backward of a micro-batch.
///
/// # Errors
/// When such a stage is not simulated.
pub fn time_by_layer(setup: &Setup) -> Result<f64, Reason> {
    let until_step = |layers: u64| -> Result<f64, Reason> {
        let trace = simulate(&on_one_stage(setup, layers, &json!({}))?)?.trace;
        Ok(trace.classes()[0].optimizer_start)
    };
    Ok(until_step(3)? - until_step(2)?)
}

fn simulate(scenario: &Scenario) -> Result<Simulation, Reason> {
    sim_core::simulate(scenario).map_err(|_| "not simulated: a layer of the model".to_owned())
}

/// A row's scenario with some layers on one stage, one micro-batch, and changes of its strategy.
///
/// # Errors
/// When the format does not take it.
pub fn on_one_stage(setup: &Setup, layers: u64, changes: &Value) -> Result<Scenario, Reason> {
    let mut scenario = setup.scenario.clone();
    match &scenario["model"] {
        Value::String(id) => {
            scenario["model"] = json!({"preset": id, "layers": layers});
        }
        _ => scenario["model"]["layers"] = json!(layers),
    }
    let tp = scenario["strategy"]["tp"].clone();
    scenario["hardware"]["devices_per_node"] = tp;
    scenario["hardware"]["nodes"] = json!(1);
    scenario["workload"]["global_batch"] = scenario["workload"]["micro_batch"].clone();
    for (field, value) in [("dp", 1), ("pp", 1), ("virtual_stages", 1)] {
        scenario["strategy"][field] = json!(value);
    }
    scenario["strategy"]["schedule"] = json!("1f1b");
    if let Some(changes) = changes.as_object() {
        for (field, value) in changes {
            scenario["strategy"][field] = value.clone();
        }
    }
    Scenario::from_value(scenario).map_err(|_| "not in the scenario format".to_owned())
}
