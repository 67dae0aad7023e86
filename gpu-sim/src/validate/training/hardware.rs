//! The machines of a row: device, nodes, links.

use crate::validate::fields::{Fields, Reason, incomplete, inexpressible};
use serde_json::{Value, json};
use sim_core::hardware::catalog;

/// The machines of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Machines {
    /// The `hardware` of the scenario.
    pub scenario: Value,
    pub count: u64,
    /// The device that the row names and the catalogue lacks: memory is compared on a stand-in of the
    /// same family, times are not.
    pub missing: Option<String>,
}

/// Names that no spelling of the catalogue meets, the size they come with, and the device; the last
/// column tells a stand-in that has other rates or another size.
const NAMES: &[(&str, &str, bool)] = &[
    // 96 GB of HBM2e at 2.4 TB/s and 500 W (torchtitan).
    ("hbm2e", "h100-sxm5-96-hbm2e", false),
    // DGX-2's V100 has 350 W and faster memory.
    ("v100-sxm3", "v100-sxm2-32", true),
    ("ampere", "a100-sxm4-80", false),
];

/// GPUs of an NVLink domain of a GB200 NVL72 rack.
const RACK: u64 = 72;

/// The machines of a row.
///
/// # Errors
/// When the row does not say which and how many, or the catalogue has none like it.
pub fn machines(row: Fields<'_>) -> Result<Machines, Reason> {
    let name = row.text("hardware.gpu")?.ok_or_else(|| incomplete("hardware.gpu"))?;
    let count = row.degree("hardware.count")?.ok_or_else(|| incomplete("hardware.count"))?;
    let (device, is_stand_in) = device(name, row.number("hardware.mem_gb")?)?;
    let intra = row.text("hardware.intra")?.unwrap_or_default();
    let per_node = row.degree("hardware.gpus_per_node")?;
    let devices_per_node = if intra.contains("NVL72") {
        (1..=RACK.min(count)).rev().find(|size| count.is_multiple_of(*size)).unwrap_or(1)
    } else {
        // One GPU, and up to eight of which nothing is said, are one machine.
        let whole = (count <= 8).then_some(count);
        per_node.or(whole).ok_or_else(|| incomplete("hardware.gpus_per_node"))?.min(count)
    };
    if !count.is_multiple_of(devices_per_node) {
        return Err(inexpressible("nodes with unequal numbers of GPUs"));
    }
    let nodes = count / devices_per_node;
    let mut scenario =
        json!({"device": device, "devices_per_node": devices_per_node, "nodes": nodes});
    if nodes > 1
        && let Some(network) = network(row.text("hardware.inter")?, devices_per_node)
    {
        scenario["inter"] = network;
    }
    let missing = is_stand_in.then(|| name.to_owned());
    Ok(Machines { scenario, count, missing })
}

/// The catalogue's device, and whether it stands in for another.
fn device(name: &str, memory_gb: Option<f64>) -> Result<(&'static str, bool), Reason> {
    let lower = name.to_lowercase();
    if let Some((_, id, is_stand_in)) = NAMES.iter().find(|(part, ..)| lower.contains(part)) {
        let device = catalog::find(id).ok_or_else(|| format!("unknown device: {name}"))?;
        return Ok((device.id, *is_stand_in));
    }
    let sized = memory_gb.map(|size| format!("{name}-{size}"));
    let found = sized.as_deref().and_then(catalog::find).or_else(|| {
        // A name that has one size only, such as "B200", whatever the maker calls it.
        let device = catalog::find(name)?;
        let near = |size: f64| (size / device.memory_marketing_gb - 1.0).abs() < 0.1;
        memory_gb.is_none_or(near).then_some(device)
    });
    found.map(|device| (device.id, false)).ok_or_else(|| format!("unknown device: {name}"))
}

/// The network between nodes where the row gives a rate: the catalogue's link of that rate, else the
/// rate itself with the latency of the link's kind.
fn network(text: Option<&str>, devices_per_node: u64) -> Option<Value> {
    let text = text?;
    let gb_per_s = rate_per_device(text, devices_per_node)?;
    let is_infiniband = text.contains("InfiniBand");
    let steps = if is_infiniband {
        [("ib-edr", 12.5), ("ib-hdr", 25.0), ("ib-ndr", 50.0)]
    } else {
        [("roce-100", 12.5), ("roce-200", 25.0), ("roce-400", 50.0)]
    };
    if let Some((id, _)) = steps.iter().find(|(_, rate)| (rate - gb_per_s).abs() < 0.01) {
        return Some(json!(id));
    }
    let like = sim_core::hardware::link_catalog::find(steps[0].0)?;
    Some(json!({"gb_per_s": gb_per_s, "latency_us": like.latency_us}))
}

