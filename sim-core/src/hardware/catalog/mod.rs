//! The catalogue of accelerators: one file a vendor and generation, lookup by any usual spelling.
//!
//! Traps the rows avoid: rates printed with 2:4 sparsity are halved; GeForce rates are those with
//! 32-bit accumulation (half); memory is what the driver shows, not what the box says.

mod amd;
mod nvidia_ada;
mod nvidia_ampere;
mod nvidia_blackwell;
mod nvidia_early;
mod nvidia_hopper;
mod others;

use super::basis::Basis;
use super::device::{DensePeaks, Device, DeviceBasis, Family, Segment, Vendor};
use crate::model::suggest;

/// Launch prices are recalled; memory was read off tools, rates off data sheets.
const USUAL_BASIS: DeviceBasis = DeviceBasis {
    memory: Basis::Measured,
    bandwidth: Basis::Published,
    peaks: Basis::Published,
    launch_price: Basis::Assumed,
    cloud_price: Basis::Published,
};

/// What a row does not say.
const UNSET: Device = Device {
    id: "",
    aliases: &[],
    name: "",
    vendor: Vendor::Nvidia,
    family: Family::Ampere,
    segment: Segment::DataCenter,
    year: 0,
    memory_marketing_gb: 0.0,
    memory_smi_mib: None,
    memory_fallback_gib: 0.0,
    memory_torch_gib: None,
    memory_bandwidth_gb_per_s: 0.0,
    peaks: DensePeaks::NONE,
    sm_count: None,
    boost_mhz: None,
    measured_bf16_tflops: None,
    intra_link: None,
    bridge_link: None,
    pcie: None,
    tdp_w: None,
    launch_price_usd: None,
    cloud_usd_per_hour: None,
    basis: USUAL_BASIS,
    source: "",
};

/// Every device, newest NVIDIA first, then the older, then the other vendors.
pub fn devices() -> impl Iterator<Item = &'static Device> {
    [
        nvidia_blackwell::DEVICES,
        nvidia_hopper::DEVICES,
        nvidia_ada::DEVICES,
        nvidia_ampere::DEVICES,
        nvidia_early::DEVICES,
        amd::DEVICES,
        others::DEVICES,
    ]
    .into_iter()
    .flatten()
}

/// The device called `name`, or `None`.
///
/// Case, hyphens, blanks and underscores, a vendor's or product line's prefix, the digit of an SXM
/// generation and a `GB` after the size make no difference, so names of `nvidia-smi -L` work.
///
/// ```
/// use sim_core::hardware::catalog::find;
/// for name in ["a100-sxm4-80", "a100-sxm-80gb", "a100-80gb", "NVIDIA A100-SXM4-80GB"] {
///     assert_eq!(find(name).expect(name).id, "a100-sxm4-80");
/// }
/// assert!(find("a100-sxm-64gb").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static Device> {
    let key = canonical(name)?;
    devices()
        .find(|device| spellings(device).any(|spelling| canonical(spelling).as_ref() == Some(&key)))
}

/// Up to `count` ids like `name`, nearest first: for a "did you mean".
///
/// ```
/// assert_eq!(sim_core::hardware::catalog::suggest("h100-sxm5-8", 1), ["h100-sxm5-80"]);
/// ```
pub fn suggest(name: &str, count: usize) -> Vec<&'static str> {
    let nearest = suggest::nearest(name, devices().flat_map(spellings), 3 * count);
    let mut ids = Vec::new();
    for id in nearest.into_iter().filter_map(|spelling| Some(find(spelling)?.id)) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids.truncate(count);
    ids
}

fn spellings(device: &'static Device) -> impl Iterator<Item = &'static str> {
    std::iter::once(device.id).chain(device.aliases.iter().copied())
}

/// Longest name that is looked at, in bytes.
const LONGEST_NAME: usize = 128;

/// Words that say nothing about which device it is.
const EMPTY_WORDS: [&str; 9] =
    ["nvidia", "geforce", "tesla", "amd", "instinct", "intel", "apple", "google", "graphics"];

fn canonical(name: &str) -> Option<String> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| c.is_whitespace() || c == '-' || c == '_' || c == '/');
    let key: String =
        words.filter(|word| !EMPTY_WORDS.contains(word)).map(canonical_word).collect();
    if key.is_empty() { None } else { Some(key) }
}

/// `sxm4` → `sxm`, `80gb` → `80`.
fn canonical_word(word: &str) -> &str {
    if matches!(word, "sxm2" | "sxm3" | "sxm4" | "sxm5" | "sxm6") {
        return "sxm";
    }
    let size = ["gib", "gb", "g"].iter().find_map(|unit| word.strip_suffix(unit));
    size.filter(|size| !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit()))
        .unwrap_or(word)
}

#[cfg(test)]
mod tests;
