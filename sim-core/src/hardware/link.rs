//! Links between devices, nodes and hosts, and the bandwidth that collectives reach on them.
//!
//! Bus bandwidth is NCCL's: what every device sends over its slowest link per second while a
//! collective runs, GB/s; it compares with the one-way rate.

use super::basis::Basis;
use super::device::{Device, Family, Segment};
use super::link_catalog::{LINKS, find};

/// What a link connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// Devices of one node (or of one NVLink domain).
    Intra,
    /// Nodes.
    Inter,
    /// A device and its host; also devices over the host's PCIe.
    Host,
}

/// How a link is built: decides what share of its rate a collective reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkClass {
    /// NVLink through switches: every pair has the full rate.
    NvSwitch,
    /// NVLink between some pairs only (DGX-1).
    NvlinkMesh,
    /// An NVLink bridge over two (or four) cards.
    NvlinkBridge,
    /// A full mesh of `peers + 1` devices: one pair has only its own share of the rate.
    FullMesh {
        peers: u32,
    },
    /// A torus of chips (TPU).
    Torus,
    Pcie,
    /// A coherent link to the CPU (Grace).
    CoherentHost,
    /// Between the sockets of a node.
    Sockets,
    InfiniBand,
    /// RDMA over Ethernet, also EFA and Slingshot.
    Rdma,
    /// TCP over Ethernet.
    Tcp,
}

/// Whether devices read each other's memory over PCIe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerAccess {
    Direct,
    /// Copies go through host memory.
    ThroughHost,
}

/// What one rate belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatePer {
    /// A device (intra, host) or a port (inter).
    Port,
    /// All network ports of a node together.
    Node,
}

/// What collectives reach on groups of a link: a measurement, or an assumption where marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupBandwidth {
    /// The smallest group that this row stands for.
    pub from_devices: u32,
    /// The group it was observed on.
    pub observed_devices: u32,
    pub peers: PeerAccess,
    /// Largest bus bandwidth of all-reduce, GB/s. In-switch reduction (NVLS) lifts it above the
    /// other collectives.
    pub all_reduce_gb_per_s: f64,
    /// Largest bus bandwidth of all-gather and reduce-scatter, GB/s.
    pub all_gather_gb_per_s: f64,
    /// All-reduce size that reaches half of the largest bandwidth, bytes.
    pub half_size_bytes: Option<f64>,
    /// Time of the smallest all-reduce, µs.
    pub smallest_us: Option<f64>,
    pub basis: Basis,
}

/// One link of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    pub id: &'static str,
    pub aliases: &'static [&'static str],
    pub name: &'static str,
    pub kind: LinkKind,
    pub class: LinkClass,
    /// Peak in one direction, GB/s.
    pub one_way_gb_per_s: f64,
    pub rate_per: RatePer,
    pub rate_basis: Basis,
    /// What one copy in one direction reaches, GB/s.
    pub copy_gb_per_s: Option<f64>,
    /// One way, µs, without the software of a collective.
    pub latency_us: f64,
    pub latency_basis: Basis,
    /// Observed collectives: by peer access, then by rising group.
    pub groups: &'static [GroupBandwidth],
    pub source: &'static str,
}

/// What a collective over a group reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BusBandwidth {
    /// Bus bandwidth of all-reduce, GB/s.
    pub all_reduce_gb_per_s: f64,
    /// Bus bandwidth of all-gather and reduce-scatter, GB/s.
    pub all_gather_gb_per_s: f64,
    /// Time of one step of a ring with nothing to send, µs.
    pub step_latency_us: f64,
    /// All-reduce size that reaches half of the bandwidth, bytes, where measured.
    pub half_size_bytes: Option<f64>,
    /// Basis of the two bandwidths.
    pub basis: Basis,
}

/// Share of the one-way rate that a collective reaches where nobody measured the link itself.
/// Ratios of the measured rows: A100 0.77, H100 (ring) 0.81, B200 0.76, MI300X mesh 0.70,
/// A100 bridge 0.69, PCIe 4 with peer access 0.80, without 0.46, InfiniBand 0.96.
fn usual_share(class: LinkClass, peers: PeerAccess) -> f64 {
    match class {
        LinkClass::NvSwitch | LinkClass::NvlinkMesh => 0.77,
        LinkClass::NvlinkBridge => 0.69,
        LinkClass::FullMesh { .. } | LinkClass::Torus => 0.70,
        LinkClass::Pcie => match peers {
            PeerAccess::Direct => 0.80,
            PeerAccess::ThroughHost => 0.46,
        },
        LinkClass::CoherentHost => 0.80,
        LinkClass::Sockets => 0.50,
        LinkClass::InfiniBand => 0.96,
        LinkClass::Rdma => 0.92,
        LinkClass::Tcp => 0.80,
    }
}

