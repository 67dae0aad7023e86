//! NVIDIA before Ampere: no bf16, no tf32; Pascal has no tensor cores.

use super::{UNSET, USUAL_BASIS};
use crate::hardware::basis::Basis;
use crate::hardware::device::{DensePeaks, Device, DeviceBasis, Family, Pcie, Segment, Vendor};

const TURING: Device = Device {
    vendor: Vendor::Nvidia,
    family: Family::Turing,
    segment: Segment::DataCenter,
    ..UNSET
};
const PASCAL: Device = Device {
    vendor: Vendor::Nvidia,
    family: Family::Pascal,
    segment: Segment::DataCenter,
    ..UNSET
};
const VOLTA: Device =
    Device { vendor: Vendor::Nvidia, family: Family::Volta, segment: Segment::DataCenter, ..UNSET };
const TURING_CONSUMER: Device =
    Device { vendor: Vendor::Nvidia, family: Family::Turing, segment: Segment::Consumer, ..UNSET };

pub(super) static DEVICES: &[Device] = &[
    Device {
        id: "t4",
        aliases: &["t4-16"],
        name: "Tesla T4",
        year: 2018,
        memory_marketing_gb: 16.0,
        memory_smi_mib: Some(15_360),
        memory_torch_gib: Some(14.74),
        memory_bandwidth_gb_per_s: 320.0,
        peaks: DensePeaks {
            fp32_tflops: Some(8.1),
            fp16_tflops: Some(65.0),
            int8_tops: Some(130.0),
            ..DensePeaks::NONE
        },
        sm_count: Some(40),
        boost_mhz: Some(1590),
        pcie: Some(Pcie::GEN3_X16),
        tdp_w: Some(70.0),
        launch_price_usd: Some(2000.0),
        source: "vendor data sheet, checked by SMs × clock; nvidia-smi output",
        ..TURING
    },
    Device {
        id: "p100-pcie-16",
        aliases: &["p100", "p100-16"],
        name: "Tesla P100 PCIe 16GB",
        year: 2016,
        memory_marketing_gb: 16.0,
        memory_smi_mib: Some(16_384),
        memory_bandwidth_gb_per_s: 732.0,
        peaks: DensePeaks { fp32_tflops: Some(9.3), fp16_tflops: Some(18.7), ..DensePeaks::NONE },
        pcie: Some(Pcie::GEN3_X16),
        tdp_w: Some(250.0),
        basis: DeviceBasis { memory: Basis::Assumed, peaks: Basis::Assumed, ..USUAL_BASIS },
        source: "vendor data sheet, recalled",
        ..PASCAL
    },
    Device {
        id: "p100-sxm2-16",
        name: "Tesla P100 SXM2 16GB",
        year: 2016,
        memory_marketing_gb: 16.0,
        memory_smi_mib: Some(16_384),
        memory_bandwidth_gb_per_s: 732.0,
        peaks: DensePeaks { fp32_tflops: Some(10.6), fp16_tflops: Some(21.2), ..DensePeaks::NONE },
        intra_link: Some("nvlink1"),
        pcie: Some(Pcie::GEN3_X16),
        tdp_w: Some(300.0),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "TechPowerUp database, December 2025",
        ..PASCAL
    },
    Device {
        id: "v100-sxm2-16",
        aliases: &["v100-16"],
        name: "V100 SXM2 16GB",
        year: 2017,
        memory_marketing_gb: 16.0,
        memory_smi_mib: Some(16_384),
        memory_torch_gib: Some(15.77),
        memory_bandwidth_gb_per_s: 900.0,
        peaks: DensePeaks {
            fp32_tflops: Some(15.7),
            fp16_tflops: Some(125.0),
            int8_tops: Some(62.8),
            ..DensePeaks::NONE
        },
        sm_count: Some(80),
        boost_mhz: Some(1530),
        intra_link: Some("nvlink2"),
        pcie: Some(Pcie::GEN3_X16),
        tdp_w: Some(300.0),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "vendor data sheet, checked by SMs × clock; nvidia-smi output",
        ..VOLTA
    },
    Device {
        id: "v100-sxm2-32",
        aliases: &["v100", "v100-32"],
        name: "V100 SXM2 32GB",
        year: 2018,
        memory_marketing_gb: 32.0,
        memory_smi_mib: Some(32_768),
        memory_torch_gib: Some(31.74),
        memory_bandwidth_gb_per_s: 900.0,
        peaks: DensePeaks {
            fp32_tflops: Some(15.7),
            fp16_tflops: Some(125.0),
            int8_tops: Some(62.8),
            ..DensePeaks::NONE
        },
        sm_count: Some(80),
        boost_mhz: Some(1530),
        intra_link: Some("nvlink2"),
        pcie: Some(Pcie::GEN3_X16),
        tdp_w: Some(300.0),
        source: "vendor data sheet, checked by SMs × clock; nvidia-smi output",
        ..VOLTA
    },
    Device {
        id: "v100-pcie-16",
        name: "V100 PCIe 16GB",
        year: 2017,
        memory_marketing_gb: 16.0,
        memory_smi_mib: Some(16_384),
        memory_torch_gib: Some(15.77),
        memory_bandwidth_gb_per_s: 900.0,
        peaks: DensePeaks {
            fp32_tflops: Some(14.0),
            fp16_tflops: Some(112.0),
            int8_tops: Some(56.0),
            ..DensePeaks::NONE
        },
        sm_count: Some(80),
        boost_mhz: Some(1380),
        pcie: Some(Pcie::GEN3_X16),
        tdp_w: Some(250.0),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "vendor data sheet, checked by SMs × clock; nvidia-smi output",
        ..VOLTA
    },
    Device {
        id: "titan-rtx-24",
        aliases: &["titan-rtx"],
        name: "Titan RTX",
        year: 2018,
        segment: Segment::Workstation,
        memory_marketing_gb: 24.0,
        memory_smi_mib: Some(24_220),
        memory_bandwidth_gb_per_s: 672.0,
        peaks: DensePeaks {
            fp32_tflops: Some(16.3),
            fp16_tflops: Some(130.5),
            int8_tops: Some(261.0),
            ..DensePeaks::NONE
        },
        sm_count: Some(72),
        boost_mhz: Some(1770),
        bridge_link: Some("nvlink2-bridge"),
        pcie: Some(Pcie::GEN3_X16),
        tdp_w: Some(280.0),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "vendor data sheet, checked by SMs × clock; usable memory assumed",
        ..TURING
    },
    Device {
        id: "rtx2080ti-11",
        aliases: &["rtx2080ti", "2080ti"],
        name: "GeForce RTX 2080 Ti",
        year: 2018,
        memory_marketing_gb: 11.0,
        memory_smi_mib: Some(11_264),
        memory_bandwidth_gb_per_s: 616.0,
        peaks: DensePeaks {
            fp32_tflops: Some(13.4),
            fp16_tflops: Some(53.8),
            int8_tops: Some(215.2),
            ..DensePeaks::NONE
        },
        sm_count: Some(68),
        boost_mhz: Some(1545),
        bridge_link: Some("nvlink2-bridge"),
        pcie: Some(Pcie::GEN3_X16),
        tdp_w: Some(250.0),
        launch_price_usd: Some(999.0),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "vendor data sheet, checked by SMs × clock",
        ..TURING_CONSUMER
    },
];
