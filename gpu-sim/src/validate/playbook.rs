//! The Ultra-Scale Playbook's sweep: nanotron on nodes of eight H100.

use super::fields::{Fields, Reason, incomplete, unreadable};
use super::training::{simulate, trivial_step_s};
use super::{Compared, Row, Skip, id};
use serde_json::{Value, json};
use sim_core::scenario::Scenario;

/// Models of nanotron's scripts/scaling_benchmarks.py: name, layers, hidden, heads, ffn. No sharing of
/// key-value heads, 131,072 rows of vocabulary, one table for input and output below 10,000 of ffn. The
/// script does not have the 80B model.
const MODELS: [(&str, u64, u64, u64, u64); 3] =
    [("1B", 16, 2048, 32, 8192), ("3B", 28, 3072, 32, 8192), ("8B", 32, 4096, 32, 14336)];

const VOCAB: u64 = 131_072;

/// Tokens of a sample, by the book's text.
const SEQUENCE: u64 = 4096;

/// The comparison of a row.
pub fn read(number: usize, row: &Value) -> Compared {
    let id = id("playbook_sweep.jsonl", number, row);
    let (rows, skipped) = predict(Fields(row), &id)
        .unwrap_or_else(|reason| (Vec::new(), vec![Skip { metric: None, reason }]));
    Compared { source: "playbook".to_owned(), rows, skipped }
}

fn predict(row: Fields<'_>, id: &str) -> Result<(Vec<Row>, Vec<Skip>), Reason> {
    let speed = positive(row, "tok_s_gpu")?;
    let memory = positive(row, "mem_gb")?;
    if speed.is_none() && memory.is_none() {
        // The source prints nan for both, and does not tell them apart.
        return Err("crashed or out of memory".to_owned());
    }
    let scenario = scenario(row)?;
    let report = simulate(&scenario)?;
    let mut rows = Vec::new();
    if let Some(measured) = speed {
        let time = report.time.as_ref().ok_or("no time in the report")?;
        let tokens = time.tokens_per_s_per_device;
        rows.push(Row {
            id: id.to_owned(),
            metric: "tok_s_gpu",
            measured,
            predicted: tokens,
            trivial: Some(tokens * time.step_s / trivial_step_s(time)),
            cell: Some(cell(row)?),
            need: None,
        });
    }
    if let Some(measured) = memory {
        let memory = report.memory.as_ref().ok_or("no memory in the report")?;
        // nanotron logs torch.cuda.max_memory_* / 1024³ as "GB".
        let fullest = memory.per_rank.iter().map(|rank| rank.peak_reserved_gib).fold(0.0, f64::max);
        rows.push(Row::new(id.to_owned(), "mem_gb", measured, fullest));
    }
    Ok((rows, Vec::new()))
}

fn positive(row: Fields<'_>, path: &str) -> Result<Option<f64>, Reason> {
    match row.number(path)? {
        Some(number) if number <= 0.0 => Err(unreadable(path)),
        other => Ok(other),
    }
}

/// Runs among which a user would choose: a model on a number of nodes.
fn cell(row: Fields<'_>) -> Result<String, Reason> {
    let model = row.text("model")?.ok_or_else(|| incomplete("model"))?;
    let nodes = row.degree("nodes")?.ok_or_else(|| incomplete("nodes"))?;
    Ok(format!("{model} on {nodes} nodes"))
}

fn scenario(row: Fields<'_>) -> Result<Scenario, Reason> {
    let degree = |path: &str| row.degree(path)?.ok_or_else(|| incomplete(path));
    let name = row.text("model")?.ok_or_else(|| incomplete("model"))?;
    let model = MODELS.iter().find(|(known, ..)| *known == name);
    let (_, layers, hidden, heads, ffn) = model.ok_or_else(|| incomplete("architecture"))?;
    let base = if *ffn < 10_000 { "llama-3.2-1b" } else { "llama-2-7b" };
    let gpu = row.text("gpu")?.ok_or_else(|| incomplete("gpu"))?;
    if gpu != "H100 80GB" {
        return Err(format!("unknown device: {gpu}"));
    }
    let (nodes, count) = (degree("nodes")?, degree("num_gpus")?);
    if !count.is_multiple_of(nodes) {
        return Err(unreadable("num_gpus"));
    }
    let zero = row.count("zero")?.ok_or_else(|| incomplete("zero"))?;
    let tp = degree("tp")?;
    let scenario = json!({
        "model": {"preset": base, "layers": layers, "hidden": hidden, "heads": heads,
            "kv_heads": heads, "ffn": ffn, "vocab": VOCAB},
        "hardware": {"device": "h100-sxm5-80", "devices_per_node": count / nodes, "nodes": nodes},
        // examples/config_tiny_llama_bench.yaml: bfloat16, fp32 accumulation, fused AdamW, 1f1b.
        "workload": {
            "sequence": SEQUENCE, "micro_batch": degree("mbs")?, "global_batch": degree("gbs_seqs")?,
            "precision": "bf16-mixed", "gradient_dtype": "fp32", "framework": "nanotron",
        },
        "strategy": {
            "dp": degree("dp")?, "tp": tp, "pp": degree("pp")?, "zero": zero,
            // tp_mode REDUCE_SCATTER.
            "sequence_parallel": tp > 1, "schedule": "1f1b", "recompute": "none",
        },
    });
    Scenario::from_value(scenario).map_err(|_| "not in the scenario format".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Value {
        json!({"model": "1B", "nodes": 1, "num_gpus": 8, "gpu": "H100 80GB", "mbs": 2,
            "grad_accum": 32, "gbs_seqs": 256, "dp": 4, "pp": 2, "tp": 1, "zero": 1,
            "mfu_pct": 43.6, "tok_s_gpu": 38299.0, "mem_gb": 26.4})
    }

    #[test]
    fn a_row_is_a_scenario() {
        let row = row();
        let got = scenario(Fields(&row)).expect("a scenario");
        assert_eq!((got.strategy.dp, got.strategy.zero), (Some(4), 1));
        assert_eq!(got.workload.global_batch, Some(256));
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        let reason = |field: &str, value: Value| {
            let mut row = row();
            row[field] = value;
            let got = read(0, &row);
            assert!(got.rows.is_empty());
            got.skipped[0].reason.clone()
        };
        assert_eq!(reason("model", json!("80B")), "incomplete: architecture");
        assert_eq!(reason("gpu", json!("H999")), "unknown device: H999");
        assert_eq!(reason("dp", json!(-1)), "unreadable: dp");
        let mut crashed = row();
        crashed["tok_s_gpu"] = Value::Null;
        crashed["mem_gb"] = Value::Null;
        assert_eq!(read(0, &crashed).skipped[0].reason, "crashed or out of memory");
    }
}
