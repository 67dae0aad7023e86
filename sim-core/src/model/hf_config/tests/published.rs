//! Files of every dialect, reduced to what counts, against the parameter counts of the checkpoints
//! that they describe.
//!
//! A count is the sum of the published checkpoint (safetensors totals of the hub; DBRX, GPT-Neo and
//! MiniCPM3 by hand); what it stores beside the language model (a vision tower, a layer that predicts
//! a second token) is taken off and said so.

use serde_json::{Value, json};

use super::super::from_value;
use crate::model::limits;

/// Name, file, parameters.
pub(super) fn files() -> Vec<(&'static str, Value, u64)> {
    let mut all = dense();
    all.extend(experts());
    all.extend(latent());
    all.extend(nested());
    all.extend(others());
    all
}

/// A file of Llama's names: layers, width, heads, key-value heads, MLP, vocabulary, and the rest.
fn llama(kind: &str, [l, h, a, k, f, v]: [u64; 6], rest: Value) -> Value {
    let mut file = json!({
        "model_type": kind, "num_hidden_layers": l, "hidden_size": h, "num_attention_heads": a,
        "num_key_value_heads": k, "intermediate_size": f, "vocab_size": v,
        "max_position_embeddings": 8192, "hidden_act": "silu", "tie_word_embeddings": false,
    });
    let fields = file.as_object_mut().expect("an object");
    fields.extend(rest.as_object().expect("an object").clone());
    file
}

#[rustfmt::skip] // one file an entry is what makes the tables readable
fn dense() -> Vec<(&'static str, Value, u64)> {
    let tied = json!({"tie_word_embeddings": true});
    vec![
        ("granite 3.1 8b", llama("granite", [40, 4096, 32, 8, 12800, 49155], tied.clone()), 8_170_848_256),
        ("aquila2 34b", llama("aquila", [60, 6144, 48, 8, 24576, 143973], json!({})), 34_233_796_608),
        ("minicpm4 8b", llama("minicpm", [32, 4096, 32, 2, 16384, 73448], json!({})), 8_185_253_888),
        ("internlm3 8b",
            llama("internlm3", [48, 4096, 32, 2, 10240, 128512], json!({"head_dim": 128, "bias": false})),
            8_804_241_408),
        ("glm-4 9b 0414",
            llama("glm4", [40, 4096, 32, 2, 13696, 151552], json!({"head_dim": 128, "attention_bias": true})),
            9_400_279_040),
        ("glm-4 32b 0414",
            llama("glm4", [61, 6144, 48, 2, 23040, 151552], json!({"head_dim": 128, "attention_bias": false})),
            32_566_081_536),
        ("gemma 7b",
            llama("gemma", [28, 3072, 16, 16, 24576, 256000], json!({"tie_word_embeddings": null})), 8_537_680_896),
        ("gemma 2 9b",
            llama("gemma2", [42, 3584, 16, 8, 14336, 256000],
                json!({"tie_word_embeddings": null, "head_dim": 256, "sliding_window": 4096})),
            9_241_705_984),
        ("gemma 3 270m",
            llama("gemma3_text", [18, 640, 4, 1, 2048, 262144],
                json!({"tie_word_embeddings": true, "head_dim": 256, "sliding_window": 512, "max_position_embeddings": 32768})),
            268_098_176),
        ("exaone 3.5 7.8b",
            llama("exaone", [32, 4096, 32, 8, 14336, 102400],
                json!({"num_hidden_layers": null, "num_layers": 32, "hidden_act": null, "activation_function": "silu"})),
            7_818_448_896),
        ("exaone 3.5 2.4b", llama("exaone", [30, 2560, 32, 8, 7168, 102400], tied.clone()), 2_405_327_360),
        ("seed-oss 36b", llama("seed_oss", [64, 5120, 80, 8, 27648, 155136], json!({"head_dim": 128})), 36_151_104_512),
        ("hunyuan 7b", llama("hunyuan_v1_dense", [32, 4096, 32, 8, 14336, 128167], tied), 7_504_568_320),
        ("hunyuan 0.5b",
            llama("hunyuan_v1_dense", [24, 1024, 16, 8, 3584, 120818], json!({"tie_word_embeddings": true, "head_dim": 128})),
            539_010_048),
        ("ernie 4.5 0.3b", llama("ernie4_5", [18, 1024, 16, 2, 3072, 103424], json!({"tie_word_embeddings": null})), 360_748_032),
        // The checkpoint holds 210,790,400 more: the layer that predicts a second token.
        ("mimo 7b", llama("mimo", [36, 4096, 32, 8, 11008, 151680], json!({"num_nextn_predict_layers": 1})), 7_622_619_136),
        ("stablelm 2 1.6b",
            llama("stablelm", [24, 2048, 32, 32, 5632, 100352], json!({"use_qkv_bias": true, "use_parallel_residual": false})),
            1_644_515_328),
        ("stablelm 3b 4e1t", llama("stablelm", [32, 2560, 32, 32, 6912, 50304], json!({})), 2_795_443_200),
        ("luciole 23b",
            llama("nemotron", [40, 6144, 48, 8, 36864, 128000], json!({"hidden_act": "relu2"})), 23_216_467_968),
        ("afm 4.5b",
            llama("arcee", [36, 2560, 20, 4, 18432, 128005], json!({"hidden_act": "relu2", "head_dim": 128})), 4_619_189_760),
    ]
}

