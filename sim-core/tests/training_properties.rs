//! Orders that hold between optimizers, ways of fine-tuning and ZeRO stages, for any scenario.

#![cfg(not(target_arch = "wasm32"))]

use proptest::prelude::*;
use sim_core::report::RankMemory;
use sim_core::scenario::{Optimizer, Scenario};
use sim_core::{report, simulate};

const FINETUNES: [&str; 4] = [
    r#""full""#,
    r#"{"lora": {"rank": 8}}"#,
    r#"{"qlora": {"rank": 8}}"#,
    r#"{"qlora": {"rank": 8, "format": "int4-g128", "targets": "attention", "dropout": 0.1}}"#,
];

fn scenarios() -> impl Strategy<Value = Scenario> {
    let model = prop::sample::select(vec!["llama-2-7b", "gpt2", "qwen2.5-0.5b", "opt-1.3b"]);
    let names = (
        prop::sample::select(vec!["none", "full"]),
        prop::sample::select(vec!["pytorch", "deepspeed"]),
        prop::sample::select(vec!["fp32", "bf16-mixed", "bf16-pure", "fp16-mixed"]),
        prop::sample::select(vec!["fused", "foreach", "loop"]),
        prop::sample::select(
            Optimizer::ALL.iter().map(|optimizer| optimizer.name()).collect::<Vec<_>>(),
        ),
        prop::sample::select(FINETUNES.to_vec()),
    );
    let numbers = (1_u64..5, 1_u64..3, prop::sample::select(vec![64_u64, 128]));
    (model, names, numbers).prop_map(|(model, names, (dp, accumulation, sequence))| {
        let (recompute, framework, precision, implementation, optimizer, finetune) = names;
        let text = format!(
            r#"{{"model": {{"preset": "{model}", "layers": 3}},
            "hardware": {{"device": "a100-sxm4-80", "devices_per_node": {dp}}},
            "workload": {{"sequence": {sequence}, "gradient_accumulation": {accumulation},
                "precision": "{precision}", "framework": "{framework}", "finetune": {finetune},
                "optimizer": "{optimizer}", "optimizer_implementation": "{implementation}"}},
            "strategy": {{"recompute": "{recompute}"}}}}"#
        );
        Scenario::from_json(&text).expect("a readable scenario")
    })
}

/// The first rank's memory, where the scenario is possible.
fn memory(scenario: &Scenario) -> Option<RankMemory> {
    report(scenario).memory.map(|memory| memory.per_rank[0].clone())
}

/// Memory under each of `optimizers`.
fn under(scenario: &Scenario, optimizers: &[Optimizer]) -> Vec<RankMemory> {
    let with = |optimizer: &Optimizer| {
        let mut scenario = scenario.clone();
        scenario.workload.optimizer = *optimizer;
        memory(&scenario).expect("an optimizer makes nothing impossible")
    };
    optimizers.iter().map(with).collect()
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig::with_cases(cases.unwrap_or(96))
}

