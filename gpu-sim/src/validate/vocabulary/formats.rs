//! Names of number formats.

use super::{clean, quoted};

/// The `quantization.weights` for a format's name with its bits and group, as a table states them.
///
/// A group is a number of weights that share a scale, or `per-channel`.
///
/// # Errors
/// The reason why it is none that the scenario format can say.
pub fn weights(format: &str, bits: Option<f64>, group: Option<&str>) -> Result<String, String> {
    let name = clean(format);
    let unknown = || format!("weight format: {}", quoted(format));
    if let Some(kind) = name.strip_prefix("gguf ").or_else(|| name.strip_prefix("ggml ")) {
        return gguf(kind, bits).ok_or_else(unknown);
    }
    let words: Vec<&str> = name.split([' ', '-', '+', '_', '/', ',']).collect();
    let has = |word: &str| words.contains(&word);
    let first = words.first().copied().unwrap_or("");
    match first {
        "fp16" | "bf16" | "f16" | "float16" | "bfloat16" => return Ok("none".to_owned()),
        "fp8" | "float8" => return Ok("fp8".to_owned()),
        // Plain four bits are TensorRT-LLM's on Blackwell; tables print bitsandbytes' `FP4` as 4.5.
        "fp4" if bits == Some(4.0) => return Ok("nvfp4".to_owned()),
        "nvfp4" => return Ok("nvfp4".to_owned()),
        "mxfp4" => return Ok("mxfp4".to_owned()),
        _ => {}
    }
    // Two formats of blocks of 64 that differ in the code book alone.
    if has("nf4") || first == "fp4" || (first == "bnb" && bits == Some(4.0)) {
        return Ok(if has("dq") { "nf4-dq" } else { "nf4" }.to_owned());
    }
    // GPTQ has groups in 8 bits too.
    let eight = ["int8", "8bit", "w8a8", "llm.int8"].iter().any(|word| has(word));
    if eight && first != "gptq" || (first == "sq" && bits == Some(8.0)) {
        return Ok("int8".to_owned());
    }
    // Runtimes with kernels of their own for the same layout; what HQQ, quanto and torchao store
    // beside the codes differs.
    let other = ["hqq", "quanto", "torchao", "exl2", "quarot", "autoround"];
    let grouped = ["gptq", "awq", "int4", "marlin", "w4a16"]
        .iter()
        .any(|word| words.iter().any(|own| own.starts_with(word)));
    if !grouped || other.iter().any(|word| name.contains(word)) {
        return Err(unknown());
    }
    integers(bits, group).ok_or_else(unknown)
}

/// Integer codes in groups. GPTQ's and AWQ's own tools make 4 bits in groups of 128 unless told
/// otherwise (AutoGPTQ `BaseQuantizeConfig`, AutoAWQ `q_group_size`).
fn integers(bits: Option<f64>, group: Option<&str>) -> Option<String> {
    // Some tables print codes, scales and zeros together: 4.15 for 4.
    let code = bits.unwrap_or(4.0).floor();
    if !(2.0..=8.0).contains(&code) {
        return None;
    }
    match group.unwrap_or("128") {
        "per-channel" | "-1" => Some(format!("int{code}-channel")),
        size if size.parse::<u32>().is_ok_and(|size| size > 0) => {
            Some(format!("int{code}-g{size}"))
        }
        _ => None,
    }
}

/// Bits a weight of types whose name meant another layout once (the first `q4_0` had fp32 scales, 5
/// bits): a table that prints others means that one.
const LEGACY_BITS: [(&str, f64); 2] = [("q4_0", 4.5), ("q4_1", 5.0)];

fn gguf(kind: &str, bits: Option<f64>) -> Option<String> {
    let known = kind.starts_with('q')
        || kind.starts_with("iq")
        || matches!(kind, "f16" | "bf16" | "f32" | "mxfp4");
    let plain = kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let legacy = LEGACY_BITS
        .iter()
        .any(|(name, own)| *name == kind && bits.is_some_and(|bits| (bits - own).abs() > 0.25));
    (known && plain && !legacy).then(|| format!("gguf:{kind}"))
}

