//! What bad scenarios get: the field, a reason, ways out that work, and never a panic.

#![cfg(not(target_arch = "wasm32"))]

use proptest::prelude::*;
use sim_core::issue::{IssueCode, Severity};
use sim_core::report;
use sim_core::scenario::Scenario;

fn codes(text: &str) -> Vec<(IssueCode, String)> {
    let scenario = Scenario::from_json(text).expect("a readable scenario");
    report(&scenario).issues.into_iter().map(|issue| (issue.code, issue.field)).collect()
}

#[test]
fn every_problem_names_its_field() {
    let on = |model: &str, rest: &str| {
        format!(
            r#"{{"model": {model}, "hardware": {{"device": "a100-sxm-80gb", "devices_per_node": 8}}, {rest}}}"#
        )
    };
    let table = [
        (on("\"lama\"", "\"strategy\": {}"), IssueCode::UnknownModel, "model"),
        (
            on("\"gpt2\"", "\"workload\": {\"sequence\": 0}"),
            IssueCode::OutOfRange,
            "workload.sequence",
        ),
        (on("\"gpt2\"", "\"strategy\": {\"zero\": 4}"), IssueCode::OutOfRange, "strategy.zero"),
        (
            on("\"llama-2-7b\"", "\"strategy\": {\"tp\": 3}"),
            IssueCode::TpDoesNotDivideHeads,
            "strategy.tp",
        ),
        (
            on("\"llama-2-7b\"", "\"strategy\": {\"pp\": 3}"),
            IssueCode::DegreesDoNotFill,
            "strategy.dp",
        ),
        (
            on("\"gpt2\"", "\"workload\": {\"sequence\": 2048}"),
            IssueCode::SequenceAbovePositions,
            "workload.sequence",
        ),
        (
            on("\"qwen2.5-7b\"", "\"strategy\": {\"tp\": 7, \"dp\": 1}"),
            IssueCode::TpDoesNotDivide,
            "strategy.tp",
        ),
        (
            on("\"llama-2-7b\"", "\"strategy\": {\"ep\": 2}"),
            IssueCode::EpWithoutExperts,
            "strategy.ep",
        ),
        (
            on("\"mixtral-8x7b\"", "\"strategy\": {\"ep\": 3}"),
            IssueCode::EpDoesNotDivideExperts,
            "strategy.ep",
        ),
        (
            on("\"mixtral-8x7b\"", "\"strategy\": {\"ep\": 8, \"tp\": 2}"),
            IssueCode::EpDoesNotDivideRanks,
            "strategy.ep",
        ),
        (
            on("\"llama-2-7b\"", "\"workload\": {\"sequence\": 1002}, \"strategy\": {\"cp\": 2}"),
            IssueCode::SequenceNotDivisibleByCp,
            "strategy.cp",
        ),
        (
            on(
                "\"llama-2-7b\"",
                "\"workload\": {\"attention\": \"eager\"}, \"strategy\": {\"cp\": 2}",
            ),
            IssueCode::CpNeedsFusedAttention,
            "workload.attention",
        ),
        (
            on("\"llama-2-7b\"", "\"workload\": {\"micro_batch\": 2}, \"strategy\": {\"cp\": 2}"),
            IssueCode::CpWithoutBenefit,
            "strategy.cp",
        ),
        (
            on("\"llama-2-7b\"", "\"workload\": {\"global_batch\": 7}"),
            IssueCode::BatchDoesNotDivide,
            "workload.global_batch",
        ),
        (
            on(
                "\"llama-2-7b\"",
                r#""workload": {"cross_entropy": "chunked"}, "strategy": {"tp": 2}"#,
            ),
            IssueCode::NotSupported,
            "workload.cross_entropy",
        ),
        (
            on("\"bert-large\"", r#""workload": {"sequence": 512, "cross_entropy": "fused"}"#),
            IssueCode::NotSupported,
            "workload.cross_entropy",
        ),
        (
            on("\"llama-2-7b\"", "\"workload\": {\"gradient_dtype\": \"fp8\"}"),
            IssueCode::NotSupported,
            "workload.gradient_dtype",
        ),
        (
            on("\"llama-2-7b\"", "\"quantization\": {\"kv_cache\": \"banana\"}"),
            IssueCode::NotSupported,
            "quantization.kv_cache",
        ),
        (
            on(
                "{\"preset\": \"llama-2-7b\", \"hidden\": 131072, \"heads\": 1}",
                "\"strategy\": {}",
            ),
            IssueCode::OutOfRange,
            "model.head_dim",
        ),
        (
            on(
                "\"llama-2-7b\"",
                "\"workload\": {\"framework\": \"pytorch\"}, \"strategy\": {\"zero\": 3}",
            ),
            IssueCode::ZeroNotInFramework,
            "strategy.zero",
        ),
        (
            on("\"gpt2\"", "\"strategy\": {\"fsdp\": \"full_shard\", \"zero\": 3}"),
            IssueCode::FsdpWithZero,
            "strategy.zero",
        ),
        (
            on(
                "\"gpt2\"",
                "\"workload\": {\"framework\": \"megatron\"}, \"strategy\": {\"fsdp\": \"hybrid\"}",
            ),
            IssueCode::FsdpNotInFramework,
            "strategy.fsdp",
        ),
        (
            on(
                "\"gpt2\"",
                "\"workload\": {\"framework\": \"fsdp\"}, \"strategy\": {\"fsdp\": null}",
            ),
            IssueCode::FsdpWithoutMode,
            "strategy.fsdp",
        ),
        (
            on("\"gpt2\"", "\"strategy\": {\"fsdp\": \"hybrid\"}"),
            IssueCode::FsdpHybridInOneNode,
            "strategy.fsdp",
        ),
        (
            on("\"gpt2\"", "\"strategy\": {\"fsdp\": \"full_shard\", \"pp\": 2}"),
            IssueCode::FsdpWithPipeline,
            "strategy.fsdp",
        ),
        (
            on("\"gpt2\"", "\"strategy\": {\"fsdp\": \"full_shard\", \"pp\": 8}"),
            IssueCode::FsdpWithoutReplicas,
            "strategy.fsdp",
        ),
    ];
    for (text, code, field) in table {
        let found = codes(&text);
        assert!(found.contains(&(code, field.to_owned())), "{text}: {found:?}");
    }
}

#[test]
fn how_a_config_was_read_is_in_the_report_and_changes_nothing() {
    let on = |config: &str, rest: &str| {
        let text = format!(
            r#"{{"model": {{"hf_config": {config}}}, "hardware": {{"device": "h100-sxm"}}, {rest}}}"#
        );
        report(&Scenario::from_json(&text).expect("a readable scenario"))
    };
    let plain = r#""model_type": "qwen2", "hidden_size": 1024, "intermediate_size": 2816,
        "num_hidden_layers": 2, "num_attention_heads": 16, "num_key_value_heads": 4,
        "vocab_size": 32000, "max_position_embeddings": 4096, "hidden_act": "silu",
        "tie_word_embeddings": false"#;
    let clean = on(&format!("{{{plain}}}"), r#""strategy": {}"#);
    assert_eq!(clean.issues, []);
    let quantized = format!(
        r#"{{{plain}, "sliding_window": 1024, "use_sliding_window": false,
            "quantization_config": {{"quant_method": "awq", "bits": 4, "group_size": 64}}}}"#
    );
    let remarked = on(&quantized, r#""strategy": {}"#);
    let found: Vec<(IssueCode, Severity, &str)> = remarked
        .issues
        .iter()
        .map(|issue| (issue.code, issue.severity, issue.field.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (IssueCode::ModelConfigNote, Severity::Note, "model.hf_config.sliding_window"),
            (IssueCode::ModelQuantized, Severity::Note, "quantization.weights"),
        ]
    );
    assert_eq!(remarked.issues[0].values["kind"], "window-inactive");
    assert_eq!(remarked.issues[1].values["format"], "int4-g64");
    assert_eq!(remarked.issues[1].values["source"], "model.hf_config.quantization_config");
    assert_eq!((remarked.params, remarked.memory), (clean.params, clean.memory));
    let chosen = on(&quantized, r#""quantization": {"weights": "int4-g64"}"#);
    assert!(chosen.issues.iter().all(|issue| issue.code != IssueCode::ModelQuantized));
}

#[test]
fn all_errors_are_listed_at_once() {
    let found = codes(
        r#"{"model": "lama", "hardware": {"device": "a1000", "pcie": "x", "nvme": "y"},
        "workload": {"engine": "none"}, "strategy": {"tp": 3}}"#,
    );
    let fields: Vec<&str> = found.iter().map(|(_, field)| field.as_str()).collect();
    for field in [
        "model",
        "hardware.device",
        "hardware.pcie",
        "hardware.nvme",
        "workload.engine",
        "strategy.dp",
    ] {
        assert!(fields.contains(&field), "{field} of {fields:?}");
    }
}

#[test]
fn a_misread_field_is_named_to_the_last_part() {
    let field = |text: &str| {
        let error = Scenario::from_json(text).expect_err("not a scenario");
        (error.field().map(str::to_owned), error.to_string())
    };
    let (name, message) =
        field(r#"{"model": {"preset": "gpt2", "layers": -1}, "hardware": {"device": "t4"}}"#);
    assert_eq!(name.as_deref(), Some("model.layers"));
    assert!(message.contains("accepted: 1 to 1024"), "{message}");
    let (name, _) =
        field(r#"{"model": "gpt2", "hardware": {"device": "t4", "intra": {"gb_per_s": "x"}}}"#);
    assert_eq!(name.as_deref(), Some("hardware.intra.gb_per_s"));
    let (name, _) = field(r#"{"model": "gpt2", "hardware": ["t4", 8]}"#);
    assert_eq!(name.as_deref(), Some("hardware"));
}

#[test]
fn numbers_in_range_never_overflow_together() {
    for text in [
        r#"{"model": "gpt2", "hardware": {"device": "h100", "devices_per_node": 576, "nodes": 16384},
        "workload": {"sequence": 16777216, "micro_batch": 79, "gradient_accumulation": 1785}}"#,
        r#"{"model": {"preset": "qwen3-8b", "layers": 1000, "hidden": 8, "heads": 1024,
            "kv_heads": 1024, "head_dim": 1, "ffn": 1, "vocab": 1},
        "hardware": {"device": "h100"},
        "workload": {"sequence": 16777216, "micro_batch": 894, "gradient_accumulation": 24},
        "strategy": {"schedule": "gpipe"}}"#,
    ] {
        let found = codes(text);
        assert!(!found.is_empty(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Applying a way out removes its issue and adds no error.
    #[test]
    fn ways_out_work(
        model in prop::sample::select(vec!["llama-2-7b", "gpt2", "qwen2.5-7b", "llama-3-70b"]),
        device in prop::sample::select(vec!["a100-sxm4-80", "tpu-v4", "t4", "ascend-910b-64"]),
        precision in prop::sample::select(vec!["bf16-mixed", "fp16-mixed", "tf32", "fp32"]),
        (per_node, nodes) in (1_u64..10, 1_u64..4),
        (tp, pp, zero) in (1_u64..10, 1_u64..10, 0_u64..4),
        dp in prop::option::of(1_u64..10),
        (global, accumulation) in (prop::option::of(1_u64..64), prop::option::of(1_u64..64)),
        sequence in 1_u64..5000,
    ) {
        let number = |value: Option<u64>| value.map_or("null".to_owned(), |n| n.to_string());
        let text = format!(
            r#"{{"model": "{model}", "hardware": {{"device": "{device}",
                "devices_per_node": {per_node}, "nodes": {nodes}}},
            "workload": {{"sequence": {sequence}, "global_batch": {}, "precision": "{precision}",
                "gradient_accumulation": {}}},
            "strategy": {{"tp": {tp}, "pp": {pp}, "zero": {zero}, "dp": {},
                "sequence_parallel": true}}}}"#,
            number(global), number(accumulation), number(dp),
        );
        let scenario = Scenario::from_json(&text).expect("a readable scenario");
        let before = report(&scenario);
        for issue in &before.issues {
            for edit in &issue.ways_out {
                let after = report(&scenario.edited(edit).expect("an edit that can be read"));
                let same = after.issues.iter().any(|i| i.code == issue.code && i.field == issue.field);
                prop_assert!(!same, "{edit:?} leaves {issue:?}");
                let had = |code, field: &str| {
                    before.issues.iter().any(|i| i.code == code && i.field == field)
                };
                let new = after.issues.iter().find(|i| {
                    i.severity == Severity::Error && !had(i.code, &i.field)
                });
                prop_assert!(new.is_none(), "{edit:?} of {issue:?} makes {new:?}");
            }
        }
    }
}
