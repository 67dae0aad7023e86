//! NVIDIA Hopper: H100, H200 and the cut H800 and H20.

use super::{UNSET, USUAL_BASIS};
use crate::hardware::basis::Basis;
use crate::hardware::device::{DensePeaks, Device, DeviceBasis, Family, Pcie, Segment, Vendor};

const HOPPER: Device = Device {
    vendor: Vendor::Nvidia,
    family: Family::Hopper,
    segment: Segment::DataCenter,
    ..UNSET
};

/// All 132 SMs at the boost of the SXM modules.
const SXM_PEAKS: DensePeaks = DensePeaks {
    fp32_tflops: Some(67.0),
    tf32_tflops: Some(494.7),
    fp16_tflops: Some(989.4),
    bf16_tflops: Some(989.4),
    fp8_tflops: Some(1978.9),
    int8_tops: Some(1978.9),
    ..DensePeaks::NONE
};

pub(super) static DEVICES: &[Device] = &[
    Device {
        id: "h100-pcie-80",
        aliases: &["h100-pcie", "h100-80-pcie"],
        name: "H100 PCIe 80GB",
        year: 2022,
        memory_marketing_gb: 80.0,
        memory_smi_mib: Some(81_559),
        memory_torch_gib: Some(79.11),
        memory_bandwidth_gb_per_s: 2000.0,
        peaks: DensePeaks {
            fp32_tflops: Some(51.2),
            tf32_tflops: Some(378.0),
            fp16_tflops: Some(756.0),
            bf16_tflops: Some(756.0),
            fp8_tflops: Some(1513.0),
            int8_tops: Some(1513.0),
            ..DensePeaks::NONE
        },
        sm_count: Some(114),
        boost_mhz: Some(1755),
        bridge_link: Some("nvlink4-bridge"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(350.0),
        cloud_usd_per_hour: Some(3.51),
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..HOPPER
    },
    Device {
        id: "h100-sxm5-80",
        aliases: &["h100", "h100-80", "h100-sxm", "h100-80-hbm3"],
        name: "H100 SXM5 80GB",
        year: 2022,
        memory_marketing_gb: 80.0,
        memory_smi_mib: Some(81_559),
        memory_torch_gib: Some(79.19),
        memory_bandwidth_gb_per_s: 3350.0,
        peaks: SXM_PEAKS,
        sm_count: Some(132),
        boost_mhz: Some(1830),
        measured_bf16_tflops: Some(794.5),
        intra_link: Some("nvlink4"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(700.0),
        cloud_usd_per_hour: Some(4.76),
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..HOPPER
    },
    Device {
        id: "h100-sxm5-96-hbm2e",
        aliases: &["h100-96", "h100-hbm2e"],
        name: "H100 SXM5 96GB HBM2e (500 W)",
        year: 2023,
        memory_marketing_gb: 96.0,
        memory_smi_mib: Some(97_871),
        memory_torch_gib: Some(95.04),
        memory_bandwidth_gb_per_s: 2400.0,
        peaks: SXM_PEAKS,
        sm_count: Some(132),
        boost_mhz: Some(1830),
        intra_link: Some("nvlink4"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(500.0),
        basis: DeviceBasis { memory: Basis::Assumed, ..USUAL_BASIS },
        source: "torchtitan's benchmark pages: HBM2e at 2.4 TB/s, 500 W; peaks of the H100 SXM5, \
                 driver memory of the H20 and GH200",
        ..HOPPER
    },
    Device {
        id: "h100-nvl-94",
        aliases: &["h100-nvl", "h100-94"],
        name: "H100 NVL 94GB (per card)",
        year: 2023,
        memory_marketing_gb: 94.0,
        memory_smi_mib: Some(95_830),
        memory_bandwidth_gb_per_s: 3938.0,
        peaks: DensePeaks {
            fp32_tflops: Some(60.0),
            tf32_tflops: Some(417.5),
            fp16_tflops: Some(835.5),
            bf16_tflops: Some(835.5),
            fp8_tflops: Some(1671.0),
            int8_tops: Some(1671.0),
            ..DensePeaks::NONE
        },
        sm_count: Some(132),
        boost_mhz: Some(1785),
        bridge_link: Some("nvlink4-bridge"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(400.0),
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..HOPPER
    },
    Device {
        id: "h800-sxm5-80",
        aliases: &["h800", "h800-80", "h800-sxm"],
        name: "H800 SXM5 80GB",
        year: 2022,
        memory_marketing_gb: 80.0,
        memory_smi_mib: Some(81_559),
        memory_torch_gib: Some(79.19),
        memory_bandwidth_gb_per_s: 3350.0,
        peaks: SXM_PEAKS,
        intra_link: Some("nvlink4-h800"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(700.0),
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..HOPPER
    },
    Device {
        id: "h20-96",
        aliases: &["h20"],
        name: "H20 96GB",
        year: 2024,
        memory_marketing_gb: 96.0,
        memory_smi_mib: Some(97_871),
        memory_bandwidth_gb_per_s: 4000.0,
        peaks: DensePeaks {
            fp32_tflops: Some(44.0),
            tf32_tflops: Some(74.0),
            fp16_tflops: Some(148.0),
            bf16_tflops: Some(148.0),
            fp8_tflops: Some(296.0),
            int8_tops: Some(296.0),
            ..DensePeaks::NONE
        },
        intra_link: Some("nvlink4"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(400.0),
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..HOPPER
    },
    Device {
        id: "h200-sxm-141",
        aliases: &["h200", "h200-141", "h200-sxm"],
        name: "H200 SXM 141GB",
        year: 2024,
        memory_marketing_gb: 141.0,
        memory_smi_mib: Some(143_771),
        memory_torch_gib: Some(139.8),
        memory_bandwidth_gb_per_s: 4800.0,
        peaks: SXM_PEAKS,
        sm_count: Some(132),
        boost_mhz: Some(1830),
        intra_link: Some("nvlink4"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(700.0),
        cloud_usd_per_hour: Some(6.35),
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..HOPPER
    },
    Device {
        id: "h200-nvl-141",
        aliases: &["h200-nvl"],
        name: "H200 NVL 141GB",
        year: 2024,
        memory_marketing_gb: 141.0,
        memory_smi_mib: Some(143_771),
        memory_bandwidth_gb_per_s: 4800.0,
        peaks: DensePeaks {
            fp32_tflops: Some(60.0),
            tf32_tflops: Some(417.5),
            fp16_tflops: Some(835.5),
            bf16_tflops: Some(835.5),
            fp8_tflops: Some(1671.0),
            int8_tops: Some(1671.0),
            ..DensePeaks::NONE
        },
        bridge_link: Some("nvlink4-bridge-h200"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(600.0),
        basis: DeviceBasis { peaks: Basis::Assumed, ..USUAL_BASIS },
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..HOPPER
    },
    Device {
        id: "gh200-96",
        aliases: &["gh200"],
        name: "GH200 Grace Hopper 96GB",
        year: 2023,
        memory_marketing_gb: 96.0,
        memory_smi_mib: Some(97_871),
        memory_bandwidth_gb_per_s: 4000.0,
        peaks: SXM_PEAKS,
        intra_link: Some("nvlink4"),
        pcie: Some(Pcie::GEN5_X16),
        tdp_w: Some(900.0),
        basis: DeviceBasis { peaks: Basis::Assumed, ..USUAL_BASIS },
        source: "S. Bekman, ml-engineering, August 2026; nvidia-smi output",
        ..HOPPER
    },
];
