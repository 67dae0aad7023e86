//! Published training runs: rows of `train.jsonl` as scenarios.

mod compare;
mod flops;
mod hardware;
mod layer;
mod model;
mod setup;
mod sources;
mod strategy;
mod workload;

pub use compare::{number, trivial_step_s};
pub use layer::{kept_by_layer, on_one_stage};
pub use setup::prepare;

use super::fields::{Fields, Reason, incomplete};
use super::{Compared, Row, Skip, analytic, id};
use serde_json::Value;
use sim_core::issue::Severity;
use sim_core::report::Report;
use sim_core::scenario::Scenario;

/// The comparison of a row.
pub fn read(number: usize, row: &Value) -> Compared {
    let fields = Fields(row);
    let id = id("train.jsonl", number, row);
    if let Some(computed) = analytic::read(fields, &id) {
        return computed;
    }
    let (rows, skipped) = predict(fields, &id)
        .unwrap_or_else(|reason| (Vec::new(), vec![Skip { metric: None, reason }]));
    Compared { source: group(fields), rows, skipped }
}

/// The name of the source in summaries; a source with machines of very different noise is two.
pub fn group(row: Fields<'_>) -> String {
    let key = row.text("source_key").ok().flatten().unwrap_or("unknown");
    let gpu = row.text("hardware.gpu").ok().flatten().unwrap_or_default();
    // "V100 rows carry ±40 % noise", say the authors of BigScience's logs: a shared cluster.
    if key == "bigscience" && gpu.starts_with("V100") {
        format!("{key} V100")
    } else {
        key.to_owned()
    }
}

fn predict(row: Fields<'_>, id: &str) -> Result<(Vec<Row>, Vec<Skip>), Reason> {
    usable(row)?;
    let setup = setup::prepare(row)?;
    if !compare::has_columns(row) {
        let measured =
            compare::number(row, "layer_time_ms").ok_or("no column that is predicted")?;
        let predicted = 1e3 * layer::time_by_layer(&setup)?;
        let found = Row::new(id.to_owned(), "layer_time_ms", measured, predicted);
        return Ok((vec![found], Vec::new()));
    }
    let report = simulate(&setup::scenario(&setup)?)?;
    Ok(compare::compare(row, &setup, &report, id))
}

/// The report of a scenario.
///
/// # Errors
/// The first thing that this build cannot simulate.
pub fn simulate(scenario: &Scenario) -> Result<Report, Reason> {
    match sim_core::simulate(scenario) {
        Ok(simulation) => Ok(simulation.report),
        Err(issues) => {
            let error = issues.iter().find(|issue| issue.severity == Severity::Error);
            Err(error.map_or_else(
                || "not simulated".to_owned(),
                |issue| format!("not simulated: {} ({})", issue.field, issue.code.name()),
            ))
        }
    }
}

/// Whether a row is a measurement that its publishers and collectors stand by.
fn usable(row: Fields<'_>) -> Result<(), Reason> {
    let kind = row.text("kind")?.ok_or_else(|| incomplete("kind"))?;
    if !kind.starts_with("measured") {
        return Err(format!("not measured: {kind}"));
    }
    if row.value("exclude_from_fit").is_some_and(|flag| *flag != Value::Bool(false)) {
        return Err("excluded by its collectors".to_owned());
    }
    let has_doubts = match row.value("consistency") {
        None => false,
        Some(Value::Array(doubts)) => !doubts.is_empty(),
        Some(Value::String(doubt)) => !doubt.is_empty(),
        Some(_) => true,
    };
    if has_doubts {
        return Err("contradicts itself as printed".to_owned());
    }
    match row.text("completeness")? {
        Some("full" | "nearly") => Ok(()),
        Some(other) => Err(missing(row).unwrap_or_else(|| format!("incomplete: {other}"))),
        None => Err(incomplete("completeness")),
    }
}