/// Time of one ring step with nothing to send, µs, where it was not measured.
///
/// Smallest all-reduces divided by 2(n−1): 8 × H100 0.9, 4 × RTX 4090 3.1, two nodes over
/// Slingshot 1.6, over EFA 2.2.
fn usual_step_us(link: &Link) -> f64 {
    let software_us = match link.class {
        LinkClass::NvSwitch
        | LinkClass::NvlinkMesh
        | LinkClass::NvlinkBridge
        | LinkClass::FullMesh { .. }
        | LinkClass::Torus => 0.9,
        LinkClass::Pcie | LinkClass::CoherentHost | LinkClass::Sockets => 3.0,
        LinkClass::InfiniBand | LinkClass::Rdma => 2.0,
        LinkClass::Tcp => 5.0,
    };
    libm::fmax(software_us, link.latency_us)
}

impl Link {
    /// The name without what it is found on: `NVLink 3`, `InfiniBand NDR`, `PCIe 4.0 x16`.
    ///
    /// ```
    /// use sim_core::hardware::link_catalog::find;
    /// assert_eq!(find("nvlink3").expect("listed").short_name(), "NVLink 3");
    /// assert_eq!(find("ib-ndr").expect("listed").short_name(), "InfiniBand NDR");
    /// ```
    pub fn short_name(&self) -> &'static str {
        let end = [" (", " and ", ", "].iter().filter_map(|mark| self.name.find(mark)).min();
        &self.name[..end.unwrap_or(self.name.len())]
    }

    /// What a collective reaches over a group of `devices`, each with one port of this link.
    ///
    /// The row that stands for groups of this size counts; without one, the one-way rate times the
    /// share usual for the class, of which a mesh gives a group of n only (n−1)/peers.
    ///
    /// ```
    /// use sim_core::hardware::{Basis, PeerAccess, link_catalog::find};
    /// let nvlink4 = find("nvlink4").expect("listed");
    /// let bus = nvlink4.bus_bandwidth(8, PeerAccess::Direct);
    /// assert_eq!((bus.all_reduce_gb_per_s, bus.all_gather_gb_per_s), (480.0, 363.0));
    /// assert_eq!(bus.basis, Basis::Measured);
    /// // A cut A800 was not measured: 0.77 of 200 GB/s.
    /// let a800 = find("nvlink3-a800").expect("listed").bus_bandwidth(8, PeerAccess::Direct);
    /// assert_eq!(a800.all_reduce_gb_per_s, 154.0);
    /// ```
    pub fn bus_bandwidth(&self, devices: u32, peers: PeerAccess) -> BusBandwidth {
        let mut rows = self.groups.iter().filter(|row| row.peers == peers);
        let row = rows.rfind(|row| row.from_devices <= devices.max(2));
        // In a mesh every group size has its own number of links: no row stands for another.
        let is_mesh = matches!(self.class, LinkClass::FullMesh { .. });
        if let Some(row) = row.filter(|row| !is_mesh || row.observed_devices == devices) {
            let steps = f64::from(2 * row.observed_devices.saturating_sub(1).max(1));
            return BusBandwidth {
                all_reduce_gb_per_s: row.all_reduce_gb_per_s,
                all_gather_gb_per_s: row.all_gather_gb_per_s,
                step_latency_us: row.smallest_us.map_or(usual_step_us(self), |us| us / steps),
                half_size_bytes: row.half_size_bytes,
                basis: row.basis,
            };
        }
        let reachable = match self.class {
            LinkClass::FullMesh { peers } => {
                f64::from(devices.saturating_sub(1).clamp(1, peers)) / f64::from(peers)
            }
            _ => 1.0,
        };
        let gb_per_s = self.one_way_gb_per_s * usual_share(self.class, peers) * reachable;
        BusBandwidth {
            all_reduce_gb_per_s: gb_per_s,
            all_gather_gb_per_s: gb_per_s,
            step_latency_us: usual_step_us(self),
            half_size_bytes: None,
            basis: Basis::Assumed,
        }
    }

    /// What one copy between two ends reaches in one direction, GB/s.
    ///
    /// Over PCIe without peer access a copy between devices goes through host memory: 0.62 of the
    /// rate (19 to 20 of 31.5 GB/s on RTX 4090s). For a copy between device and host pass
    /// [`PeerAccess::Direct`].
    pub fn copy_gb_per_s(&self, peers: PeerAccess) -> f64 {
        const THROUGH_HOST_SHARE: f64 = 0.62;
        match (self.class, peers) {
            (LinkClass::Pcie, PeerAccess::ThroughHost) => {
                self.one_way_gb_per_s * THROUGH_HOST_SHARE
            }
            _ => {
                self.copy_gb_per_s.unwrap_or(self.one_way_gb_per_s * usual_share(self.class, peers))
            }
        }
    }
}

