//! The importer against its fixtures, and what it refuses.

use serde_json::{Value, json};

use super::{
    Dialect, Import, ImportError, Inexpressible, OtherFile, from_json, from_value,
    known_model_types,
};
use crate::model::{catalog, limits};

mod published;
mod quantization;
mod robustness;
mod traps;

const LLAMA: &str = include_str!("../../../../tests/configs/llama-2-7b.json");

/// File, text, and the exact parameters it stands for (published counts of those models).
const FIXTURES: [(&str, &str, u64); 24] = [
    ("llama-2-7b", LLAMA, 6_738_415_616),
    ("llama-1-7b", include_str!("../../../../tests/configs/llama-1-7b.json"), 6_738_415_616),
    (
        "llama-3.1-405b",
        include_str!("../../../../tests/configs/llama-3.1-405b.json"),
        405_853_388_800,
    ),
    ("mistral-7b", include_str!("../../../../tests/configs/mistral-7b.json"), 7_241_732_096),
    ("qwen2-72b", include_str!("../../../../tests/configs/qwen2-72b.json"), 72_706_203_648),
    ("qwen3-0.6b", include_str!("../../../../tests/configs/qwen3-0.6b.json"), 596_049_920),
    ("qwen-7b-v1", include_str!("../../../../tests/configs/qwen-7b-v1.json"), 7_721_324_544),
    ("phi-3-mini", include_str!("../../../../tests/configs/phi-3-mini.json"), 3_821_079_552),
    ("phi-4-mini", include_str!("../../../../tests/configs/phi-4-mini.json"), 3_836_021_760),
    ("gemma-2b", include_str!("../../../../tests/configs/gemma-2b.json"), 2_506_172_416),
    ("smollm3-3b", include_str!("../../../../tests/configs/smollm3-3b.json"), 3_075_098_624),
    ("baichuan2-7b", include_str!("../../../../tests/configs/baichuan2-7b.json"), 7_505_973_248),
    ("baichuan2-13b", include_str!("../../../../tests/configs/baichuan2-13b.json"), 13_896_668_160),
    ("internlm2-7b", include_str!("../../../../tests/configs/internlm2-7b.json"), 7_737_708_544),
    ("chatglm3-6b", include_str!("../../../../tests/configs/chatglm3-6b.json"), 6_243_584_000),
    ("glm-4-9b-hf", include_str!("../../../../tests/configs/glm-4-9b-hf.json"), 9_399_951_360),
    ("gpt2", include_str!("../../../../tests/configs/gpt2.json"), 124_439_808),
    ("opt-6.7b", include_str!("../../../../tests/configs/opt-6.7b.json"), 6_658_473_984),
    ("bloom-7b1", include_str!("../../../../tests/configs/bloom-7b1.json"), 7_069_016_064),
    ("bert-base", include_str!("../../../../tests/configs/bert-base.json"), 109_514_298),
    ("roberta-base", include_str!("../../../../tests/configs/roberta-base.json"), 124_645_632),
    ("starcoder", include_str!("../../../../tests/configs/starcoder.json"), 15_517_456_384),
    ("starcoder2-3b", include_str!("../../../../tests/configs/starcoder2-3b.json"), 3_030_371_328),
    ("pythia-6.9b", include_str!("../../../../tests/configs/pythia-6.9b.json"), 6_857_302_016),
];

fn import(config: Value) -> Result<Import, ImportError> {
    from_value(&config)
}

fn refused(config: Value) -> ImportError {
    import(config).expect_err("refused")
}

/// A small valid Llama with some fields replaced (`null` removes).
fn llama_with(changes: Value) -> Value {
    let mut config = json!({
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 100, "max_position_embeddings": 1024, "hidden_act": "silu",
        "tie_word_embeddings": false,
    });
    let fields = config.as_object_mut().expect("an object");
    for (name, value) in changes.as_object().expect("an object") {
        fields.insert(name.clone(), value.clone());
    }
    config
}

fn codes(import: &Import) -> Vec<&'static str> {
    import.notes.iter().map(|note| note.kind.code()).collect()
}

