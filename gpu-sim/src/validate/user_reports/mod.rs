//! `user_reports.jsonl`: what users reported in public issue threads.

mod fields;
mod inference;
mod training;

use super::answer::{Answer, Gauge, Scope};
use super::{Compared, Need, Row, Skip, id};
use fields::{Outcome, Report};
use serde_json::Value;

const FILE: &str = "user_reports.jsonl";

/// Outcomes that are compared.
const METRICS: [&str; 8] = [
    "fits",
    "peak_mem_gib",
    "weights_gib",
    "kv_cache_gib",
    "kv_tokens",
    "cpu_ram_gib",
    "tokens_per_s",
    "s_per_it",
];

/// What a report gives, by its kind; those of medium confidence apart.
pub fn read(number: usize, value: &Value) -> Compared {
    let report = Report(value);
    let kind = report.text("kind").unwrap_or("of no kind");
    let source = match report.text("confidence") {
        Some("high") => format!("user reports: {kind}"),
        Some("medium") => format!("user reports, medium confidence: {kind}"),
        _ => return Compared::skipped("user reports", "low confidence"),
    };
    if report.text("report_type") != Some("measured") {
        return Compared::skipped(source, "advice, not a measurement");
    }
    let outcomes = report.outcomes();
    if outcomes.is_empty() {
        return Compared::skipped(source, "no measured values");
    }
    let id = id(FILE, number, value);
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for outcome in &outcomes {
        let compare = if report.trains() { training::compare } else { inference::compare };
        match outcome.distinct(&outcomes).and_then(|()| compare(report, &id, outcome)) {
            Ok(row) => rows.push(row),
            Err(reason) => {
                let metric = METRICS.into_iter().find(|metric| *metric == outcome.metric);
                skipped.push(Skip { metric, reason });
            }
        }
    }
    Compared { source, rows, skipped }
}

/// The verdict of a report beside ours.
fn verdict(id: &str, ours: (bool, Need), outcome: &Outcome<'_>) -> Result<Row, String> {
    let measured = outcome.verdict.ok_or_else(|| format!("malformed: {}", outcome.metric))?;
    Ok(Row::fits(id.to_owned(), measured, ours.0, ours.1))
}

/// The verdict about the host's memory, where the report says how much it has.
fn host_verdict(
    report: Report<'_>,
    id: &str,
    answer: &Answer,
    outcome: &Outcome<'_>,
) -> Result<Row, String> {
    let gb = report.config("host_ram_gb").as_f64().filter(|gb| gb.is_finite() && *gb > 0.0);
    let capacity_gib = gb.ok_or("the host's memory is not stated")? * 1e9 / 1_073_741_824.0;
    let need_gib = answer.number(&["memory", "host_gib"])?;
    verdict(id, (need_gib <= capacity_gib, Need { need_gib, capacity_gib }), outcome)
}

/// What a user sees is the driver's number, unless a program that prints the allocator's is named.
fn gauge(engine: &str, outcome: &Outcome<'_>) -> Gauge {
    let (engine, detail) = (engine.to_lowercase(), outcome.detail.to_lowercase());
    let own = ["torchtitan", "torchtune", "llama-recipes"].iter().any(|name| engine.contains(name));
    if detail.contains("allocated") {
        Gauge::Allocated
    } else if detail.contains("reserved") || own {
        Gauge::Reserved
    } else {
        Gauge::Driver
    }
}

fn peak_gib(engine: &str, answer: &Answer, outcome: &Outcome<'_>) -> Result<f64, String> {
    answer.peak_gib(gauge(engine, outcome), Scope::Fullest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn training() -> Value {
        json!({
            "id": "t", "kind": "finetune", "report_type": "measured", "confidence": "high",
            "model": "Llama-2-13B", "gpu": "A800 80GB", "num_gpus": 2,
            "config": {"engine": "DeepSpeed", "method": "full", "zero": 3, "batch": 1, "seq": 512,
                "precision": "bf16", "grad_ckpt": true, "optimizer": "AdamW"},
            "outcome": [{"metric": "fits", "value": false}],
        })
    }

    #[test]
    fn a_verdict_is_compared_with_its_need() {
        let compared = read(0, &training());
        assert_eq!(compared.source, "user reports: finetune");
        assert!(compared.skipped.is_empty(), "{:?}", compared.skipped);
        let row = &compared.rows[0];
        assert_eq!((row.metric, row.measured, row.predicted), ("fits", 0.0, 0.0));
        // 16 bytes a parameter over two GPUs alone are 97 GiB.
        assert!(row.need.is_some_and(|need| need.need_gib > 97.0 && need.capacity_gib == 80.0));
    }

    #[test]
    fn confidence_and_kind_name_the_source() {
        let mut value = training();
        value["confidence"] = json!("medium");
        let compared = read(0, &value);
        assert_eq!(compared.source, "user reports, medium confidence: finetune");
        value["report_type"] = json!("buying_advice");
        assert!(read(0, &value).rows.is_empty());
        value["confidence"] = json!("low");
        assert_eq!(read(0, &value), Compared::skipped("user reports", "low confidence"));
    }

    #[test]
    fn several_outcomes_need_the_configuration_of_each() {
        let mut value = training();
        value["outcome"] = json!([
            {"metric": "fits", "value": true, "detail": "at 3000"},
            {"metric": "fits", "value": false, "detail": "at 8196"},
        ]);
        assert_eq!(read(0, &value).rows.len(), 0);
        value["outcome"][0]["detail"] = Value::Null;
        assert_eq!(read(0, &value).rows.len(), 1);
    }

    /// Whatever a field is changed to, the reader returns, and says something about the report.
    #[test]
    fn malformed_reports_never_panic() {
        let serving = json!({
            "id": "i", "kind": "infer", "report_type": "measured", "confidence": "high",
            "model": "Llama-3-8B", "gpu": "RTX 4090 24GB", "num_gpus": 1,
            "config": {"engine": "vLLM V0", "precision": "bf16", "tp": 1, "prompt": 128,
                "new_tokens": 128, "batch": 1, "gpu_memory_utilization": 0.9, "max_model_len": 8192},
            "outcome": [{"metric": "weights_gib", "value": 14.96, "unit": "GiB"},
                {"metric": "tokens_per_s", "value": 50.0, "detail": "decode"}],
        });
        let others = [
            Value::Null,
            json!("text"),
            json!(""),
            json!(-1),
            json!(0),
            json!(1e300),
            json!(u64::MAX),
            json!(true),
            json!([]),
            json!({}),
            json!([null, 1]),
        ];
        for whole in [training(), serving] {
            for (name, part) in whole.as_object().expect("an object") {
                let inner = part.as_object().into_iter().flat_map(|object| object.keys());
                let paths = inner.map(|inner| vec![name, inner]).chain([vec![name]]);
                for path in paths.collect::<Vec<_>>() {
                    for other in &others {
                        let mut value = whole.clone();
                        let field =
                            path.iter().fold(&mut value, |value, name| &mut value[name.as_str()]);
                        *field = other.clone();
                        let compared = read(0, &value);
                        assert!(
                            !compared.rows.is_empty() || !compared.skipped.is_empty(),
                            "{value}"
                        );
                    }
                }
            }
        }
        for value in [Value::Null, json!([]), json!("x"), json!({})] {
            assert!(!read(0, &value).skipped.is_empty());
        }
    }
}