/// Whether devices of this kind reach each other's memory over PCIe.
///
/// Data-centre and workstation cards do; NVIDIA's driver does not offer it on GeForce.
pub fn peer_access(device: &Device) -> PeerAccess {
    match device.segment {
        Segment::DataCenter | Segment::Workstation => PeerAccess::Direct,
        Segment::Consumer | Segment::Integrated => PeerAccess::ThroughHost,
    }
}

/// The link between devices of one node: the switch or mesh that comes with the board, else PCIe.
///
/// `None` for chips that are not built into nodes (Apple). Bridges are extra: see
/// [`Device::bridge_link`].
///
/// ```
/// use sim_core::hardware::{catalog, link};
/// let link_of = |id| link::usual_intra_link(catalog::find(id).expect(id)).map(|link| link.id);
/// assert_eq!(link_of("a100-sxm-80gb"), Some("nvlink3"));
/// assert_eq!(link_of("rtx-3090"), Some("pcie4-x16"));
/// assert_eq!(link_of("m3-max"), None);
/// ```
pub fn usual_intra_link(device: &Device) -> Option<&'static Link> {
    device.intra_link.and_then(find).or_else(|| pcie_link(device))
}

/// The link between a device and its host's memory: PCIe, or NVLink-C2C beside a Grace CPU.
pub fn host_link(device: &Device) -> Option<&'static Link> {
    match device.id {
        "gh200-96" | "gb200-186" | "gb300-288" => find("nvlink-c2c"),
        _ => pcie_link(device),
    }
}

fn pcie_link(device: &Device) -> Option<&'static Link> {
    let pcie = device.pcie?;
    let id = match (pcie.generation, pcie.lanes) {
        (3, _) => "pcie3-x16",
        (4, 8) => "pcie4-x8",
        (4, _) => "pcie4-x16",
        (5, _) => "pcie5-x16",
        _ => "pcie6-x16",
    };
    LINKS.iter().find(|link| link.id == id)
}

/// How many network ports a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    OnePerDevice,
    PerNode(u32),
}

/// The network between nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeNetwork {
    pub link: &'static Link,
    pub ports: Ports,
    pub basis: Basis,
}

/// The network that nodes of such devices usually have.
///
/// NVIDIA's reference systems: DGX-1 with four EDR ports, DGX A100 one HDR port a device, DGX H100
/// and B200 one NDR port, B300 one XDR port; AMD's with 400G RoCE. Everything else is assumed to
/// share one 25G Ethernet port, as rented and home-built nodes do.
///
/// ```
/// use sim_core::hardware::{catalog, link};
/// let network = link::usual_network(catalog::find("h100").expect("listed"));
/// assert_eq!(network.link.id, "ib-ndr");
/// ```
pub fn usual_network(device: &Device) -> NodeNetwork {
    let switched = device.intra_link.is_some();
    let (id, ports, basis) = match device.family {
        Family::Volta if switched => ("ib-edr", Ports::PerNode(4), Basis::Published),
        Family::Ampere if switched => ("ib-hdr", Ports::OnePerDevice, Basis::Published),
        Family::Hopper if switched => ("ib-ndr", Ports::OnePerDevice, Basis::Published),
        Family::Blackwell if switched => ("ib-ndr", Ports::OnePerDevice, Basis::Published),
        Family::BlackwellUltra if switched => ("ib-xdr", Ports::OnePerDevice, Basis::Published),
        Family::Cdna3 | Family::Cdna4 => ("roce-400", Ports::OnePerDevice, Basis::Assumed),
        Family::Cdna2 if switched => ("roce-200", Ports::OnePerDevice, Basis::Assumed),
        _ => ("eth-25", Ports::PerNode(1), Basis::Assumed),
    };
    let link = find(id).expect("the networks named above are in the catalogue");
    NodeNetwork { link, ports, basis }
}

