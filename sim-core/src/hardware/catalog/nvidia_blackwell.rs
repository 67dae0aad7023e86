//! NVIDIA Blackwell and Blackwell Ultra, per GPU (two dies), and its workstation cards.

use super::{UNSET, USUAL_BASIS};
use crate::hardware::basis::Basis;
use crate::hardware::device::{DensePeaks, Device, DeviceBasis, Family, Pcie, Segment, Vendor};

const BLACKWELL_CONSUMER: Device = Device {
    vendor: Vendor::Nvidia,
    family: Family::Blackwell,
    segment: Segment::Consumer,
    ..UNSET
};
const BLACKWELL_WORKSTATION: Device = Device {
    vendor: Vendor::Nvidia,
    family: Family::Blackwell,
    segment: Segment::Workstation,
    ..UNSET
};
const BLACKWELL: Device = Device {
    vendor: Vendor::Nvidia,
    family: Family::Blackwell,
    segment: Segment::DataCenter,
    ..UNSET
};
const BLACKWELL_ULTRA: Device = Device {
    vendor: Vendor::Nvidia,
    family: Family::BlackwellUltra,
    segment: Segment::DataCenter,
    ..UNSET
};

pub(super) static DEVICES: &[Device] = &[
    Device {
        id: "rtx5090-32",
        aliases: &["rtx5090", "5090"],
        name: "GeForce RTX 5090",
        year: 2025,
        memory_marketing_gb: 32.0,
        memory_smi_mib: Some(32_607),
        memory_torch_gib: Some(31.36),
        memory_bandwidth_gb_per_s: 1792.0,
        peaks: DensePeaks {
            fp32_tflops: Some(104.8),
            tf32_tflops: Some(104.8),
            fp16_tflops: Some(209.5),
            bf16_tflops: Some(209.5),
            fp8_tflops: Some(419.0),
            fp4_tflops: Some(1676.0),
            int8_tops: Some(838.0),
        },
        sm_count: Some(170),
        boost_mhz: Some(2407),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(575.0),
        launch_price_usd: Some(1999.0),
        cloud_usd_per_hour: Some(1.22),
        source: "vendor data sheet, checked by SMs × clock; nvidia-smi output",
        ..BLACKWELL_CONSUMER
    },
    Device {
        id: "rtx-pro-6000-96",
        aliases: &[
            "rtx-pro-6000",
            "rtx-pro-6000-blackwell",
            "rtx-pro-6000-blackwell-workstation-edition",
        ],
        name: "RTX PRO 6000 Blackwell (Workstation)",
        year: 2025,
        memory_marketing_gb: 96.0,
        memory_smi_mib: Some(97_887),
        memory_bandwidth_gb_per_s: 1792.0,
        peaks: DensePeaks {
            fp32_tflops: Some(126.0),
            tf32_tflops: Some(251.9),
            fp16_tflops: Some(503.8),
            bf16_tflops: Some(503.8),
            fp8_tflops: Some(1007.6),
            fp4_tflops: Some(2015.0),
            int8_tops: Some(1007.6),
        },
        sm_count: Some(188),
        boost_mhz: Some(2617),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(600.0),
        launch_price_usd: Some(8565.0),
        cloud_usd_per_hour: Some(1.57),
        source: "TechPowerUp database, December 2025",
        ..BLACKWELL_WORKSTATION
    },
    Device {
        id: "b100-192",
        aliases: &["b100"],
        name: "B100 (HGX, 700 W)",
        year: 2024,
        memory_marketing_gb: 192.0,
        memory_fallback_gib: 179.06,
        memory_bandwidth_gb_per_s: 8000.0,
        peaks: DensePeaks {
            fp32_tflops: Some(60.0),
            tf32_tflops: Some(900.0),
            fp16_tflops: Some(1750.0),
            bf16_tflops: Some(1750.0),
            fp8_tflops: Some(3500.0),
            fp4_tflops: Some(7000.0),
            int8_tops: Some(3500.0),
        },
        intra_link: Some("nvlink5"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(700.0),
        basis: DeviceBasis {
            memory: Basis::Assumed,
            bandwidth: Basis::Assumed,
            peaks: Basis::Assumed,
            ..USUAL_BASIS
        },
        source: "vendor data sheet, recalled",
        ..BLACKWELL
    },
    Device {
        id: "b200-180",
        aliases: &["b200", "b200-192"],
        name: "B200 (HGX)",
        year: 2024,
        memory_marketing_gb: 180.0,
        memory_smi_mib: Some(183_359),
        memory_torch_gib: Some(178.35),
        memory_bandwidth_gb_per_s: 8000.0,
        peaks: DensePeaks {
            fp32_tflops: Some(75.0),
            tf32_tflops: Some(1125.0),
            fp16_tflops: Some(2250.0),
            bf16_tflops: Some(2250.0),
            fp8_tflops: Some(4500.0),
            fp4_tflops: Some(9000.0),
            int8_tops: Some(4500.0),
        },
        sm_count: Some(148),
        boost_mhz: Some(1965),
        measured_bf16_tflops: Some(1745.0),
        intra_link: Some("nvlink5"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(1000.0),
        cloud_usd_per_hour: Some(10.57),
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..BLACKWELL
    },
    Device {
        id: "gb200-186",
        aliases: &["gb200"],
        name: "GB200 (per GPU)",
        year: 2024,
        memory_marketing_gb: 186.0,
        memory_smi_mib: Some(189_471),
        memory_bandwidth_gb_per_s: 8000.0,
        peaks: DensePeaks {
            fp32_tflops: Some(80.0),
            tf32_tflops: Some(1250.0),
            fp16_tflops: Some(2500.0),
            bf16_tflops: Some(2500.0),
            fp8_tflops: Some(5000.0),
            fp4_tflops: Some(10_000.0),
            int8_tops: Some(5000.0),
        },
        measured_bf16_tflops: Some(1822.0),
        intra_link: Some("nvlink5"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(1200.0),
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..BLACKWELL
    },
    Device {
        id: "b300-288",
        aliases: &["b300"],
        name: "B300 (HGX)",
        year: 2025,
        memory_marketing_gb: 288.0,
        memory_smi_mib: Some(275_040),
        memory_bandwidth_gb_per_s: 8000.0,
        peaks: DensePeaks {
            fp32_tflops: Some(80.0),
            tf32_tflops: Some(1125.0),
            fp16_tflops: Some(2250.0),
            bf16_tflops: Some(2250.0),
            fp8_tflops: Some(4500.0),
            fp4_tflops: Some(13_500.0),
            int8_tops: Some(153.5),
        },
        measured_bf16_tflops: Some(1769.0),
        intra_link: Some("nvlink5"),
        pcie: Some(Pcie::GEN6_X16),
        tdp_w: Some(1100.0),
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..BLACKWELL_ULTRA
    },
    Device {
        id: "gb300-288",
        aliases: &["gb300"],
        name: "GB300 (per GPU)",
        year: 2025,
        memory_marketing_gb: 288.0,
        memory_smi_mib: Some(284_208),
        memory_bandwidth_gb_per_s: 8000.0,
        peaks: DensePeaks {
            fp32_tflops: Some(80.0),
            tf32_tflops: Some(1250.0),
            fp16_tflops: Some(2500.0),
            bf16_tflops: Some(2500.0),
            fp8_tflops: Some(5000.0),
            fp4_tflops: Some(15_000.0),
            int8_tops: Some(165.0),
        },
        intra_link: Some("nvlink5"),
        pcie: Some(Pcie::GEN6_X16),
        tdp_w: Some(1400.0),
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..BLACKWELL_ULTRA
    },
];