#[test]
fn every_fixture_adds_up_to_the_published_count() {
    for (name, text, params) in FIXTURES {
        let import = from_json(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(import.shape.total_params(), params, "{name}");
        assert_eq!(limits::violations(&import.shape), [], "{name}");
    }
}

#[test]
fn a_fixture_of_a_catalogue_model_gives_the_catalogues_shape() {
    for (name, id) in [
        ("llama-2-7b", "llama-2-7b"),
        ("llama-1-7b", "llama-7b"),
        ("llama-3.1-405b", "llama-3.1-405b"),
        ("mistral-7b", "mistral-7b-v0.1"),
        ("qwen3-0.6b", "qwen3-0.6b"),
        ("phi-3-mini", "phi-3-mini"),
        ("phi-4-mini", "phi-4-mini"),
        ("baichuan2-7b", "baichuan2-7b"),
        ("baichuan2-13b", "baichuan2-13b"),
        ("internlm2-7b", "internlm2.5-7b"),
        ("chatglm3-6b", "chatglm3-6b"),
        ("glm-4-9b-hf", "glm-4-9b"),
        ("gpt2", "gpt2"),
        ("opt-6.7b", "opt-6.7b"),
        ("bloom-7b1", "bloom-7b1"),
        ("bert-base", "bert-base"),
    ] {
        let (_, text, _) = FIXTURES.iter().find(|(file, _, _)| *file == name).expect("a fixture");
        let import = from_json(text).expect("accepted");
        let mut listed = catalog::find(id).expect("listed").shape.clone();
        if import.shape.mlm_head {
            // The file names the class with the head of the pre-training.
            listed.add_mlm_head();
        }
        assert_eq!(import.shape, listed, "{name}");
    }
}

/// The published count of `BertForMaskedLM`: the head of the pre-training instead of the pooler.
#[test]
fn the_class_of_a_bert_file_says_which_head_it_has() {
    let text = include_str!("../../../../tests/configs/bert-base.json");
    let mut config: Value = serde_json::from_str(text).expect("a fixture");
    let masked = import(config.clone()).expect("accepted");
    assert_eq!(masked.shape.total_params(), 109_514_298);
    assert!(!codes(&masked).contains(&"pretraining-heads-not-counted"));
    config["architectures"] = json!(["BertModel"]);
    assert_eq!(import(config.clone()).expect("accepted").shape.total_params(), 109_482_240);
    config["architectures"] = json!(["BertForPreTraining"]);
    let both = import(config).expect("accepted");
    assert_eq!(both.shape.total_params(), 109_482_240);
    assert!(codes(&both).contains(&"pretraining-heads-not-counted"));
}

#[test]
fn an_old_llama_without_optional_fields_reports_every_default() {
    let import =
        from_json(include_str!("../../../../tests/configs/llama-1-7b.json")).expect("read");
    assert_eq!(
        codes(&import),
        [
            "type-from-architecture",
            "class-default",
            "class-default",
            "class-default",
            "class-default"
        ]
    );
    let fields: Vec<&str> = import.notes.iter().map(|note| note.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "architectures",
            "hidden_act",
            "max_position_embeddings",
            "num_key_value_heads",
            "tie_word_embeddings"
        ]
    );
}

#[test]
fn windows_count_only_where_the_class_uses_them() {
    let qwen = |changes: Value| {
        let mut config = llama_with(json!({"model_type": "qwen2", "sliding_window": 256}));
        for (name, value) in changes.as_object().expect("an object") {
            config[name] = value.clone();
        }
        import(config)
    };
    let off = qwen(json!({"use_sliding_window": false})).expect("read");
    assert_eq!(off.shape.attention.sliding_window, None);
    assert_eq!(codes(&off), ["window-inactive"]);
    let beyond_the_last_layer =
        qwen(json!({"use_sliding_window": true, "max_window_layers": 2})).expect("read");
    assert_eq!(beyond_the_last_layer.shape.attention.sliding_window, None);
    let all = qwen(json!({"use_sliding_window": true, "max_window_layers": 0})).expect("read");
    let window = all.shape.attention.sliding_window.expect("a window");
    assert_eq!((window.tokens, window.full_every), (256, None));
    let some = qwen(json!({"use_sliding_window": true, "max_window_layers": 1}));
    assert!(matches!(
        some,
        Err(ImportError::Unsupported { reason: Inexpressible::MixedLayers, .. })
    ));
    let missing = import(llama_with(json!({"model_type": "mistral",
        "max_position_embeddings": 32768})))
    .expect("read");
    assert_eq!(missing.shape.attention.sliding_window.map(|window| window.tokens), Some(4096));
    let null = import(llama_with(json!({"model_type": "mistral", "sliding_window": null})));
    assert_eq!(null.expect("read").shape.attention.sliding_window, None);
}

#[test]
fn quantized_and_multimodal_files_are_read_with_a_note() {
    let quantized = import(llama_with(json!({
        "quantization_config": {"quant_method": "awq", "bits": 4},
    })))
    .expect("read");
    let found = quantized.quantization.expect("the file says so");
    assert_eq!(found.field, "quantization_config");
    assert_eq!(found.format.as_deref(), Some("int4-g128"));
    assert_eq!(quantized.notes, []);
    let nested = import(json!({
        "model_type": "mistral3", "vision_config": {"hidden_size": 8},
        "text_config": llama_with(json!({"model_type": "mistral", "sliding_window": null})),
    }))
    .expect("read");
    assert_eq!(codes(&nested), ["part-not-counted", "text-part-read"]);
    assert_eq!(nested.shape.hidden, 64);
}

