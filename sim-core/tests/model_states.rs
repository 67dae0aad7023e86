//! Model states of real scenarios, to the byte, and that the trace holds exactly them.

#![cfg(not(target_arch = "wasm32"))]

use sim_core::report::Report;
use sim_core::scenario::{Edit, Scenario};
use sim_core::trace::Category;
use sim_core::{report, simulate};

fn llama_on_8_a100() -> Scenario {
    sim_core::presets::find("7b-on-8xa100").expect("a preset").scenario()
}

fn with(scenario: &Scenario, field: &str, value: impl Into<serde_json::Value>) -> Scenario {
    scenario.edited(&Edit::new(field, value)).expect("a valid edit")
}

/// ZeRO stages that a preset can have: FSDP has none.
fn stages(preset: &sim_core::presets::Preset) -> std::ops::RangeInclusive<u64> {
    if preset.scenario().strategy.fsdp.is_some() { 0..=0 } else { 0..=3 }
}

fn states(report: &Report) -> u64 {
    report.memory.as_ref().expect("a computed scenario").per_rank[0].model_state_bytes.total()
}

#[test]
fn zero_stages_of_llama_2_7b_on_eight_gpus() {
    let psi = 6_738_415_616_u64;
    let by_paper = [16 * psi, 4 * psi + 12 * psi / 8, 2 * psi + 14 * psi / 8, 16 * psi / 8];
    for (zero, expected) in by_paper.into_iter().enumerate() {
        let scenario = with(&llama_on_8_a100(), "strategy.zero", zero);
        assert_eq!(states(&report(&scenario)), expected, "ZeRO-{zero}");
    }
}

/// The memory of a trace when the optimizer starts contains the model states and nothing else of
/// their categories: the bars and the formula are one truth.
#[test]
fn the_trace_holds_the_model_states_at_the_optimizer_step() {
    for preset in sim_core::presets::ALL {
        for zero in stages(preset) {
            for dtype in ["bf16", "fp32"] {
                let mut scenario = with(&preset.scenario(), "strategy.zero", zero);
                if dtype == "fp32" || scenario.recipe().weights.name() == dtype {
                    scenario = with(&scenario, "workload.gradient_dtype", dtype);
                }
                let simulation = simulate(&scenario).expect(preset.id);
                let memory = simulation.report.memory.expect("a computed scenario");
                for (class, rank) in memory.per_rank.iter().enumerate() {
                    let start = simulation.trace.classes()[class].optimizer_start;
                    let held = simulation.trace.breakdown_at(class, Some(start));
                    let of = |category: Category| held[category as usize] as u64;
                    let at = format!("{} ZeRO-{zero} {dtype} class {class}", preset.id);
                    let states = rank.model_state_bytes;
                    assert_eq!(of(Category::Weights), states.weights, "{at}");
                    assert_eq!(of(Category::Gradients), states.gradients, "{at}");
                    assert_eq!(of(Category::Optimizer), states.optimizer, "{at}");
                }
            }
        }
    }
}

/// Nothing leaks: after the step only what lives across steps is left.
#[test]
fn a_step_ends_with_permanent_memory_only() {
    for preset in sim_core::presets::ALL {
        for zero in stages(preset) {
            for recompute in ["none", "selective", "full"] {
                let scenario = with(&preset.scenario(), "strategy.zero", zero);
                let scenario = with(&scenario, "strategy.recompute", recompute);
                let simulation = simulate(&scenario).expect(preset.id);
                for class in 0..simulation.trace.classes().len() {
                    let end = simulation.trace.duration();
                    for category in [Category::Activations, Category::Recompute, Category::Logits] {
                        let live = simulation.trace.live_at(class, category, Some(end));
                        let at = format!("{} {zero} {recompute} class {class}", preset.id);
                        assert_eq!(live, vec![], "{at}");
                    }
                }
            }
        }
    }
}

/// The tapes have every parameter that the model's exact count has, on one rank and on four.
#[test]
fn tapes_hold_the_parameters_of_the_model() {
    for entry in sim_core::model::catalog::MODELS {
        for tp in [1, 4] {
            let text = format!(
                r#"{{"model": "{}", "hardware": {{"device": "h100", "devices_per_node": {tp}}},
                "workload": {{"sequence": 8}}, "strategy": {{"tp": {tp}}}}}"#,
                entry.id
            );
            let scenario = Scenario::from_json(&text).expect("a scenario");
            let Ok(checked) = sim_core::check::check(&scenario) else { continue };
            let of_tapes = checked.plan.stage_parameters(0);
            let exact = entry.shape.params_per_rank(tp, 1).total();
            assert_eq!(of_tapes.trained(), exact, "{} tp {tp}", entry.id);
            assert_eq!(of_tapes.together().frozen, 0, "{}", entry.id);
            assert_eq!(checked.plan.all_parameters().trained(), entry.shape.total_params());
        }
    }
}

