//! LoRA and QLoRA: counts by hand, what a layer keeps, and what freezing takes away.

#![cfg(not(target_arch = "wasm32"))]

use sim_core::issue::IssueCode;
use sim_core::model::catalog;
use sim_core::operators::{Adapters, BaseFormat, Context, Targets, layer_tape};
use sim_core::precision::{DType, Precision};
use sim_core::report::Report;
use sim_core::scenario::Scenario;
use sim_core::trace::{Category, Phase};
use sim_core::{Simulation, report, simulate};

const ATTENTION: Targets = Targets {
    query: true,
    key: true,
    value: true,
    output: true,
    gate: false,
    up: false,
    down: false,
};
const ALL: Targets = Targets { gate: true, up: true, down: true, ..ATTENTION };

/// A job on one A100 with `workload` and `rest` of a scenario's text.
fn scenario(model: &str, gpus: u64, workload: &str, strategy: &str) -> Scenario {
    let text = format!(
        r#"{{"model": "{model}",
        "hardware": {{"device": "a100-sxm4-80", "devices_per_node": {gpus}}},
        "workload": {{"sequence": 512, "gradient_accumulation": 2, {workload}}},
        "strategy": {{{strategy}}}}}"#
    );
    Scenario::from_json(&text).expect("a scenario")
}

fn run(model: &str, gpus: u64, workload: &str, strategy: &str) -> Simulation {
    simulate(&scenario(model, gpus, workload, strategy)).expect("a possible scenario")
}

fn peak(report: &Report) -> f64 {
    report.memory.as_ref().expect("computed").per_rank[0].peak_allocated_gib
}

