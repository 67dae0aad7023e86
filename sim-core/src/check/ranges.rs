//! The accepted range of every number in a scenario: one table for checks, messages and sliders.

/// The values that a field accepts, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub min: f64,
    pub max: f64,
}

/// Field path and range. The upper ends are far above any real run and keep every product of them
/// within a 64-bit integer.
pub const RANGES: &[(&str, Range)] = &[
    ("model.layers", Range { min: 1.0, max: 1_024.0 }),
    ("model.hidden", Range { min: 1.0, max: 131_072.0 }),
    ("model.heads", Range { min: 1.0, max: 1_024.0 }),
    ("model.kv_heads", Range { min: 1.0, max: 1_024.0 }),
    ("model.head_dim", Range { min: 1.0, max: 1_024.0 }),
    ("model.ffn", Range { min: 1.0, max: 1_048_576.0 }),
    ("model.vocab", Range { min: 1.0, max: 4_194_304.0 }),
    ("hardware.devices_per_node", Range { min: 1.0, max: 576.0 }),
    ("hardware.nodes", Range { min: 1.0, max: 16_384.0 }),
    ("hardware.host_memory_gib", Range { min: 0.0, max: 1_048_576.0 }),
    ("hardware.intra.gb_per_s", Range { min: 0.001, max: 100_000.0 }),
    ("hardware.intra.latency_us", Range { min: 0.0, max: 1_000_000.0 }),
    ("hardware.inter.gb_per_s", Range { min: 0.001, max: 100_000.0 }),
    ("hardware.inter.latency_us", Range { min: 0.0, max: 1_000_000.0 }),
    ("hardware.pcie.gb_per_s", Range { min: 0.001, max: 100_000.0 }),
    ("hardware.pcie.latency_us", Range { min: 0.0, max: 1_000_000.0 }),
    ("hardware.nvme.gb_per_s", Range { min: 0.001, max: 100_000.0 }),
    ("hardware.nvme.latency_us", Range { min: 0.0, max: 1_000_000.0 }),
    ("workload.sequence", Range { min: 1.0, max: 16_777_216.0 }),
    ("workload.micro_batch", Range { min: 1.0, max: 65_536.0 }),
    ("workload.global_batch", Range { min: 1.0, max: 16_777_216.0 }),
    ("workload.gradient_accumulation", Range { min: 1.0, max: 65_536.0 }),
    ("workload.finetune.lora.rank", Range { min: 1.0, max: 16_384.0 }),
    ("workload.finetune.lora.alpha", Range { min: 0.0, max: 65_536.0 }),
    ("workload.finetune.lora.dropout", Range { min: 0.0, max: 0.99 }),
    ("workload.finetune.qlora.rank", Range { min: 1.0, max: 16_384.0 }),
    ("workload.finetune.qlora.alpha", Range { min: 0.0, max: 65_536.0 }),
    ("workload.finetune.qlora.dropout", Range { min: 0.0, max: 0.99 }),
    ("workload.input_tokens", Range { min: 1.0, max: 16_777_216.0 }),
    ("workload.output_tokens", Range { min: 1.0, max: 16_777_216.0 }),
    ("workload.concurrency", Range { min: 1.0, max: 1_048_576.0 }),
    ("workload.max_model_len", Range { min: 1.0, max: 16_777_216.0 }),
    ("workload.memory_utilization", Range { min: 0.01, max: 1.0 }),
    ("workload.block_size", Range { min: 1.0, max: 4_096.0 }),
    ("strategy.dp", Range { min: 1.0, max: 9_437_184.0 }),
    ("strategy.tp", Range { min: 1.0, max: 1_024.0 }),
    ("strategy.pp", Range { min: 1.0, max: 1_024.0 }),
    ("strategy.cp", Range { min: 1.0, max: 1_024.0 }),
    ("strategy.ep", Range { min: 1.0, max: 1_024.0 }),
    ("strategy.virtual_stages", Range { min: 1.0, max: 1_024.0 }),
    ("strategy.zero", Range { min: 0.0, max: 3.0 }),
];

/// The range of the field at `path`, where it is a number.
pub fn range_of(path: &str) -> Option<Range> {
    RANGES.iter().find(|(field, _)| *field == path).map(|(_, range)| *range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_is_ordered_and_every_field_stands_once() {
        for (i, (field, range)) in RANGES.iter().enumerate() {
            assert!(range.min < range.max, "{field}");
            assert!(RANGES[..i].iter().all(|(other, _)| other != field), "{field}");
        }
    }
}
