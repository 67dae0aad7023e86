//! Collectives and messages of a group of ranks.

use super::{Cost, timed};
use crate::hardware::Basis;
use crate::hardware::measured::gpu::Gpu;
use crate::operators::{Collective, CollectiveKind};
use crate::quantity::Secs;
use crate::report::Assumption;
use crate::trace::{Bound, Pricing};

/// Ring steps after which large groups stop paying for every rank: NCCL's trees and channels bring
/// the rest down to the logarithm. Assumed.
const FULL_RING_STEPS: f64 = 7.0;

/// A group of ranks and what its link gives them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    pub ranks: u64,
    /// Display name of the link that limits the group.
    pub link: &'static str,
    /// Bus bandwidth of all-reduce, in bytes per second.
    pub all_reduce: f64,
    /// Bus bandwidth of all-gather, reduce-scatter and sends, in bytes per second.
    pub all_gather: f64,
    /// Time of one step of a ring with nothing to send, in seconds.
    pub step_latency: f64,
    /// Size that reaches half of the bandwidth, in bytes; 0 where unknown.
    pub half_size: f64,
    pub basis: Basis,
    pub source: &'static str,
    /// The GPU whose collectives were timed on this link.
    pub timed: Option<&'static Gpu>,
}

impl Group {
    /// A ring: all-reduce sends 2(n−1)/n of its bytes over each link in 2(n−1) steps, all-gather
    /// and reduce-scatter half of that (Thakur et al. 2005). A message of S bytes costs as much as
    /// S + 2·S·H/(S + H): half of the bandwidth at S = H, nearly all of it far above.
    pub fn collective(&self, collective: Collective) -> Cost {
        if self.ranks <= 1 {
            return Cost { time: Secs::ZERO, bound: Bound::Latency, pricing: Pricing::Formula };
        }
        let from_table = self
            .timed
            .and_then(|gpu| timed::collective(gpu, collective.kind, collective.bytes, self.ranks));
        if let Some(cost) = from_table {
            return cost;
        }
        let ring = (self.ranks - 1) as f64;
        let (rounds, bandwidth) = match collective.kind {
            CollectiveKind::AllReduce => (2.0, self.all_reduce),
            CollectiveKind::AllGather
            | CollectiveKind::ReduceScatter
            | CollectiveKind::AllToAll => (1.0, self.all_gather),
            CollectiveKind::RingPass => return self.ring_pass(collective.bytes),
        };
        let steps = libm::fmin(ring, FULL_RING_STEPS + libm::log2(self.ranks as f64));
        let size = collective.bytes as f64;
        let transfer = rounds * ring / self.ranks as f64 * self.loaded(size) / bandwidth;
        self.cost(rounds * steps * self.step_latency, transfer)
    }

    /// `bytes` of all ranks around a ring of single messages: n − 1 of `bytes / n` each.
    fn ring_pass(&self, bytes: u64) -> Cost {
        let messages = (self.ranks - 1) as f64;
        let transfer = messages * bytes as f64 / self.ranks as f64 / self.all_gather;
        self.cost(messages * self.step_latency, transfer)
    }

    /// A message between two ranks.
    pub fn send(&self, bytes: u64) -> Cost {
        self.cost(self.step_latency, bytes as f64 / self.all_gather)
    }

    fn loaded(&self, size: f64) -> f64 {
        if self.half_size > 0.0 {
            size + 2.0 * size * self.half_size / (size + self.half_size)
        } else {
            size
        }
    }

    fn cost(&self, latency: f64, transfer: f64) -> Cost {
        let bound = if latency > transfer { Bound::Latency } else { Bound::Bandwidth };
        Cost { time: Secs::new(latency + transfer), bound, pricing: Pricing::Formula }
    }

    /// The constants behind its costs; none for a group of one.
    pub fn assumptions(&self) -> Vec<Assumption> {
        if self.ranks <= 1 {
            return Vec::new();
        }
        if let Some(error) = self.timed.and_then(|gpu| timed::collectives_error(gpu, self.ranks)) {
            return vec![Assumption { of: self.link, ..error }];
        }
        let one = |id, value, unit| Assumption {
            id,
            of: self.link,
            value,
            unit,
            basis: self.basis,
            source: self.source,
        };
        vec![
            one("all-reduce-bandwidth", self.all_reduce / 1e9, "GB/s"),
            one("all-gather-bandwidth", self.all_gather / 1e9, "GB/s"),
            one("half-size", self.half_size / 1e6, "MB"),
            one("step-latency", self.step_latency * 1e6, "µs"),
        ]
    }
}

