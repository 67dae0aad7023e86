//! Fields that mislead: one test for each way in which readers of `config.json` go wrong.

use serde_json::{Value, json};

use super::super::{Import, ImportError, Inexpressible, from_value};
use super::{codes, import, llama_with, published, refused};
use crate::model::catalog;
use crate::model::shape::{ModelShape, Positions};

/// A file of the table of published counts, with some fields replaced.
fn file(name: &str, changes: Value) -> Value {
    let found = published::files().into_iter().find(|(file, _, _)| *file == name);
    let mut file = found.expect("a file of the table").1;
    let fields = file.as_object_mut().expect("an object");
    fields.extend(changes.as_object().expect("an object").clone());
    file
}

fn read(name: &str, changes: Value) -> Import {
    from_value(&file(name, changes)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn shape(id: &str) -> ModelShape {
    catalog::find(id).expect("listed").shape.clone()
}

#[test]
fn a_head_is_not_always_the_stream_over_the_heads() {
    let qwen3 = import(llama_with(json!({"model_type": "qwen3"}))).expect("read");
    assert_eq!(qwen3.shape.attention.head_dim, 128);
    assert_eq!(codes(&qwen3), ["class-default"]);
    // T5-11B has 128 heads of 128 channels on a stream of 1024: nothing else tells.
    let t5 = refused(json!({"architectures": ["T5WithLMHeadModel"], "num_layers": 24,
        "d_model": 1024, "num_heads": 128, "d_ff": 65536, "vocab_size": 32128}));
    assert_eq!((t5.field(), t5.code()), (Some("d_kv"), "missing"));
}

#[test]
fn missing_key_value_heads_mean_what_the_class_says() {
    let kv = |config: Value| import(config).expect("read").shape.attention.kv_heads;
    assert_eq!(kv(llama_with(json!({"num_key_value_heads": null}))), 4);
    let mistral = json!({"model_type": "mistral", "num_attention_heads": 16,
        "num_key_value_heads": null, "sliding_window": null});
    assert_eq!(kv(llama_with(mistral)), 8);
    let bigcode = json!({"model_type": "gpt_bigcode", "n_layer": 2, "n_embd": 64, "n_head": 4,
        "n_positions": 1024, "vocab_size": 100, "multi_query": true});
    assert_eq!(kv(bigcode), 1);
    let glm = json!({"model_type": "chatglm", "num_layers": 2, "hidden_size": 64,
        "num_attention_heads": 4, "ffn_hidden_size": 128, "padded_vocab_size": 100,
        "multi_query_attention": true, "multi_query_group_num": 2, "seq_length": 2048});
    assert_eq!(kv(glm), 2);
    for name in ["num_kv_heads", "n_head_kv"] {
        let falcon = json!({"model_type": "falcon", "hidden_size": 64, "num_hidden_layers": 2,
            "num_attention_heads": 4, "vocab_size": 100, "new_decoder_architecture": true,
            name: 2, "bias": false, "parallel_attn": true});
        assert_eq!(kv(falcon), 2, "{name}");
    }
}

#[test]
fn a_missing_tie_is_resolved_by_class() {
    for (kind, tied) in [
        ("llama", false),
        ("mistral", false),
        ("qwen2", false),
        ("gemma", true),
        ("gemma2", true),
        ("minicpm", true),
        ("smollm3", true),
        ("ernie4_5", true),
        ("starcoder2", true),
        ("phi3", false),
    ] {
        let config = llama_with(json!({"model_type": kind, "tie_word_embeddings": null}));
        assert_eq!(import(config).expect("read").shape.tied_embeddings, tied, "{kind}");
    }
    assert!(read("t5 small", json!({"tie_word_embeddings": null})).shape.tied_embeddings);
    // A nested part follows the file around it.
    let around = |tied: bool| {
        let part = llama_with(json!({"model_type": "qwen2", "tie_word_embeddings": null}));
        let file = json!({"model_type": "x", "tie_word_embeddings": tied, "text_config": part});
        import(file).expect("read").shape.tied_embeddings
    };
    assert!(around(true) && !around(false));
}

#[test]
fn an_intermediate_size_is_not_always_the_width_of_the_mlp() {
    let qwen = import(llama_with(json!({"model_type": "qwen"}))).expect("read");
    assert_eq!(qwen.shape.mlp.ffn, 64);
    let mixtral = read("mixtral 8x7b", json!({})).shape;
    assert_eq!(mixtral.experts.expect("experts").ffn, 14336);
    // Llama 4: an expert's and a dense layer's.
    let maverick = read("llama 4 maverick", json!({})).shape;
    let experts = maverick.experts.expect("experts");
    assert_eq!((experts.ffn, experts.shared_ffn, maverick.mlp.ffn), (8192, 8192, 16384));
    // Qwen3-MoE has no dense layer: its intermediate_size counts nothing.
    let wider = read("qwen3 30b a3b", json!({"intermediate_size": 9999})).shape;
    assert_eq!(wider.total_params(), 30_532_122_624);
}

#[test]
fn a_latent_is_what_the_cache_keeps() {
    let v3 = read("deepseek v3", json!({})).shape;
    assert_eq!(v3, shape("deepseek-v3"));
    assert_eq!(v3.attention.cached_per_token(), 512 + 64);
    // Neither the key-value heads nor the head_dim that some files write say anything here.
    let misled = read("deepseek v3", json!({"num_key_value_heads": 8, "head_dim": 64})).shape;
    assert_eq!(misled, v3);
    let lite = read("deepseek v2 lite", json!({"q_lora_rank": null})).shape;
    assert_eq!(lite.attention.latent.expect("a latent").query_rank, None);
    let missing = file("deepseek v3", json!({}));
    let mut missing = missing.as_object().expect("an object").clone();
    missing.remove("q_lora_rank");
    let default = from_value(&Value::Object(missing)).expect("read");
    assert_eq!(default.shape, v3);
    assert!(codes(&default).contains(&"class-default"));
}

#[test]
fn which_layers_have_experts_is_read_in_every_spelling() {
    let places = |import: &Import| {
        let experts = import.shape.experts.expect("experts");
        (experts.first_dense, experts.every)
    };
    let v3 = read("deepseek v3", json!({}));
    assert_eq!(places(&v3), (3, 1));
    let experts = v3.shape.params().groups[1].layer.experts;
    assert_eq!((experts.router, experts.router_bias), (7168 * 256, 256));
    assert!(!read("deepseek v2", json!({})).shape.experts.expect("experts").router_bias);
    let list: Vec<u64> = (0..61).map(|layer| u64::from(layer >= 5)).collect();
    assert_eq!(places(&read("deepseek v3", json!({"moe_layer_freq": list}))), (5, 1));
    let qwen = |changes: Value| from_value(&file("qwen3 30b a3b", changes));
    let step = qwen(json!({"decoder_sparse_step": 2})).expect("read");
    assert_eq!(places(&step), (0, 2));
    let dense = qwen(json!({"mlp_only_layers": [0, 1]})).expect("read");
    assert_eq!(places(&dense), (2, 1));
    let gap = qwen(json!({"mlp_only_layers": [5]})).expect_err("a gap");
    assert_eq!(gap.field(), Some("mlp_only_layers"));
    let all: Vec<u64> = (0..48).collect();
    assert_eq!(qwen(json!({"mlp_only_layers": all})).expect("read").shape.experts, None);
    assert_eq!(places(&read("llama 4 maverick", json!({}))), (0, 2));
    let llama4 = |moe: Value| {
        let mut file = file("llama 4 maverick", json!({}));
        file["text_config"]["moe_layers"] = moe;
        from_value(&file).map(|import| places(&import))
    };
    assert_eq!(llama4(json!([47])), Ok((0, 48)));
    assert_eq!(
        llama4(json!([3, 7])).expect_err("stops early").field(),
        Some("text_config.moe_layers")
    );
    let ernie = json!({"moe_layer_start_index": 2, "moe_layer_end_index": 27});
    assert_eq!(places(&read("ernie 4.5 21b a3b", ernie)), (2, 1));
}

#[test]
fn layers_that_predict_further_tokens_are_said_and_not_counted() {
    let with = read("deepseek v3", json!({"num_nextn_predict_layers": 1}));
    assert_eq!(codes(&with), ["next-token-layers-not-counted"]);
    assert_eq!(with.shape.total_params(), 671_026_419_200);
    assert!(codes(&read("kimi k2", json!({"num_nextn_predict_layers": 0}))).is_empty());
}

#[test]
fn windows_are_on_the_layers_that_have_them() {
    assert_eq!(read("gemma 2 9b", json!({})).shape, shape("gemma-2-9b"));
    assert_eq!(read("gemma 3 4b", json!({})).shape, shape("gemma-3-4b"));
    assert_eq!(read("gemma 3 27b", json!({})).shape, shape("gemma-3-27b"));
    assert_eq!(read("gpt-oss 20b", json!({})).shape, shape("gpt-oss-20b"));
    let types = |pattern: [&str; 2]| -> Vec<String> {
        (0..24).map(|layer| format!("{}_attention", pattern[layer % 2])).collect()
    };
    let listed = read("gpt-oss 20b", json!({"layer_types": types(["sliding", "full"])}));
    assert_eq!(listed.shape, shape("gpt-oss-20b"));
    let turned = read("gpt-oss 20b", json!({"layer_types": types(["full", "sliding"])}));
    assert_eq!(codes(&turned), ["windows-reordered"]);
    assert_eq!(turned.shape, shape("gpt-oss-20b"));
    let mut halves = types(["sliding", "full"]);
    halves.sort();
    let refused = from_value(&file("gpt-oss 20b", json!({"layer_types": halves})));
    assert_eq!(refused.expect_err("halves").field(), Some("layer_types"));
    let short =
        from_value(&file("gpt-oss 20b", json!({"layer_types": types(["full", "sliding"])[..4]})));
    assert_eq!(short.expect_err("too few").code(), "inconsistent");
    // A window beyond the context does nothing.
    let phi = import(llama_with(json!({"model_type": "phi3", "sliding_window": 262_144})));
    let phi = phi.expect("read");
    assert_eq!((phi.shape.attention.sliding_window, codes(&phi)), (None, vec!["window-inactive"]));
    // A class without windows does not get one from a list.
    let llama = refused_llama(json!({"layer_types": ["sliding_attention", "full_attention"]}));
    assert_eq!(llama.field(), Some("layer_types"));
    let neo = read("gpt-neo 125m", json!({}));
    let window = neo.shape.attention.sliding_window.expect("a window");
    assert_eq!((window.tokens, window.full_every), (256, Some(2)));
    let scout = read("llama 4 scout", json!({}));
    let window = scout.shape.attention.sliding_window.expect("chunks");
    assert_eq!((window.tokens, window.full_every), (8192, Some(4)));
    assert!(codes(&scout).contains(&"chunks-as-windows"));
}

fn refused_llama(changes: Value) -> ImportError {
    refused(llama_with(changes))
}

#[test]
fn a_nested_language_model_is_found_wherever_it_is() {
    for around in [
        |part: Value| json!({"model_type": "a", "text_config": part}),
        |part: Value| json!({"model_type": "a", "llm_config": part}),
        |part: Value| json!({"model_type": "a", "language_config": part}),
        |part: Value| json!({"model_type": "a", "thinker_config": {"text_config": part}}),
    ] {
        let read = import(around(llama_with(json!({})))).expect("read");
        assert_eq!(read.shape, import(llama_with(json!({}))).expect("read").shape);
        assert!(codes(&read).contains(&"text-part-read"));
    }
    // A part without a class has that of the file; outside of parts nothing may be missing.
    let part = llama_with(json!({"model_type": null}));
    let read = import(json!({"model_type": "qwen2_vl", "text_config": part})).expect("read");
    assert!(read.shape.attention.qkv_bias);
    let top = refused(json!({"model_type": "llama", "vocab_size": 32064}));
    assert_eq!((top.field(), top.code()), (Some("num_hidden_layers"), "missing"));
    let gemma = import(json!({"model_type": "gemma3_text"})).expect("all defaults");
    let attention = &gemma.shape.attention;
    assert_eq!((attention.heads, attention.kv_heads, attention.head_dim), (8, 4, 256));
    assert_eq!(gemma.shape.vocab, 262_208);
    let alone =
        refused(json!({"model_type": "qwen2_5_omni", "thinker_config": {"audio_config": {}}}));
    assert_eq!(alone.field(), Some("thinker_config"));
}

#[test]
fn position_tables_have_the_rows_of_their_class() {
    let positions = |config: Value| import(config).expect("read").shape.positions;
    let opt = json!({"model_type": "opt", "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 100, "ffn_dim": 256,
        "max_position_embeddings": 2048});
    assert_eq!(positions(opt), Positions::Learned { rows: 2050 });
    let gpt2 = json!({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4,
        "n_positions": 1024, "vocab_size": 100});
    assert_eq!(positions(gpt2), Positions::Learned { rows: 1024 });
    assert_eq!(positions(llama_with(json!({}))), Positions::Rope);
    let bloom = json!({"model_type": "bloom", "n_layer": 2, "hidden_size": 64, "n_head": 4,
        "vocab_size": 100, "seq_length": 2048});
    let bloom = import(bloom).expect("read").shape;
    assert_eq!((bloom.positions, bloom.embedding_norm), (Positions::Alibi, true));
}

#[test]
fn the_rows_of_the_vocabulary_are_those_of_the_matrix() {
    let glm = json!({"model_type": "chatglm", "num_layers": 2, "hidden_size": 64,
        "num_attention_heads": 4, "ffn_hidden_size": 128, "padded_vocab_size": 128,
        "vocab_size": 100, "seq_length": 2048});
    assert_eq!(import(glm).expect("read").shape.vocab, 128);
    assert_eq!(read("gemma 3 4b", json!({})).shape.vocab, 262_208);
}

#[test]
fn a_context_that_a_copy_has_cut_is_remarked() {
    let cut = import(llama_with(json!({"max_position_embeddings": 512}))).expect("read");
    assert_eq!(codes(&cut), ["context-looks-edited"]);
    assert!(codes(&import(llama_with(json!({}))).expect("read")).is_empty());
}

#[test]
fn models_that_other_lists_invent_are_not_known() {
    for name in ["GLM-4-70B", "Yi-1.5-70B"] {
        assert!(catalog::find(name).is_none(), "{name}");
    }
    assert_eq!((shape("bloom").layers, shape("bloom").hidden), (70, 14336));
    assert_eq!(shape("deepseek-r1").layers, 61);
    assert_eq!(shape("llama-3.1-405b").layers, 126);
}

#[test]
fn irregular_models_are_refused_by_what_makes_them_so() {
    for (changes, field, reason) in [
        (json!({"model_type": "nemotron-nas"}), "model_type", Inexpressible::PerLayerBlocks),
        (json!({"block_configs": [{}]}), "block_configs", Inexpressible::PerLayerBlocks),
        (
            json!({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*"}),
            "hybrid_override_pattern",
            Inexpressible::LinearAttention,
        ),
        (
            json!({"model_type": "anything", "full_attention_interval": 4}),
            "full_attention_interval",
            Inexpressible::LinearAttention,
        ),
        (
            json!({"layer_types": ["linear_attention", "full_attention"]}),
            "layer_types",
            Inexpressible::MixedLayers,
        ),
        (json!({"model_type": "umt5"}), "model_type", Inexpressible::RelativePositions),
    ] {
        match refused(llama_with(changes)) {
            ImportError::Unsupported { field: at, reason: why, .. } => {
                assert_eq!((at.as_str(), why), (field, reason));
            }
            other => panic!("{field}: {other:?}"),
        }
    }
}

#[test]
fn a_checkpoint_whose_scheme_is_elsewhere_is_read_as_trained() {
    let silent = import(llama_with(json!({"_name_or_path": "a-model-FP8"}))).expect("read");
    assert_eq!(silent.quantization, None);
    let side =
        refused(json!({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8"}}));
    assert_eq!(side.code(), "not-a-model-config");
}
