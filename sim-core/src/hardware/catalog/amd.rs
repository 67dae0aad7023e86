//! AMD Instinct. MI250X is listed with both of its dies; systems show it as two devices.

use super::{UNSET, USUAL_BASIS};
use crate::hardware::basis::Basis;
use crate::hardware::device::{DensePeaks, Device, DeviceBasis, Family, Pcie, Segment, Vendor};

const CDNA2: Device =
    Device { vendor: Vendor::Amd, family: Family::Cdna2, segment: Segment::DataCenter, ..UNSET };
const CDNA3: Device =
    Device { vendor: Vendor::Amd, family: Family::Cdna3, segment: Segment::DataCenter, ..UNSET };
const CDNA4: Device =
    Device { vendor: Vendor::Amd, family: Family::Cdna4, segment: Segment::DataCenter, ..UNSET };

pub(super) static DEVICES: &[Device] = &[
    Device {
        id: "mi210-64",
        aliases: &["mi210"],
        name: "Instinct MI210",
        year: 2022,
        memory_marketing_gb: 64.0,
        memory_fallback_gib: 63.98,
        memory_torch_gib: Some(63.98),
        memory_bandwidth_gb_per_s: 1638.0,
        peaks: DensePeaks {
            fp32_tflops: Some(22.6),
            fp16_tflops: Some(181.0),
            bf16_tflops: Some(181.0),
            int8_tops: Some(181.0),
            ..DensePeaks::NONE
        },
        bridge_link: Some("xgmi-mi210"),
        pcie: Some(Pcie::GEN4_X16),
        tdp_w: Some(300.0),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "vendor data sheet (AnandTech)",
        ..CDNA2
    },
    Device {
        id: "mi250x-128",
        aliases: &["mi250x"],
        name: "Instinct MI250X (both dies)",
        year: 2021,
        memory_marketing_gb: 128.0,
        memory_fallback_gib: 127.96,
        memory_torch_gib: Some(63.98),
        memory_bandwidth_gb_per_s: 3277.0,
        peaks: DensePeaks {
            fp32_tflops: Some(47.9),
            fp16_tflops: Some(383.0),
            bf16_tflops: Some(383.0),
            int8_tops: Some(383.0),
            ..DensePeaks::NONE
        },
        intra_link: Some("xgmi-mi250x"),
        pcie: Some(Pcie::GEN4_X16),
        tdp_w: Some(560.0),
        source: "S. Bekman, ml-engineering, August 2026; vendor data sheet",
        ..CDNA2
    },
    Device {
        id: "mi300x-192",
        aliases: &["mi300x"],
        name: "Instinct MI300X",
        year: 2023,
        memory_marketing_gb: 192.0,
        memory_fallback_gib: 191.98,
        memory_torch_gib: Some(191.98),
        memory_bandwidth_gb_per_s: 5300.0,
        peaks: DensePeaks {
            fp32_tflops: Some(163.4),
            tf32_tflops: Some(653.7),
            fp16_tflops: Some(1307.4),
            bf16_tflops: Some(1307.4),
            fp8_tflops: Some(2614.9),
            int8_tops: Some(2614.9),
            ..DensePeaks::NONE
        },
        measured_bf16_tflops: Some(668.0),
        intra_link: Some("xgmi-mi300x"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(750.0),
        source: "S. Bekman, ml-engineering, August 2026; vendor data sheet",
        ..CDNA3
    },
    Device {
        id: "mi325x-256",
        aliases: &["mi325x"],
        name: "Instinct MI325X",
        year: 2024,
        memory_marketing_gb: 256.0,
        memory_fallback_gib: 255.98,
        memory_torch_gib: Some(255.98),
        memory_bandwidth_gb_per_s: 6000.0,
        peaks: DensePeaks {
            fp32_tflops: Some(163.4),
            tf32_tflops: Some(653.7),
            fp16_tflops: Some(1307.4),
            bf16_tflops: Some(1307.4),
            fp8_tflops: Some(2614.9),
            int8_tops: Some(2614.9),
            ..DensePeaks::NONE
        },
        measured_bf16_tflops: Some(785.0),
        intra_link: Some("xgmi-mi300x"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(1000.0),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "S. Bekman, ml-engineering, August 2026; vendor data sheet",
        ..CDNA3
    },
    Device {
        id: "mi355x-288",
        aliases: &["mi355x"],
        name: "Instinct MI355X",
        year: 2025,
        memory_marketing_gb: 288.0,
        memory_fallback_gib: 287.98,
        memory_bandwidth_gb_per_s: 8000.0,
        peaks: DensePeaks {
            fp32_tflops: Some(157.3),
            fp16_tflops: Some(2500.0),
            bf16_tflops: Some(2500.0),
            fp8_tflops: Some(5000.0),
            fp4_tflops: Some(10_100.0),
            int8_tops: Some(5000.0),
            ..DensePeaks::NONE
        },
        measured_bf16_tflops: Some(1565.0),
        intra_link: Some("xgmi-mi355x"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(1400.0),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "S. Bekman, ml-engineering, August 2026; vendor data sheet",
        ..CDNA4
    },
];
