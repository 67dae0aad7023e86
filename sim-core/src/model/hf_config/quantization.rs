//! How a file says that its checkpoint stores the weights, as the format of a scenario.
//!
//! Methods: GPTQ, AWQ and AutoRound (codes with group scales), bitsandbytes, fp8, MXFP4, compressed
//! tensors, ModelOpt (inside `quantization_config`, or its `hf_quant_config.json` pasted in).

use serde_json::Value;

use super::error::ImportError;
use super::fields::{Object, shortened};
use crate::model::limits::CountRange;

/// How the weights are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantization {
    /// Path of the object that says so.
    pub field: String,
    /// The method as the file names it.
    pub method: String,
    /// The name of the format in a scenario's `quantization.weights`; `None` without one.
    pub format: Option<String>,
}

/// Codes are this many bits wide.
const BITS: CountRange = CountRange { min: 1, max: 32 };
/// Channels that share a scale.
const GROUP: CountRange = CountRange { min: 1, max: 65_536 };
/// The group of GPTQ, AWQ and ModelOpt where none is written.
const USUAL_GROUP: u64 = 128;

/// What the file or its language `part` says; `None` where the weights are as trained.
pub(super) fn find(
    top: &Object<'_>,
    part: Option<&Object<'_>>,
) -> Result<Option<Quantization>, ImportError> {
    for object in [Some(top), part].into_iter().flatten() {
        for name in ["quantization_config", "compression_config", "hf_quant_config", "quantization"]
        {
            let Some(found) = object.object(name)? else { continue };
            // The side file nests its settings once more.
            let inner = found.object("quantization")?;
            if let Some(quantization) = read(inner.as_ref().unwrap_or(&found))? {
                return Ok(Some(Quantization { field: object.path_of(name), ..quantization }));
            }
        }
    }
    Ok(None)
}

fn read(found: &Object<'_>) -> Result<Option<Quantization>, ImportError> {
    let method = match first_text(found, &["quant_method", "quant_algo", "quant_library"])? {
        Some(method) => method,
        None if found.has("config_groups") => "compressed-tensors",
        None => return Ok(None),
    };
    let format = match method.to_ascii_lowercase().as_str() {
        "gptq" | "awq" | "auto-round" | "auto_round" | "intel/auto-round" => integer_codes(found)?,
        "bitsandbytes" => bitsandbytes(found)?,
        "fp8" | "fbgemm_fp8" => Some(float8(found.has("weight_block_size"))),
        "mxfp4" | "nvfp4" => Some(method.to_ascii_lowercase()),
        "compressed-tensors" => groups(found)?,
        "modelopt" | "modelopt_fp4" => match found.text("quant_algo")? {
            Some(algorithm) => modelopt(found, algorithm)?,
            None => groups(found)?,
        },
        "eetq" => Some("int8".to_owned()),
        "quanto" => quanto(found)?,
        _ => modelopt(found, method)?,
    };
    Ok(Some(Quantization { field: String::new(), method: shortened(method), format }))
}

