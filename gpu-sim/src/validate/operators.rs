//! Single operators that were timed on one GPU or inside one node: `ops/gemm.jsonl`,
//! `ops/attention_prefill.jsonl`, `ops/attention_decode.jsonl`, `ops/nccl.jsonl`.
//!
//! Rows whose shape is in the core's own tables are compared apart from the others: only the others
//! say how good a prediction is.

use super::{Compared, Row, Skip, id};
use serde_json::Value;
use sim_core::hardware::measured::gpu::{self, Gpu};
use sim_core::hardware::measured::nccl::has;
use sim_core::hardware::measured::{
    AttentionPhase, AttentionShape, AttentionSurface, GemmFormat, GemmShape, GemmSurface,
    NcclOperation, NcclShape, NcclSurface, Weights,
};

/// A matrix product.
pub fn gemm(number: usize, row: &Value) -> Compared {
    let kind = format!("GEMM {}", row["gemm_dtype"].as_str().unwrap_or("?"));
    compared(row, &kind, |gpu| {
        let name = row["gemm_dtype"].as_str().unwrap_or_default();
        let format = GemmFormat::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or("a format without timings")?;
        let surface = GemmSurface::of_gpu(gpu, format).ok_or("a format without timings")?;
        let shape = GemmShape { m: size(row, "m")?, n: size(row, "n")?, k: size(row, "k")? };
        let seconds = surface.estimate(shape, Weights::TakeTurns).seconds;
        let trivial = format.roofline(gpu, shape);
        prediction(row, "ops/gemm.jsonl", number, seconds, trivial)
            .map(|row| (row, surface.has(shape)))
    })
}

/// Attention over prompts.
pub fn prefill(number: usize, row: &Value) -> Compared {
    attention(AttentionPhase::Prefill, "ops/attention_prefill.jsonl", number, row)
}

/// Attention of one new token.
pub fn decode(number: usize, row: &Value) -> Compared {
    attention(AttentionPhase::Decode, "ops/attention_decode.jsonl", number, row)
}

/// The shortest window that the tables were collected with.
const SHORTEST_WINDOW: u64 = 128;

/// Attention, full where a row has no `window_size`: rows whose context could hide behind a window
/// that is not recorded are compared apart.
fn attention(phase: AttentionPhase, file: &str, number: usize, row: &Value) -> Compared {
    let window = row["window_size"].as_u64();
    let context =
        row["isl"].as_u64().unwrap_or(0).saturating_add(row["step"].as_u64().unwrap_or(0));
    let unsure = window.is_none() && context > SHORTEST_WINDOW;
    let note = if unsure { ", window not recorded" } else { "" };
    compared(row, &format!("attention {}{note}", phase.name()), |gpu| {
        let heads = size(row, "num_heads")?;
        let cache_bytes = match row["kv_cache_dtype"].as_str() {
            Some("fp8") => 1,
            Some("bfloat16" | "float16") => 2,
            _ => return Err("unknown format of the cache"),
        };
        let shape = AttentionShape {
            batch: size(row, "batch_size")?,
            context: if (1..1 << 48).contains(&context) {
                context
            } else {
                return Err("a size is missing");
            },
            heads,
            // 0 is as many as query heads.
            kv_heads: size(row, "num_key_value_heads").unwrap_or(heads),
            head_dim: size(row, "head_dim")?,
            cache_bytes,
            window: window.filter(|window| *window > 0),
        };
        let surface = AttentionSurface::of_gpu(gpu, phase).ok_or("a GPU without timings")?;
        let seconds = surface.estimate(shape).seconds;
        prediction(row, file, number, seconds, phase.roofline(gpu, shape))
            .map(|row| (row, surface.has(shape)))
    })
}

/// A collective.
pub fn nccl(number: usize, row: &Value) -> Compared {
    let kind = format!("NCCL {}", row["op_name"].as_str().unwrap_or("?"));
    compared(row, &kind, |gpu| {
        let name = row["op_name"].as_str().unwrap_or_default();
        let operation = NcclOperation::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
            .ok_or("an operation without timings")?;
        let number_bytes = match row["nccl_dtype"].as_str() {
            Some("int8") => 1.0,
            Some("half" | "bfloat16") => 2.0,
            Some("float") => 4.0,
            _ => return Err("unknown size of a number"),
        };
        let shape = NcclShape {
            bytes: size(row, "message_size")? as f64 * number_bytes,
            ranks: u32::try_from(size(row, "num_gpus")?).map_err(|_| "too many GPUs")?,
            number_bytes,
        };
        let surface = NcclSurface::of_gpu(gpu, operation).ok_or("an operation without timings")?;
        let estimate = surface.estimate(shape).ok_or("more GPUs than were timed")?;
        let trivial = operation.moved(&shape) / gpu.link_bytes_per_s;
        prediction(row, "ops/nccl.jsonl", number, estimate.seconds, trivial)
            .map(|row| (row, has(gpu, operation, shape)))
    })
}

