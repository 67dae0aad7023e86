//! Numbers outside of the ranges that make sense.

use super::ranges::RANGES;
use crate::issue::{Issue, IssueCode};
use crate::scenario::{Edit, Finetune, LinkChoice, ModelChoice, Scenario};

/// One issue for every number that is out of its range.
pub fn out_of_range(scenario: &Scenario) -> Vec<Issue> {
    RANGES
        .iter()
        .filter_map(|(field, range)| {
            let value = number(scenario, field)?;
            let inside = value >= range.min && value <= range.max;
            (!inside).then(|| {
                // NaN and everything below go up to the least value.
                let nearest = if value > range.max { range.max } else { range.min };
                Issue::new(IssueCode::OutOfRange, *field)
                    .with("value", value)
                    .with("min", range.min)
                    .with("max", range.max)
                    .way_out(Edit::new(*field, json_number(nearest)))
            })
        })
        .collect()
}

/// An integer where it is one, so that a count stays a count in the file.
fn json_number(value: f64) -> serde_json::Value {
    if libm::floor(value) == value { (value as i64).into() } else { value.into() }
}

/// The number at a path of [`RANGES`]; `None` where the scenario has none there.
fn number(scenario: &Scenario, field: &str) -> Option<f64> {
    let count = |n: u64| Some(n as f64);
    let (hardware, workload, strategy) =
        (&scenario.hardware, &scenario.workload, &scenario.strategy);
    let (section, name) = field.split_once('.')?;
    if section == "model" {
        let ModelChoice::Preset(preset) = &scenario.model else { return None };
        let value = match name {
            "layers" => preset.layers,
            "hidden" => preset.hidden,
            "heads" => preset.heads,
            "kv_heads" => preset.kv_heads,
            "head_dim" => preset.head_dim,
            "ffn" => preset.ffn,
            "vocab" => preset.vocab,
            _ => None,
        };
        return value.map(|n| n as f64);
    }
    if let Some(part) = name.strip_prefix("finetune.") {
        return adapter_number(&workload.finetune, part);
    }
    if let Some((link, part)) = name.split_once('.') {
        let choice = match link {
            "intra" => &hardware.intra,
            "inter" => &hardware.inter,
            "pcie" => &hardware.pcie,
            "nvme" => &hardware.nvme,
            _ => &None,
        };
        let Some(LinkChoice::Custom { gb_per_s, latency_us }) = choice else { return None };
        return Some(if part == "gb_per_s" { *gb_per_s } else { *latency_us });
    }
    match field {
        "hardware.devices_per_node" => count(hardware.devices_per_node),
        "hardware.nodes" => count(hardware.nodes),
        "hardware.host_memory_gib" => Some(hardware.host_memory_gib),
        "workload.sequence" => count(workload.sequence),
        "workload.micro_batch" => count(workload.micro_batch),
        "workload.global_batch" => workload.global_batch.and_then(count),
        "workload.gradient_accumulation" => workload.gradient_accumulation.and_then(count),
        "workload.input_tokens" => count(workload.input_tokens),
        "workload.output_tokens" => count(workload.output_tokens),
        "workload.concurrency" => count(workload.concurrency),
        "workload.max_model_len" => count(workload.max_model_len),
        "workload.memory_utilization" => Some(workload.memory_utilization),
        "workload.block_size" => count(workload.block_size),
        "strategy.dp" => strategy.dp.and_then(count),
        "strategy.tp" => count(strategy.tp),
        "strategy.pp" => count(strategy.pp),
        "strategy.cp" => count(strategy.cp),
        "strategy.ep" => count(strategy.ep),
        "strategy.virtual_stages" => count(strategy.virtual_stages),
        "strategy.zero" => count(strategy.zero),
        _ => None,
    }
}

/// The number `lora.rank`, `qlora.dropout` …, where the scenario trains such adapters.
fn adapter_number(finetune: &Finetune, part: &str) -> Option<f64> {
    let (kind, name) = part.split_once('.')?;
    let (rank, alpha, dropout) = match finetune {
        Finetune::Lora(choice) if kind == "lora" => (choice.rank, choice.alpha, choice.dropout),
        Finetune::Qlora(choice) if kind == "qlora" => (choice.rank, choice.alpha, choice.dropout),
        _ => return None,
    };
    match name {
        "rank" => Some(rank as f64),
        "alpha" => alpha,
        "dropout" => Some(dropout),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_reads_a_field_of_a_full_scenario() {
        let text = r#"{
            "model": {"preset": "llama-2-7b", "layers": 1, "hidden": 1, "heads": 1, "kv_heads": 1,
                      "head_dim": 1, "ffn": 1, "vocab": 1},
            "hardware": {"device": "a100-sxm-80gb",
                "intra": {"gb_per_s": 1, "latency_us": 1}, "inter": {"gb_per_s": 1, "latency_us": 1},
                "pcie": {"gb_per_s": 1, "latency_us": 1}, "nvme": {"gb_per_s": 1, "latency_us": 1}},
            "workload": {"global_batch": 1, "gradient_accumulation": 1, "finetune": FINETUNE},
            "strategy": {"dp": 1}
        }"#;
        // A scenario trains one kind of adapters.
        let kinds = ["lora", "qlora"].map(|kind| {
            let finetune = format!(r#"{{"{kind}": {{"rank": 8, "alpha": 16}}}}"#);
            Scenario::from_json(&text.replace("FINETUNE", &finetune)).expect("a scenario")
        });
        for (field, _) in RANGES {
            assert!(kinds.iter().any(|kind| number(kind, field).is_some()), "{field}");
        }
        for kind in &kinds {
            assert_eq!(out_of_range(kind), vec![]);
        }
    }
}