/// GB/s of one device out of "8x200 Gb/s", "1600 Gb/s per node", "400 Gb/s per GPU", "8x50 GB/s" and
/// their like: without "per GPU" a rate is a node's.
fn rate_per_device(text: &str, devices_per_node: u64) -> Option<f64> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let (first, rest) = split_at(&text[start..], is_number);
    let (times, rate, rest) = match rest.strip_prefix('x') {
        Some(rest) => {
            let (rate, rest) = split_at(rest, is_number);
            (first.parse::<f64>().ok()?, rate, rest)
        }
        None => (1.0, first, rest),
    };
    let rate = times * rate.parse::<f64>().ok()?;
    let unit = rest.trim_start();
    let gb_per_s = if unit.starts_with("GB") {
        rate
    } else if unit.starts_with("Gb") {
        rate / 8.0
    } else if unit.starts_with("Tb") {
        1000.0 * rate / 8.0
    } else {
        return None;
    };
    let devices = if text.contains("per GPU") { 1.0 } else { devices_per_node as f64 };
    (gb_per_s > 0.0).then_some(gb_per_s / devices)
}

/// The longest beginning of fitting characters, and the rest.
fn split_at(text: &str, fits: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !fits(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(hardware: Value) -> Result<Machines, Reason> {
        let row = json!({ "hardware": hardware });
        machines(Fields(&row))
    }

    #[test]
    fn names_with_sizes_are_devices() {
        for (name, size, id) in [
            ("A100-SXM", 80, "a100-sxm4-80"),
            ("A100-SXM4", 40, "a100-sxm4-40"),
            ("A100", 80, "a100-sxm4-80"),
            ("H100-SXM", 80, "h100-sxm5-80"),
            ("V100", 16, "v100-sxm2-16"),
            ("V100-SXM2", 32, "v100-sxm2-32"),
            ("B200", 192, "b200-180"),
            ("GB200", 192, "gb200-186"),
            ("GB300", 288, "gb300-288"),
            ("H200-SXM", 141, "h200-sxm-141"),
            ("RTX 4090", 24, "rtx4090-24"),
            ("A10G", 24, "a10g-24"),
            ("T4", 16, "t4"),
            ("Titan RTX", 24, "titan-rtx-24"),
            ("TPU v5p", 95, "tpu-v5p"),
        ] {
            assert_eq!(device(name, Some(f64::from(size))), Ok((id, false)), "{name}");
        }
        for (name, size) in [("Titan V", 12), ("24GB GPU", 24), ("TPU v3", 16), ("", 80)] {
            assert!(device(name, Some(f64::from(size))).is_err(), "{name}");
        }
    }

    #[test]
    fn a_part_that_the_catalogue_lacks_stands_in_for_memory_only() {
        let got = read(json!({"gpu": "V100-SXM3", "mem_gb": 32, "count": 16,
            "gpus_per_node": 16}));
        let got = got.expect("a stand-in");
        assert!(got.missing.is_some());
        assert_eq!(got.scenario["device"], "v100-sxm2-32");
    }

    #[test]
    fn nodes_divide_the_count() {
        let node = |count: u64, per_node: Option<u64>, intra: &str| {
            read(json!({"gpu": "H100", "mem_gb": 80, "count": count, "gpus_per_node": per_node,
                "intra": intra}))
        };
        let shape = |got: Result<Machines, Reason>| {
            let got = got.expect("machines").scenario;
            (got["devices_per_node"].clone(), got["nodes"].clone())
        };
        assert_eq!(shape(node(1, Some(8), "")), (json!(1), json!(1)));
        assert_eq!(shape(node(64, Some(8), "")), (json!(8), json!(8)));
        assert_eq!(shape(node(4, None, "")), (json!(4), json!(1)));
        assert_eq!(shape(node(256, Some(4), "NVLink (NVL72 domain)")), (json!(64), json!(4)));
        assert_eq!(node(64, None, ""), Err("incomplete: hardware.gpus_per_node".to_owned()));
        assert!(node(12, Some(8), "").is_err());
    }

    #[test]
    fn rates_are_of_one_device() {
        for (text, devices, expected) in [
            ("Omni-Path 4x100Gb", 8, Some(6.25)),
            ("InfiniBand 8x200Gb HDR", 8, Some(25.0)),
            ("RoCE 1600 Gb/s per node", 8, Some(25.0)),
            ("InfiniBand 800Gb/s", 16, Some(6.25)),
            ("RDMA 400 Gb/s per GPU", 8, Some(50.0)),
            ("InfiniBand NDR 400Gb/s per GPU (recalled)", 8, Some(50.0)),
            ("InfiniBand 2 Tb/s per node (recalled)", 8, Some(31.25)),
            ("8x200 Gb/s RDMA (recalled)", 8, Some(25.0)),
            ("InfiniBand 8x50 GB/s", 8, Some(50.0)),
            ("InfiniBand", 8, None),
            ("RoCE", 8, None),
        ] {
            assert_eq!(rate_per_device(text, devices), expected, "{text}");
        }
    }
}
