//! Properties that hold for any scenario.

#![cfg(not(target_arch = "wasm32"))]

use proptest::prelude::*;
use sim_core::scenario::{CrossEntropy, Scenario};
use sim_core::trace::{Category, LaneKind};
use sim_core::{Simulation, simulate};

/// A scenario that is legal more often than not, small enough to be quick.
fn scenarios() -> impl Strategy<Value = Scenario> {
    let loss = prop::sample::select(CrossEntropy::ALL);
    (with_usual_loss(), loss).prop_map(|(mut scenario, loss)| {
        let is_split = loss == CrossEntropy::Chunked && scenario.strategy.tp > 1;
        scenario.workload.cross_entropy = if is_split { CrossEntropy::Fused } else { loss };
        scenario
    })
}

fn with_usual_loss() -> impl Strategy<Value = Scenario> {
    let model = prop::sample::select(vec![
        "llama-2-7b",
        "gpt2",
        "qwen2.5-0.5b",
        "bert-base",
        "opt-1.3b",
        "mixtral-8x7b",
        "deepseek-v2-lite",
        "gpt-oss-20b",
        "qwen1.5-moe-a2.7b",
    ]);
    let layout = prop::sample::select(vec![(1, 1), (2, 1), (1, 2), (4, 1), (1, 4), (2, 2)]);
    let spread = prop::sample::select(vec![(1, 1), (1, 1), (2, 1), (1, 2), (4, 1), (2, 2)]);
    let names = (
        prop::sample::select(vec!["none", "selective", "full"]),
        prop::sample::select(vec!["flash", "eager"]),
        prop::sample::select(vec!["pytorch", "deepspeed", "megatron", "nanotron"]),
        prop::sample::select(vec!["1f1b", "gpipe"]),
        prop::sample::select(vec!["fp32", "bf16-mixed", "bf16-pure", "fp16-mixed"]),
        prop::sample::select(
            sim_core::scenario::Optimizer::ALL
                .iter()
                .map(|optimizer| optimizer.name())
                .collect::<Vec<_>>(),
        ),
    );
    let mode = prop::sample::select(vec![
        None,
        None,
        Some("full_shard"),
        Some("shard_grad_op"),
        Some("hybrid"),
    ]);
    let numbers =
        (1_u64..4, 0_u64..4, 1_u64..4, prop::sample::select(vec![64_u64, 128, 256]), mode);
    (model, layout, spread, names, numbers, any::<bool>(), any::<bool>()).prop_map(
        |(model, (tp, pp), (ep, cp), names, (dp, zero, accumulation, sequence, mode), dropout, sp)| {
            let (recompute, attention, framework, schedule, precision, optimizer) = names;
            // Hybrid sharding needs several nodes to differ.
            let nodes = if mode == Some("hybrid") { dp } else { 1 };
            let (framework, zero) = if mode.is_some() { ("fsdp", 0) } else { (framework, zero) };
            let fsdp = mode.map_or_else(|| "null".to_owned(), |mode| format!("\"{mode}\""));
            let text = format!(
                r#"{{"model": {{"preset": "{model}", "layers": 4}},
                "hardware": {{"device": "a100-sxm4-80", "devices_per_node": {}, "nodes": {nodes}}},
                "workload": {{"sequence": {sequence}, "gradient_accumulation": {accumulation},
                    "attention": "{attention}", "dropout": {dropout}, "precision": "{precision}",
                    "framework": "{framework}", "optimizer": "{optimizer}"}},
                "strategy": {{"tp": {tp}, "pp": {pp}, "zero": {zero}, "fsdp": {fsdp}, "recompute": "{recompute}",
                    "schedule": "{schedule}", "ep": {ep}, "cp": {cp}, "sequence_parallel": {}}}}}"#,
                dp * tp * pp * cp / nodes,
                sp && tp > 1,
            );
            Scenario::from_json(&text).expect("a readable scenario")
        },
    )
}

/// The peak of the first rank class, in GiB.
fn peak(simulation: &Simulation) -> f64 {
    simulation.report.memory.as_ref().expect("computed").per_rank[0].peak_allocated_gib
}