fn compared(
    row: &Value,
    kind: &str,
    predict: impl Fn(&'static Gpu) -> Result<(Row, bool), &'static str>,
) -> Compared {
    let name = row["gpu"].as_str().unwrap_or("?");
    let predicted = gpu::named(name).ok_or("a GPU without timings").and_then(predict);
    match predicted {
        Ok((row, in_the_table)) => {
            let note = if in_the_table { " (in the table)" } else { "" };
            Compared {
                source: format!("{name} {kind}{note}"),
                rows: vec![row],
                skipped: Vec::new(),
            }
        }
        Err(reason) => Compared {
            source: format!("{name} {kind}"),
            rows: Vec::new(),
            skipped: vec![Skip { metric: None, reason: reason.to_owned() }],
        },
    }
}

fn prediction(
    row: &Value,
    file: &str,
    number: usize,
    seconds: f64,
    trivial: f64,
) -> Result<Row, &'static str> {
    let measured = row["latency"].as_f64().filter(|ms| *ms > 0.0).ok_or("no latency")?;
    let predicted = Row::new(id(file, number, row), "latency_ms", measured, 1e3 * seconds);
    Ok(Row { trivial: Some(1e3 * trivial), ..predicted })
}

fn size(row: &Value, field: &'static str) -> Result<u64, &'static str> {
    // Larger ones are no sizes of this world, and squares of them no numbers.
    row[field].as_u64().filter(|size| (1..=1 << 48).contains(size)).ok_or("a size is missing")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_of_the_table_and_one_beside_it() {
        let row = |m: u64| {
            json!({"gpu": "h100_sxm", "gemm_dtype": "bfloat16", "m": m, "n": 51200, "k": 3584,
                   "latency": 0.1264})
        };
        let seen = gemm(0, &row(6));
        assert_eq!(seen.source, "h100_sxm GEMM bfloat16 (in the table)");
        let unseen = gemm(1, &row(7));
        assert_eq!(unseen.source, "h100_sxm GEMM bfloat16");
        for row in [&seen.rows[0], &unseen.rows[0]] {
            assert!((row.predicted / row.measured - 1.0).abs() < 0.15, "{row:?}");
        }
    }

    #[test]
    fn a_row_that_may_be_of_a_window_is_told_apart() {
        let row = |step: u64, window: Option<u64>| {
            json!({"gpu": "h100_sxm", "batch_size": 3, "isl": 1, "num_heads": 32,
                   "num_key_value_heads": 8, "head_dim": 128, "kv_cache_dtype": "bfloat16",
                   "step": step, "window_size": window, "latency": 0.0125})
        };
        let source = |step, window| decode(0, &row(step, window)).source;
        assert_eq!(source(99, None), "h100_sxm attention decode");
        assert_eq!(source(9999, None), "h100_sxm attention decode, window not recorded");
        assert_eq!(source(9999, Some(0)), "h100_sxm attention decode");
        let time = |window| decode(0, &row(1 << 20, window)).rows[0].predicted;
        assert!(time(Some(128)) < 0.1 * time(Some(0)));
    }

    #[test]
    fn what_nobody_timed_is_skipped_by_name() {
        let row =
            json!({"gpu": "b60", "gemm_dtype": "bfloat16", "m": 1, "n": 1, "k": 1, "latency": 1});
        assert_eq!(gemm(0, &row).skipped[0].reason, "a GPU without timings");
        let row = json!({"gpu": "h100_sxm", "op_name": "all_reduce", "nccl_dtype": "half",
                         "num_gpus": 16, "message_size": 1024, "latency": 1});
        assert_eq!(nccl(0, &row).skipped[0].reason, "more GPUs than were timed");
        let row = json!({"gpu": "h100_sxm", "gemm_dtype": "bfloat16", "m": 0, "n": 1, "k": 1, "latency": 1});
        assert_eq!(gemm(0, &row).skipped[0].reason, "a size is missing");
    }
}
