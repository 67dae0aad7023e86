//! How a row's job is spread over the GPUs.

use super::sources::{Selective, Source};
use super::workload::Words;
use crate::validate::fields::{Fields, Reason, incomplete, inexpressible};
use serde_json::{Value, json};

/// The degrees of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Degrees {
    pub dp: u64,
    pub tp: u64,
    pub pp: u64,
    pub cp: u64,
    pub ep: u64,
    pub virtual_stages: u64,
}

/// How states are sharded over replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharding {
    Zero(u64),
    /// A mode of the scenario format.
    Fsdp(&'static str),
}

impl Sharding {
    /// True where every rank keeps a shard of the gradients only.
    pub const fn shards_gradients(self) -> bool {
        matches!(self, Self::Fsdp(_) | Self::Zero(2..))
    }
}

/// The degrees of a row; one that is missing follows from the number of GPUs.
///
/// # Errors
/// When they are not given and do not follow.
pub fn degrees(row: Fields<'_>, source: &Source, count: u64) -> Result<Degrees, Reason> {
    let degree = |path: &str| row.degree(path);
    let tp = degree("config.tp")?.ok_or_else(|| incomplete("config.tp"))?;
    let pp = degree("config.pp")?.ok_or_else(|| incomplete("config.pp"))?;
    let left = |parts: [u64; 3]| {
        let product = parts.iter().try_fold(1_u64, |all, part| all.checked_mul(*part))?;
        count.is_multiple_of(product).then(|| count / product)
    };
    let (dp, cp) = match (degree("config.dp")?, degree("config.cp")?) {
        (Some(dp), Some(cp)) => (dp, cp),
        (None, Some(cp)) => (left([tp, pp, cp]).ok_or_else(|| incomplete("config.dp"))?, cp),
        (Some(dp), None) => (dp, left([tp, pp, dp]).ok_or_else(|| incomplete("config.cp"))?),
        (None, None) => return Err(incomplete("config.dp")),
    };
    let virtual_stages = match degree("config.vpp")? {
        Some(stages) => stages,
        None if pp == 1 => 1,
        None if source.key == "zerobubble" => {
            let layers = degree("model.layers")?.ok_or_else(|| incomplete("model.layers"))?;
            layers.div_ceil(pp)
        }
        None => source.virtual_stages.ok_or_else(|| incomplete("config.vpp"))?,
    };
    Ok(Degrees { dp, tp, pp, cp, ep: degree("config.ep")?.unwrap_or(1), virtual_stages })
}

/// The sharding of a row.
///
/// # Errors
/// When a row with replicas and its source do not say.
pub fn sharding(row: Fields<'_>, source: &Source, dp: u64) -> Result<Sharding, Reason> {
    let text = row.text("config.fsdp")?.unwrap_or("none");
    let lower = text.to_lowercase();
    if lower.contains("shard_grad_op") || lower.contains("no reshard") {
        return Ok(Sharding::Fsdp("shard_grad_op"));
    }
    if lower.contains("distributed optimizer") {
        return Ok(Sharding::Zero(1));
    }
    if let Some(group) = lower.strip_prefix("fsdp group ") {
        let group: u64 = group.trim().parse().map_err(|_| incomplete("config.fsdp"))?;
        return Ok(Sharding::Fsdp(if group < dp { "hybrid" } else { "full_shard" }));
    }
    if lower.contains("fsdp") || lower.contains("full_shard") {
        return Ok(Sharding::Fsdp("full_shard"));
    }
    if lower != "none" && lower != "ddp" {
        return Err(inexpressible(&format!("config.fsdp {text}")));
    }
    let zero = row.count("config.zero_stage")?.or(source.zero);
    match zero {
        Some(stage) => Ok(Sharding::Zero(stage)),
        None if dp == 1 => Ok(Sharding::Zero(0)),
        None => Err(incomplete("config.zero_stage")),
    }
}

