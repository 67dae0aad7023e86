//! Tables that papers computed: they must come out exactly, up to the digits that are printed.

use super::fields::{Fields, Reason, incomplete};
use super::training::{self, kept_by_layer, on_one_stage};
use super::{Compared, Row, Skip};
use serde_json::json;
use sim_core::memory::{StateBytes, model_states};
use sim_core::precision::{DType, Precision};
use sim_core::scenario::Optimizer;

/// The comparison of a row that its source computed; `None` for a measured one.
pub fn read(row: Fields<'_>, id: &str) -> Option<Compared> {
    let kind = row.text("kind").ok()??;
    if !kind.starts_with("analytic") {
        return None;
    }
    let source = training::group(row);
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for metric in ["model_state_gb", "max_params_b", "activation_mem_gb", "activation_mem_pct"] {
        let Some(measured) = training::number(row, metric) else { continue };
        match predict(row, &source, metric) {
            Ok(predicted) => rows.push(Row::new(id.to_owned(), metric, measured, predicted)),
            Err(reason) => skipped.push(Skip { metric: None, reason }),
        }
    }
    if rows.is_empty() && skipped.is_empty() {
        let reason = "no column that is predicted".to_owned();
        skipped.push(Skip { metric: None, reason });
    }
    Some(Compared { source, rows, skipped })
}

fn predict(row: Fields<'_>, source: &str, metric: &str) -> Result<f64, Reason> {
    match (source, metric) {
        ("zero", "model_state_gb") => zero_states(row),
        ("zero", "max_params_b") => zero_largest(row),
        ("korth", "model_state_gb") => layer_states(row),
        ("korth", "activation_mem_gb") => stage_activations(row),
        ("korth", "activation_mem_pct") => {
            let setup = training::prepare(row)?;
            let baseline = json!({"sequence_parallel": false, "recompute": "none"});
            let share = kept_by_layer(&setup, &json!({}))? / kept_by_layer(&setup, &baseline)?;
            Ok(100.0 * share)
        }
        _ => Err("computed by another rule".to_owned()),
    }
}

/// Mixed-precision Adam as the ZeRO paper counts it.
fn zero_bytes() -> StateBytes {
    StateBytes::new(Precision::Fp16Mixed, DType::Fp16, Optimizer::AdamW)
}

/// Model states of a GPU in GB (Rajbhandari et al. 2020, Table 1).
fn zero_states(row: Fields<'_>) -> Result<f64, Reason> {
    let billions = row.number("model.params_b")?.ok_or_else(|| incomplete("model.params_b"))?;
    let dp = row.degree("config.dp")?.ok_or_else(|| incomplete("config.dp"))?;
    let zero = row.count("config.zero_stage")?.ok_or_else(|| incomplete("config.zero_stage"))?;
    if !(0.0..1e6).contains(&billions) {
        return Err("unreadable: model.params_b".to_owned());
    }
    let states = model_states(zero_bytes(), (billions * 1e9) as u64, dp, zero);
    Ok(states.total() as f64 / 1e9)
}

/// The largest model whose states fit into the GPUs' memory, in billions (Table 2, theoretical): model
/// parallelism divides all states.
fn zero_largest(row: Fields<'_>) -> Result<f64, Reason> {
    let memory = row.number("hardware.mem_gb")?.ok_or_else(|| incomplete("hardware.mem_gb"))?;
    let tp = row.degree("config.tp")?.ok_or_else(|| incomplete("config.tp"))?;
    let dp = row.degree("config.dp")?.ok_or_else(|| incomplete("config.dp"))?;
    let zero = row.count("config.zero_stage")?.ok_or_else(|| incomplete("config.zero_stage"))?;
    // Bytes a parameter, of a number of parameters that every degree up to a million divides closely.
    let parameters = 1_u64 << 40;
    let states = model_states(zero_bytes(), parameters, dp, zero);
    let each = states.total() as f64 / parameters as f64;
    Ok(memory / each * tp as f64)
}