fn first_text<'a>(
    found: &Object<'a>,
    names: &[&'static str],
) -> Result<Option<&'a str>, ImportError> {
    for name in names {
        if let Some(text) = found.text(name)? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

fn float8(is_by_block: bool) -> String {
    if is_by_block { "fp8-block" } else { "fp8" }.to_owned()
}

/// `int<bits>-g<group>`, or by channel where no group is written.
fn integer(bits: u64, group: Option<u64>) -> String {
    match (bits, group) {
        (8, None) => "int8".to_owned(),
        (bits, None) => format!("int{bits}-channel"),
        (bits, Some(group)) => format!("int{bits}-g{group}"),
    }
}

/// The group of `found`; -1 stands for a whole channel.
fn group_of(found: &Object<'_>, default: Option<u64>) -> Result<Option<u64>, ImportError> {
    const NAMES: [&str; 2] = ["group_size", "q_group_size"];
    let by_channel = |name: &&str| found.get(name).and_then(Value::as_i64) == Some(-1);
    if NAMES.iter().any(by_channel) {
        return Ok(None);
    }
    Ok(found.count(&NAMES, GROUP)?.or(default))
}

fn integer_codes(found: &Object<'_>) -> Result<Option<String>, ImportError> {
    let bits = found.count(&["bits", "w_bit", "wbits"], BITS)?.unwrap_or(4);
    Ok(Some(integer(bits, group_of(found, Some(USUAL_GROUP))?)).filter(|_| bits <= 8))
}

fn bitsandbytes(found: &Object<'_>) -> Result<Option<String>, ImportError> {
    let is_set = |names: [&'static str; 2]| -> Result<bool, ImportError> {
        Ok(found.flag(names[0])?.or(found.flag(names[1])?).unwrap_or(false))
    };
    if is_set(["load_in_8bit", "_load_in_8bit"])? {
        return Ok(Some("int8".to_owned()));
    }
    if !is_set(["load_in_4bit", "_load_in_4bit"])? {
        return Ok(None);
    }
    let twice = found.flag("bnb_4bit_use_double_quant")?.unwrap_or(false);
    // FP4 is the default of its class.
    let kind = found.text("bnb_4bit_quant_type")?.unwrap_or("fp4");
    Ok(match (kind, twice) {
        ("nf4", true) => Some("nf4-dq".to_owned()),
        ("nf4" | "fp4", false) => Some(kind.to_owned()),
        _ => None,
    })
}

fn quanto(found: &Object<'_>) -> Result<Option<String>, ImportError> {
    Ok(match found.text("weights")? {
        Some("int8") => Some("int8".to_owned()),
        Some("float8") => Some("fp8".to_owned()),
        Some("int4") => Some(integer(4, Some(USUAL_GROUP))),
        Some("int2") => Some(integer(2, Some(USUAL_GROUP))),
        _ => None,
    })
}

/// ModelOpt's names of algorithms.
fn modelopt(found: &Object<'_>, algorithm: &str) -> Result<Option<String>, ImportError> {
    Ok(match algorithm.to_ascii_uppercase().as_str() {
        "FP8" | "FP8_PER_CHANNEL_PER_TOKEN" => Some(float8(false)),
        "FP8_PB_WO" | "FP8_PB_REAL" | "FP8_BLOCK_SCALES" => Some(float8(true)),
        "NVFP4" | "NVFP4_AWQ" | "W4A16_NVFP4" => Some("nvfp4".to_owned()),
        "MXFP4" | "W4A8_MXFP4_FP8" | "W4A16_MXFP4" => Some("mxfp4".to_owned()),
        "W4A16" | "W4A16_AWQ" | "W4A8_AWQ" | "INT4_AWQ" => {
            Some(integer(4, group_of(found, Some(USUAL_GROUP))?))
        }
        "W8A16" | "W8A8_SQ_PER_CHANNEL" | "INT8_SQ" => Some(integer(8, None)),
        _ => None,
    })
}

/// Compressed tensors: the one format that all groups of layers share.
fn groups(found: &Object<'_>) -> Result<Option<String>, ImportError> {
    let Some(groups) = found.object("config_groups")? else { return Ok(None) };
    let mut shared: Option<Option<String>> = None;
    for name in groups.names() {
        let Some(group) = groups.object(name)? else { continue };
        let Some(weights) = group.object("weights")? else { continue };
        let format = of_group(&weights)?;
        match &shared {
            Some(other) if *other != format => return Ok(None),
            _ => shared = Some(format),
        }
    }
    Ok(shared.flatten())
}

fn of_group(weights: &Object<'_>) -> Result<Option<String>, ImportError> {
    let bits = weights.count(&["num_bits"], BITS)?.unwrap_or(8);
    let group = group_of(weights, None)?;
    let strategy = weights.text("strategy")?.unwrap_or_default();
    Ok(match (weights.text("type")?.unwrap_or("int"), bits, group) {
        ("float", 8, _) => Some(float8(strategy == "block")),
        ("float", 4, Some(16)) => Some("nvfp4".to_owned()),
        ("float", 4, Some(32)) => Some("mxfp4".to_owned()),
        ("int", 2..=8, group) => Some(integer(bits, group)),
        _ => None,
    })
}
