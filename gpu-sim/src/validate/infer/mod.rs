//! `infer.jsonl`: published measurements of inference, quantization and fine-tuning.

mod quantity;
mod row;
mod serving;
mod setup;
mod tuning;

use super::{Compared, Skip, id};
use row::Row;
use serde_json::Value;
use serving::Serving;
use tuning::Tuning;

const FILE: &str = "infer.jsonl";

/// What a row gives, by its group of sources.
pub fn read(number: usize, value: &Value) -> Compared {
    let row = Row(value);
    let group = row.own_text("source_group");
    let source = if group.is_empty() { FILE } else { group };
    if let Some(reason) = unfit(row) {
        return Compared::skipped(source, reason);
    }
    let measured = row.measured();
    if measured.is_empty() {
        return Compared::skipped(source, "no measured values");
    }
    let id = id(FILE, number, value);
    let mode = row.text("config", "mode").unwrap_or("");
    let serving = Serving::new(row, id.clone(), mode);
    let tuning = Tuning::new(row, id);
    // A value that was computed from another one says nothing new beside it.
    let direct = measured.iter().any(|one| !one.derived && quantity::find(one.metric).is_ok());
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for one in &measured {
        let metric = match quantity::find(one.metric) {
            Ok(metric) => metric,
            Err(reason) => {
                skipped.push(Skip { metric: None, reason });
                continue;
            }
        };
        let compared = match mode {
            _ if one.derived && direct => Err("derived from another value".to_owned()),
            "finetune" | "train" => tuning.compare(metric, one),
            "prefill" | "decode" | "serve" | "load" => serving.compare(metric, one),
            _ => Err("the mode is not stated".to_owned()),
        };
        match compared {
            Ok(row) => rows.push(row),
            Err(reason) => skipped.push(Skip { metric: Some(metric.reported()), reason }),
        }
    }
    Compared { source: source.to_owned(), rows, skipped }
}

/// Why a row is not to be compared at all, by its own words.
fn unfit(row: Row<'_>) -> Option<&'static str> {
    if !row.0["exclude_from_fit"].is_null() {
        return Some("marked as unfit for comparison");
    }
    (row.own_text("confidence") == "low").then_some("low confidence")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn complete() -> Value {
        json!({
            "id": "x-1", "source_group": "x", "confidence": "high",
            "model": {"name": "Llama-2-7B", "layers": 32, "hidden": 4096, "heads": 32,
                "kv_heads": 32, "ffn": 11008, "vocab": 32000},
            "hardware": {"gpu": "A100-80GB", "mem_gb": 80, "count": 1},
            "config": {"mode": "decode", "weight_format": "GPTQ-Int4", "weight_bits": 4,
                "group_size": 128, "kv_dtype": "fp16", "act_dtype": "fp16", "batch": 1,
                "input_len": 128, "output_len": 128, "tp": 1, "engine": "vLLM 0.6.3"},
            "measured": [
                {"metric": "tokens_per_s", "value": 100.0},
                {"metric": "peak_mem_gb", "value": 8.0, "unit": "GiB"},
                {"metric": "perplexity", "value": 5.0}],
        })
    }

    #[test]
    fn every_value_is_compared_or_has_a_reason() {
        let compared = read(0, &complete());
        assert_eq!(compared.source, "x");
        assert_eq!(compared.rows.len() + compared.skipped.len(), 3, "{compared:?}");
        assert!(compared.skipped.iter().any(|skip| skip.reason.starts_with("quality")));
    }

    #[test]
    fn rows_that_are_marked_are_skipped_whole() {
        let mut value = complete();
        value["confidence"] = json!("low");
        assert_eq!(read(0, &value), Compared::skipped("x", "low confidence"));
        value["exclude_from_fit"] = json!("odd");
        assert_eq!(read(0, &value), Compared::skipped("x", "marked as unfit for comparison"));
    }

    /// Whatever a field is changed to, the reader returns, and says something about the row.
    #[test]
    fn malformed_rows_never_panic() {
        let whole = complete();
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
        ];
        let mut paths: Vec<Vec<String>> = Vec::new();
        for (name, value) in whole.as_object().expect("an object") {
            paths.push(vec![name.clone()]);
            for inner in value.as_object().into_iter().flat_map(|object| object.keys()) {
                paths.push(vec![name.clone(), inner.clone()]);
            }
        }
        for mode in ["decode", "prefill", "serve", "load", "finetune", "train", "other"] {
            for path in &paths {
                for other in &others {
                    let mut value = whole.clone();
                    value["config"]["mode"] = json!(mode);
                    let field =
                        path.iter().fold(&mut value, |value, name| &mut value[name.as_str()]);
                    *field = other.clone();
                    let compared = read(0, &value);
                    assert!(!compared.rows.is_empty() || !compared.skipped.is_empty(), "{value}");
                    assert!(
                        compared
                            .rows
                            .iter()
                            .all(|row| row.measured.is_finite() && row.predicted.is_finite()),
                        "{value}: {compared:?}"
                    );
                }
            }
        }
        for value in [Value::Null, json!([]), json!("x"), json!({}), json!({"measured": [1, null]})]
        {
            assert!(!read(0, &value).skipped.is_empty());
        }
    }
}