/// Model states of a GPU's share of the layers' matrices in GiB (Korthikanti et al. 2022, Figure 1):
/// 18 bytes a parameter, gradients in fp32; embeddings are left out.
fn layer_states(row: Fields<'_>) -> Result<f64, Reason> {
    let setup = training::prepare(row)?;
    let scenario = on_one_stage(&setup, 1, &json!({}))?;
    let checked = sim_core::check::check(&scenario)
        .map_err(|_| "not simulated: a layer of the model".to_owned())?;
    let matrices = checked.plan.model.params().first_layer().matrices();
    let degree = |path: &str| Ok(row.degree(path)?.ok_or_else(|| incomplete(path))? as f64);
    let layers: Result<f64, Reason> = degree("model.layers");
    let parts: Result<f64, Reason> = Ok(degree("config.tp")? * degree("config.pp")?);
    let parameters = matrices as f64 * layers? / parts?;
    let bytes = StateBytes::new(Precision::Fp16Mixed, DType::Fp32, Optimizer::AdamW);
    let each = model_states(bytes, 1, 1, 0).total() as f64;
    Ok(parameters * each / GIB)
}

/// Activations that the first stage keeps, in GiB (Figure 1): L·(1 + (p − 1)/(p·v)) layers' worth are
/// in flight (§4.2.3).
fn stage_activations(row: Fields<'_>) -> Result<f64, Reason> {
    let setup = training::prepare(row)?;
    let degree = |path: &str| -> Result<f64, Reason> {
        Ok(row.degree(path)?.ok_or_else(|| incomplete(path))? as f64)
    };
    let (layers, p) = (degree("model.layers")?, degree("config.pp")?);
    let v = degree("config.vpp")?;
    let in_flight = if v > 1.0 { layers * (1.0 + (p - 1.0) / (p * v)) } else { layers };
    Ok(kept_by_layer(&setup, &json!({}))? * in_flight / GIB)
}

const GIB: f64 = 1_073_741_824.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// ZeRO's tables and Korthikanti's figures, all rows of the file.
    #[test]
    fn computed_tables_come_out_to_their_printed_digits() {
        let file = include_str!("../../../validation/train.jsonl");
        let mut compared = 0;
        for line in file.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("a line of the file");
            let Some(found) = read(Fields(&row), "row") else { continue };
            for row in found.rows {
                let error = row.predicted / row.measured - 1.0;
                let allowed = match (found.source.as_str(), row.metric) {
                    // 0.12 for 0.117; two digits of 15.625.
                    ("zero", "model_state_gb") => 0.03,
                    // 1T for 1.024, 2T for 2.048.
                    ("zero", _) => 0.05,
                    // Shares are read off a chart by a third party.
                    ("korth", "activation_mem_pct") => 0.015,
                    _ => 2e-3,
                };
                assert!(error.abs() < allowed, "{row:?}: {error}");
                compared += 1;
            }
        }
        assert!(compared >= 80, "{compared}");
    }

    #[test]
    fn no_spoilt_row_panics() {
        let zero = json!({"source_key": "zero", "kind": "analytic", "model": {"params_b": 7.5},
            "hardware": {"mem_gb": 32}, "config": {"tp": 2, "dp": 64, "zero_stage": 1},
            "measured": [{"metric": "model_state_gb", "value": 31.4},
                {"metric": "max_params_b", "value": 15.2}]});
        assert_eq!(read(Fields(&zero), "row").map(|found| found.rows.len()), Some(2));
        for path in [
            "/model/params_b",
            "/hardware/mem_gb",
            "/config/tp",
            "/config/dp",
            "/config/zero_stage",
            "/measured",
            "/kind",
            "/source_key",
        ] {
            for value in
                [json!(null), json!("x"), json!(-1), json!(0), json!(u64::MAX), json!(1e300)]
            {
                let mut row = zero.clone();
                *row.pointer_mut(path).expect("a field of the row") = value.clone();
                let rows = read(Fields(&row), "row").map_or_else(Vec::new, |found| found.rows);
                assert!(rows.iter().all(|row| row.predicted.is_finite()), "{path} {value}");
            }
        }
    }
}
