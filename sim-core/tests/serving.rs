//! Serving: published memory, hand-computed pools, and what holds for any job.

#![cfg(not(target_arch = "wasm32"))]

use proptest::prelude::*;
use sim_core::issue::IssueCode;
use sim_core::report::{RankMemory, ServingTime};
use sim_core::scenario::{Edit, Scenario};
use sim_core::trace::Category;
use sim_core::{Simulation, simulate};

const GIB: f64 = 1_073_741_824.0;

fn scenario(model: &str, device: &str, workload: &str, rest: &str) -> Scenario {
    let text = format!(
        r#"{{"model": "{model}", "hardware": {{"device": "{device}"}},
        "workload": {{"kind": "infer", {workload}}} {rest}}}"#
    );
    Scenario::from_json(&text).expect("a readable scenario")
}

fn run(scenario: &Scenario) -> Simulation {
    simulate(scenario).unwrap_or_else(|issues| panic!("{issues:?}"))
}

fn first_rank(simulation: &Simulation) -> &RankMemory {
    &simulation.report.memory.as_ref().expect("computed").per_rank[0]
}

fn serving(simulation: &Simulation) -> ServingTime {
    simulation.report.time.and_then(|time| time.serving).expect("a serving job")
}

/// Peak memory of Transformers at batch 1, in GiB, as Qwen's speed benchmarks print it: prompt, 2048
/// new tokens, version of Transformers.
#[test]
fn transformers_peaks_are_those_that_qwen_published() {
    let table = [
        ("qwen2.5-7b", "none", "4.46", 6144, 15.38, 0.03),
        ("qwen2.5-7b", "none", "4.46", 30720, 19.97, 0.01),
        ("qwen2.5-0.5b", "none", "4.38", 30720, 27.6, 0.01),
    ];
    for (model, weights, version, prompt, published, slack) in table {
        let workload = format!(
            r#""engine": "hf", "engine_version": "{version}", "input_tokens": {prompt},
               "output_tokens": 2048"#
        );
        let rest = format!(r#", "quantization": {{"weights": "{weights}"}}"#);
        let simulation = run(&scenario(model, "a100-sxm4-80", &workload, &rest));
        let peak = first_rank(&simulation).peak_allocated_gib;
        assert!((peak / published - 1.0).abs() < slack, "{model} {prompt}: {peak}");
    }
}

/// Growth with the prompt in Transformers 4.46: keys, values and the feed-forward block's tensors.
#[test]
fn the_prompts_working_set_is_three_inner_widths_and_four_of_the_stream() {
    let peak = |prompt: u64| {
        let workload = format!(
            r#""engine": "hf", "engine_version": "4.46", "input_tokens": {prompt}, "output_tokens": 1"#
        );
        let simulation = run(&scenario("qwen2.5-7b", "a100-sxm4-80", &workload, ""));
        first_rank(&simulation).peak_allocated_gib * GIB
    };
    let slope = (peak(30720) - peak(14336)) / 16384.0;
    // And a cosine and a sine of 128 channels.
    let rotary = 2.0 * 128.0 * 2.0;
    let cache = 2.0 * 28.0 * 4.0 * 128.0 * 2.0;
    let by_hand = cache + (3.0 * 18944.0 + 4.0 * 3584.0) * 2.0 + rotary;
    assert!((slope - by_hand).abs() < 1.0, "{slope} {by_hand}");
}

/// Before 4.45 the logits of the whole prompt exist in 16 bits and in fp32, and a decode step holds
/// the old cache and the new one.
#[test]
fn old_transformers_hold_all_logits_and_two_caches() {
    let simulation = |model: &str, prompt: u64, version: &str| {
        let workload = format!(
            r#""engine": "hf", "engine_version": "{version}", "input_tokens": {prompt},
               "output_tokens": 64"#
        );
        run(&scenario(model, "a100-sxm4-80", &workload, ""))
    };
    let peak = |prompt| first_rank(&simulation("qwen2.5-0.5b", prompt, "4.38")).peak_allocated_gib;
    let slope = (peak(30720) - peak(14336)) * GIB / 16384.0;
    let by_hand = 24.0 * 2.0 * 2.0 * 64.0 * 2.0 + 151_936.0 * 6.0 + 896.0 * 2.0;
    assert!((slope - by_hand).abs() < 1.0, "{slope} {by_hand}");

    let decode = |version| {
        let simulation = simulation("llama-2-7b", 4096, version);
        let phases = first_rank(&simulation).phases.serving.expect("a serving job");
        (phases.decode_peak - phases.after_load) * GIB
    };
    let cache = 524_288.0 * (4096.0 + 63.0);
    assert!((decode("4.38") / cache - 2.0).abs() < 0.02, "{}", decode("4.38") / cache);
    // A layer's concatenation, and what the layer computes.
    assert!((decode("4.46") / cache - 1.0).abs() < 0.02, "{}", decode("4.46") / cache);
}

/// vLLM's arithmetic by hand: Llama-3-8B on an A100, TP 1.
#[test]
fn the_pool_is_what_is_left_in_whole_blocks() {
    let workload = r#""engine": "vllm", "max_model_len": 8192, "block_size": 16"#;
    let simulation = run(&scenario("llama-3-8b", "a100-sxm4-80", workload, ""));
    let (rank, time) = (first_rank(&simulation), serving(&simulation));
    let weights = 8_030_261_248_u64 * 2;
    assert_eq!(rank.model_state_bytes.weights, weights);
    let block = 16 * 131_072;
    let blocks = time.kv_blocks.expect("a pool");
    assert_eq!(time.kv_tokens, Some(16 * blocks));
    assert!((time.max_concurrency.expect("a pool") - blocks as f64 / 512.0).abs() < 1e-9);
    assert_eq!(rank.breakdown.kv_cache * GIB, (blocks * block) as f64);
    let device = simulation.plan.device;
    let total = device.memory_torch_gib.unwrap_or(device.memory_usable_gib()) * GIB;
    // 500 MiB of context; the largest step is the sampler's: logits of 256 requests in bf16 and fp32
    // (6 bytes), sorted ones and their indices (12), probabilities, sums and the result (12), mask 1.
    let context = 500.0 * 1024.0 * 1024.0;
    let sampler = 256.0 * 128_256.0 * (4.0 + 12.0 + 12.0 + 1.0);
    let left = 0.9 * total - weights as f64 - context;
    let pool = (blocks * block) as f64;
    let activations = left - pool;
    assert!(activations >= sampler && activations < sampler + 0.3 * GIB, "{activations}");
    // The process takes its share, and the graphs.
    let graphs = 512.0 * 1024.0 * 1024.0;
    let driver = rank.driver_total_gib * GIB;
    assert!((driver - graphs - 0.9 * total).abs() <= block as f64, "{driver}");
}

#[test]
fn a_job_larger_than_the_pool_runs_in_parts_and_says_so() {
    let workload = r#""engine": "vllm", "max_model_len": 4096, "input_tokens": 3000,
        "output_tokens": 1000, "concurrency": 64"#;
    let simulation = run(&scenario("llama-2-7b", "rtx4090-24", workload, ""));
    let time = serving(&simulation);
    let fits = time.kv_tokens.expect("a pool") / 4000;
    assert_eq!(time.running, fits);
    let codes: Vec<IssueCode> = simulation.report.issues.iter().map(|issue| issue.code).collect();
    assert!(codes.contains(&IssueCode::KvPoolOverflow), "{codes:?}");
    // Nothing is left for one request of 32768 tokens.
    let workload = r#""engine": "vllm", "max_model_len": 32768, "input_tokens": 1000"#;
    let report = run(&scenario("llama-2-7b", "rtx4090-24", workload, "")).report;
    assert!(!report.fits);
    assert!(report.issues.iter().any(|issue| issue.code == IssueCode::KvPoolBelowMaxModelLen));
}

/// OOM facts of llama.cpp: Llama-3-8B in fp16 with 8192 tokens of context does not fit 16 GB, with
/// 4-bit weights it does (XiongjieDai's table).
#[test]
fn llama_cpp_allocates_the_whole_context_at_the_start() {
    let of = |weights: &str, context: u64| {
        let workload = format!(
            r#""engine": "llama.cpp", "max_model_len": {context}, "input_tokens": 512, "attention": "eager""#
        );
        let rest = format!(r#", "quantization": {{"weights": "{weights}"}}"#);
        run(&scenario("llama-3-8b", "rtx4080-16", &workload, &rest))
    };
    assert!(!of("none", 8192).report.fits && of("none", 4096).report.fits);
    let small = of("gguf:q4_k_m", 8192);
    assert!(small.report.fits);
    assert_eq!(first_rank(&small).breakdown.kv_cache, 1.0);
    // The token table stays on the host.
    let host = small.report.memory.as_ref().expect("computed").host_gib;
    assert_eq!(host * GIB, 128_256.0 * 4096.0 * 4.5 / 8.0);
}

#[test]
fn decoding_reads_the_weights_in_their_format() {
    let tpot = |weights: &str| {
        let rest = format!(r#", "quantization": {{"weights": "{weights}"}}"#);
        let workload = r#""engine": "vllm", "input_tokens": 128, "output_tokens": 128"#;
        serving(&run(&scenario("llama-2-7b", "rtx4090-24", workload, &rest))).tpot_s.expect("many")
    };
    let (whole, packed) = (tpot("none"), tpot("int4-g128"));
    // 13.2 GB at 80 % of 1008 GB/s, and launches on top.
    assert!(whole > 0.0163 && whole < 0.022, "{whole}");
    assert!(packed < 0.5 * whole, "{packed}");
}

#[test]
fn what_is_for_training_is_named_as_pointless() {
    let scenario = scenario("llama-2-7b", "a100-sxm4-80", r#""engine": "vllm""#, "");
    for (field, value) in [
        ("strategy.zero", serde_json::json!(3)),
        ("strategy.recompute", "full".into()),
        ("strategy.fsdp", "full_shard".into()),
        ("strategy.offload.optimizer", "cpu".into()),
    ] {
        let edited = scenario.edited(&Edit::new(field, value)).expect("a field");
        let report = run(&edited).report;
        let found = report.issues.iter().find(|issue| issue.field == field);
        let issue = found.unwrap_or_else(|| panic!("{field} of {:?}", report.issues));
        assert_eq!(issue.code, IssueCode::PointlessWhileServing);
        assert_eq!(issue.ways_out.len(), 1);
    }
}

/// Unknown names get the nearest ones.
#[test]
fn unknown_formats_and_engines_are_named() {
    let scenario = scenario("llama-2-7b", "a100-sxm4-80", r#""engine": "vllm""#, "");
    for (field, value, expected) in [
        ("quantization.weights", "int4-128", "int4-g128"),
        ("quantization.kv_cache", "fp88", "fp8"),
        ("workload.engine", "vlm", "vllm"),
        ("workload.engine_version", "new", ""),
    ] {
        let edited = scenario.edited(&Edit::new(field, value)).expect("a field");
        let issues = simulate(&edited).expect_err("unknown");
        let issue = issues.iter().find(|issue| issue.field == field).expect(field);
        assert_eq!(issue.code, IssueCode::NotSupported);
        let first = issue.ways_out.first().expect("a way out");
        assert_eq!(first.value.as_str().unwrap_or(""), expected, "{field}");
    }
}

fn jobs() -> impl Strategy<Value = Scenario> {
    let model = prop::sample::select(vec![
        "llama-2-7b",
        "qwen2.5-0.5b",
        "gpt2",
        "gemma-2-2b",
        "mistral-7b-v0.1",
        "bert-base",
    ]);
    let engine = prop::sample::select(vec!["vllm", "hf", "llama.cpp", "tensorrt-llm"]);
    let weights = prop::sample::select(vec!["none", "int8", "int4-g128", "nf4", "gguf:q4_k_m"]);
    let kv = prop::sample::select(vec!["fp16", "fp8", "int4", "q8_0"]);
    let layout = prop::sample::select(vec![(1, 1), (2, 1), (1, 2), (2, 2)]);
    let tokens = (
        prop::sample::select(vec![1_u64, 17, 600, 3000]),
        prop::sample::select(vec![1_u64, 2, 40, 700]),
        prop::sample::select(vec![1_u64, 3, 20]),
    );
    let names = (
        prop::sample::select(vec!["flash", "eager"]),
        prop::option::of(prop::sample::select(vec!["4.38", "4.46"])),
    );
    (model, engine, weights, kv, layout, tokens, names).prop_map(
        |(model, engine, weights, kv, (tp, pp), (input, output, concurrency), names)| {
            let (attention, version) = names;
            let version = version.map_or("null".to_owned(), |version| format!("\"{version}\""));
            let text = format!(
                r#"{{"model": {{"preset": "{model}", "layers": 4}},
                "hardware": {{"device": "a100-sxm4-80", "devices_per_node": {}}},
                "workload": {{"kind": "infer", "engine": "{engine}", "engine_version": {version},
                    "input_tokens": {input}, "output_tokens": {output},
                    "concurrency": {concurrency}, "attention": "{attention}"}},
                "quantization": {{"weights": "{weights}", "kv_cache": "{kv}"}},
                "strategy": {{"tp": {tp}, "pp": {pp}}}}}"#,
                tp * pp,
            );
            Scenario::from_json(&text).expect("a readable scenario")
        },
    )
}

/// Allocated at the peak of the fullest rank, without what an engine reserves for its pool.
fn needs(simulation: &Simulation) -> f64 {
    let memory = simulation.report.memory.as_ref().expect("computed");
    memory.per_rank.iter().map(|rank| rank.peak_allocated_gib).fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn lanes_memory_and_reports_are_sound(scenario in jobs()) {
        let simulation = run(&scenario);
        let trace = &simulation.trace;
        for lane in 0..trace.lanes().len() {
            let mut until = 0.0;
            for span in trace.spans(lane, f64::NEG_INFINITY, f64::INFINITY) {
                prop_assert!(span.start >= until, "spans of a lane never overlap");
                until = span.end;
            }
        }
        let memory = simulation.report.memory.as_ref().expect("computed");
        for (class, rank) in memory.per_rank.iter().enumerate() {
            let mut fill = [0_i64; Category::COUNT];
            for point in trace.memory(class).points() {
                fill[usize::from(point.category)] += point.delta;
                prop_assert!(fill[usize::from(point.category)] >= 0, "{:?} {:?}", fill, point);
            }
            let sum: f64 = Category::ALL.iter().map(|c| rank.breakdown.of(*c)).sum();
            prop_assert!((sum - rank.driver_total_gib).abs() < 1e-9, "rows sum to the total");
            let phases = rank.phases.serving.expect("a serving job");
            prop_assert!(phases.after_load <= phases.prefill_peak);
            let peak = phases.prefill_peak.max(phases.decode_peak);
            prop_assert!((peak - rank.peak_allocated_gib).abs() < 1e-9, "{phases:?} {peak}");
            // The batch leaves its cache and nothing else.
            for category in [Category::Activations, Category::Logits] {
                prop_assert_eq!(trace.live_at(class, category, Some(trace.duration())), vec![]);
            }
        }
        let time = simulation.report.time.expect("computed");
        let serving = time.serving.expect("a serving job");
        prop_assert!(serving.ttft_s > 0.0 && serving.ttft_s <= time.step_s);
        prop_assert!((0.0..=1.0).contains(&time.mfu), "{time:?}");
    }

    #[test]
    fn more_requests_never_take_less_memory(scenario in jobs()) {
        let mut scenario = scenario;
        let mut last = 0.0;
        for concurrency in [1, 2, 5, 17] {
            scenario.workload.concurrency = concurrency;
            let needs = needs(&run(&scenario));
            prop_assert!(needs >= last - 1e-9, "{needs} {last}");
            last = needs;
        }
    }

    #[test]
    fn fewer_bits_never_take_more_memory(scenario in jobs()) {
        let mut scenario = scenario;
        // A pool takes what it gets: there the room grows instead.
        if matches!(scenario.workload.engine.as_str(), "vllm" | "tensorrt-llm") {
            scenario.workload.engine = "llama.cpp".to_owned();
        }
        let order = [
            ("quantization.weights", vec!["none", "gguf:q8_0", "gguf:q6_k", "gguf:q4_k_m", "gguf:q2_k"]),
            ("quantization.weights", vec!["none", "int8", "nf4", "nf4-dq"]),
            ("quantization.kv_cache", vec!["fp32", "fp16", "q8_0", "q4_0"]),
        ];
        if scenario.workload.engine == "hf" {
            // A packed cache is unpacked for every layer.
            scenario.workload.engine = "llama.cpp".to_owned();
        }
        for (field, names) in order {
            let mut last = f64::INFINITY;
            for name in names {
                let edited = scenario.edited(&Edit::new(field, name)).expect("a field");
                let needs = needs(&run(&edited));
                prop_assert!(needs <= last + 1e-9, "{field} {name}: {needs} {last}");
                last = needs;
            }
        }
    }

    #[test]
    fn more_shards_never_hold_more_each(scenario in jobs()) {
        let mut scenario = scenario;
        if scenario.workload.engine != "hf" {
            scenario.workload.engine = "llama.cpp".to_owned();
        }
        // Weights and cache; logits are gathered, which takes a copy.
        let needs = |simulation: &Simulation| {
            let breakdown = first_rank(simulation).breakdown;
            breakdown.weights + breakdown.kv_cache
        };
        let mut last = f64::INFINITY;
        for tp in [1, 2] {
            scenario.strategy.tp = tp;
            scenario.strategy.pp = 1;
            scenario.hardware.devices_per_node = tp;
            let needs = needs(&run(&scenario));
            prop_assert!(needs <= last + 1e-9, "{needs} {last}");
            last = needs;
        }
    }

    #[test]
    fn a_report_echoes_a_job_that_gives_the_same_report(scenario in jobs()) {
        let report = sim_core::report(&scenario);
        let again = Scenario::from_json(&report.scenario.as_ref().expect("computed").to_json())
            .expect("an echoed scenario");
        let again = sim_core::report(&again);
        prop_assert_eq!((again.memory, again.time), (report.memory, report.time));
    }

    #[test]
    fn arbitrary_jobs_never_panic(
        numbers in prop::collection::vec(0_u64..20_000_000, 6),
        engine in prop::sample::select(vec!["vllm", "hf", "llama.cpp", "tensorrt-llm"]),
    ) {
        let text = format!(
            r#"{{"model": "gpt2", "hardware": {{"device": "t4"}},
            "workload": {{"kind": "infer", "engine": "{engine}", "precision": "fp16-mixed",
                "input_tokens": {}, "output_tokens": {}, "concurrency": {},
                "max_model_len": {}, "block_size": {}, "attention": "eager"}}}}"#,
            numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
        );
        let scenario = Scenario::from_json(&text).expect("a readable scenario");
        let _ = sim_core::report(&scenario);
    }
}
