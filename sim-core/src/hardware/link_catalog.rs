//! The catalogue of links.
//!
//! Rates count one direction; vendors often print the sum of both.
//! The rate of a mesh is that of all its links together: one pair of devices has only its share.

use super::basis::Basis;
use super::link::{GroupBandwidth, Link, LinkClass, LinkKind, PeerAccess, RatePer};
use crate::model::suggest;

/// What a row about devices of a node does not say; the latency is an order of magnitude.
const INTRA: Link = Link {
    id: "",
    aliases: &[],
    name: "",
    kind: LinkKind::Intra,
    class: LinkClass::NvSwitch,
    one_way_gb_per_s: 0.0,
    rate_per: RatePer::Port,
    rate_basis: Basis::Published,
    copy_gb_per_s: None,
    latency_us: 0.7,
    latency_basis: Basis::Assumed,
    groups: &[],
    source: "",
};
const HOST: Link = Link { kind: LinkKind::Host, ..INTRA };
const INTER: Link = Link { kind: LinkKind::Inter, ..INTRA };

const MEASURED: GroupBandwidth = GroupBandwidth {
    from_devices: 0,
    observed_devices: 0,
    peers: PeerAccess::Direct,
    all_reduce_gb_per_s: 0.0,
    all_gather_gb_per_s: 0.0,
    half_size_bytes: None,
    smallest_us: None,
    basis: Basis::Measured,
};

