//! The same bits in the browser: golden reports of all presets, computed under wasm.

#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

/// The reports that the native golden test writes.
const GOLDEN: &[(&str, &str)] = &[
    ("7b-on-8xa100", include_str!("golden/7b-on-8xa100.json")),
    ("7b-on-24gb", include_str!("golden/7b-on-24gb.json")),
    ("13b-on-4xa100-40", include_str!("golden/13b-on-4xa100-40.json")),
    ("70b-on-64xh100", include_str!("golden/70b-on-64xh100.json")),
    ("8b-fsdp-8xh100", include_str!("golden/8b-fsdp-8xh100.json")),
    ("mixtral-on-16xh100", include_str!("golden/mixtral-on-16xh100.json")),
    ("deepseek-v3-on-2048xh800", include_str!("golden/deepseek-v3-on-2048xh800.json")),
    ("gpt3-pipeline", include_str!("golden/gpt3-pipeline.json")),
    ("bert-large", include_str!("golden/bert-large.json")),
    ("7b-qlora-24gb", include_str!("golden/7b-qlora-24gb.json")),
    ("8b-lora-24gb", include_str!("golden/8b-lora-24gb.json")),
    ("7b-int4-serving", include_str!("golden/7b-int4-serving.json")),
    ("70b-serving-on-4xa100", include_str!("golden/70b-serving-on-4xa100.json")),
];

#[wasm_bindgen_test]
fn every_preset_has_a_golden_report() {
    let ids: Vec<&str> = sim_core::presets::ALL.iter().map(|preset| preset.id).collect();
    assert_eq!(ids, GOLDEN.iter().map(|(id, _)| *id).collect::<Vec<_>>());
}

#[wasm_bindgen_test]
fn reports_are_the_same_to_the_last_bit() {
    for (id, golden) in GOLDEN {
        let preset = sim_core::presets::find(id).expect("listed above");
        let report = sim_core::report(&preset.scenario());
        let text = serde_json::to_string_pretty(&report).expect("a report has string keys only");
        assert_eq!(text + "\n", *golden, "{id}");
    }
}