/// r·(n + k) for each product: of Llama-2-7B 8 of 4096 sides in attention, 3 of 4096 and 3 of 11008
/// in the MLP, 32 layers.
#[test]
fn adapters_have_rank_times_both_sides() {
    let by_hand = 16 * 32 * (8 * 4096 + 3 * (4096 + 11_008));
    assert_eq!(by_hand, 39_976_960);
    for (targets, count) in [
        (r#""all-linear""#, by_hand),
        (r#""attention""#, 16 * 32 * 8 * 4096),
        (r#""qv""#, 16 * 32 * 4 * 4096),
        (r#"["down_proj"]"#, 16 * 32 * (4096 + 11_008)),
        (r#""q_proj, o_proj""#, 16 * 32 * 4 * 4096),
    ] {
        let finetune = format!(r#""finetune": {{"lora": {{"rank": 16, "targets": {targets}}}}}"#);
        let report = report(&scenario("llama-2-7b", 1, &finetune, ""));
        let params = report.params.expect("computed");
        assert_eq!((params.total, params.trainable), (6_738_415_616, count), "{targets}");
    }
    // Grouped keys and values are narrower.
    let report = report(&scenario("llama-3-8b", 1, r#""finetune": {"lora": {"rank": 8}}"#, ""));
    let layer = 4 * 4096 + 2 * (4096 + 1024) + 3 * (4096 + 14_336);
    assert_eq!(report.params.expect("computed").trainable, 8 * 32 * layer);
}

/// Frozen weights have neither gradient nor optimizer state.
#[test]
fn states_are_the_frozen_weights_and_those_of_the_adapters() {
    let (psi, adapters) = (6_738_415_616_u64, 39_976_960_u64);
    // DeepSpeed: 16-bit weights and an fp32 master copy. PyTorch: fp32 adapters under autocast.
    for (framework, weights, gradients, optimizer) in
        [("deepspeed", 2, 2, 12), ("pytorch", 4, 4, 8)]
    {
        let workload = format!(r#""framework": "{framework}", "finetune": {{"lora": {{}}}}"#);
        let report = report(&scenario("llama-2-7b", 1, &workload, ""));
        let states = report.memory.expect("computed").per_rank[0].model_state_bytes;
        assert_eq!(states.weights, 2 * psi + weights * adapters, "{framework}");
        assert_eq!(states.gradients, gradients * adapters, "{framework}");
        assert_eq!(states.optimizer, optimizer * adapters, "{framework}");
    }
    // Shards of everything under ZeRO-3.
    let report = report(&scenario("llama-2-7b", 8, r#""finetune": {"lora": {}}"#, r#""zero": 3"#));
    let states = report.memory.expect("computed").per_rank[0].model_state_bytes;
    assert_eq!(states.weights, (2 * psi + 2 * adapters) / 8);
    assert_eq!(states.optimizer, 12 * adapters / 8);
}

/// 4 bits, an 8-bit scale for 64 and an fp32 scale for 64·256 weights; embeddings, norms and head
/// stay in 16 bits, or in fp32 as PEFT prepares them.
#[test]
fn quantized_weights_are_the_matrices_of_layers() {
    let matrices: u64 = 32 * (4 * 4096 * 4096 + 3 * 4096 * 11_008);
    let rest = 6_738_415_616 - matrices;
    // One fp32 offset a matrix, of which a layer has seven.
    let scales = matrices / 64 + 4 * (matrices / 64 / 256) + 4 * 7 * 32;
    let frozen = |workload: &str, adapter: u64| {
        let report = report(&scenario("llama-2-7b", 1, workload, ""));
        let adapters = report.params.expect("computed").trainable * adapter;
        report.memory.expect("computed").per_rank[0].model_state_bytes.weights - adapters
    };
    let nf4 = matrices / 2 + scales;
    assert_eq!(frozen(r#""finetune": {"qlora": {}}"#, 2), nf4 + 2 * rest);
    // PyTorch's norms are fp32, with PEFT alone embedding and head too.
    let norms = 65 * 4096;
    let pytorch = |upcast: &str| {
        let finetune = format!(r#""finetune": {{"qlora": {{"upcast": {upcast}}}}}"#);
        frozen(&format!(r#""framework": "pytorch", {finetune}"#), 4)
    };
    assert_eq!(pytorch("null"), nf4 + 2 * rest + 2 * norms);
    assert_eq!(pytorch(r#""norms""#), pytorch("null"));
    assert_eq!(pytorch(r#""all""#), nf4 + 4 * rest);
    assert_eq!(pytorch(r#""none""#), nf4 + 2 * rest);
    let plain = r#""finetune": {"qlora": {"double_quant": false}}"#;
    assert_eq!(frozen(plain, 2), matrices / 2 + matrices / 16 + 2 * rest);
}

/// Per token, in bytes, with h hidden, f inner width and r rank. Against full fine-tuning (24·h + 8·f)
/// norms lose the normalized stream (2·h each); products without adapters lose their input.
#[test]
fn a_frozen_layer_keeps_what_gradients_of_activations_need() {
    let shape = &catalog::find("llama-2-7b").expect("in the catalogue").shape;
    let (h, f, r) = (4096, 11_008, 16);
    let kept = |targets, dropout, base| {
        let weights = DType::Bf16;
        let (tables, trains_tables) = (DType::Bf16, false);
        let adapters =
            Some(Adapters { rank: r, targets, dropout, weights, base, tables, trains_tables });
        let context = Context { adapters, ..Context::new(1024, Precision::Bf16Pure) };
        layer_tape(shape, shape.layer_kind(0), &context).saved_bytes() / 1024
    };
    assert_eq!(kept(ATTENTION, false, None), 18 * h + 6 * f + 4 * 2 * r + 136);
    assert_eq!(kept(ALL, false, None), 20 * h + 8 * f + 7 * 2 * r + 136);
    // Weights are dequantized once more, not kept.
    let nf4 = BaseFormat::FourBit { double_quant: true };
    assert_eq!(kept(ALL, false, Some(nf4)), kept(ALL, false, None));
    // Each adapter has a mask of a byte a number and a dropped copy of its input: 6 of h and one of f
    // of which attention's context and the MLP's inner product were kept anyway, or not at all.
    let inputs = 6 * h + f;
    let shared = 2 * h + 2 * h + 2 * f;
    let dropped = kept(ALL, true, None) - kept(ALL, false, None);
    assert_eq!(dropped, 3 * inputs - shared);
    // A frozen layer never keeps more than one that trains.
    let full = layer_tape(shape, shape.layer_kind(0), &Context::new(1024, Precision::Bf16Pure));
    assert!(kept(ALL, false, None) < full.saved_bytes() / 1024);
}

#[test]
fn quantized_needs_less_than_frozen_and_that_less_than_trained() {
    for framework in ["pytorch", "deepspeed"] {
        for recompute in ["none", "selective", "full"] {
            let of = |finetune: &str| {
                let workload = format!(r#""framework": "{framework}", "finetune": {finetune}"#);
                let strategy = format!(r#""recompute": "{recompute}""#);
                run("llama-2-7b", 1, &workload, &strategy).report
            };
            let full = of(r#""full""#);
            let lora = of(r#"{"lora": {"rank": 16}}"#);
            let qlora = of(r#"{"qlora": {"rank": 16}}"#);
            assert!(peak(&qlora) < peak(&lora), "{framework} {recompute}");
            assert!(peak(&lora) < peak(&full), "{framework} {recompute}");
            let step = |report: &Report| report.time.expect("computed").step_s;
            assert!(step(&lora) < step(&full), "no gradients of frozen weights");
            assert!(step(&qlora) > step(&lora), "weights are made ready for every product");
        }
    }
}

/// Nothing of a step is left, and the trace holds the model states of the report, with adapters in
/// all kinds of layouts.
#[test]
fn traces_with_adapters_hold_the_model_states_and_leak_nothing() {
    let kinds = [
        r#"{"lora": {"rank": 8, "dropout": 0.05}}"#,
        r#"{"lora": {"rank": 8, "targets": "qv"}}"#,
        r#"{"qlora": {"rank": 8}}"#,
        r#"{"qlora": {"rank": 8, "format": "int8", "dropout": 0.1}}"#,
        r#"{"qlora": {"rank": 8, "format": "int4-g128"}}"#,
    ];
    let layouts = [
        (1, ""),
        (4, r#""zero": 1"#),
        (4, r#""zero": 2, "recompute": "full""#),
        (4, r#""zero": 3, "recompute": "selective""#),
        (4, r#""tp": 2, "recompute": "full""#),
        (4, r#""tp": 2, "pp": 2, "sequence_parallel": true"#),
    ];
    for model in ["qwen2.5-0.5b", "gpt2", "bert-base"] {
        for framework in ["pytorch", "deepspeed", "megatron"] {
            for kind in kinds {
                for (gpus, strategy) in layouts {
                    let workload = format!(
                        r#""framework": "{framework}", "finetune": {kind}, "dropout": true"#
                    );
                    let simulation = run(model, gpus, &workload, strategy);
                    sound(&simulation, &format!("{model} {framework} {kind} {strategy}"));
                }
            }
        }
    }
}

fn sound(simulation: &Simulation, at: &str) {
    let trace = &simulation.trace;
    let memory = simulation.report.memory.as_ref().expect("computed");
    for (class, rank) in memory.per_rank.iter().enumerate() {
        let start = trace.classes()[class].optimizer_start;
        let held = trace.breakdown_at(class, Some(start));
        let of = |category: Category| held[category as usize] as u64;
        assert_eq!(of(Category::Weights), rank.model_state_bytes.weights, "{at}");
        assert_eq!(of(Category::Gradients), rank.model_state_bytes.gradients, "{at}");
        assert_eq!(of(Category::Optimizer), rank.model_state_bytes.optimizer, "{at}");
        let end = trace.duration();
        for category in [Category::Activations, Category::Recompute, Category::Logits] {
            assert_eq!(trace.live_at(class, category, Some(end)), vec![], "{at}");
        }
        let mut fill = [0_i64; Category::COUNT];
        for point in trace.memory(class).points() {
            fill[usize::from(point.category)] += point.delta;
            assert!(fill[usize::from(point.category)] >= 0, "{at}");
        }
    }
}

/// A frozen product has no weight gradient, an adapter has; MFU counts 4 for a frozen parameter and 6
/// for one of an adapter.
#[test]
fn only_adapters_have_weight_gradients() {
    let simulation = run("llama-2-7b", 1, r#""finetune": {"lora": {"rank": 16}}"#, "");
    let flops = |phase| {
        let trace = &simulation.trace;
        let spans = trace.spans(0, f64::NEG_INFINITY, f64::INFINITY);
        let of = spans.filter(|span| span.operation.phase == phase);
        of.map(|span| span.operation.flops).sum::<f64>()
    };
    let tokens = 2.0 * 512.0;
    assert_eq!(flops(Phase::WeightGradient), 2.0 * 39_976_960.0 * tokens);
    let time = simulation.report.time.expect("computed");
    let matrices = 6_738_415_616.0 - 131_072_000.0 - 65.0 * 4096.0;
    let attention = 12.0 * 32.0 * 4096.0 * 512.0;
    let by_hand = (4.0 * matrices + 6.0 * 39_976_960.0 + attention) * tokens;
    let counted = time.tflops_per_device * 1e12 * time.step_s;
    assert!((counted / by_hand - 1.0).abs() < 1e-12, "{counted} {by_hand}");
}

/// A rank of tensor parallelism has A whole and its rows of B beside split columns, its columns of A
/// and B whole beside split rows.
#[test]
fn tensor_parallel_ranks_split_one_side_of_each_adapter() {
    let simulation = run("llama-2-7b", 4, r#""finetune": {"lora": {"rank": 16}}"#, r#""tp": 4"#);
    let columns = 3 * (4096 + 4096 / 4) + 2 * (4096 + 11_008 / 4);
    let rows = (4096 / 4 + 4096) + (11_008 / 4 + 4096);
    let optimizer = simulation.report.memory.expect("computed").per_rank[0].model_state_bytes;
    assert_eq!(optimizer.optimizer, 12 * 16 * 32 * (columns + rows));
}

#[test]
fn wrong_adapters_name_their_field() {
    for (finetune, code, field) in [
        (r#"{"lora": {"rank": 0}}"#, IssueCode::OutOfRange, "workload.finetune.lora.rank"),
        (
            r#"{"qlora": {"dropout": 1.0}}"#,
            IssueCode::OutOfRange,
            "workload.finetune.qlora.dropout",
        ),
        (
            r#"{"lora": {"targets": "everything"}}"#,
            IssueCode::NotSupported,
            "workload.finetune.lora.targets",
        ),
        (
            r#"{"qlora": {"targets": ["q_proj", "w1"]}}"#,
            IssueCode::NotSupported,
            "workload.finetune.qlora.targets",
        ),
        (
            r#"{"qlora": {"format": "int3"}}"#,
            IssueCode::NotSupported,
            "workload.finetune.qlora.format",
        ),
        (r#"{"lora": {"targets": []}}"#, IssueCode::NoAdapters, "workload.finetune.lora.targets"),
    ] {
        let scenario = scenario("gpt2", 1, &format!(r#""finetune": {finetune}"#), "");
        let issues = report(&scenario).issues;
        let found = issues.iter().find(|issue| issue.code == code && issue.field == field);
        let issue = found.unwrap_or_else(|| panic!("{finetune}: {issues:?}"));
        assert!(!issue.ways_out.is_empty(), "{finetune}");
    }
    let gate = r#""finetune": {"lora": {"targets": ["gate_proj"]}}"#;
    let issues = report(&scenario("gpt2", 1, gate, "")).issues;
    assert!(issues.iter().any(|issue| issue.code == IssueCode::NoAdapters), "{issues:?}");
}

/// PEFT's `modules_to_save`: originals stay, copies train.
#[test]
fn copies_of_embedding_and_head_train_beside_the_adapters() {
    for (model, table) in [("llama-2-7b", 32_000_u64 * 4096), ("gpt2", 50_257 * 768)] {
        let states = |train: bool| {
            let workload = format!(
                r#""framework": "pytorch", "precision": "bf16-pure",
                "finetune": {{"lora": {{"train_embeddings": {train}}}}}"#
            );
            let report = report(&scenario(model, 1, &workload, ""));
            let trainable = report.params.as_ref().expect("computed").trainable;
            (trainable, report.memory.expect("computed").per_rank[0].model_state_bytes)
        };
        let ((adapters, without), (all, with)) = (states(false), states(true));
        // GPT-2's table is tied: its two copies are two matrices.
        assert_eq!(all - adapters, 2 * table, "{model}");
        assert_eq!(with.weights - without.weights, 2 * 2 * table, "{model}");
        assert_eq!(with.gradients - without.gradients, 2 * 2 * table, "{model}");
        assert_eq!(with.optimizer - without.optimizer, 4 * 2 * table, "{model}");
    }
    let refused = |workload: &str, strategy: &str| {
        let issues = report(&scenario("gpt2", 2, workload, strategy)).issues;
        issues.iter().any(|issue| issue.code == IssueCode::NotSupported)
    };
    let lora = r#""finetune": {"lora": {"train_embeddings": true}}"#;
    assert!(refused(&format!(r#""framework": "pytorch", {lora}"#), ""));
    assert!(refused(lora, r#""zero": 3"#));
    assert!(!refused(lora, r#""zero": 2"#));
}

/// bitsandbytes' layers give back the fp32 that an fp32 norm gives them: the stream and the MLP's
/// inner tensors are twice as large as in 16 bits.
#[test]
fn fp32_norms_widen_the_stream_and_the_mlp() {
    let kept = |upcast: &str| {
        let workload = format!(
            r#""framework": "pytorch", "micro_batch": 4,
            "finetune": {{"qlora": {{"upcast": "{upcast}", "targets": "attention"}}}}"#
        );
        let simulation = run("llama-2-7b", 1, &workload, r#""recompute": "full""#);
        let memory = simulation.report.memory.as_ref().expect("computed");
        let phases = memory.per_rank[0].phases;
        let [weights, optimizer] = [Category::Weights, Category::Optimizer]
            .map(|category| simulation.trace.breakdown_at(0, Some(0.0))[category as usize]);
        let states = (weights + optimizer) as f64 / 1_073_741_824.0;
        (phases.after_forward - states, phases.forward_backward_peak - states)
    };
    let (narrow, wide) = (kept("none"), kept("norms"));
    // 32 inputs of layers of 4 · 512 tokens and 4096 numbers, 2 bytes more each.
    let more = (32 * 4 * 512 * 4096 * 2) as f64 / 1_073_741_824.0;
    assert!(wide.0 - narrow.0 > more, "{narrow:?} {wide:?}");
    assert!(wide.1 > narrow.1 + more, "{narrow:?} {wide:?}");
}
