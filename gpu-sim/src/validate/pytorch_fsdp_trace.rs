//! Exact traces of real models under PyTorch's FSDP2, one rank of a job of 2 to 64: allocated bytes
//! after forward, at the peak of forward, and at the peak of forward and backward.

use super::{Compared, Row, id};
use serde_json::{Value, json};
use sim_core::operators::Backend;
use sim_core::scenario::Scenario;
use sim_core::trace::Trace;

/// The predictions for one trace.
pub fn read(number: usize, row: &Value) -> Compared {
    compare("PyTorch FSDP2", "pytorch_fsdp_trace.jsonl", number, row)
}

/// The predictions for one trace of another mode: fields `nodes` (above one: sharded inside a node,
/// replicated across) and `gradient_accumulation`.
pub fn read_modes(number: usize, row: &Value) -> Compared {
    compare("PyTorch FSDP2 modes", "pytorch_fsdp_modes.jsonl", number, row)
}

fn compare(source: &str, file: &str, number: usize, row: &Value) -> Compared {
    match predict(file, number, row) {
        Ok(rows) => Compared { source: source.to_owned(), rows, skipped: Vec::new() },
        Err(reason) => Compared::skipped(source, reason),
    }
}

fn predict(file: &str, number: usize, row: &Value) -> Result<Vec<Row>, &'static str> {
    let text = |field: &str| row[field].as_str().ok_or("a field is missing");
    let precision = match text("param_dtype")? {
        "bf16" => "bf16-mixed",
        "fp16" => "fp16-mixed",
        "fp32" => "fp32",
        _ => return Err("unknown precision"),
    };
    let attention = match text("attention")? {
        "sdpa" => "flash",
        "eager" => "eager",
        _ => return Err("unknown attention"),
    };
    let nodes = row["nodes"].as_u64().unwrap_or(1).max(1);
    let world = row["world_size"].as_u64().ok_or("a field is missing")?;
    let mode = match (row["reshard_after_forward"].as_bool(), nodes) {
        (Some(true), 1) => "full_shard",
        (Some(true), _) => "hybrid",
        (Some(false), 1) => "shard_grad_op",
        (Some(false), _) => return Err("no such mode"),
        (None, _) => return Err("a field is missing"),
    };
    let scenario = json!({
        "model": {"preset": text("model")?, "layers": row["layers"]},
        // Memory is what is compared: any device that runs all precisions will do.
        "hardware": {"device": "b300-288", "devices_per_node": world / nodes, "nodes": nodes},
        "workload": {
            "sequence": row["seq"], "micro_batch": row["micro_batch"], "precision": precision,
            "gradient_dtype": text("reduce_dtype")?, "attention": attention, "framework": "fsdp",
            "gradient_accumulation": row["gradient_accumulation"].as_u64().unwrap_or(1),
        },
        "strategy": {
            "fsdp": mode,
            "recompute": if row["checkpointing"] == true { "full" } else { "none" },
        },
    });
    let scenario = Scenario::from_value(scenario).map_err(|_| "no scenario of this format")?;
    let simulation =
        sim_core::simulate_on(&scenario, Backend::Traced).map_err(|_| "not simulated")?;
    if simulation.plan.model.total_params() != row["params"].as_u64().unwrap_or(0) {
        return Err("the traced model has other parameters");
    }
    let memory = simulation.report.memory.as_ref().ok_or("not simulated")?;
    let phases = memory.per_rank[0].phases;
    let gib = 1_073_741_824.0;
    let rows = [
        ("after_forward", "after_fwd", phases.after_forward),
        ("forward_peak", "peak_until_fwd", forward_peak(&simulation.trace) / gib),
        ("forward_backward_peak", "peak_fwd_bwd", phases.forward_backward_peak),
    ];
    rows.into_iter()
        .filter(|(_, traced, _)| row["bytes"].get(traced).is_some())
        .map(|(metric, traced, predicted)| {
            let measured = row["bytes"][traced]["Total"].as_f64().ok_or("a field is missing")?;
            let id = id(file, number, row);
            Ok(Row::new(id, metric, measured / gib, predicted))
        })
        .collect()
}

/// The highest fill of the first rank class until forward has ended, in bytes.
fn forward_peak(trace: &Trace) -> f64 {
    let end = trace.classes()[0].forward_end;
    let mut fill = 0;
    let points = trace.memory(0).points().iter();
    let fills = points.take_while(|point| point.time <= end).filter_map(|point| {
        let begun = point.task.is_none_or(|task| trace.span(task).start < end);
        fill += point.delta;
        begun.then_some(fill)
    });
    fills.max().unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every trace is met within 0.03 % without a constant that was fitted to them where the ranks
    /// divide the sizes and within 0.2 % where they do not; the peak of forward within 0.4 %, since
    /// Hugging Face's models hold on to the embedding's output.
    #[test]
    fn all_traces_are_met() {
        let exact = include_str!("../../../validation/pytorch_fsdp_trace.jsonl");
        let modes = include_str!("../../../validation/pytorch_fsdp_modes.jsonl");
        let mut compared = [0, 0];
        for (of_file, (file, is_modes)) in compared.iter_mut().zip([(exact, false), (modes, true)])
        {
            for (number, line) in file.lines().enumerate() {
                let row: Value = serde_json::from_str(line).expect("a line of the file");
                let read = if is_modes { read_modes(number, &row) } else { read(number, &row) };
                for found in read.rows {
                    let error = found.predicted / found.measured - 1.0;
                    let shards = row["world_size"].as_u64().expect("a world size")
                        / row["nodes"].as_u64().unwrap_or(1);
                    let most = match (found.metric, shards.is_power_of_two()) {
                        ("forward_peak", _) => 4e-3,
                        (_, true) => 3e-4,
                        (_, false) => 2e-3,
                    };
                    assert!(error.abs() < most, "{found:?}: {error}");
                    *of_file += 1;
                }
            }
        }
        assert_eq!(compared, [30, 44]);
    }
}
