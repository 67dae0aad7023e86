//! How files say that their weights are stored.

use serde_json::{Value, json};

use super::super::NoteKind;
use super::{import, llama_with};

/// The format that a file with `config` under `name` says.
fn format(name: &str, config: Value) -> Option<String> {
    let read = import(llama_with(json!({ name: config }))).expect("read");
    read.quantization.and_then(|found| found.format)
}

#[test]
fn every_method_becomes_the_format_of_a_scenario() {
    let group = |weights: Value| json!({"config_groups": {"group_0": {"weights": weights}}});
    let compressed = |weights: Value| {
        let mut config = group(weights);
        config["quant_method"] = json!("compressed-tensors");
        config
    };
    for (config, expected) in [
        (json!({"quant_method": "gptq", "bits": 4, "group_size": 128}), "int4-g128"),
        (
            json!({"quant_method": "gptq", "bits": 4, "group_size": 64, "desc_act": true}),
            "int4-g64",
        ),
        (json!({"quant_method": "gptq", "bits": 8, "group_size": -1}), "int8"),
        (json!({"quant_method": "gptq", "bits": 3, "group_size": -1}), "int3-channel"),
        (
            json!({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm"}),
            "int4-g128",
        ),
        (json!({"quant_method": "awq", "w_bit": 4, "q_group_size": 64}), "int4-g64"),
        (json!({"quant_method": "auto-round", "bits": 2, "group_size": 64}), "int2-g64"),
        (
            json!({"quant_method": "bitsandbytes", "load_in_8bit": true, "load_in_4bit": false}),
            "int8",
        ),
        (
            json!({"quant_method": "bitsandbytes", "_load_in_4bit": true, "bnb_4bit_quant_type": "nf4"}),
            "nf4",
        ),
        (
            json!({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
                "bnb_4bit_use_double_quant": true}),
            "nf4-dq",
        ),
        (json!({"quant_method": "bitsandbytes", "load_in_4bit": true}), "fp4"),
        (json!({"quant_method": "fp8", "activation_scheme": "dynamic"}), "fp8"),
        (
            json!({"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}),
            "fp8-block",
        ),
        (json!({"quant_method": "fbgemm_fp8"}), "fp8"),
        (json!({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}), "mxfp4"),
        (json!({"quant_method": "eetq"}), "int8"),
        (json!({"quant_method": "quanto", "weights": "float8"}), "fp8"),
        (
            compressed(
                json!({"num_bits": 4, "type": "int", "group_size": 128, "strategy": "group"}),
            ),
            "int4-g128",
        ),
        (compressed(json!({"num_bits": 8, "type": "int", "strategy": "channel"})), "int8"),
        (compressed(json!({"num_bits": 8, "type": "float", "strategy": "channel"})), "fp8"),
        (compressed(json!({"num_bits": 8, "type": "float", "strategy": "block"})), "fp8-block"),
        (compressed(json!({"num_bits": 4, "type": "float", "group_size": 16})), "nvfp4"),
        (group(json!({"num_bits": 4, "type": "float", "group_size": 32})), "mxfp4"),
        (json!({"quant_method": "modelopt", "quant_algo": "NVFP4"}), "nvfp4"),
        (json!({"quant_algo": "FP8", "producer": {"name": "modelopt"}}), "fp8"),
        (json!({"quant_algo": "W4A16_AWQ", "group_size": 64}), "int4-g64"),
    ] {
        let found = format("quantization_config", config.clone());
        assert_eq!(found.as_deref(), Some(expected), "{config}");
    }
}

#[test]
fn the_side_file_of_modelopt_counts_where_it_is_pasted_in() {
    let side = json!({"producer": {"name": "modelopt", "version": "0.23.0"},
        "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}});
    assert_eq!(format("hf_quant_config", side.clone()).as_deref(), Some("fp8"));
    // Both objects made one.
    assert_eq!(format("quantization", side["quantization"].clone()).as_deref(), Some("fp8"));
    // Weights as trained, only the cache in 8 bits.
    let cache_only = json!({"quantization": {"quant_algo": null, "kv_cache_quant_algo": "FP8"}});
    assert_eq!(
        import(llama_with(json!({"hf_quant_config": cache_only}))).expect("read").quantization,
        None
    );
}

#[test]
fn a_nested_part_may_say_it_and_the_shape_does_not_change() {
    let quantized = llama_with(json!({"quantization_config": {"quant_method": "fp8"}}));
    let nested = import(json!({"model_type": "x", "text_config": quantized})).expect("read");
    let found = nested.quantization.expect("the part says so");
    assert_eq!(found.field, "text_config.quantization_config");
    assert_eq!(nested.shape, import(llama_with(json!({}))).expect("read").shape);
}

#[test]
fn a_format_without_a_name_becomes_a_remark() {
    for config in [
        json!({"quant_method": "aqlm", "nbits_per_codebook": 16}),
        json!({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_use_double_quant": true}),
        json!({"quant_method": "compressed-tensors", "config_groups": {
            "a": {"weights": {"num_bits": 8, "type": "float"}},
            "b": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}}}}),
    ] {
        let read = import(llama_with(json!({"quantization_config": config}))).expect("read");
        let found = read.quantization.expect("the file says so");
        assert_eq!(found.format, None, "{config}");
        assert_eq!(read.notes[0].kind, NoteKind::QuantizationNotApplied { method: found.method });
    }
}

#[test]
fn a_wrong_type_inside_is_named() {
    for (config, field) in [
        (json!([]), "quantization_config"),
        (json!({"quant_method": 4}), "quantization_config.quant_method"),
        (json!({"quant_method": "gptq", "bits": "four"}), "quantization_config.bits"),
        (
            json!({"quant_method": "gptq", "bits": 4, "group_size": -2}),
            "quantization_config.group_size",
        ),
        (
            json!({"quant_method": "bitsandbytes", "load_in_4bit": "yes"}),
            "quantization_config.load_in_4bit",
        ),
    ] {
        let error =
            import(llama_with(json!({"quantization_config": config}))).expect_err("refused");
        assert_eq!(error.field(), Some(field), "{error}");
    }
}