#[rustfmt::skip]
fn experts() -> Vec<(&'static str, Value, u64)> {
    vec![
        ("mixtral 8x7b",
            llama("mixtral", [32, 4096, 32, 8, 14336, 32000],
                json!({"num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": null})),
            46_702_792_704),
        ("qwen1.5 moe a2.7b",
            llama("qwen2_moe", [24, 2048, 16, 16, 5632, 151936],
                json!({"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
                    "shared_expert_intermediate_size": 5632, "decoder_sparse_step": 1})),
            14_315_784_192),
        ("qwen2 57b a14b",
            llama("qwen2_moe", [28, 3584, 28, 4, 18944, 151936],
                json!({"num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 2560,
                    "shared_expert_intermediate_size": 20480, "mlp_only_layers": []})),
            57_408_658_944),
        ("qwen3 30b a3b",
            llama("qwen3_moe", [48, 2048, 32, 4, 6144, 151936],
                json!({"head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768})),
            30_532_122_624),
        ("granite 3.1 1b a400m",
            llama("granitemoe", [24, 1024, 16, 8, 512, 49155],
                json!({"tie_word_embeddings": true, "num_local_experts": 32, "num_experts_per_tok": 8})),
            1_334_628_352),
        ("gpt-oss 20b",
            llama("gpt_oss", [24, 2880, 64, 8, 2880, 201088],
                json!({"head_dim": 64, "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128,
                    "attention_bias": true, "max_position_embeddings": 131072})),
            20_914_757_184),
        ("deepseek moe 16b",
            llama("deepseek", [28, 2048, 16, 16, 10944, 102400],
                json!({"n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
                    "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "moe_layer_freq": 1})),
            16_375_728_128),
        ("dots.llm1",
            llama("dots1", [62, 4096, 32, 32, 10944, 152064],
                json!({"n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6,
                    "moe_intermediate_size": 1408, "first_k_dense_replace": 1})),
            142_774_381_696),
        ("ling lite",
            llama("bailing_moe", [28, 2048, 16, 4, 5632, 126464],
                json!({"num_experts": 64, "num_shared_experts": 2, "num_experts_per_tok": 6,
                    "moe_intermediate_size": 1408, "first_k_dense_replace": 0})),
            16_801_974_272),
        ("ling mini 2.0",
            llama("bailing_moe", [20, 2048, 16, 4, 5120, 157184],
                json!({"num_experts": 256, "num_shared_experts": 1, "num_experts_per_tok": 8, "head_dim": 128,
                    "moe_intermediate_size": 512, "first_k_dense_replace": 1, "use_qk_norm": true,
                    "moe_router_enable_expert_bias": true})),
            16_255_643_392),
        ("ernie 4.5 21b a3b",
            llama("ernie4_5_moe", [28, 2560, 20, 4, 12288, 103424],
                json!({"tie_word_embeddings": true, "moe_num_experts": 64, "moe_k": 6, "moe_intermediate_size": 1536,
                    "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_end_index": -1,
                    "moe_layer_interval": 1, "use_bias": false})),
            21_825_437_888),
        // 110,468,824,832 and 356,785,898,816 stored: with a layer that predicts a second token, its
        // projection of 2H·H and three norms, and in Air's a second embedding and head.
        ("glm 4.5 air",
            llama("glm4_moe", [46, 4096, 96, 8, 10944, 151552],
                json!({"head_dim": 128, "attention_bias": true, "n_routed_experts": 128, "n_shared_experts": 1,
                    "num_experts_per_tok": 8, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
                    "use_qk_norm": false, "num_nextn_predict_layers": 1})),
            110_468_824_832 - 2_375_059_584 - 1_241_513_984),
        ("glm 4.6",
            llama("glm4_moe", [92, 5120, 96, 8, 12288, 151552],
                json!({"head_dim": 128, "attention_bias": true, "n_routed_experts": 160, "n_shared_experts": 1,
                    "num_experts_per_tok": 8, "moe_intermediate_size": 1536, "first_k_dense_replace": 3,
                    "use_qk_norm": true, "num_nextn_predict_layers": 1})),
            356_785_898_816 - 3_988_069_792),
        ("mobilellm r1 950m",
            llama("llama4_text", [22, 1536, 24, 6, 6144, 128256],
                json!({"tie_word_embeddings": true, "head_dim": 64, "intermediate_size_mlp": 6144,
                    "num_local_experts": 0, "attention_chunk_size": null})),
            949_685_760),
        ("dbrx",
            json!({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352,
                "max_seq_len": 32768, "attn_config": {"kv_n_heads": 8},
                "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}}),
            131_596_523_520),
    ]
}

fn latent() -> Vec<(&'static str, Value, u64)> {
    let file = |kind: &str, sizes: [u64; 6], q: Value, rest: Value| {
        let mut file = llama(kind, sizes, rest);
        let base = json!({"q_lora_rank": q, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64, "v_head_dim": 128, "moe_layer_freq": 1});
        for (name, value) in base.as_object().expect("an object") {
            file.as_object_mut().expect("an object").entry(name.clone()).or_insert(value.clone());
        }
        file
    };
    let experts = |count: u64, active: u64, ffn: u64, shared: u64, dense: u64, choice: &str| {
        json!({"n_routed_experts": count, "num_experts_per_tok": active, "moe_intermediate_size": ffn,
            "n_shared_experts": shared, "first_k_dense_replace": dense, "topk_method": choice,
            "max_position_embeddings": 163840})
    };
    let mut kimi = experts(384, 8, 2048, 1, 1, "noaux_tc");
    kimi["max_position_embeddings"] = json!(131_072);
    let mut flash = experts(64, 4, 1536, 1, 1, "noaux_tc");
    flash["qk_nope_head_dim"] = json!(192);
    flash["v_head_dim"] = json!(256);
    #[rustfmt::skip]
    let files = vec![
        ("deepseek v2 lite",
            file("deepseek_v2", [27, 2048, 16, 16, 10944, 102400], Value::Null, experts(64, 6, 1408, 2, 1, "greedy")),
            15_706_484_224),
        ("deepseek v2",
            file("deepseek_v2", [60, 5120, 128, 128, 12288, 102400], json!(1536),
                experts(160, 6, 1536, 2, 1, "group_limited_greedy")),
            235_741_434_880),
        ("deepseek v3",
            file("deepseek_v3", [61, 7168, 128, 128, 18432, 129280], json!(1536), experts(256, 8, 2048, 1, 3, "noaux_tc")),
            671_026_419_200),
        ("kimi k2", file("kimi_k2", [61, 7168, 64, 64, 18432, 163840], json!(1536), kimi), 1_026_408_232_448),
        ("glm 4.7 flash", file("glm4_moe_lite", [47, 2048, 20, 20, 10240, 154880], json!(768), flash), 29_943_393_920),
        ("minicpm3 4b",
            llama("minicpm3", [62, 2560, 40, 40, 6400, 73448],
                json!({"tie_word_embeddings": null, "q_lora_rank": 768, "kv_lora_rank": 256,
                    "qk_nope_head_dim": 64, "qk_rope_head_dim": 32})),
            4_073_875_968),
    ];
    files
}

#[rustfmt::skip]
fn nested() -> Vec<(&'static str, Value, u64)> {
    let scout = |layers: u64, experts: u64, step: u64| {
        json!({"model_type": "llama4", "vision_config": {}, "text_config": {
            "model_type": "llama4_text", "num_hidden_layers": layers, "hidden_size": 5120,
            "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
            "intermediate_size": 8192, "intermediate_size_mlp": 16384, "vocab_size": 202048,
            "num_local_experts": experts, "num_experts_per_tok": 1, "interleave_moe_layer_step": step,
            "no_rope_layers": [], "max_position_embeddings": 1048576}})
    };
    vec![
        // 108,641,793,536 and 401,583,781,376 stored, with 871,932,416 of vision and its projector.
        ("llama 4 scout", scout(48, 16, 1), 107_769_861_120),
        ("llama 4 maverick", scout(48, 128, 2), 400_711_848_960),
        // What equals the defaults of Gemma3TextConfig is not in the file.
        ("gemma 3 4b",
            json!({"model_type": "gemma3", "vision_config": {"hidden_size": 1152}, "text_config": {
                "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
                "num_hidden_layers": 34, "sliding_window": 1024}}),
            3_880_263_168),
        ("gemma 3 27b",
            json!({"model_type": "gemma3", "text_config": {
                "model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504, "head_dim": 128,
                "num_attention_heads": 32, "num_key_value_heads": 16, "num_hidden_layers": 62,
                "sliding_window": 1024}}),
            27_009_346_304),
        // 7,063,427,072 stored: 303,507,456 of vision and a projector of 20,979,712 beside.
        ("llava 1.5 7b",
            json!({"model_type": "llava", "vision_config": {}, "text_config": {
                "model_type": "llama", "max_position_embeddings": 4096, "vocab_size": 32064}}),
            6_738_939_904),
        // 10,670,220,835 stored: 895,028,755 of vision and its projector, and 34,832 of the layers
        // that attend to it.
        ("llama 3.2 11b vision",
            json!({"model_type": "mllama", "vision_config": {}, "text_config": llama("mllama_text_model",
                [40, 4096, 32, 8, 14336, 128256],
                json!({"cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38]}))}),
            10_670_220_835 - 895_028_755 - 34_832),
        ("mistral small 3.1",
            json!({"model_type": "mistral3", "vision_config": {}, "text_config": llama("mistral",
                [40, 5120, 32, 8, 32768, 131072], json!({"head_dim": 128, "sliding_window": null}))}),
            23_572_403_200),
        ("qwen2.5 vl 3b",
            json!({"model_type": "qwen2_5_vl", "tie_word_embeddings": true, "vision_config": {},
                "text_config": llama("qwen2_5_vl_text", [36, 2048, 16, 2, 11008, 151936],
                    json!({"tie_word_embeddings": null, "use_sliding_window": false}))}),
            3_085_938_688),
        ("qwen2.5 omni 7b",
            json!({"model_type": "qwen2_5_omni", "talker_config": {}, "token2wav_config": {}, "thinker_config": {
                "audio_config": {}, "vision_config": {},
                "text_config": llama("qwen2_5_omni_text", [28, 3584, 28, 4, 18944, 152064], json!({}))}}),
            7_615_616_512),
        // 938,193,024 stored: 304,012,288 of vision and a projector of 4,482,816 beside.
        ("internvl 3 1b",
            json!({"model_type": "internvl_chat", "vision_config": {}, "llm_config": llama("qwen2",
                [24, 896, 14, 2, 4864, 151674], json!({}))}),
            938_193_024 - 304_012_288 - 4_482_816),
    ]
}

#[rustfmt::skip]
fn others() -> Vec<(&'static str, Value, u64)> {
    let t5 = |kind: &str, [l, h, a, f, v]: [u64; 5], proj: &str| {
        json!({"model_type": kind, "is_encoder_decoder": true, "num_layers": l, "d_model": h, "num_heads": a,
            "d_kv": 64, "d_ff": f, "vocab_size": v, "feed_forward_proj": proj, "n_positions": 512,
            "tie_word_embeddings": proj == "relu", "relative_attention_num_buckets": 32})
    };
    let mut encoder = t5("t5", [24, 4096, 64, 10240, 32128], "gated-gelu");
    encoder["architectures"] = json!(["T5EncoderModel"]);
    encoder["is_encoder_decoder"] = json!(false);
    vec![
        ("t5 small", t5("t5", [6, 512, 8, 2048, 32128], "relu"), 60_506_624),
        ("t5 base", t5("t5", [12, 768, 12, 3072, 32128], "relu"), 222_903_552),
        ("flan t5 small", t5("t5", [8, 512, 6, 1024, 32128], "gated-gelu"), 76_961_152),
        ("mt5 small", t5("mt5", [8, 512, 6, 1024, 250112], "gated-gelu"), 300_176_768),
        ("mt5 xxl", t5("mt5", [24, 4096, 64, 10240, 250112], "gated-gelu"), 13_945_516_032 - 1_024_458_752),
        ("t5 xxl, encoder alone", encoder, 4_762_310_656),
        ("distilbert base",
            json!({"model_type": "distilbert", "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072,
                "vocab_size": 30522, "max_position_embeddings": 512, "activation": "gelu"}),
            66_362_880),
        // BERT without its pooler of 590,592.
        ("electra base",
            json!({"model_type": "electra", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                "intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512,
                "embedding_size": 768, "hidden_act": "gelu", "type_vocab_size": 2}),
            109_482_240 - 590_592),
        ("mpt 7b",
            json!({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "expansion_ratio": 4,
                "vocab_size": 50432, "max_seq_len": 2048, "no_bias": true, "learned_pos_emb": true,
                "attn_config": {"alibi": true, "attn_type": "multihead_attention"}}),
            6_649_286_656),
        ("gpt-neo 125m",
            json!({"model_type": "gpt_neo", "num_layers": 12, "hidden_size": 768, "num_heads": 12,
                "vocab_size": 50257, "max_position_embeddings": 2048, "window_size": 256,
                "activation_function": "gelu_new", "attention_types": [[["global", "local"], 6]]}),
            125_198_592),
    ]
}

#[test]
fn every_dialect_adds_up_to_its_published_count() {
    let wrong: Vec<String> = files()
        .into_iter()
        .filter_map(|(name, file, params)| match from_value(&file) {
            Ok(import) if import.shape.total_params() == params => {
                assert_eq!(limits::violations(&import.shape), [], "{name}");
                None
            }
            Ok(import) => {
                let found = import.shape.total_params();
                Some(format!(
                    "{name}: {found}, published {params} ({})",
                    found as i64 - params as i64
                ))
            }
            Err(error) => Some(format!("{name}: {error}")),
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}
