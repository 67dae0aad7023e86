//! Optimizers that step in backward: one tensor's gradient at a time, and where that cannot work.

#![cfg(not(target_arch = "wasm32"))]

use sim_core::issue::IssueCode;
use sim_core::scenario::Scenario;
use sim_core::trace::{Category, Phase};
use sim_core::{Simulation, report, simulate};

fn scenario(model: &str, workload: &str, rest: &str) -> Scenario {
    let text = format!(
        r#"{{"model": {model}, "hardware": {{"device": "a100-sxm4-80", "devices_per_node": 4}},
        "workload": {{"sequence": 256, "framework": "pytorch", "precision": "bf16-pure",
            "optimizer_in_backward": true, {workload}}},
        "strategy": {{{rest}}}}}"#
    );
    Scenario::from_json(&text).expect("a scenario")
}

fn run(model: &str, workload: &str) -> Simulation {
    let scenario = scenario(model, workload, r#""tp": 4"#);
    simulate(&scenario).expect("a possible scenario")
}

/// The highest fill of gradients, in bytes.
fn most_gradients(simulation: &Simulation) -> i64 {
    let (mut fill, mut most) = (0, 0);
    for point in simulation.trace.memory(0).points() {
        if point.category == Category::Gradients as u8 {
            fill += point.delta;
            most = most.max(fill);
        }
    }
    assert_eq!(fill, 0, "nothing is left");
    most
}

/// Four ranks of Llama-2-7B: a table is 8000 × 4096 numbers, the largest of all tensors.
#[test]
fn gradients_are_those_of_one_tensor_at_a_time() {
    let simulation = run(r#""llama-2-7b""#, r#""optimizer": "adamw""#);
    assert_eq!(most_gradients(&simulation), 2 * 8000 * 4096);
    let rank = &simulation.report.memory.as_ref().expect("computed").per_rank[0];
    assert_eq!(rank.model_state_bytes.gradients, 2 * 8000 * 4096);
    // Without vocabulary the largest is a matrix of the MLP.
    let small = r#"{"preset": "llama-2-7b", "vocab": 4}"#;
    let simulation = run(small, r#""optimizer": "adamw""#);
    assert_eq!(most_gradients(&simulation), 2 * 4096 * 11_008 / 4);
}

/// A tied table's gradient is final when the embedding has added its part.
#[test]
fn a_tied_table_waits_for_both_of_its_uses() {
    let simulation = run(r#""llama-3.2-1b""#, r#""optimizer": "adamw""#);
    let table = 2 * (128_256 / 4) * 2048;
    let largest_other = 2 * 2048 * 8192 / 4;
    let second = table;
    let most = most_gradients(&simulation);
    assert!(most >= table + largest_other && most <= table + second, "{most}");
}

/// All parameters are updated once, whatever the order.
#[test]
fn a_step_in_backward_moves_as_much_as_one_at_the_end() {
    for optimizer in ["adamw", "adamw-8bit", "adafactor", "lion", "sgd", "sgd-momentum", "muon"] {
        let moved = |in_backward: bool| {
            let mut scenario = scenario(
                r#"{"preset": "llama-2-7b", "layers": 3}"#,
                &format!(r#""optimizer": "{optimizer}""#),
                r#""tp": 4"#,
            );
            scenario.workload.optimizer_in_backward = in_backward;
            let trace = simulate(&scenario).expect("a possible scenario").trace;
            let mut bytes = 0.0;
            for lane in 0..trace.lanes().len() {
                for span in trace.spans(lane, f64::NEG_INFINITY, f64::INFINITY) {
                    if span.operation.phase == Phase::Optimizer {
                        bytes += span.operation.bytes;
                    }
                }
            }
            bytes
        };
        let (together, one_by_one) = (moved(false), moved(true));
        assert!((one_by_one / together - 1.0).abs() < 1e-9, "{optimizer}: {one_by_one} {together}");
    }
}

#[test]
fn it_needs_gradients_that_are_final_when_made() {
    for (workload, rest, reason) in [
        (r#""gradient_accumulation": 2"#, r#""tp": 4"#, "workload.gradient_accumulation"),
        (r#""framework": "deepspeed""#, r#""tp": 4"#, "workload.framework"),
        (r#""precision": "fp16-mixed""#, r#""tp": 4"#, "workload.precision"),
        (r#""micro_batch": 1"#, r#""tp": 1"#, "strategy.dp"),
        (r#""micro_batch": 1"#, r#""tp": 2, "pp": 2"#, "strategy.pp"),
    ] {
        let text = scenario(r#""llama-2-7b""#, r#""micro_batch": 1"#, rest).to_json();
        let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let set: serde_json::Value =
            serde_json::from_str(&format!("{{{workload}}}")).expect("JSON");
        for (name, to) in set.as_object().expect("an object") {
            value["workload"][name] = to.clone();
        }
        let report = report(&Scenario::from_value(value).expect("a scenario"));
        let found = report
            .issues
            .iter()
            .find(|issue| issue.code == IssueCode::OptimizerNotInBackward)
            .unwrap_or_else(|| panic!("{workload} {rest}: {:?}", report.issues));
        assert_eq!(found.values["reason"], reason);
        assert_eq!(found.ways_out.len(), 1, "{found:?}");
        assert!(report.memory.is_none());
    }
}