/// The `quantization.kv_cache` for a name; 16 bits where the table says nothing.
///
/// # Errors
/// The reason why it is none that the scenario format can say.
pub fn kv_cache(name: Option<&str>) -> Result<&'static str, String> {
    let Some(text) = name else { return Ok("fp16") };
    match clean(text).as_str() {
        "f16" | "fp16" | "bf16" | "bf16/fp16" | "fp16/bf16" | "auto" => Ok("fp16"),
        "fp8" | "fp8_e4m3" | "fp8_e5m2" => Ok("fp8"),
        "int8" => Ok("int8"),
        "int4" => Ok("int4"),
        "q8_0" => Ok("q8_0"),
        "q4_0" => Ok("q4_0"),
        "f32" | "fp32" => Ok("fp32"),
        _ => Err(format!("format of the KV cache: {}", quoted(text))),
    }
}

/// The `quantization.activations` for a name, as the engine multiplies.
pub fn activations(name: Option<&str>) -> &'static str {
    let lower = name.map(clean).unwrap_or_default();
    match lower.split([' ', '/']).next() {
        Some("fp8") => "fp8",
        Some("fp4" | "nvfp4") => "fp4",
        Some("int8") if !lower.contains("mixed") => "int8",
        Some("bf16") => "bf16",
        _ => "fp16",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_of_weight_formats_are_known() {
        for (name, bits, group, expected) in [
            ("BF16", 16.0, None, "none"),
            ("F16", 16.0, None, "none"),
            ("GPTQ-Int4", 4.0, Some("128"), "int4-g128"),
            ("GPTQ-128g", 4.15, Some("128"), "int4-g128"),
            ("GPTQ", 4.0, Some("32"), "int4-g32"),
            ("GPTQ", 3.0, Some("per-channel"), "int3-channel"),
            ("GPTQ-Int8", 8.0, Some("128"), "int8-g128"),
            ("AWQ GEMM", 4.0, Some("128"), "int4-g128"),
            ("AWQ", 4.0, None, "int4-g128"),
            ("LLM.int8", 8.0, None, "int8"),
            ("bnb INT8", 8.0, None, "int8"),
            ("INT8 (bnb)", 8.0, None, "int8"),
            ("SmoothQuant W8A8", 8.0, None, "int8"),
            ("SQ-O1", 8.0, None, "int8"),
            ("FP8", 8.0, None, "fp8"),
            ("FP4", 4.0, None, "nvfp4"),
            ("FP4", 4.5, Some("64"), "nf4"),
            ("FP4 (bf16 compute)", 4.5, None, "nf4"),
            ("NF4", 4.5, Some("64"), "nf4"),
            ("bnb NF4", 4.0, None, "nf4"),
            ("NF4+DQ", 4.127, Some("64"), "nf4-dq"),
            ("GGUF Q4_K_M", 4.89, None, "gguf:q4_k_m"),
            ("GGUF IQ3_XXS", 3.1, None, "gguf:iq3_xxs"),
            ("GGML Q4_0", 4.5, None, "gguf:q4_0"),
        ] {
            assert_eq!(weights(name, Some(bits), group).as_deref(), Ok(expected), "{name}");
        }
    }

    #[test]
    fn other_weight_formats_are_a_reason() {
        for (name, bits, group) in [
            ("", 4.0, None),
            ("4-bit", 4.0, None),
            ("EXL2", 4.0, None),
            ("INT4 HQQ tinygemm", 4.0, Some("128")),
            ("quanto int4", 4.0, None),
            ("QuaRot W4A4", 4.0, None),
            ("FP32", 32.0, None),
            ("ggml q4_0", 5.0, None),
            ("GGUF ../x", 4.0, None),
            ("GPTQ", 4.0, Some("64x")),
            ("GPTQ", -1e300, None),
            ("GPTQ", f64::NAN, None),
        ] {
            assert!(weights(name, Some(bits), group).is_err(), "{name}");
        }
    }

    #[test]
    fn caches_and_activations_are_known() {
        assert_eq!(kv_cache(None), Ok("fp16"));
        assert_eq!(kv_cache(Some("bf16/fp16")), Ok("fp16"));
        assert_eq!(kv_cache(Some("fp8")), Ok("fp8"));
        assert!(kv_cache(Some("q4 (Hadamard) of 1971")).is_err());
        assert_eq!(activations(Some("f16 (llama.cpp)")), "fp16");
        assert_eq!(activations(Some("int8 mixed")), "fp16");
        assert_eq!(activations(Some("int8")), "int8");
        assert_eq!(activations(Some("bf16")), "bf16");
        assert_eq!(activations(None), "fp16");
    }
}
