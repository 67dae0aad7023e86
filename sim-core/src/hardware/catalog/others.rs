//! Intel Gaudi, Huawei Ascend, Google TPU (per chip), Apple (GPU share of the unified memory).

use super::{UNSET, USUAL_BASIS};
use crate::hardware::basis::Basis;
use crate::hardware::device::{DensePeaks, Device, DeviceBasis, Family, Pcie, Segment, Vendor};

const GAUDI: Device =
    Device { vendor: Vendor::Intel, family: Family::Gaudi, segment: Segment::DataCenter, ..UNSET };
const DA_VINCI: Device = Device {
    vendor: Vendor::Huawei,
    family: Family::DaVinci,
    segment: Segment::DataCenter,
    ..UNSET
};
const TPU: Device =
    Device { vendor: Vendor::Google, family: Family::Tpu, segment: Segment::DataCenter, ..UNSET };
const APPLE_GPU: Device = Device {
    vendor: Vendor::Apple,
    family: Family::AppleGpu,
    segment: Segment::Integrated,
    ..UNSET
};

pub(super) static DEVICES: &[Device] = &[
    Device {
        id: "gaudi2-96",
        aliases: &["gaudi2"],
        name: "Gaudi 2",
        year: 2022,
        memory_marketing_gb: 96.0,
        memory_smi_mib: Some(98_304),
        memory_bandwidth_gb_per_s: 2460.0,
        peaks: DensePeaks {
            fp32_tflops: Some(11.0),
            fp16_tflops: Some(432.0),
            bf16_tflops: Some(432.0),
            fp8_tflops: Some(865.0),
            ..DensePeaks::NONE
        },
        measured_bf16_tflops: Some(418.7),
        intra_link: Some("gaudi2-roce"),
        pcie: Some(Pcie::GEN4_X16),
        tdp_w: Some(600.0),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "S. Bekman, ml-engineering",
        ..GAUDI
    },
    Device {
        id: "gaudi3-128",
        aliases: &["gaudi3"],
        name: "Gaudi 3",
        year: 2024,
        memory_marketing_gb: 128.0,
        memory_smi_mib: Some(131_072),
        memory_bandwidth_gb_per_s: 3700.0,
        peaks: DensePeaks {
            fp32_tflops: Some(229.0),
            tf32_tflops: Some(459.0),
            fp16_tflops: Some(1677.0),
            bf16_tflops: Some(1677.0),
            fp8_tflops: Some(1677.0),
            ..DensePeaks::NONE
        },
        measured_bf16_tflops: Some(1243.0),
        intra_link: Some("gaudi3-roce"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(900.0),
        source: "S. Bekman, ml-engineering (1600 MHz); hl-smi output",
        ..GAUDI
    },
    Device {
        id: "ascend-910b-64",
        aliases: &["ascend-910b", "910b"],
        name: "Ascend 910B (training variant)",
        year: 2023,
        memory_marketing_gb: 64.0,
        memory_fallback_gib: 61.0,
        memory_bandwidth_gb_per_s: 1600.0,
        peaks: DensePeaks {
            fp16_tflops: Some(320.0),
            bf16_tflops: Some(320.0),
            int8_tops: Some(640.0),
            ..DensePeaks::NONE
        },
        intra_link: Some("hccs-910b"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(400.0),
        basis: DeviceBasis {
            memory: Basis::Assumed,
            bandwidth: Basis::Assumed,
            peaks: Basis::Assumed,
            ..USUAL_BASIS
        },
        source: "sources disagree (fp16 256 to 376 TFLOP/s, 0.4 to 1.6 TB/s)",
        ..DA_VINCI
    },
    Device {
        id: "tpu-v4",
        aliases: &["tpu-v4-32"],
        name: "TPU v4 (chip)",
        year: 2021,
        memory_marketing_gb: 32.0,
        memory_fallback_gib: 31.75,
        memory_bandwidth_gb_per_s: 1228.0,
        peaks: DensePeaks { bf16_tflops: Some(275.0), int8_tops: Some(275.0), ..DensePeaks::NONE },
        intra_link: Some("ici-v4"),
        tdp_w: Some(192.0),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "Jouppi et al. 2023; Google Cloud documentation",
        ..TPU
    },
    Device {
        id: "tpu-v5e",
        aliases: &["tpu-v5e-16"],
        name: "TPU v5e (chip)",
        year: 2023,
        memory_marketing_gb: 16.0,
        memory_fallback_gib: 15.75,
        memory_bandwidth_gb_per_s: 819.0,
        peaks: DensePeaks { bf16_tflops: Some(197.0), int8_tops: Some(393.0), ..DensePeaks::NONE },
        intra_link: Some("ici-v5e"),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "Google Cloud documentation",
        ..TPU
    },
    Device {
        id: "tpu-v5p",
        aliases: &["tpu-v5p-95"],
        name: "TPU v5p (chip)",
        year: 2023,
        memory_marketing_gb: 95.0,
        memory_fallback_gib: 95.0,
        memory_bandwidth_gb_per_s: 2765.0,
        peaks: DensePeaks { bf16_tflops: Some(459.0), int8_tops: Some(918.0), ..DensePeaks::NONE },
        intra_link: Some("ici-v5p"),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "Google Cloud documentation",
        ..TPU
    },
    Device {
        id: "m2-ultra-192",
        aliases: &["m2-ultra"],
        name: "Apple M2 Ultra (76-core GPU, 192GB)",
        year: 2023,
        memory_marketing_gb: 192.0,
        memory_fallback_gib: 144.0,
        memory_torch_gib: Some(144.0),
        memory_bandwidth_gb_per_s: 800.0,
        peaks: DensePeaks { fp32_tflops: Some(27.2), fp16_tflops: Some(27.2), ..DensePeaks::NONE },
        basis: DeviceBasis { memory: Basis::Assumed, peaks: Basis::Assumed, ..USUAL_BASIS },
        source: "vendor; GPU share of unified memory (75 %) recalled",
        ..APPLE_GPU
    },
    Device {
        id: "m3-max-128",
        aliases: &["m3-max"],
        name: "Apple M3 Max (40-core GPU, 128GB)",
        year: 2023,
        memory_marketing_gb: 128.0,
        memory_fallback_gib: 96.0,
        memory_torch_gib: Some(96.0),
        memory_bandwidth_gb_per_s: 400.0,
        peaks: DensePeaks { fp32_tflops: Some(14.3), fp16_tflops: Some(14.3), ..DensePeaks::NONE },
        basis: DeviceBasis { memory: Basis::Assumed, peaks: Basis::Assumed, ..USUAL_BASIS },
        source: "vendor; GPU share of unified memory (75 %) recalled",
        ..APPLE_GPU
    },
    Device {
        id: "m4-max-128",
        aliases: &["m4-max"],
        name: "Apple M4 Max (40-core GPU, 128GB)",
        year: 2024,
        memory_marketing_gb: 128.0,
        memory_fallback_gib: 96.0,
        memory_torch_gib: Some(96.0),
        memory_bandwidth_gb_per_s: 546.0,
        peaks: DensePeaks { fp32_tflops: Some(17.2), fp16_tflops: Some(17.2), ..DensePeaks::NONE },
        basis: DeviceBasis { memory: Basis::Assumed, peaks: Basis::Assumed, ..USUAL_BASIS },
        source: "vendor; GPU share of unified memory (75 %) recalled",
        ..APPLE_GPU
    },
];
