//! Every row of the device catalogue against arithmetic and the traps it should avoid.

use super::{canonical, devices, find, spellings, suggest};
use crate::hardware::device::{Device, Family, Segment};

/// Tensor fused multiply-adds per SM and clock at fp16 (vendor white papers).
fn fp16_fma_per_sm_clock(device: &Device) -> Option<f64> {
    let is_data_center = device.segment == Segment::DataCenter;
    match device.family {
        Family::Volta | Family::Turing | Family::Ada => Some(512.0),
        Family::Ampere if device.id.starts_with("a100") || device.id.starts_with("a800") => {
            Some(1024.0)
        }
        Family::Ampere if device.id.starts_with("a30") => Some(1024.0),
        Family::Ampere => Some(512.0),
        Family::Hopper => Some(2048.0),
        Family::Blackwell if is_data_center => Some(4096.0),
        Family::Blackwell => Some(512.0),
        _ => None,
    }
}

/// Rows whose data sheet rates another clock than the listed boost (A10G: half of the A10's tensor
/// rate): listed / arithmetic.
const OTHER_CLOCK: [(&str, f64); 5] = [
    ("h100-pcie-80", 0.923),
    ("h100-nvl-94", 0.866),
    ("b200-180", 0.944),
    ("l40s-48", 0.988),
    ("a10g-24", 0.556),
];

#[test]
fn there_are_59_devices_with_unique_spellings_that_find_their_own_row() {
    assert_eq!(devices().count(), 59);
    let mut seen = Vec::new();
    for device in devices() {
        for spelling in spellings(device) {
            let key = canonical(spelling).expect("a name");
            assert!(!seen.contains(&key), "{spelling} twice");
            seen.push(key);
            assert_eq!(find(spelling).map(|found| found.id), Some(device.id), "{spelling}");
        }
    }
}