/// A group whose ranks all send to each other, within nodes and between them at the same time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// All ranks, over what joins those of one node.
    pub inside: Group,
    /// Ranks of the group in one node.
    pub per_node: u64,
    /// What each rank has of the network.
    pub outside: Group,
}

impl Exchange {
    /// Of `bytes` on each of n ranks, (m − 1)/n stay in the node with m of them and (n − m)/n leave
    /// it: each rank sends the one over the node's link and the other over its share of the ports,
    /// and the slower decides.
    pub fn all_to_all(&self, bytes: u64) -> Cost {
        let ranks = self.inside.ranks as f64;
        if self.inside.ranks <= 1 {
            return Cost { time: Secs::ZERO, bound: Bound::Latency, pricing: Pricing::Formula };
        }
        let from_table = self.inside.timed.and_then(|gpu| {
            timed::collective(gpu, CollectiveKind::AllToAll, bytes, self.inside.ranks)
        });
        if let Some(cost) = from_table {
            return cost;
        }
        let over = |group: &Group, peers: f64| {
            let steps = libm::fmin(peers, FULL_RING_STEPS + libm::log2(ranks));
            let size = bytes as f64 * peers / ranks;
            let transfer = if size > 0.0 { group.loaded(size) / group.all_gather } else { 0.0 };
            group.cost(steps * group.step_latency, transfer)
        };
        let near = over(&self.inside, self.per_node as f64 - 1.0);
        let far = over(&self.outside, ranks - self.per_node as f64);
        if far.time.get() > near.time.get() { far } else { near }
    }

    /// Display name of the link that limits it.
    pub fn link(&self) -> &'static str {
        if self.per_node == self.inside.ranks { self.inside.link } else { self.outside.link }
    }

    /// The constants behind its costs; none for a group of one.
    pub fn assumptions(&self) -> Vec<Assumption> {
        let mut list = Vec::new();
        if self.per_node > 1 {
            list.extend(self.inside.assumptions());
        }
        if self.per_node < self.inside.ranks {
            list.extend(self.outside.assumptions());
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(ranks: u64) -> Group {
        Group {
            ranks,
            link: "test",
            all_reduce: 200e9,
            all_gather: 100e9,
            step_latency: 1e-6,
            half_size: 0.0,
            basis: Basis::Assumed,
            source: "test",
            timed: None,
        }
    }

    #[test]
    fn an_all_reduce_moves_twice_what_a_gather_moves() {
        let bytes = 1 << 30;
        let time = |kind, group: Group| group.collective(Collective { kind, bytes }).time.get();
        let (reduce, gather) =
            (time(CollectiveKind::AllReduce, group(8)), time(CollectiveKind::AllGather, group(8)));
        let volume = 7.0 / 8.0 * bytes as f64;
        assert!((reduce - (2.0 * volume / 200e9 + 14e-6)).abs() < 1e-12);
        assert!((gather - (volume / 100e9 + 7e-6)).abs() < 1e-12);
        assert_eq!(time(CollectiveKind::AllReduce, group(1)), 0.0);
    }

    #[test]
    fn an_exchange_waits_for_the_slower_of_node_and_network() {
        let bytes = 1 << 30;
        // 16 ranks, 4 in a node: 3/16 of the rows over the node's link, 12/16 over the network.
        let outside = Group { all_gather: 50e9, ..group(16) };
        let exchange = Exchange { inside: group(16), per_node: 4, outside };
        let (near, far) = (3.0 / 16.0 * bytes as f64 / 100e9, 12.0 / 16.0 * bytes as f64 / 50e9);
        assert!(near < far);
        let time = exchange.all_to_all(bytes).time.get();
        assert!((time - (far + 11e-6)).abs() < 1e-12, "{time}");
        let alone = Exchange { inside: group(1), per_node: 1, outside: group(1) };
        assert_eq!(alone.all_to_all(bytes).time.get(), 0.0);
    }
}
