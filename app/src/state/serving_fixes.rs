//! Ways to make a serving job fit, the least effort first: fewer bits, fewer requests, more GPUs.

use super::fixes::{derived_replicas, devices, halvings};
use sim_core::scenario::{Edit, Scenario};

/// Families of candidates for a job; `larger_devices` are ids of devices with more memory.
pub fn families(scenario: &Scenario, larger_devices: &[&str]) -> Vec<Vec<Vec<Edit>>> {
    let (workload, hardware) = (&scenario.workload, &scenario.hardware);
    let (weights, kv_cache): (&[&str], &[&str]) = match workload.engine.as_str() {
        "llama.cpp" => (&["gguf:q8_0", "gguf:q4_k_m"], &["q8_0", "q4_0"]),
        "hf" => (&["int8", "nf4-dq"], &["int8", "int4"]),
        _ => (&["fp8", "int4-g128"], &["fp8"]),
    };
    let one = |field: &str, value: serde_json::Value| vec![Edit::new(field, value)];
    let quantized = |field: &str, current: &str, names: &[&str]| -> Vec<Vec<Edit>> {
        // Where something is chosen already, only the smallest can still help.
        let from = if matches!(current, "none" | "fp16" | "bf16") { 0 } else { names.len() - 1 };
        names[from..].iter().map(|name| one(field, (*name).into())).collect()
    };
    let mut families = vec![
        quantized("quantization.weights", &scenario.quantization.weights, weights),
        quantized("quantization.kv_cache", &scenario.quantization.kv_cache, kv_cache),
        halvings(workload.concurrency)
            .map(|count| one("workload.concurrency", count.into()))
            .collect(),
        halvings(workload.max_model_len)
            .filter(|&tokens| tokens >= workload.input_tokens + workload.output_tokens)
            .map(|tokens| one("workload.max_model_len", tokens.into()))
            .collect(),
    ];
    let split = |tp: u64| [Edit::new("strategy.tp", tp), derived_replicas()];
    let more = |count: &u64| *count > scenario.strategy.tp;
    families.push(
        [2, 4, 8]
            .into_iter()
            .filter(more)
            .filter(|&tp| hardware.devices_per_node.is_multiple_of(tp))
            .map(|tp| split(tp).to_vec())
            .collect(),
    );
    families.push(
        larger_devices.iter().map(|device| one("hardware.device", (*device).into())).collect(),
    );
    families.push(
        [2, 4, 8]
            .into_iter()
            .filter(|&count| count > hardware.devices_per_node)
            .map(|count| [&[devices(count)][..], &split(count)].concat())
            .collect(),
    );
    families
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::simulate;

    #[test]
    fn a_model_too_large_in_16_bits_is_offered_fewer() {
        let scenario = Scenario::from_json(
            r#"{"model": "llama-2-13b", "hardware": {"device": "rtx4090-24"},
            "workload": {"kind": "infer"}}"#,
        )
        .expect("a scenario");
        assert!(!simulate(&scenario).expect("computed").report.fits);
        let first = &families(&scenario, &[])[0];
        let fits = |edits: &Vec<Edit>| {
            let edited = scenario.edited_all(edits).expect("fields of the format");
            simulate(&edited).is_ok_and(|simulation| simulation.report.fits)
        };
        assert!(first.iter().any(fits), "{first:?}");
        // Every candidate can be read.
        for edits in families(&scenario, &["h100-sxm5-80"]).concat() {
            assert!(scenario.edited_all(&edits).is_ok(), "{edits:?}");
        }
    }
}
