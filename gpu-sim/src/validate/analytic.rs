//! Tables that papers computed: they must come out exactly, up to the digits that are printed.

use super::{Outcome, Row, id};
use serde_json::Value;
use sim_core::memory::{StateBytes, model_states};
use sim_core::precision::{DType, Precision};
use sim_core::scenario::Optimizer;

/// The predictions for a row of `train.jsonl` that is analytic; other rows are not read here.
pub fn read(number: usize, row: &Value) -> Option<(&'static str, Outcome)> {
    let is_states = row["kind"] == "analytic"
        && row["source_key"] == "zero"
        && metric(row, "model_state_gb").is_some();
    is_states.then(|| ("ZeRO, Table 1 (analytic)", model_state(number, row)))
}

fn metric(row: &Value, name: &str) -> Option<f64> {
    let measured = row["measured"].as_array()?;
    measured.iter().find(|one| one["metric"] == name)?["value"].as_f64()
}

/// Model states of mixed-precision Adam, in GB a GPU.
fn model_state(number: usize, row: &Value) -> Outcome {
    let billions = row["model"]["params_b"].as_f64().ok_or("no parameter count")?;
    let dp = row["config"]["dp"].as_u64().ok_or("no data-parallel degree")?;
    let zero = row["config"]["zero_stage"].as_u64().ok_or("no ZeRO stage")?;
    let measured = metric(row, "model_state_gb").ok_or("no measured value")?;
    let bytes = StateBytes::new(Precision::Fp16Mixed, DType::Fp16, Optimizer::AdamW)
        .ok_or("not simulated")?;
    let states = model_states(bytes, (billions * 1e9) as u64, dp, zero);
    Ok(vec![Row {
        id: id("train.jsonl", number, row),
        metric: "model_state_gb",
        measured,
        predicted: states.total() as f64 / 1e9,
    }])
}