#[cfg(test)]
mod tests {
    use super::{LinkClass, LinkKind, PeerAccess, Ports, peer_access, usual_network};
    use super::{host_link, usual_intra_link};
    use crate::hardware::link_catalog::{LINKS, find};
    use crate::hardware::{Basis, catalog};

    #[test]
    fn in_switch_reduction_lifts_all_reduce_only() {
        for id in ["nvlink4", "nvlink5"] {
            let bus = find(id).expect(id).bus_bandwidth(8, PeerAccess::Direct);
            assert!(bus.all_reduce_gb_per_s > 1.2 * bus.all_gather_gb_per_s, "{id}");
        }
        let a100 = find("nvlink3").expect("listed").bus_bandwidth(8, PeerAccess::Direct);
        assert_eq!(a100.all_reduce_gb_per_s, a100.all_gather_gb_per_s);
    }

    #[test]
    fn a_mesh_does_not_lend_its_links() {
        let xgmi = find("xgmi-mi300x").expect("listed");
        assert_eq!(xgmi.bus_bandwidth(2, PeerAccess::Direct).all_reduce_gb_per_s, 47.7);
        assert_eq!(xgmi.bus_bandwidth(8, PeerAccess::Direct).all_reduce_gb_per_s, 313.0);
        let four = xgmi.bus_bandwidth(4, PeerAccess::Direct);
        // Three links of 64 GB/s at 0.70.
        assert!((four.all_reduce_gb_per_s - 134.4).abs() < 1e-9);
        assert_eq!(four.basis, Basis::Assumed);
    }

    #[test]
    fn geforce_shares_pcie_through_the_host() {
        let geforce = catalog::find("rtx-4090").expect("listed");
        assert_eq!(peer_access(geforce), PeerAccess::ThroughHost);
        let link = usual_intra_link(geforce).expect("PCIe");
        let bus = link.bus_bandwidth(8, peer_access(geforce));
        assert_eq!((bus.all_reduce_gb_per_s, bus.basis), (15.04, Basis::Measured));
        let direct = link.bus_bandwidth(8, PeerAccess::Direct);
        assert!(direct.all_reduce_gb_per_s > 1.5 * bus.all_reduce_gb_per_s);
    }

    #[test]
    fn every_device_has_the_links_it_names() {
        for device in catalog::devices() {
            for id in device.intra_link.iter().chain(device.bridge_link.iter()) {
                let link = find(id).expect(id);
                assert_eq!(link.kind, LinkKind::Intra, "{}", device.id);
            }
            if let Some(link) = host_link(device) {
                assert_eq!(link.kind, LinkKind::Host, "{}", device.id);
            }
            let network = usual_network(device);
            assert_eq!(network.link.kind, LinkKind::Inter, "{}", device.id);
            assert!(network.ports != Ports::PerNode(0));
        }
    }

    #[test]
    fn pcie_rates_of_devices_and_links_agree() {
        for device in catalog::devices() {
            if let (Some(pcie), Some(link)) = (device.pcie, host_link(device))
                && link.class == LinkClass::Pcie
            {
                assert_eq!(pcie.gb_per_s, link.one_way_gb_per_s, "{}", device.id);
            }
        }
    }

    #[test]
    fn every_bandwidth_is_positive_and_plausible() {
        for link in LINKS {
            for devices in [0, 1, 2, 3, 4, 8, 72, u32::MAX] {
                for peers in [PeerAccess::Direct, PeerAccess::ThroughHost] {
                    let bus = link.bus_bandwidth(devices, peers);
                    assert!(bus.all_gather_gb_per_s > 0.0, "{}", link.id);
                    assert!(bus.all_gather_gb_per_s <= link.one_way_gb_per_s, "{}", link.id);
                    assert!(bus.all_reduce_gb_per_s <= 1.25 * link.one_way_gb_per_s, "{}", link.id);
                    assert!(bus.step_latency_us > 0.0 && link.copy_gb_per_s(peers) > 0.0);
                }
            }
        }
    }
}
