//! NVIDIA Ada: L4, L40, L40S, RTX 40, RTX 6000 Ada.

use super::{UNSET, USUAL_BASIS};
use crate::hardware::basis::Basis;
use crate::hardware::device::{DensePeaks, Device, DeviceBasis, Family, Pcie, Segment, Vendor};

const ADA_CONSUMER: Device =
    Device { vendor: Vendor::Nvidia, family: Family::Ada, segment: Segment::Consumer, ..UNSET };
const ADA_WORKSTATION: Device =
    Device { vendor: Vendor::Nvidia, family: Family::Ada, segment: Segment::Workstation, ..UNSET };
const ADA: Device =
    Device { vendor: Vendor::Nvidia, family: Family::Ada, segment: Segment::DataCenter, ..UNSET };

pub(super) static DEVICES: &[Device] = &[
    Device {
        id: "rtx4060ti-16",
        aliases: &["rtx4060ti", "4060ti"],
        name: "GeForce RTX 4060 Ti 16GB",
        year: 2023,
        memory_marketing_gb: 16.0,
        memory_smi_mib: Some(16_380),
        memory_bandwidth_gb_per_s: 288.0,
        peaks: DensePeaks {
            fp32_tflops: Some(22.1),
            tf32_tflops: Some(22.1),
            fp16_tflops: Some(44.1),
            bf16_tflops: Some(44.1),
            fp8_tflops: Some(88.3),
            int8_tops: Some(176.6),
            ..DensePeaks::NONE
        },
        sm_count: Some(34),
        boost_mhz: Some(2535),
        pcie: Some(Pcie::GEN4_X8),
        tdp_w: Some(165.0),
        launch_price_usd: Some(499.0),
        source: "vendor data sheet, checked by SMs × clock; nvidia-smi output",
        ..ADA_CONSUMER
    },
    Device {
        id: "rtx4080-16",
        aliases: &["rtx4080", "4080"],
        name: "GeForce RTX 4080",
        year: 2022,
        memory_marketing_gb: 16.0,
        memory_smi_mib: Some(16_376),
        memory_bandwidth_gb_per_s: 717.0,
        peaks: DensePeaks {
            fp32_tflops: Some(48.7),
            tf32_tflops: Some(48.7),
            fp16_tflops: Some(97.5),
            bf16_tflops: Some(97.5),
            fp8_tflops: Some(194.9),
            int8_tops: Some(389.8),
            ..DensePeaks::NONE
        },
        sm_count: Some(76),
        boost_mhz: Some(2505),
        pcie: Some(Pcie::GEN4_X16),
        tdp_w: Some(320.0),
        launch_price_usd: Some(1199.0),
        source: "vendor data sheet, checked by SMs × clock; nvidia-smi output",
        ..ADA_CONSUMER
    },
    Device {
        id: "rtx4090-24",
        aliases: &["rtx4090", "4090"],
        name: "GeForce RTX 4090",
        year: 2022,
        memory_marketing_gb: 24.0,
        memory_smi_mib: Some(24_564),
        memory_torch_gib: Some(23.64),
        memory_bandwidth_gb_per_s: 1008.0,
        peaks: DensePeaks {
            fp32_tflops: Some(82.6),
            tf32_tflops: Some(82.6),
            fp16_tflops: Some(165.2),
            bf16_tflops: Some(165.2),
            fp8_tflops: Some(330.3),
            int8_tops: Some(660.6),
            ..DensePeaks::NONE
        },
        sm_count: Some(128),
        boost_mhz: Some(2520),
        pcie: Some(Pcie::GEN4_X16),
        tdp_w: Some(450.0),
        launch_price_usd: Some(1599.0),
        cloud_usd_per_hour: Some(0.6),
        source: "vendor data sheet, checked by SMs × clock; nvidia-smi output",
        ..ADA_CONSUMER
    },
    Device {
        id: "rtx6000-ada-48",
        aliases: &["rtx6000-ada", "rtx6000-ada-generation"],
        name: "RTX 6000 Ada",
        year: 2022,
        memory_marketing_gb: 48.0,
        memory_smi_mib: Some(49_140),
        memory_bandwidth_gb_per_s: 960.0,
        peaks: DensePeaks {
            fp32_tflops: Some(91.1),
            tf32_tflops: Some(182.1),
            fp16_tflops: Some(364.2),
            bf16_tflops: Some(364.2),
            fp8_tflops: Some(728.5),
            int8_tops: Some(728.5),
            ..DensePeaks::NONE
        },
        sm_count: Some(142),
        boost_mhz: Some(2505),
        pcie: Some(Pcie::GEN4_X16),
        tdp_w: Some(300.0),
        launch_price_usd: Some(6799.0),
        source: "vendor data sheet, checked by SMs × clock; nvidia-smi output",
        ..ADA_WORKSTATION
    },
    Device {
        id: "l4-24",
        aliases: &["l4"],
        name: "L4",
        year: 2023,
        memory_marketing_gb: 24.0,
        memory_smi_mib: Some(23_034),
        memory_torch_gib: Some(22.03),
        memory_bandwidth_gb_per_s: 300.0,
        peaks: DensePeaks {
            fp32_tflops: Some(30.3),
            tf32_tflops: Some(60.0),
            fp16_tflops: Some(121.0),
            bf16_tflops: Some(121.0),
            fp8_tflops: Some(242.5),
            int8_tops: Some(242.5),
            ..DensePeaks::NONE
        },
        sm_count: Some(58),
        boost_mhz: Some(2040),
        pcie: Some(Pcie::GEN4_X16),
        tdp_w: Some(72.0),
        cloud_usd_per_hour: Some(0.78),
        source: "vendor data sheet, checked by SMs × clock; nvidia-smi output",
        ..ADA
    },
    Device {
        id: "l40-48",
        aliases: &["l40"],
        name: "L40",
        year: 2022,
        memory_marketing_gb: 48.0,
        memory_smi_mib: Some(46_068),
        memory_bandwidth_gb_per_s: 864.0,
        peaks: DensePeaks {
            fp32_tflops: Some(90.5),
            tf32_tflops: Some(90.5),
            fp16_tflops: Some(181.0),
            bf16_tflops: Some(181.0),
            fp8_tflops: Some(362.0),
            int8_tops: Some(362.0),
            ..DensePeaks::NONE
        },
        pcie: Some(Pcie::GEN4_X16),
        tdp_w: Some(300.0),
        cloud_usd_per_hour: Some(1.22),
        basis: DeviceBasis { peaks: Basis::Assumed, ..USUAL_BASIS },
        source: "vendor data sheet, recalled",
        ..ADA
    },
    Device {
        id: "l40s-48",
        aliases: &["l40s"],
        name: "L40S",
        year: 2023,
        memory_marketing_gb: 48.0,
        memory_smi_mib: Some(46_068),
        memory_torch_gib: Some(44.4),
        memory_bandwidth_gb_per_s: 864.0,
        peaks: DensePeaks {
            fp32_tflops: Some(91.6),
            tf32_tflops: Some(183.0),
            fp16_tflops: Some(362.0),
            bf16_tflops: Some(362.0),
            fp8_tflops: Some(733.0),
            int8_tops: Some(733.0),
            ..DensePeaks::NONE
        },
        sm_count: Some(142),
        boost_mhz: Some(2520),
        pcie: Some(Pcie::GEN4_X16),
        tdp_w: Some(350.0),
        cloud_usd_per_hour: Some(1.4),
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..ADA
    },
];