#[test]
fn usual_spellings_are_understood() {
    for (name, id) in [
        ("a100-sxm-80gb", "a100-sxm4-80"),
        ("a100-sxm-40gb", "a100-sxm4-40"),
        ("A100-80GB", "a100-sxm4-80"),
        ("a100-40gb", "a100-sxm4-40"),
        ("a100-pcie-40gb", "a100-pcie-40"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80"),
        ("h100-sxm-80gb", "h100-sxm5-80"),
        ("h100", "h100-sxm5-80"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80"),
        ("NVIDIA H200", "h200-sxm-141"),
        ("v100-sxm-32gb", "v100-sxm2-32"),
        ("Tesla V100-SXM2-16GB", "v100-sxm2-16"),
        ("t4", "t4"),
        ("Tesla T4", "t4"),
        ("t4-16gb", "t4"),
        ("rtx-3080-12gb", "rtx3080-12"),
        ("rtx-3080-10gb", "rtx3080-10"),
        ("rtx3090", "rtx3090-24"),
        ("rtx-3090-24gb", "rtx3090-24"),
        ("NVIDIA GeForce RTX 4090", "rtx4090-24"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx6000-ada-48"),
        ("l40s-48gb", "l40s-48"),
        ("AMD Instinct MI300X", "mi300x-192"),
    ] {
        assert_eq!(find(name).map(|device| device.id), Some(id), "{name}");
    }
}

#[test]
fn nonsense_finds_nothing_and_near_misses_are_suggested() {
    for name in ["", "-", "nvidia", "gb", "80gb", "a100-sxm-64gb", "显卡", "h1000"] {
        assert!(find(name).is_none(), "{name}");
    }
    assert!(find(&"a".repeat(10_000_000)).is_none());
    assert_eq!(suggest("a100-sxm4-8", 1), ["a100-sxm4-80"]);
    assert!(suggest("rtx3070", 3).contains(&"rtx3080-10"));
    assert!(suggest("completely different", 3).is_empty());
}

#[test]
fn dense_fp16_is_sms_times_clock_times_fma_and_halved_on_geforce() {
    let mut checked = 0;
    for device in devices() {
        let (Some(sms), Some(mhz), Some(fma), Some(listed)) = (
            device.sm_count,
            device.boost_mhz,
            fp16_fma_per_sm_clock(device),
            device.peaks.fp16_tflops,
        ) else {
            continue;
        };
        let full_rate = f64::from(sms) * f64::from(mhz) * 1e6 * fma * 2.0 / 1e12;
        let accumulation = if device.segment == Segment::Consumer { 0.5 } else { 1.0 };
        let clock = OTHER_CLOCK
            .iter()
            .find(|(id, _)| *id == device.id)
            .map_or(1.0, |&(_, listed_over_arithmetic)| listed_over_arithmetic);
        let expected = full_rate * accumulation * clock;
        assert!((listed / expected - 1.0).abs() < 0.01, "{}: {listed} {expected}", device.id);
        checked += 1;
    }
    assert!(checked >= 30, "{checked} rows checked");
}

#[test]
fn modes_exist_only_where_the_generation_has_them() {
    for device in devices() {
        let peaks = &device.peaks;
        let id = device.id;
        if matches!(device.family, Family::Pascal | Family::Volta | Family::Turing) {
            assert!(peaks.bf16_tflops.is_none() && peaks.tf32_tflops.is_none(), "{id}");
        }
        if matches!(device.family, Family::Ampere | Family::Cdna2) {
            assert!(peaks.fp8_tflops.is_none(), "{id}");
        }
        if !matches!(device.family, Family::Blackwell | Family::BlackwellUltra | Family::Cdna4) {
            assert!(peaks.fp4_tflops.is_none(), "{id}");
        }
        // A rate printed with 2:4 sparsity would break this: fp8 is at most twice bf16.
        if let (Some(fp8), Some(bf16)) = (peaks.fp8_tflops, peaks.bf16_tflops) {
            assert!(fp8 <= 2.03 * bf16, "{id}");
        }
        assert!(peaks.fp16_tflops.or(peaks.bf16_tflops).is_some(), "{id}");
    }
}

#[test]
fn memory_is_what_the_driver_shows_and_less_than_the_box_in_gib() {
    for device in devices() {
        let usable = device.memory_usable_gib();
        let id = device.id;
        assert!(usable > 0.7 * device.memory_marketing_gb, "{id}");
        // Boxes print GB or GiB: never more than the larger reading.
        assert!(usable <= device.memory_marketing_gb, "{id}: {usable}");
        if let Some(torch) = device.memory_torch_gib {
            assert!(torch <= usable, "{id}");
        }
        if let Some(mib) = device.memory_smi_mib {
            assert_eq!(usable, mib as f64 / 1024.0, "{id}");
        }
    }
}

#[test]
fn every_row_is_filled_in() {
    for device in devices() {
        let id = device.id;
        assert!(!device.name.is_empty() && !device.source.is_empty(), "{id}");
        assert!((2016..=2026).contains(&device.year), "{id}");
        assert!(device.memory_bandwidth_gb_per_s > 100.0, "{id}");
        assert!(device.tdp_w.is_none_or(|watts| watts >= 50.0), "{id}");
        assert_eq!(id, id.to_lowercase());
    }
}

#[test]
fn twins_are_kept_apart() {
    let bf16 = |id: &str| find(id).expect("listed").peaks.bf16_tflops.expect("has bf16");
    assert_eq!((bf16("a10"), bf16("a10g")), (125.0, 70.0));
    assert_eq!((bf16("l40"), bf16("l40s")), (181.0, 362.0));
    assert_eq!((bf16("h100-pcie"), bf16("h100-nvl"), bf16("h100-sxm")), (756.0, 835.5, 989.4));
    assert_eq!((bf16("rtx-4090"), bf16("rtx-3090")), (165.2, 71.2));
}
