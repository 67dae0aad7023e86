//! The timings, as `validation/ops` has them.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;
use sim_core::hardware::measured::gpu::Gpu;
use sim_core::hardware::measured::{
    AttentionPhase, AttentionShape, GemmFormat, GemmShape, NcclOperation, NcclShape,
};

/// All timings of the kinds that tables are made of.
#[derive(Debug)]
pub struct Timings {
    gemm: Vec<Value>,
    nccl: Vec<Value>,
    /// By phase.
    attention: [Vec<Value>; 2],
}

impl Timings {
    pub fn read(folder: &Path) -> Result<Self> {
        let read = |name: &str| lines(&folder.join(name));
        Ok(Self {
            gemm: read("gemm.jsonl")?,
            nccl: read("nccl.jsonl")?,
            attention: [read("attention_prefill.jsonl")?, read("attention_decode.jsonl")?],
        })
    }

    /// Attention of a phase with its seconds, by GPU of a family; windows are not known.
    pub fn attention(
        &self,
        family: &[Gpu],
        phase: AttentionPhase,
    ) -> Vec<Vec<(AttentionShape, f64)>> {
        let of_gpu = |gpu: &Gpu| {
            let rows = self.attention[phase as usize].iter().filter(|row| row["gpu"] == gpu.name);
            rows.map(|row| {
                let heads = size(row, "num_heads");
                let kv_heads = size(row, "num_key_value_heads");
                let shape = AttentionShape {
                    batch: size(row, "batch_size"),
                    context: size(row, "isl") + size(row, "step"),
                    heads,
                    kv_heads: if kv_heads == 0 { heads } else { kv_heads },
                    head_dim: size(row, "head_dim"),
                    cache_bytes: if row["kv_cache_dtype"] == "fp8" { 1 } else { 2 },
                    window: None,
                };
                (shape, seconds(row))
            })
            .collect()
        };
        family.iter().map(of_gpu).collect()
    }

    /// Products in a format with their seconds, by GPU of a family.
    pub fn gemm(&self, family: &[Gpu], format: GemmFormat) -> Vec<Vec<(GemmShape, f64)>> {
        let of_gpu = |gpu: &Gpu| {
            let rows = self.gemm.iter().filter(|row| row["gpu"] == gpu.name);
            rows.filter(|row| row["gemm_dtype"] == format.name())
                .map(|row| {
                    let shape =
                        GemmShape { m: size(row, "m"), n: size(row, "n"), k: size(row, "k") };
                    (shape, seconds(row))
                })
                .collect()
        };
        family.iter().map(of_gpu).collect()
    }

    /// Messages of an operation with their seconds.
    pub fn nccl(&self, gpu: &Gpu, operation: NcclOperation) -> Vec<(NcclShape, f64)> {
        let rows = self.nccl.iter().filter(|row| row["gpu"] == gpu.name);
        rows.filter(|row| row["op_name"] == operation.name())
            .map(|row| {
                let number_bytes = if row["nccl_dtype"] == "half" { 2.0 } else { 1.0 };
                let shape = NcclShape {
                    bytes: size(row, "message_size") as f64 * number_bytes,
                    ranks: u32::try_from(size(row, "num_gpus")).unwrap_or(0),
                    number_bytes,
                };
                (shape, seconds(row))
            })
            .collect()
    }
}

fn size(row: &Value, field: &str) -> u64 {
    row[field].as_u64().unwrap_or(0)
}

fn seconds(row: &Value) -> f64 {
    row["latency"].as_f64().unwrap_or(f64::NAN) * 1e-3
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .enumerate()
        .map(|(number, line)| {
            serde_json::from_str(line)
                .with_context(|| format!("{}, line {}", path.display(), number + 1))
        })
        .collect()
}