/// Every link: inside a node, to the host, between nodes.
pub static LINKS: &[Link] = &[
    Link {
        id: "nvlink1",
        name: "NVLink 1 (P100, 4 links)",
        class: LinkClass::NvlinkMesh,
        one_way_gb_per_s: 80.0,
        source: "S. Bekman, ml-engineering, August 2026",
        ..INTRA
    },
    Link {
        id: "nvlink2",
        name: "NVLink 2 (V100, 6 links)",
        class: LinkClass::NvlinkMesh,
        one_way_gb_per_s: 150.0,
        copy_gb_per_s: Some(43.0),
        groups: &[
            GroupBandwidth {
                from_devices: 2,
                observed_devices: 2,
                all_reduce_gb_per_s: 43.0,
                all_gather_gb_per_s: 43.0,
                basis: Basis::Assumed,
                ..MEASURED
            },
            GroupBandwidth {
                from_devices: 4,
                observed_devices: 4,
                all_reduce_gb_per_s: 86.0,
                all_gather_gb_per_s: 86.0,
                basis: Basis::Assumed,
                ..MEASURED
            },
            GroupBandwidth {
                from_devices: 8,
                observed_devices: 8,
                all_reduce_gb_per_s: 129.14,
                all_gather_gb_per_s: 129.14,
                half_size_bytes: Some(6_981_706.0),
                smallest_us: Some(48.13),
                ..MEASURED
            },
        ],
        source: "S. Bekman, ml-engineering, August 2026; nccl-tests log of a DGX-1, NCCL of 2019; \
                 pairs and quads by their links",
        ..INTRA
    },
    Link {
        id: "nvlink3",
        name: "NVLink 3 and NVSwitch (A100, 12 links)",
        class: LinkClass::NvSwitch,
        one_way_gb_per_s: 300.0,
        copy_gb_per_s: Some(235.0),
        groups: &[GroupBandwidth {
            from_devices: 2,
            observed_devices: 8,
            all_reduce_gb_per_s: 230.84,
            all_gather_gb_per_s: 230.84,
            half_size_bytes: Some(23_048_351.0),
            ..MEASURED
        }],
        source: "S. Bekman, ml-engineering, August 2026; nccl-tests log of 8 × A100-40 SXM; \
                 NVIDIA/nccl-tests#149",
        ..INTRA
    },
    Link {
        id: "nvlink3-a800",
        name: "NVLink 3 cut (A800, 8 links)",
        class: LinkClass::NvSwitch,
        one_way_gb_per_s: 200.0,
        copy_gb_per_s: Some(157.5),
        source: "scaled from the A100",
        ..INTRA
    },
    Link {
        id: "nvlink4",
        name: "NVLink 4 and NVSwitch (H100, H200, 18 links)",
        class: LinkClass::NvSwitch,
        one_way_gb_per_s: 450.0,
        copy_gb_per_s: Some(367.0),
        groups: &[
            GroupBandwidth {
                from_devices: 2,
                observed_devices: 4,
                all_reduce_gb_per_s: 363.0,
                all_gather_gb_per_s: 363.0,
                ..MEASURED
            },
            GroupBandwidth {
                from_devices: 5,
                observed_devices: 5,
                all_reduce_gb_per_s: 414.0,
                all_gather_gb_per_s: 363.0,
                ..MEASURED
            },
            GroupBandwidth {
                from_devices: 6,
                observed_devices: 6,
                all_reduce_gb_per_s: 436.0,
                all_gather_gb_per_s: 363.0,
                ..MEASURED
            },
            GroupBandwidth {
                from_devices: 7,
                observed_devices: 7,
                all_reduce_gb_per_s: 460.0,
                all_gather_gb_per_s: 363.0,
                ..MEASURED
            },
            GroupBandwidth {
                from_devices: 8,
                observed_devices: 8,
                all_reduce_gb_per_s: 480.0,
                all_gather_gb_per_s: 363.0,
                half_size_bytes: Some(18_119_450.0),
                smallest_us: Some(12.88),
                ..MEASURED
            },
        ],
        source: "S. Bekman, ml-engineering, August 2026; nccl-tests logs of 8 × H100 (AWS p5); \
                 H200 by group size",
        ..INTRA
    },
    Link {
        id: "nvlink4-h800",
        name: "NVLink 4 cut (H800, 8 links)",
        class: LinkClass::NvSwitch,
        one_way_gb_per_s: 200.0,
        copy_gb_per_s: Some(165.0),
        groups: &[
            GroupBandwidth {
                from_devices: 2,
                observed_devices: 2,
                all_reduce_gb_per_s: 162.0,
                all_gather_gb_per_s: 162.0,
                basis: Basis::Assumed,
                ..MEASURED
            },
            GroupBandwidth {
                from_devices: 8,
                observed_devices: 8,
                all_reduce_gb_per_s: 215.0,
                all_gather_gb_per_s: 162.0,
                ..MEASURED
            },
        ],
        source: "NVIDIA/nccl#1374 (in-switch reduction); gathers scaled from the H100",
        ..INTRA
    },
    Link {
        id: "nvlink5",
        name: "NVLink 5 and NVSwitch (B200, GB200, B300, 18 links)",
        class: LinkClass::NvSwitch,
        one_way_gb_per_s: 900.0,
        copy_gb_per_s: Some(710.0),
        groups: &[
            GroupBandwidth {
                from_devices: 2,
                observed_devices: 4,
                all_reduce_gb_per_s: 673.0,
                all_gather_gb_per_s: 673.0,
                ..MEASURED
            },
            GroupBandwidth {
                from_devices: 8,
                observed_devices: 8,
                all_reduce_gb_per_s: 838.0,
                all_gather_gb_per_s: 682.0,
                ..MEASURED
            },
            GroupBandwidth {
                from_devices: 72,
                observed_devices: 72,
                all_reduce_gb_per_s: 839.0,
                all_gather_gb_per_s: 680.0,
                ..MEASURED
            },
        ],
        source: "S. Bekman, ml-engineering, August 2026; coreweave/nccl-tests (72 × GB200)",
        ..INTRA
    },
    Link {
        id: "nvlink2-bridge",
        name: "NVLink 2 bridge (RTX 2080 Ti)",
        class: LinkClass::NvlinkBridge,
        one_way_gb_per_s: 50.0,
        source: "vendor data sheet",
        ..INTRA
    },
    Link {
        id: "nvlink3-bridge-ampere",
        name: "NVLink 3 bridge (RTX 3090, A6000, A40)",
        class: LinkClass::NvlinkBridge,
        one_way_gb_per_s: 56.25,
        copy_gb_per_s: Some(51.5),
        source: "vendor data sheet (112.5 GB/s both ways)",
        ..INTRA
    },
    Link {
        id: "nvlink3-bridge-a30",
        name: "NVLink 3 bridge (A30)",
        class: LinkClass::NvlinkBridge,
        one_way_gb_per_s: 100.0,
        source: "vendor data sheet",
        ..INTRA
    },
    Link {
        id: "nvlink3-bridge-a100",
        name: "NVLink 3 bridge (A100 PCIe, 12 links)",
        class: LinkClass::NvlinkBridge,
        one_way_gb_per_s: 300.0,
        copy_gb_per_s: Some(245.0),
        groups: &[GroupBandwidth {
            from_devices: 2,
            observed_devices: 2,
            all_reduce_gb_per_s: 208.0,
            all_gather_gb_per_s: 208.0,
            ..MEASURED
        }],
        source: "S. Bekman, ml-engineering, August 2026",
        ..INTRA
    },
    Link {
        id: "nvlink4-bridge",
        name: "NVLink 4 bridge (H100 PCIe, H100 NVL, 12 links)",
        class: LinkClass::NvlinkBridge,
        one_way_gb_per_s: 300.0,
        copy_gb_per_s: Some(245.0),
        source: "vendor data sheet; NVIDIA/nccl#1161 reports a slow case of 116 GB/s",
        ..INTRA
    },
    Link {
        id: "nvlink4-bridge-h200",
        name: "NVLink 4 bridge (H200 NVL, 18 links)",
        class: LinkClass::NvlinkBridge,
        one_way_gb_per_s: 450.0,
        source: "vendor data sheet",
        ..INTRA
    },
    Link {
        id: "xgmi-mi210",
        name: "xGMI bridge (MI210, 3 links)",
        class: LinkClass::NvlinkBridge,
        one_way_gb_per_s: 150.0,
        source: "vendor data sheet",
        ..INTRA
    },
    Link {
        id: "xgmi-mi250x",
        name: "xGMI mesh (MI250X, 8 links; 7 in other counts)",
        class: LinkClass::FullMesh { peers: 3 },
        one_way_gb_per_s: 400.0,
        source: "S. Bekman, ml-engineering, August 2026",
        ..INTRA
    },
    Link {
        id: "xgmi-mi300x",
        name: "xGMI mesh (MI300X, MI325X, 7 links)",
        class: LinkClass::FullMesh { peers: 7 },
        one_way_gb_per_s: 448.0,
        copy_gb_per_s: Some(47.7),
        groups: &[
            GroupBandwidth {
                from_devices: 2,
                observed_devices: 2,
                all_reduce_gb_per_s: 47.7,
                all_gather_gb_per_s: 47.7,
                ..MEASURED
            },
            GroupBandwidth {
                from_devices: 8,
                observed_devices: 8,
                all_reduce_gb_per_s: 313.0,
                all_gather_gb_per_s: 313.0,
                ..MEASURED
            },
        ],
        source: "S. Bekman, ml-engineering, August 2026",
        ..INTRA
    },
    Link {
        id: "xgmi-mi355x",
        name: "xGMI mesh (MI355X, 7 links)",
        class: LinkClass::FullMesh { peers: 7 },
        one_way_gb_per_s: 535.5,
        copy_gb_per_s: Some(57.0),
        source: "S. Bekman, ml-engineering, August 2026",
        ..INTRA
    },
    Link {
        id: "gaudi2-roce",
        name: "Gaudi 2, 21 × 100G Ethernet in the node",
        class: LinkClass::FullMesh { peers: 7 },
        one_way_gb_per_s: 262.5,
        source: "S. Bekman, ml-engineering, August 2026",
        ..INTRA
    },
    Link {
        id: "gaudi3-roce",
        name: "Gaudi 3, 21 × 200G Ethernet in the node",
        class: LinkClass::FullMesh { peers: 7 },
        one_way_gb_per_s: 525.0,
        source: "S. Bekman, ml-engineering, August 2026",
        ..INTRA
    },
    Link {
        id: "hccs-910b",
        name: "HCCS mesh (Ascend 910B, 7 links)",
        class: LinkClass::FullMesh { peers: 7 },
        one_way_gb_per_s: 196.0,
        rate_basis: Basis::Assumed,
        source: "sources disagree; recalled",
        ..INTRA
    },
    Link {
        id: "ici-v4",
        name: "ICI torus (TPU v4, 6 links)",
        class: LinkClass::Torus,
        one_way_gb_per_s: 300.0,
        rate_basis: Basis::Assumed,
        source: "recalled",
        ..INTRA
    },
    Link {
        id: "ici-v5e",
        name: "ICI torus (TPU v5e, 4 links)",
        class: LinkClass::Torus,
        one_way_gb_per_s: 200.0,
        source: "Google Cloud documentation",
        ..INTRA
    },
    Link {
        id: "ici-v5p",
        name: "ICI torus (TPU v5p, 6 links)",
        class: LinkClass::Torus,
        one_way_gb_per_s: 600.0,
        source: "Google Cloud documentation",
        ..INTRA
    },
    Link {
        id: "nvlink-c2c",
        name: "NVLink-C2C (Grace CPU)",
        class: LinkClass::CoherentHost,
        one_way_gb_per_s: 450.0,
        copy_gb_per_s: Some(359.0),
        latency_us: 0.5,
        source: "S. Bekman, ml-engineering, August 2026 (359 to the device, 377 back)",
        ..HOST
    },
    Link {
        id: "pcie3-x16",
        aliases: &["pcie3"],
        name: "PCIe 3.0 x16",
        class: LinkClass::Pcie,
        one_way_gb_per_s: 15.75,
        copy_gb_per_s: Some(12.2),
        latency_us: 1.5,
        source: "PCI-SIG; NCCL takes 12 GB/s",
        ..HOST
    },
    Link {
        id: "pcie4-x16",
        aliases: &["pcie4"],
        name: "PCIe 4.0 x16",
        class: LinkClass::Pcie,
        one_way_gb_per_s: 31.51,
        copy_gb_per_s: Some(25.5),
        latency_us: 1.3,
        groups: &[
            GroupBandwidth {
                from_devices: 2,
                observed_devices: 4,
                all_reduce_gb_per_s: 25.31,
                all_gather_gb_per_s: 25.31,
                half_size_bytes: Some(977_774.0),
                smallest_us: Some(18.46),
                ..MEASURED
            },
            GroupBandwidth {
                from_devices: 2,
                observed_devices: 8,
                all_reduce_gb_per_s: 15.04,
                all_gather_gb_per_s: 15.04,
                peers: PeerAccess::ThroughHost,
                half_size_bytes: Some(943_133.0),
                smallest_us: Some(38.73),
                ..MEASURED
            },
        ],
        source: "PCI-SIG; nccl-tests logs of 4 × RTX 4090 with patched peer access and 8 without",
        ..HOST
    },
    Link {
        id: "pcie5-x16",
        aliases: &["pcie5"],
        name: "PCIe 5.0 x16",
        class: LinkClass::Pcie,
        one_way_gb_per_s: 63.01,
        copy_gb_per_s: Some(55.1),
        latency_us: 1.1,
        groups: &[GroupBandwidth {
            from_devices: 2,
            observed_devices: 4,
            all_reduce_gb_per_s: 27.26,
            all_gather_gb_per_s: 27.26,
            peers: PeerAccess::ThroughHost,
            half_size_bytes: Some(750_579.0),
            smallest_us: Some(15.32),
            ..MEASURED
        }],
        source: "PCI-SIG; S. Bekman, ml-engineering, August 2026 (H200 to host 55.4, back 55.1); \
                 nccl-tests log of 4 × RTX 5090",
        ..HOST
    },
    Link {
        id: "pcie6-x16",
        aliases: &["pcie6"],
        name: "PCIe 6.0 x16",
        class: LinkClass::Pcie,
        one_way_gb_per_s: 121.0,
        rate_basis: Basis::Assumed,
        latency_us: 1.1,
        source: "S. Bekman, ml-engineering, August 2026",
        ..HOST
    },
    Link {
        id: "pcie4-x8",
        name: "PCIe 4.0 x8 (RTX 4060 Ti)",
        class: LinkClass::Pcie,
        one_way_gb_per_s: 15.75,
        copy_gb_per_s: Some(12.5),
        latency_us: 1.3,
        source: "half of sixteen lanes",
        ..HOST
    },
    Link {
        id: "upi",
        name: "Between sockets (UPI, Infinity Fabric)",
        class: LinkClass::Sockets,
        one_way_gb_per_s: 20.0,
        rate_basis: Basis::Measured,
        copy_gb_per_s: Some(20.0),
        latency_us: 1.5,
        groups: &[GroupBandwidth {
            from_devices: 2,
            observed_devices: 2,
            all_reduce_gb_per_s: 10.0,
            all_gather_gb_per_s: 10.0,
            ..MEASURED
        }],
        source: "NVIDIA/nccl-tests#178 (20 GB/s), #307 (NCCL takes 10)",
        ..HOST
    },
    Link {
        id: "ib-edr",
        aliases: &["ib-100"],
        name: "InfiniBand EDR, one port",
        class: LinkClass::InfiniBand,
        one_way_gb_per_s: 12.5,
        copy_gb_per_s: Some(12.0),
        latency_us: 0.5,
        latency_basis: Basis::Published,
        source: "InfiniBand Trade Association; NVIDIA/nccl-tests#119, #267, #290 (12, 24 and 46 \
                 to 49 GB/s)",
        ..INTER
    },
    Link {
        id: "ib-hdr",
        aliases: &["ib-200"],
        name: "InfiniBand HDR, one port",
        class: LinkClass::InfiniBand,
        one_way_gb_per_s: 25.0,
        copy_gb_per_s: Some(24.0),
        latency_us: 0.6,
        latency_basis: Basis::Published,
        source: "InfiniBand Trade Association; NVIDIA/nccl-tests#119, #267, #290 (12, 24 and 46 \
                 to 49 GB/s)",
        ..INTER
    },
    Link {
        id: "ib-ndr",
        aliases: &["ib-400"],
        name: "InfiniBand NDR, one port",
        class: LinkClass::InfiniBand,
        one_way_gb_per_s: 50.0,
        copy_gb_per_s: Some(48.9),
        latency_us: 0.7,
        groups: &[GroupBandwidth {
            from_devices: 2,
            observed_devices: 10,
            all_reduce_gb_per_s: 48.89,
            all_gather_gb_per_s: 48.89,
            ..MEASURED
        }],
        source: "InfiniBand Trade Association; NVIDIA/nccl-tests#119, #267, #290 (12, 24 and 46 \
                 to 49 GB/s); nccl-tests log of 10 nodes × 1 H100",
        ..INTER
    },
    Link {
        id: "ib-xdr",
        aliases: &["ib-800"],
        name: "InfiniBand XDR, one port",
        class: LinkClass::InfiniBand,
        one_way_gb_per_s: 100.0,
        latency_us: 0.7,
        source: "InfiniBand Trade Association; NVIDIA/nccl-tests#119, #267, #290 (12, 24 and 46 \
                 to 49 GB/s)",
        ..INTER
    },
    Link {
        id: "roce-100",
        name: "RoCE v2, 100 Gbit/s",
        class: LinkClass::Rdma,
        one_way_gb_per_s: 12.5,
        copy_gb_per_s: Some(11.5),
        latency_us: 2.0,
        source: "as InfiniBand; OCI nccl-tests log of 2 × 8 H100",
        ..INTER
    },
    Link {
        id: "roce-200",
        name: "RoCE v2, 200 Gbit/s",
        class: LinkClass::Rdma,
        one_way_gb_per_s: 25.0,
        copy_gb_per_s: Some(23.0),
        latency_us: 2.0,
        source: "as InfiniBand; OCI nccl-tests log of 2 × 8 H100",
        ..INTER
    },
    Link {
        id: "roce-400",
        name: "RoCE v2, 400 Gbit/s",
        class: LinkClass::Rdma,
        one_way_gb_per_s: 50.0,
        copy_gb_per_s: Some(47.0),
        latency_us: 2.0,
        source: "as InfiniBand; OCI nccl-tests log of 2 × 8 H100",
        ..INTER
    },
    Link {
        id: "efa-v2-3200",
        aliases: &["efa"],
        name: "AWS EFA (p5, 32 × 100 Gbit/s a node)",
        class: LinkClass::Rdma,
        one_way_gb_per_s: 400.0,
        rate_per: RatePer::Node,
        copy_gb_per_s: Some(365.0),
        latency_us: 15.0,
        groups: &[GroupBandwidth {
            from_devices: 2,
            observed_devices: 16,
            all_reduce_gb_per_s: 487.09,
            all_gather_gb_per_s: 365.0,
            half_size_bytes: Some(95_938_738.0),
            smallest_us: Some(65.48),
            ..MEASURED
        }],
        source: "aws-samples nccl-tests log of 2 × 8 H100",
        ..INTER
    },
    Link {
        id: "slingshot-polaris",
        aliases: &["slingshot"],
        name: "HPE Slingshot (2 × 200 Gbit/s a node of 4 A100)",
        class: LinkClass::Rdma,
        one_way_gb_per_s: 50.0,
        rate_per: RatePer::Node,
        copy_gb_per_s: Some(36.0),
        latency_us: 2.0,
        groups: &[GroupBandwidth {
            from_devices: 2,
            observed_devices: 8,
            all_reduce_gb_per_s: 36.08,
            all_gather_gb_per_s: 36.08,
            half_size_bytes: Some(3_311_293.0),
            smallest_us: Some(21.99),
            ..MEASURED
        }],
        source: "argonne-lcf/alcf-nccl-tests, tuned (9.4 with TCP, 3.2 mis-set)",
        ..INTER
    },
    Link {
        id: "eth-10",
        aliases: &["ethernet-10"],
        name: "Ethernet 10 Gbit/s, TCP",
        class: LinkClass::Tcp,
        one_way_gb_per_s: 1.25,
        copy_gb_per_s: Some(1.0),
        latency_us: 25.0,
        source: "NVIDIA/nccl#209 (TCP reaches at most 60 % at 32 Gbit/s)",
        ..INTER
    },
    Link {
        id: "eth-25",
        aliases: &["ethernet-25"],
        name: "Ethernet 25 Gbit/s, TCP",
        class: LinkClass::Tcp,
        one_way_gb_per_s: 3.125,
        copy_gb_per_s: Some(2.4),
        latency_us: 20.0,
        source: "NVIDIA/nccl#209 (TCP reaches at most 60 % at 32 Gbit/s)",
        ..INTER
    },
];