proptest! {
    #![proptest_config(cases())]

    /// States shrink from stage to stage, each by what it shards.
    #[test]
    fn a_higher_zero_stage_never_keeps_more(scenario in scenarios()) {
        let mut scenario = scenario;
        let mut states = Vec::new();
        for zero in 0..4 {
            scenario.strategy.zero = zero;
            let Some(rank) = memory(&scenario) else { continue };
            states.push(rank.model_state_bytes);
        }
        for pair in states.windows(2) {
            prop_assert!(pair[1].weights <= pair[0].weights, "{states:?}");
            prop_assert!(pair[1].gradients <= pair[0].gradients, "{states:?}");
            // A flat shard has no rows and columns for Adafactor, no small tensors for 8-bit Adam.
            let is_flat = matches!(scenario.workload.optimizer, Optimizer::Adafactor | Optimizer::AdamW8bit);
            prop_assert!(is_flat || pair[1].optimizer <= pair[0].optimizer, "{states:?}");
        }
    }

    /// Nothing, one and two moments; half, and a quarter of them.
    #[test]
    fn optimizers_keep_what_their_moments_are(scenario in scenarios()) {
        prop_assume!(memory(&scenario).is_some());
        use Optimizer::{Adafactor, AdamW, AdamW8bit, Lion, Muon, Sgd, SgdMomentum};
        let kept = |optimizers: &[Optimizer]| -> Vec<u64> {
            under(&scenario, optimizers).iter().map(|rank| rank.model_state_bytes.optimizer).collect()
        };
        let rising = kept(&[Sgd, SgdMomentum, Muon, AdamW]);
        prop_assert!(rising.is_sorted(), "{rising:?}");
        prop_assert_eq!(kept(&[SgdMomentum]), kept(&[Lion]));
        let few = kept(&[Sgd, Adafactor]);
        prop_assert!(few[0] < few[1], "{few:?}");
        // In 16 bits two whole moments are no more than two of 8 with scales and fp32 vectors.
        if scenario.workload.precision != sim_core::precision::Precision::Bf16Pure {
            let eight = kept(&[AdamW8bit, AdamW]);
            prop_assert!(eight[0] < eight[1], "{eight:?}");
            let factored = kept(&[Adafactor, AdamW]);
            prop_assert!(factored[0] < factored[1], "{factored:?}");
        }
    }

    /// With one fused kernel the peaks are in the order of the states.
    #[test]
    fn fewer_moments_never_need_more(scenario in scenarios()) {
        let mut scenario = scenario;
        scenario.workload.optimizer_implementation = sim_core::scenario::OptimizerImplementation::Fused;
        prop_assume!(memory(&scenario).is_some());
        let optimizers = [Optimizer::Sgd, Optimizer::SgdMomentum, Optimizer::Lion, Optimizer::AdamW];
        let peaks: Vec<f64> =
            under(&scenario, &optimizers).iter().map(|rank| rank.peak_allocated_gib).collect();
        prop_assert!(peaks.windows(2).all(|pair| pair[0] <= pair[1] + 1e-12), "{peaks:?}");
    }

    /// Adapters keep less than full training, over quantized weights less than over whole ones.
    #[test]
    fn adapters_keep_less_than_full_training(scenario in scenarios(), rank in 1_u64..64) {
        let kept = |finetune: &str| {
            let mut scenario = scenario.clone();
            scenario.workload.finetune = serde_json::from_str(finetune).expect("a choice");
            memory(&scenario).map(|rank| rank.model_state_bytes)
        };
        let lora = kept(&format!(r#"{{"lora": {{"rank": {rank}}}}}"#));
        let qlora = kept(&format!(r#"{{"qlora": {{"rank": {rank}}}}}"#));
        let without = kept(&format!(r#"{{"qlora": {{"rank": {rank}, "double_quant": false}}}}"#));
        let [Some(full), Some(lora), Some(qlora), Some(without)] =
            [kept(r#""full""#), lora, qlora, without] else { return Ok(()) };
        prop_assert!(lora.gradients + lora.optimizer < full.gradients + full.optimizer);
        prop_assert_eq!((lora.gradients, lora.optimizer), (qlora.gradients, qlora.optimizer));
        prop_assert!(qlora.weights < without.weights && without.weights < lora.weights);
    }

    /// What frozen layers keep for backward is no more than what trained ones keep.
    #[test]
    fn frozen_layers_leave_no_more_than_trained_ones(scenario in scenarios()) {
        let mut scenario = scenario;
        scenario.workload.gradient_accumulation = Some(1);
        let left = |scenario: &Scenario| {
            let simulation = simulate(scenario).ok()?;
            let trace = &simulation.trace;
            let before = trace.memory(0).initial_bytes();
            Some(trace.classes()[0].after_forward_bytes - before)
        };
        // No dropout, whose masks are the adapters' own, and adapters on attention alone.
        scenario.workload.finetune = serde_json::from_str(r#"{"lora": {"rank": 1, "targets": "qv"}}"#)
            .expect("a choice");
        let frozen = left(&scenario);
        scenario.workload.finetune = sim_core::scenario::Finetune::Full;
        let (Some(frozen), Some(full)) = (frozen, left(&scenario)) else { return Ok(()) };
        // Adapters of rank 1 keep two bytes a token and projection.
        prop_assert!(frozen <= full + full / 100, "{frozen} {full}");
    }

    /// A step in backward never has more gradients than one at the end.
    #[test]
    fn stepping_in_backward_never_needs_more(scenario in scenarios()) {
        let mut scenario = scenario;
        scenario.workload.gradient_accumulation = Some(1);
        scenario.hardware.devices_per_node = 1;
        scenario.workload.framework = sim_core::scenario::Framework::Pytorch;
        let Some(together) = memory(&scenario) else { return Ok(()) };
        scenario.workload.optimizer_in_backward = true;
        let Some(apart) = memory(&scenario) else { return Ok(()) };
        prop_assert!(apart.model_state_bytes.gradients <= together.model_state_bytes.gradients);
        prop_assert_eq!(apart.model_state_bytes.optimizer, together.model_state_bytes.optimizer);
        // Temporaries of a tensor's own step may come while activations are there.
        if scenario.workload.optimizer == Optimizer::Sgd {
            prop_assert!(apart.peak_allocated_gib <= together.peak_allocated_gib + 1e-12);
        }
    }
}