/// What the collectors of a row have missed in it.
fn missing(row: Fields<'_>) -> Option<Reason> {
    let parts = row.value("missing_for_simulation")?.as_array()?;
    let names: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
    (!names.is_empty()).then(|| format!("incomplete: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A row of a pipeline with everything in it, small enough to simulate often.
    fn valid() -> Value {
        json!({
            "id": "sc21-901", "source": "a — Table 9, 0.1B — b", "source_key": "sc21",
            "kind": "measured", "core": true, "completeness": "full",
            "model": {"name": "GPT-0.1B", "layers": 4, "hidden": 512, "heads": 8, "kv_heads": 8,
                "ffn": 2048, "vocab": 51200, "seq": 1024, "params_b": 0.1, "arch_from": "source"},
            "hardware": {"gpu": "A100-SXM", "mem_gb": 80, "count": 16, "gpus_per_node": 8,
                "intra": "NVLink", "inter": "InfiniBand 8x200Gb HDR"},
            "config": {"mode": "pretrain", "precision": "fp16 mixed", "micro_batch": 2,
                "global_batch": 32, "grad_accum": 4, "tp": 2, "pp": 2, "vpp": 1, "cp": 1, "ep": 1,
                "dp": 4, "zero_stage": 1, "fsdp": null, "sequence_parallel": true,
                "recompute": "full", "offload": "none", "flash_attention": false,
                "optimizer": "Adam", "lora": null, "kernels": null},
            "measured": [{"metric": "iter_time_s", "value": 0.5},
                {"metric": "tflops_per_gpu", "value": 20.0},
                {"metric": "fits_in_memory", "value": 1}],
            "flops_convention": "hardware: 96*B*s*l*h^2(...) incl. full recompute",
        })
    }

    /// Every path of a JSON value that ends at no object.
    fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
        match value.as_object() {
            Some(object) => {
                for (name, inner) in object {
                    leaves(inner, &format!("{path}/{name}"), found);
                }
            }
            None => found.push(path.to_owned()),
        }
    }

    fn reason(row: &Value) -> String {
        read(0, row).skipped.first().map_or_else(String::new, |skip| skip.reason.clone())
    }

    #[test]
    fn a_complete_row_is_compared() {
        let got = read(0, &valid());
        let metrics: Vec<&str> = got.rows.iter().map(|row| row.metric).collect();
        assert_eq!((got.source.as_str(), metrics), ("sc21", vec!["iter_time_s", "fits"]));
        assert!(got.rows[0].predicted > 0.0 && got.rows[0].trivial.is_some_and(|s| s > 0.0));
        assert_eq!(got.rows[1].predicted, 1.0);
        assert!(got.skipped.is_empty(), "{:?}", got.skipped);
    }

    #[test]
    fn rows_that_nobody_stands_by_are_skipped() {
        let with = |field: &str, value: Value| {
            let mut row = valid();
            row[field] = value;
            reason(&row)
        };
        assert_eq!(with("kind", json!("claim")), "not measured: claim");
        assert_eq!(with("exclude_from_fit", json!(true)), "excluded by its collectors");
        assert_eq!(with("exclude_from_fit", json!(false)), "");
        assert_eq!(with("consistency", json!(["dp"])), "contradicts itself as printed");
        assert_eq!(with("consistency", json!([])), "");
        assert_eq!(with("completeness", json!("partial")), "incomplete: partial");
        assert_eq!(with("source_key", json!("nobody")), "unknown source: nobody");
        assert_eq!(with("measured", json!([])), "no column that is predicted");
    }

    #[test]
    fn what_is_unknown_or_not_simulated_is_named() {
        let with = |path: &str, value: Value| {
            let mut row = valid();
            *row.pointer_mut(path).expect("a field of the row") = value;
            reason(&row)
        };
        assert_eq!(with("/hardware/gpu", json!("H999")), "unknown device: H999");
        assert_eq!(with("/model/name", json!("Zeppelin")), "incomplete: model family");
        assert_eq!(with("/config/recompute", Value::Null), "incomplete: config.recompute");
        assert_eq!(
            with("/config/dp", json!(8)),
            "not simulated: strategy.dp (degrees-do-not-fill)"
        );
        assert_eq!(
            with("/config/micro_batch", json!(3)),
            "not simulated: workload.global_batch (batch-does-not-divide)"
        );
    }

    /// No row makes a panic: every field is taken out or replaced by something else.
    #[test]
    fn no_spoilt_row_panics() {
        let mut paths = Vec::new();
        leaves(&valid(), "", &mut paths);
        assert!(paths.len() > 40, "{paths:?}");
        let spoilt = [
            Value::Null,
            json!("x"),
            json!("8x"),
            json!(-1),
            json!(0),
            json!(0.5),
            json!(7),
            json!(1_000_000_000_000_000_u64),
            json!(u64::MAX),
            json!(1e300),
            json!(true),
            json!([]),
            json!([{"metric": "mfu", "value": 1e-300}, 3, {"metric": "hfu"}]),
            json!({"a": 1}),
        ];
        for path in &paths {
            for value in &spoilt {
                let mut row = valid();
                *row.pointer_mut(path).expect("a path of the row") = value.clone();
                let got = read(0, &row);
                let all = got.rows.iter();
                assert!(all.clone().all(|row| row.predicted.is_finite()), "{path} {value}");
            }
            let (parent, name) = path.rsplit_once('/').expect("a path");
            let mut row = valid();
            row.pointer_mut(parent).and_then(Value::as_object_mut).expect("it").remove(name);
            read(0, &row);
        }
        for row in [json!(null), json!([]), json!(1), json!({})] {
            assert!(read(0, &row).rows.is_empty());
        }
    }

    /// A row of every source's own spelling becomes a scenario that the format takes.
    #[test]
    fn every_complete_row_of_the_file_is_a_scenario() {
        let file = include_str!("../../../../validation/train.jsonl");
        let mut scenarios = 0;
        for line in file.lines() {
            let row: Value = serde_json::from_str(line).expect("a line of the file");
            let fields = Fields(&row);
            if usable(fields).is_err() {
                continue;
            }
            if let Ok(setup) = setup::prepare(fields) {
                let got = setup::scenario(&setup);
                assert!(got.is_ok(), "{}: {got:?}", row["id"]);
                scenarios += 1;
            }
        }
        assert!(scenarios > 500, "{scenarios}");
    }
}