/// FSDP2 keeps fp32 shards of weights, gradients and both moments: 16Ψ/N in every mode, over the
/// replicas of a node under `hybrid`; 8Ψ/N in pure bfloat16.
#[test]
fn fsdp_keeps_shards_of_everything() {
    let psi = 8_030_261_248_u64;
    let job = |mode: &str, nodes: u64, precision: &str| {
        let text = format!(
            r#"{{"model": "llama-3.1-8b",
            "hardware": {{"device": "h100-sxm5-80", "devices_per_node": 8, "nodes": {nodes}}},
            "workload": {{"precision": "{precision}"}}, "strategy": {{"fsdp": "{mode}"}}}}"#
        );
        states(&report(&Scenario::from_json(&text).expect("a scenario")))
    };
    assert_eq!(job("full_shard", 2, "bf16-mixed"), psi);
    assert_eq!(job("shard_grad_op", 2, "bf16-mixed"), psi);
    assert_eq!(job("hybrid", 2, "bf16-mixed"), 2 * psi);
    assert_eq!(job("full_shard", 2, "bf16-pure"), psi / 2);
}

/// Mixtral on 16 GPUs with the experts of a layer over eight of them, to the byte: what is common is
/// sharded over 16 replicas, an expert over the two that hold it.
#[test]
fn experts_are_sharded_over_those_that_hold_them() {
    let base = sim_core::presets::find("mixtral-on-16xh100").expect("a preset").scenario();
    let (h, f, kv, layers, vocab) = (4096_u64, 14_336, 1024, 32, 32_000);
    let routed = layers * 8 * 3 * h * f;
    let common = 2 * vocab * h + h + layers * (2 * h * h + 2 * h * kv + 8 * h + 2 * h);
    assert_eq!(routed + common, 46_702_792_704);
    for (ep, holders) in [(1, 16), (2, 8), (4, 4), (8, 2)] {
        for zero in 0..=3 {
            let scenario = with(&with(&base, "strategy.ep", ep), "strategy.zero", zero);
            // 2 bytes of weights, 2 of gradients, 12 of optimizer states.
            let share = |bytes: u64, from: u64| {
                let whole = common + routed / ep;
                let part = common / 16 + routed / ep / holders;
                bytes * if zero >= from { part } else { whole }
            };
            let expected = share(2, 3) + share(2, 2) + share(12, 1);
            assert_eq!(states(&report(&scenario)), expected, "EP {ep}, ZeRO-{zero}");
        }
    }
}

/// A larger degree than there are replicas takes in the tensor-parallel ranks, each with whole
/// experts.
#[test]
fn experts_spread_over_tensor_parallel_ranks() {
    let base = sim_core::presets::find("mixtral-on-16xh100").expect("a preset").scenario();
    let base = with(&with(&base, "strategy.tp", 8), "strategy.sequence_parallel", true);
    let base = with(&base, "strategy.zero", 0);
    // Two replicas: EP 2 splits each expert over TP 8, EP 8 has one whole expert on a rank.
    let split = states(&report(&with(&base, "strategy.ep", 2)));
    let whole = states(&report(&with(&base, "strategy.ep", 8)));
    let one = 16 * 32 * 3 * 4096 * 14_336;
    assert_eq!(whole - split, one - 4 * one / 8);
}

/// Megatron keeps one placeholder for the gradient of each shape of matrix, by hand for Llama 2 7B on
/// one GPU: query, key and value [12288, 4096], output [4096, 4096], gate and up [22016, 4096], down
/// [4096, 11008], two bytes a number.
#[test]
fn megatron_keeps_a_placeholder_for_each_shape() {
    let scenario = with(&llama_on_8_a100(), "workload.framework", "megatron");
    let simulation = simulate(&scenario).expect("a possible scenario");
    let held = simulation.trace.live_at(0, Category::Transient, Some(0.0));
    let numbers = 4096 * (12_288 + 4096 + 22_016 + 11_008);
    assert_eq!(held, vec![("placeholder-gradients", 2 * numbers)]);
    let elsewhere = simulate(&llama_on_8_a100()).expect("a possible scenario");
    assert_eq!(elsewhere.trace.live_at(0, Category::Transient, Some(0.0)), vec![]);
}