#[test]
fn what_a_dense_shape_cannot_hold_is_refused_by_field_and_reason() {
    for (changes, field, reason) in [
        (json!({"num_local_experts": 8}), "num_local_experts", Inexpressible::MixtureOfExperts),
        (json!({"kv_lora_rank": 512}), "kv_lora_rank", Inexpressible::LatentAttention),
        (json!({"is_encoder_decoder": true}), "is_encoder_decoder", Inexpressible::EncoderDecoder),
        (json!({"block_configs": [{}]}), "block_configs", Inexpressible::PerLayerBlocks),
        (
            json!({"layer_types": ["full_attention", "linear_attention"]}),
            "layer_types",
            Inexpressible::MixedLayers,
        ),
        (json!({"model_type": "olmo2"}), "model_type", Inexpressible::WideQueryKeyNorm),
        (json!({"model_type": "bart"}), "model_type", Inexpressible::EncoderDecoder),
        (json!({"model_type": "cohere2"}), "model_type", Inexpressible::SingleNorm),
        (json!({"model_type": "qwen3_next"}), "model_type", Inexpressible::LinearAttention),
        (json!({"mamba_d_state": 16}), "mamba_d_state", Inexpressible::LinearAttention),
        (json!({"hidden_act": "xielu"}), "hidden_act", Inexpressible::UnknownActivation),
    ] {
        match refused(llama_with(changes)) {
            ImportError::Unsupported { field: at, reason: why, .. } => {
                assert_eq!((at.as_str(), why), (field, reason));
            }
            other => panic!("{field}: {other:?}"),
        }
    }
    let falcon_7b = json!({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
        "num_attention_heads": 71, "vocab_size": 65024, "multi_query": true, "bias": false,
        "parallel_attn": true, "new_decoder_architecture": false});
    assert_eq!(refused(falcon_7b).field(), Some("parallel_attn"));
    let opt_350m = json!({"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "vocab_size": 50272, "ffn_dim": 4096,
        "max_position_embeddings": 2048, "do_layer_norm_before": false});
    assert_eq!(refused(opt_350m).field(), Some("do_layer_norm_before"));
}

#[test]
fn other_json_files_of_a_checkpoint_are_recognized() {
    for (config, expected) in [
        (
            json!({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8"}}),
            OtherFile::QuantizationSideFile,
        ),
        (json!({"bits": 4, "group_size": 128}), OtherFile::QuantizationSideFile),
        (json!({"metadata": {}, "weight_map": {}}), OtherFile::WeightIndex),
        (json!({"tokenizer_class": "LlamaTokenizer"}), OtherFile::Tokenizer),
        (json!({"_from_model_config": true, "eos_token_id": 2}), OtherFile::GenerationConfig),
        (json!({"version": 1, "model": "gpt2", "workload": {}}), OtherFile::Scenario),
    ] {
        match refused(config) {
            ImportError::NotAModelConfig { file, .. } => assert_eq!(file, expected),
            other => panic!("{expected:?}: {other:?}"),
        }
    }
}

#[test]
fn a_lora_is_refused_with_the_model_that_it_adapts() {
    let adapter = json!({"peft_type": "LORA", "r": 16, "lora_alpha": 32,
        "base_model_name_or_path": "some/base-7b", "target_modules": ["q_proj"]});
    let error = refused(adapter);
    assert_eq!((error.field(), error.code()), (Some("peft_type"), "adapter"));
    let sentence = error.to_string();
    assert!(sentence.contains("some/base-7b") && sentence.contains("rank 16"), "{sentence}");
    let bare = refused(json!({"peft_type": "LORA", "r": "x", "base_model_name_or_path": ""}));
    let peft_type = "peft_type".to_owned();
    assert_eq!(bare, ImportError::Adapter { field: peft_type, base_model: None, rank: None });
}

#[test]
fn an_unknown_class_is_refused_with_its_neighbours() {
    let error = refused(llama_with(json!({"model_type": "lama"})));
    let ImportError::UnknownModelType { nearest, .. } = &error else { panic!("{error:?}") };
    assert_eq!(nearest.first(), Some(&"llama"));
    assert!(error.to_string().contains("model_type"));
    let missing = refused(json!({"hidden_size": 64}));
    assert_eq!(missing.field(), Some("model_type"));
}

#[test]
fn every_dialect_is_reachable_by_type_and_by_class() {
    for model_type in known_model_types() {
        assert!(Dialect::of_model_type(model_type).is_some());
    }
    for (class, model_type) in [
        ("LlamaForCausalLM", "llama"),
        ("GPT2LMHeadModel", "gpt2"),
        ("QWenLMHeadModel", "qwen"),
        ("BertForMaskedLM", "bert"),
        ("ChatGLMModel", "chatglm"),
        ("Qwen2_5_VLForConditionalGeneration", "qwen2"),
    ] {
        assert_eq!(Dialect::of_class(class).map(Dialect::model_type), Some(model_type), "{class}");
    }
}