/// What is computed again in backward.
///
/// # Errors
/// When neither the row nor its source says, or the scenario format has no such choice.
pub fn recompute(row: Fields<'_>, source: &Source, fsdp: bool) -> Result<&'static str, Reason> {
    let text = row.text("config.recompute")?.or(source.recompute[usize::from(fsdp)]);
    match text {
        Some("none") => Ok("none"),
        Some("full") => Ok("full"),
        Some("selective") if source.selective == Selective::Attention => Ok("selective"),
        Some("selective") => Err(inexpressible("selective recomputation by operator or module")),
        Some(other) => Err(inexpressible(&format!("config.recompute {other}"))),
        None => Err(incomplete("config.recompute")),
    }
}

/// What leaves the GPU between uses: the `offload` of the scenario.
///
/// # Errors
/// When the words leave open what and where to.
pub fn offload(row: Fields<'_>) -> Result<Value, Reason> {
    let text = row.text("config.offload")?.unwrap_or("none");
    let lower = text.to_lowercase();
    let has = |word: &str| lower.contains(word);
    if lower == "none" {
        return Ok(json!({}));
    }
    let target = match (has("cpu"), has("nvme")) {
        (true, false) => "cpu",
        (false, true) => "nvme",
        // torchtune's activations go to the CPU, there is no other place.
        (false, false) if has("activation") => "cpu",
        _ => return Err(incomplete("config.offload")),
    };
    if has("and/or") {
        return Err(incomplete("config.offload"));
    }
    let part = |present: bool| if present { target } else { "none" };
    let (optimizer, parameters) = (has("optimizer"), has("param"));
    let activations = has("activation") || has("checkpoint");
    if !(optimizer || parameters || activations) {
        return Err(incomplete("config.offload"));
    }
    Ok(json!({
        "optimizer": part(optimizer), "parameters": part(parameters),
        "activations": part(activations),
    }))
}

/// The schedule of a pipeline.
///
/// # Errors
/// When the scenario format does not have it.
pub fn schedule(words: Words<'_>, degrees: Degrees) -> Result<&'static str, Reason> {
    let named = words.place.split(", ").find_map(|part| match part {
        // The handcrafted schedule with 1F1B's memory; the paper searches one that is as good or
        // better under the same limit.
        "ZB-1p" | "ZB-H1" => Some(Ok("zb-h1")),
        "ZB-2p" | "ZB-H2" => Some(Err(inexpressible("schedule ZB-2p"))),
        "ZB-V" => Some(Ok("zbv")),
        "1F1B" => Some(Ok("1f1b")),
        "1F1B-I" => Some(Ok("interleaved-1f1b")),
        _ => None,
    });
    named.unwrap_or(Ok(if degrees.virtual_stages > 1 { "interleaved-1f1b" } else { "1f1b" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(key: &str) -> &'static Source {
        Source::find(key).expect("listed")
    }

    #[test]
    fn missing_degrees_follow_from_the_number_of_gpus() {
        let read = |config: Value, count: u64| {
            let row = json!({ "config": config });
            degrees(Fields(&row), source("sc21"), count)
        };
        let got = read(json!({"tp": 2, "pp": 1, "dp": 4}), 8).expect("degrees");
        assert_eq!((got.dp, got.cp, got.ep, got.virtual_stages), (4, 1, 1, 1));
        assert_eq!(read(json!({"tp": 2, "pp": 1, "dp": 1}), 8).map(|got| got.cp), Ok(4));
        assert_eq!(read(json!({"tp": 8, "pp": 2, "cp": 1, "vpp": 1}), 64).map(|d| d.dp), Ok(4));
        let missing = |config, field: &str| assert_eq!(read(config, 8), Err(incomplete(field)));
        missing(json!({"pp": 1, "dp": 8, "cp": 1}), "config.tp");
        missing(json!({"tp": 3, "pp": 1, "cp": 1}), "config.dp");
        missing(json!({"tp": 1, "pp": 2, "dp": 4, "cp": 1}), "config.vpp");
        missing(
            json!({"tp": 1_000_000_000_000_000_u64, "pp": 1_000_000_000_000_u64, "dp": 4}),
            "config.cp",
        );
    }

    #[test]
    fn zero_bubble_interleaves_layer_by_layer() {
        let row = json!({"model": {"layers": 22}, "config": {"tp": 1, "pp": 8, "dp": 1, "cp": 1}});
        let got = degrees(Fields(&row), source("zerobubble"), 8).expect("degrees");
        assert_eq!(got.virtual_stages, 3);
        let words = |place| Words { place, ..Words::default() };
        for (place, expected) in [
            ("Table 4, 1.5B, 1F1B-I, m=32", Ok("interleaved-1f1b")),
            ("Table 4, 1.5B, 1F1B, m=32", Ok("1f1b")),
            ("Table 4, 1.5B, ZB-1p, m=32", Ok("zb-h1")),
            ("Table 4, 1.5B, ZB-2p, m=32", Err(inexpressible("schedule ZB-2p"))),
            ("Table 1", Ok("interleaved-1f1b")),
        ] {
            assert_eq!(schedule(words(place), got), expected, "{place}");
        }
    }

    #[test]
    fn shardings_of_every_spelling() {
        let read = |key: &str, fsdp: Value, zero: Value, dp: u64| {
            let row = json!({"config": {"fsdp": fsdp, "zero_stage": zero}});
            sharding(Fields(&row), source(key), dp)
        };
        let none = || Value::Null;
        for (text, expected) in [
            ("FULL_SHARD", Sharding::Fsdp("full_shard")),
            ("FSDP2 full shard (dp x cp)", Sharding::Fsdp("full_shard")),
            ("FSDP group 8", Sharding::Fsdp("hybrid")),
            ("FSDP group 64", Sharding::Fsdp("full_shard")),
            ("SHARD_GRAD_OP", Sharding::Fsdp("shard_grad_op")),
            ("FSDP (no reshard after forward, ZeRO-2-like)", Sharding::Fsdp("shard_grad_op")),
            ("DDP / distributed optimizer", Sharding::Zero(1)),
        ] {
            assert_eq!(read("sc21", json!(text), json!(3), 64), Ok(expected), "{text}");
        }
        assert_eq!(read("sc21", json!("none"), json!(3), 8), Ok(Sharding::Zero(3)));
        assert_eq!(read("sc21", none(), none(), 1), Ok(Sharding::Zero(0)));
        assert_eq!(read("bigscience", none(), none(), 8), Ok(Sharding::Zero(1)));
        assert_eq!(read("sc21", none(), none(), 8), Err(incomplete("config.zero_stage")));
        assert!(read("sc21", json!("HSDP?"), none(), 8).is_err());
    }

    #[test]
    fn offloads_of_every_spelling() {
        let read = |text: &str| {
            let row = json!({"config": {"offload": text}});
            offload(Fields(&row))
        };
        assert_eq!(read("none"), Ok(json!({})));
        let got = read("full CPU (params+optimizer, checkpoints in CPU)").expect("an offload");
        assert_eq!(got, json!({"optimizer": "cpu", "parameters": "cpu", "activations": "cpu"}));
        assert_eq!(read("optimizer CPU").expect("an offload")["parameters"], "none");
        assert_eq!(read("activations").expect("an offload")["activations"], "cpu");
        for text in ["CPU", "CPU/NVMe", "optimizer and/or activation checkpoints to CPU", "disk"] {
            assert_eq!(read(text), Err(incomplete("config.offload")), "{text}");
        }
    }
}