/// The link called `name`, by id or alias; case and blanks around it make no difference.
///
/// ```
/// assert_eq!(sim_core::hardware::link_catalog::find("IB-NDR").expect("listed").id, "ib-ndr");
/// ```
pub fn find(name: &str) -> Option<&'static Link> {
    let name = name.trim();
    LINKS.iter().find(|link| {
        link.id.eq_ignore_ascii_case(name)
            || link.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    })
}

/// Up to `count` ids like `name`, nearest first: for a "did you mean".
pub fn suggest(name: &str, count: usize) -> Vec<&'static str> {
    suggest::nearest(name, LINKS.iter().map(|link| link.id), count)
}

#[cfg(test)]
mod tests {
    use super::{LINKS, LinkClass, find, suggest};

    #[test]
    fn names_are_unique_and_find_their_own_link() {
        let mut seen = Vec::new();
        for link in LINKS {
            for name in std::iter::once(&link.id).chain(link.aliases) {
                assert!(!seen.contains(name), "{name} twice");
                assert_eq!(find(name).map(|found| found.id), Some(link.id));
                seen.push(name);
            }
        }
        assert_eq!(suggest("nvlnk4", 1), ["nvlink4"]);
    }

    #[test]
    fn every_link_has_a_source_a_rate_and_its_groups_in_order() {
        for link in LINKS {
            assert!(!link.source.is_empty() && !link.name.is_empty(), "{}", link.id);
            assert!(link.one_way_gb_per_s > 0.0 && link.latency_us > 0.0, "{}", link.id);
            assert!(link.copy_gb_per_s.unwrap_or(0.0) <= link.one_way_gb_per_s, "{}", link.id);
            for rows in link.groups.windows(2) {
                let ordered =
                    rows[0].from_devices < rows[1].from_devices || rows[0].peers != rows[1].peers;
                assert!(ordered, "{}", link.id);
            }
        }
    }

    #[test]
    fn measured_shares_are_the_ones_the_classes_take_over() {
        let share = |id: &str, devices: u32| {
            let link = find(id).expect("listed");
            let row =
                link.groups.iter().find(|row| row.observed_devices == devices).expect("a row");
            row.all_gather_gb_per_s / link.one_way_gb_per_s
        };
        for (id, devices, expected) in [
            ("nvlink3", 8, 0.77),
            ("nvlink4", 8, 0.81),
            ("nvlink5", 8, 0.76),
            ("nvlink3-bridge-a100", 2, 0.69),
            ("xgmi-mi300x", 8, 0.70),
            ("pcie4-x16", 4, 0.80),
            ("ib-ndr", 10, 0.98),
        ] {
            assert!((share(id, devices) - expected).abs() < 0.01, "{id}");
        }
    }

    #[test]
    fn a_mesh_copy_is_no_faster_than_one_of_its_links() {
        for link in LINKS {
            if let (LinkClass::FullMesh { peers }, Some(copy)) = (link.class, link.copy_gb_per_s) {
                assert!(copy <= link.one_way_gb_per_s / f64::from(peers), "{}", link.id);
            }
        }
    }
}
