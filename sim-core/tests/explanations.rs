//! Explanations: formulas give what they claim, and parts add up to what is shown.

#![cfg(not(target_arch = "wasm32"))]

use sim_core::explain::{Explanation, Question, Value};
use sim_core::scenario::Scenario;
use sim_core::trace::Category;
use sim_core::{Simulation, presets, simulate};

fn simulations() -> Vec<Simulation> {
    let mut scenarios: Vec<Scenario> =
        presets::ALL.iter().map(|preset| preset.scenario()).collect();
    for preset in presets::ALL {
        for zero in 1..=3 {
            let mut scenario = preset.scenario();
            if scenario.strategy.fsdp.is_none() {
                scenario.strategy.zero = zero;
                scenarios.push(scenario);
            }
        }
    }
    scenarios.iter().map(|scenario| simulate(scenario).expect("a preset")).collect()
}

fn bytes(value: Value) -> f64 {
    let Value::Bytes(bytes) = value else { panic!("{value:?} is no memory") };
    bytes
}

/// The value of a symbol.
fn of(explanation: &Explanation, text: &str) -> f64 {
    let found = explanation.symbols.iter().find(|symbol| symbol.symbol == text);
    match found.unwrap_or_else(|| panic!("{text} of {explanation:?}")).value {
        Value::Bytes(n) | Value::Seconds(n) | Value::Flops(n) | Value::FlopsPerSecond(n) => n,
        Value::Count(n) | Value::Share(n) | Value::Number(n) | Value::BytesPerSecond(n) => n,
    }
}

#[test]
fn memory_that_is_shown_is_what_the_report_says_and_its_parts_add_up() {
    for simulation in simulations() {
        let memory = simulation.report.memory.as_ref().expect("computed");
        for (class, rank) in memory.per_rank.iter().enumerate() {
            for category in Category::ALL {
                let question = Question::Memory { class, category };
                let explanation = simulation.explain(question, None);
                let shown = bytes(explanation.shown);
                let reported = rank.breakdown.of(category) * 1_073_741_824.0;
                assert!((shown - reported).abs() < 1.0, "{category:?}: {shown} {reported}");
                if !matches!(category, Category::Runtime | Category::Fragmentation) {
                    let sum: f64 = explanation.parts.iter().map(|part| part.1).sum();
                    assert_eq!(sum, shown, "{category:?}");
                }
            }
        }
    }
}

/// The symbols, put into the formula by hand, give the result.
#[test]
fn model_state_formulas_give_their_result() {
    for simulation in simulations().into_iter().filter(|s| s.plan.serving.is_none()) {
        for (category, per_parameter) in [
            (Category::Weights, &["s_w"][..]),
            (Category::Gradients, &["s_g"]),
            (Category::Optimizer, &["s_master", "s_moments"]),
        ] {
            let explanation = simulation.explain(Question::Memory { class: 0, category }, None);
            let each: f64 = per_parameter.iter().map(|text| of(&explanation, text)).sum();
            let mut parameters = of(&explanation, "Ψ");
            if explanation.expression.contains("N_dp") {
                parameters = (parameters / of(&explanation, "N_dp")).ceil();
            }
            if explanation.expression.contains("N_edp") {
                let routed = of(&explanation, "Ψ_e") / of(&explanation, "N_edp");
                parameters += routed.ceil();
            }
            let mut by_hand = each * parameters;
            if explanation.expression.contains("Ψ_0") {
                by_hand += of(&explanation, "s_0") * of(&explanation, "Ψ_0");
            }
            // Bytes of a parameter are a mean where they depend on the tensor.
            let result = bytes(explanation.result);
            assert!((by_hand / result - 1.0).abs() < 1e-12, "{by_hand} of {explanation:?}");
        }
    }
}

#[test]
fn formulas_of_serving_give_their_result() {
    for simulation in simulations().into_iter().filter(|s| s.plan.serving.is_some()) {
        let of_category =
            |category| simulation.explain(Question::Memory { class: 0, category }, None);
        let weights = of_category(Category::Weights);
        let by_hand = of(&weights, "b") * of(&weights, "Ψ") / 8.0;
        assert!((by_hand / bytes(weights.result) - 1.0).abs() < 1e-12);
        assert_eq!(weights.result, weights.shown);
        let pool = of_category(Category::KvCache);
        let block = of(&pool, "M_block");
        assert_eq!((of(&pool, "M_free") / block).floor() * block, bytes(pool.result));
        assert_eq!(pool.result, pool.shown);
        let token = simulation.explain(Question::TimePerOutputToken, None);
        let by_hand = (of(&token, "t_batch") - of(&token, "t_prefill")) / (of(&token, "N") - 1.0);
        assert!((by_hand / of_seconds(token.result) - 1.0).abs() < 1e-12);
    }
}

fn of_seconds(value: Value) -> f64 {
    let Value::Seconds(seconds) = value else { panic!("{value:?} is no time") };
    seconds
}

/// What forward leaves on one GPU is what the formula says, without the ends of the model.
#[test]
fn the_activation_formula_is_what_the_trace_keeps() {
    for recompute in ["none", "selective", "full"] {
        for attention in ["flash", "eager"] {
            let text = format!(
                r#"{{"model": {{"preset": "llama-2-7b", "vocab": 1}},
                "hardware": {{"device": "a100-sxm4-80"}},
                "workload": {{"sequence": 512, "attention": "{attention}"}},
                "strategy": {{"recompute": "{recompute}"}}}}"#
            );
            let scenario = Scenario::from_json(&text).expect("a scenario");
            let simulation = simulate(&scenario).expect("computed");
            let category = Category::Activations;
            let explanation = simulation.explain(Question::Memory { class: 0, category }, None);
            let states =
                simulation.report.memory.as_ref().expect("computed").per_rank[0].model_state_bytes;
            let left = simulation.trace.classes()[0].after_forward_bytes as f64
                - (states.weights + states.optimizer) as f64;
            let ratio = left / bytes(explanation.result);
            // On top come the final norm, as much as four layers' inputs, and the loss.
            assert!((1.0..1.15).contains(&ratio), "{recompute} {attention}: {ratio}");
        }
    }
}

#[test]
fn times_are_taken_apart_without_a_rest() {
    for simulation in simulations() {
        let step = simulation.explain(Question::StepTime, None);
        let sum = of(&step, "t_compute") + of(&step, "t_exposed") + of(&step, "t_idle");
        assert!((sum / simulation.trace.duration() - 1.0).abs() < 1e-12);
        let mfu = simulation.explain(Question::Mfu, None);
        let by_hand = of(&mfu, "F_model") / (of(&mfu, "t_step") * of(&mfu, "N") * of(&mfu, "P"));
        let Value::Share(shown) = mfu.result else { panic!("{mfu:?}") };
        assert!((by_hand / shown - 1.0).abs() < 1e-12);
    }
}