/// 128 of each property, or as many as `PROPTEST_CASES` says.
fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig::with_cases(cases.unwrap_or(128))
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn lanes_memory_and_reports_are_sound(scenario in scenarios()) {
        // Qwen2.5-0.5B has 14 heads: four ranks cannot split them.
        let Ok(simulation) = simulate(&scenario) else { return Ok(()) };
        let trace = &simulation.trace;
        for lane in 0..trace.lanes().len() {
            let mut until = 0.0;
            for span in trace.spans(lane, f64::NEG_INFINITY, f64::INFINITY) {
                prop_assert!(span.start >= until, "spans of a lane never overlap");
                until = span.end;
            }
        }
        for (class, rank) in simulation.report.memory.as_ref().expect("computed").per_rank.iter().enumerate() {
            // The fill never goes below what is held, category by category.
            let mut fill = [0_i64; Category::COUNT];
            for point in trace.memory(class).points() {
                fill[usize::from(point.category)] += point.delta;
                prop_assert!(fill[usize::from(point.category)] >= 0, "{:?} {:?}", fill, point);
            }
            let b = rank.breakdown;
            let sum = b.weights + b.gradients + b.optimizer + b.activations + b.recompute + b.logits
                + b.kv_cache + b.transient + b.runtime + b.fragmentation;
            prop_assert!((sum - rank.driver_total_gib).abs() < 1e-9, "rows sum to the total");
            prop_assert!(rank.phases.after_forward <= rank.phases.forward_backward_peak + 1e-12);
            prop_assert!(rank.phases.forward_backward_peak <= rank.phases.step_peak + 1e-12);
            // Forward and backward leave no activation behind.
            let end = trace.duration();
            for category in [Category::Activations, Category::Recompute, Category::Logits] {
                prop_assert_eq!(trace.breakdown_at(class, Some(end))[category as usize], 0);
                prop_assert_eq!(trace.live_at(class, category, Some(end)), vec![]);
            }
        }
        let time = simulation.report.time.expect("computed");
        for share in [time.mfu, time.hfu, time.bubble_fraction] {
            prop_assert!((0.0..=1.0).contains(&share), "{time:?}");
        }
        prop_assert!(time.mfu <= time.hfu);
    }

    #[test]
    fn a_simulation_is_deterministic(scenario in scenarios()) {
        prop_assert_eq!(sim_core::report(&scenario), sim_core::report(&scenario));
    }

    #[test]
    fn a_report_echoes_a_scenario_that_gives_the_same_report(scenario in scenarios()) {
        let report = sim_core::report(&scenario);
        let again = Scenario::from_json(&report.scenario.as_ref().expect("computed").to_json()).expect("an echoed scenario");
        // Ways out may differ: what was derived is now given.
        let again = sim_core::report(&again);
        prop_assert_eq!((again.memory, again.time, again.scenario), (report.memory, report.time, report.scenario));
    }

    #[test]
    fn more_micro_batches_leave_the_peak_of_1f1b_alone(scenario in scenarios()) {
        let mut scenario = scenario;
        scenario.strategy.schedule = sim_core::scenario::ScheduleName::OneForwardOneBackward;
        let mut peaks = Vec::new();
        // From the second micro-batch on, gradients exist when kernels add to them.
        for accumulation in [8, 12, 16] {
            scenario.workload.gradient_accumulation = Some(accumulation);
            let Ok(simulation) = simulate(&scenario) else { return Ok(()) };
            peaks.push(peak(&simulation));
        }
        // Up to a message that arrives a little sooner or later.
        for peak in &peaks[1..] {
            prop_assert!((peak / peaks[0] - 1.0).abs() < 1e-3, "{peaks:?}");
        }
    }

    #[test]
    fn recomputation_never_lengthens_what_forward_leaves(scenario in scenarios()) {
        let mut left = Vec::new();
        for recompute in sim_core::scenario::Recompute::ALL {
            let mut scenario = scenario.clone();
            scenario.strategy.recompute = *recompute;
            scenario.workload.gradient_accumulation = Some(1);
            let Ok(simulation) = simulate(&scenario) else { return Ok(()) };
            let memory = simulation.report.memory.as_ref().expect("computed");
            left.push(memory.per_rank[0].phases.after_forward);
        }
        prop_assert!(left[1] <= left[0] && left[2] <= left[1], "{left:?}");
    }

    #[test]
    fn more_fsdp_shards_never_need_more_memory(scenario in scenarios()) {
        let mut scenario = scenario;
        scenario.workload.framework = sim_core::scenario::Framework::Fsdp;
        scenario.strategy.zero = 0;
        scenario.strategy.fsdp.get_or_insert_default();
        scenario.hardware.nodes = 1;
        let mut last = f64::INFINITY;
        // One shard needs no buffers to gather from; from two on there are more shards of the same.
        for shards in [2, 4, 8, 16] {
            scenario.hardware.devices_per_node = shards * scenario.strategy.tp * scenario.strategy.pp;
            let Ok(simulation) = simulate(&scenario) else { return Ok(()) };
            let now = peak(&simulation);
            prop_assert!(now <= last, "{now} with {shards}, {last} before");
            last = now;
        }
    }

    #[test]
    fn more_ranks_for_experts_never_hold_more_model_states(scenario in scenarios()) {
        let mut scenario = scenario;
        // Eight replicas, so that every degree divides them.
        scenario.hardware.devices_per_node = 8 * scenario.strategy.tp * scenario.strategy.pp;
        scenario.strategy.cp = 1;
        let mut states = Vec::new();
        for ep in [1, 2, 4] {
            scenario.strategy.ep = ep;
            let Ok(simulation) = simulate(&scenario) else { return Ok(()) };
            let memory = simulation.report.memory.as_ref().expect("computed");
            states.push(memory.per_rank.iter().map(|rank| rank.model_state_bytes.total()).max());
        }
        prop_assert!(states.is_sorted_by(|a, b| a >= b), "{states:?}");
    }

    #[test]
    fn split_sequences_keep_less_after_forward(scenario in scenarios()) {
        let mut scenario = scenario;
        scenario.workload.attention = sim_core::scenario::AttentionKernel::Flash;
        scenario.workload.gradient_accumulation = Some(1);
        let mut left = Vec::new();
        for cp in [1, 2, 4] {
            scenario.hardware.devices_per_node = 8 * scenario.strategy.tp * scenario.strategy.pp;
            scenario.strategy.cp = cp;
            let Ok(simulation) = simulate(&scenario) else { return Ok(()) };
            let trace = &simulation.trace;
            let end = trace.classes()[0].forward_end;
            left.push(trace.breakdown_at(0, Some(end))[Category::Activations as usize]);
        }
        prop_assert!(left.is_sorted_by(|a, b| a >= b), "{left:?}");
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,400}") {
        let _ = Scenario::from_json(&text);
    }

    #[test]
    fn arbitrary_numbers_never_panic(
        numbers in prop::collection::vec(any::<u64>(), 8),
        small in prop::collection::vec(0_u64..70_000, 8),
        pick in any::<u8>(),
    ) {
        let of = |i: usize| if pick >> i & 1 == 1 { numbers[i] } else { small[i] };
        let text = format!(
            r#"{{"model": {{"preset": "gpt2", "layers": {}, "hidden": {}, "heads": {}}},
            "hardware": {{"device": "t4", "devices_per_node": {}}},
            "workload": {{"sequence": {}, "micro_batch": {}, "precision": "fp32",
                "gradient_accumulation": 1, "attention": "eager"}},
            "strategy": {{"tp": {}, "pp": {}, "cp": {}, "ep": {}}}}}"#,
            of(0).clamp(0, 64), of(1), of(2), of(3).clamp(0, 64), of(4), of(5), of(6), of(7),
            small[0] % 3, small[1] % 5,
        );
        if let Ok(scenario) = Scenario::from_json(&text) {
            let _ = sim_core::report(&scenario);
        }
    }
}

#[test]
fn gathers_overlap_with_compute_under_zero_3() {
    let mut scenario = sim_core::presets::find("7b-on-8xa100").expect("a preset").scenario();
    scenario.strategy.zero = 3;
    let simulation = simulate(&scenario).expect("computed");
    let trace = &simulation.trace;
    let data = trace.lanes().iter().position(|lane| lane.kind == LaneKind::DataParallel);
    let spans = trace.spans(data.expect("a data-parallel lane"), 0.0, f64::INFINITY);
    let communication: f64 = spans.map(|span| span.end - span.start).sum();
    let exposed = simulation.report.time.expect("computed").exposed_comm_s;
    assert!(communication > 0.0 && exposed < 0.5 * communication, "{exposed} of {communication}");
}
