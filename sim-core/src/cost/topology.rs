//! Which link a group of ranks talks over.

use super::{Exchange, Group};
use crate::hardware::link::{PeerAccess, Ports, RatePer};
use crate::hardware::measured::gpu::{self, Gpu};
use crate::hardware::{Basis, Device, Link};

/// A link of a cluster: from the catalogue, or by its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClusterLink {
    Catalogue(&'static Link),
    /// Taken as reached, one direction.
    Custom {
        gb_per_s: f64,
        latency_us: f64,
    },
}

/// How the GPUs of a job are joined.
///
/// Ranks are numbered as in Megatron: tensor-parallel neighbours first, then replicas, then
/// pipeline stages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Topology {
    pub intra: ClusterLink,
    pub inter: ClusterLink,
    /// Network ports of a node.
    pub ports: Ports,
    pub peers: PeerAccess,
    pub devices_per_node: u64,
    /// The GPU whose collectives within a node were timed, where its own switch is what joins them.
    pub timed: Option<&'static Gpu>,
}

impl ClusterLink {
    /// The name to show.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Catalogue(link) => link.short_name(),
            Self::Custom { .. } => "custom",
        }
    }
}

/// The GPU whose timed collectives hold for devices joined by a link: those of its own switch.
/// Groups that send at the same time don't disturb each other there.
pub fn timed_on(device: &Device, intra: ClusterLink) -> Option<&'static Gpu> {
    match intra {
        ClusterLink::Catalogue(link) if device.intra_link == Some(link.id) => {
            gpu::of_device(device)
        }
        _ => None,
    }
}

impl Topology {
    /// The group of `ranks` ranks whose numbers are `stride` apart.
    pub fn group(&self, ranks: u64, stride: u64) -> Group {
        let per_node = (self.devices_per_node / stride).clamp(1, ranks);
        let inside = self.inside(per_node);
        if per_node == ranks {
            return Group { ranks, timed: self.timed, ..inside };
        }
        let outside = self.outside(per_node);
        let limits = per_node == 1 || outside.all_gather < inside.all_gather;
        Group {
            ranks,
            link: outside.link,
            all_reduce: if per_node == 1 {
                outside.all_reduce
            } else {
                libm::fmin(inside.all_reduce, outside.all_reduce)
            },
            all_gather: if per_node == 1 {
                outside.all_gather
            } else {
                libm::fmin(inside.all_gather, outside.all_gather)
            },
            step_latency: libm::fmax(inside.step_latency, outside.step_latency),
            half_size: if limits { outside.half_size } else { inside.half_size },
            basis: inside.basis.weaker(outside.basis),
            source: outside.source,
            timed: None,
        }
    }

    /// A ring of `ranks` ranks whose numbers are `stride` apart: all pass on at the same time, so
    /// the slowest way between two neighbours decides.
    pub fn ring(&self, ranks: u64, stride: u64) -> Group {
        let crosses = ranks * stride > self.devices_per_node;
        let next = if crosses { self.devices_per_node } else { 0 };
        Group { ranks, ..self.neighbour(0, next) }
    }

    /// The group of `ranks` ranks whose numbers are `stride` apart, each sending to all others.
    pub fn exchange(&self, ranks: u64, stride: u64) -> Exchange {
        let per_node = (self.devices_per_node / stride).clamp(1, ranks);
        Exchange {
            inside: Group {
                ranks,
                timed: self.timed.filter(|_| per_node == ranks),
                ..self.inside(per_node)
            },
            per_node,
            outside: Group { ranks, ..self.outside(1) },
        }
    }

    /// The way from a rank to the same rank of another pipeline stage: a copy within the node, or
    /// the sender's share of the node's ports.
    pub fn neighbour(&self, from: u64, to: u64) -> Group {
        if from / self.devices_per_node != to / self.devices_per_node {
            return Group { ranks: 2, ..self.outside(1) };
        }
        let mut group = Group { ranks: 2, half_size: 0.0, ..self.inside(2) };
        if let ClusterLink::Catalogue(link) = self.intra {
            group.all_gather = link.copy_gb_per_s(self.peers) * 1e9;
        }
        group
    }

    /// Within a node.
    fn inside(&self, ranks: u64) -> Group {
        match self.intra {
            ClusterLink::Custom { gb_per_s, latency_us } => custom(gb_per_s, latency_us),
            ClusterLink::Catalogue(link) => {
                let devices = u32::try_from(ranks).unwrap_or(u32::MAX);
                let bus = link.bus_bandwidth(devices, self.peers);
                Group {
                    ranks: 1,
                    link: link.short_name(),
                    all_reduce: bus.all_reduce_gb_per_s * 1e9,
                    all_gather: bus.all_gather_gb_per_s * 1e9,
                    step_latency: bus.step_latency_us * 1e-6,
                    half_size: bus.half_size_bytes.unwrap_or(0.0),
                    basis: bus.basis,
                    source: link.source,
                    timed: None,
                }
            }
        }
    }

    /// Between nodes, for a group with `per_node` ranks in each: their share of the node's ports
    /// together, since the groups of all other ranks send at the same time.
    fn outside(&self, per_node: u64) -> Group {
        let share = per_node as f64 / self.devices_per_node as f64;
        match self.inter {
            ClusterLink::Custom { gb_per_s, latency_us } => {
                custom(gb_per_s * per_node as f64, latency_us)
            }
            ClusterLink::Catalogue(link) => {
                let bus = link.bus_bandwidth(2, PeerAccess::Direct);
                let node = match (link.rate_per, self.ports) {
                    (RatePer::Node, _) => 1.0,
                    (RatePer::Port, Ports::OnePerDevice) => self.devices_per_node as f64,
                    (RatePer::Port, Ports::PerNode(ports)) => f64::from(ports),
                };
                Group {
                    ranks: 1,
                    link: link.short_name(),
                    all_reduce: bus.all_reduce_gb_per_s * 1e9 * node * share,
                    all_gather: bus.all_gather_gb_per_s * 1e9 * node * share,
                    step_latency: bus.step_latency_us * 1e-6,
                    half_size: bus.half_size_bytes.unwrap_or(0.0) * share,
                    basis: bus.basis,
                    source: link.source,
                    timed: None,
                }
            }
        }
    }
}

fn custom(gb_per_s: f64, latency_us: f64) -> Group {
    Group {
        ranks: 1,
        link: "custom",
        all_reduce: gb_per_s * 1e9,
        all_gather: gb_per_s * 1e9,
        step_latency: latency_us * 1e-6,
        half_size: 0.0,
        basis: Basis::Assumed,
        source: "the scenario's own number",
        timed: None,
    }
}
