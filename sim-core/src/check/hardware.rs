//! Which machines a scenario means.

use crate::cost::{self, ClusterLink, Topology, timed_on};
use crate::hardware::link::{LinkKind, Ports, peer_access, usual_intra_link, usual_network};
use crate::hardware::{Device, catalog, link_catalog};
use crate::issue::{Issue, IssueCode};
use crate::precision::MathMode;
use crate::quantity::FlopsPerSec;
use crate::scenario::{Edit, LinkChoice, Scenario};

/// A device and how many of them are joined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    pub device: Device,
    pub topology: Topology,
}

impl Machine {
    /// The device's dense peak; `None` where it has no such mode.
    pub fn peak(&self, math: MathMode) -> Option<FlopsPerSec> {
        cost::peak(&self.device, math)
    }
}

/// The machines of a scenario, when its device and links are known.
pub fn resolve(scenario: &Scenario, issues: &mut Vec<Issue>) -> Option<Machine> {
    let choice = &scenario.hardware;
    let device = catalog::find(&choice.device);
    if device.is_none() {
        let mut issue =
            Issue::new(IssueCode::UnknownDevice, "hardware.device").with("value", &choice.device);
        for near in catalog::suggest(&choice.device, 3) {
            issue = issue.way_out(Edit::new("hardware.device", near));
        }
        issues.push(issue);
    }
    let intra = link(choice.intra.as_ref(), "hardware.intra", issues);
    let inter = link(choice.inter.as_ref(), "hardware.inter", issues);
    // Not used for training without offload, and wrong all the same.
    let pcie = link(choice.pcie.as_ref(), "hardware.pcie", issues);
    let nvme = link(choice.nvme.as_ref(), "hardware.nvme", issues);
    let (device, intra, inter, _, _) = (device?, intra?, inter?, pcie?, nvme?);
    for (link, field, is_network) in
        [(intra, "hardware.intra", false), (inter, "hardware.inter", true)]
    {
        if let Some(ClusterLink::Catalogue(link)) = link
            && (link.kind == LinkKind::Inter) != is_network
        {
            issues.push(
                Issue::new(IssueCode::LinkOfOtherKind, field)
                    .with("link", link.name)
                    .way_out(Edit::new(field, serde_json::Value::Null)),
            );
        }
    }
    let network = usual_network(device);
    let usual = usual_intra_link(device).unwrap_or(network.link);
    let intra = intra.unwrap_or(ClusterLink::Catalogue(usual));
    Some(Machine {
        device: *device,
        topology: Topology {
            intra,
            ports: match inter {
                None => network.ports,
                Some(ClusterLink::Catalogue(link)) if link.id == network.link.id => network.ports,
                Some(_) => Ports::OnePerDevice,
            },
            inter: inter.unwrap_or(ClusterLink::Catalogue(network.link)),
            peers: peer_access(device),
            devices_per_node: choice.devices_per_node,
            timed: timed_on(device, intra),
        },
    })
}

/// `None` for an unknown link, `Some(None)` where the scenario leaves it to the device.
#[expect(clippy::option_option, reason = "a missing choice and an unknown id are different")]
fn link(
    choice: Option<&LinkChoice>,
    field: &str,
    issues: &mut Vec<Issue>,
) -> Option<Option<ClusterLink>> {
    match choice {
        None => Some(None),
        Some(LinkChoice::Custom { gb_per_s, latency_us }) => {
            Some(Some(ClusterLink::Custom { gb_per_s: *gb_per_s, latency_us: *latency_us }))
        }
        Some(LinkChoice::Catalogue(id)) => {
            if let Some(link) = link_catalog::find(id) {
                return Some(Some(ClusterLink::Catalogue(link)));
            }
            let mut issue = Issue::new(IssueCode::UnknownLink, field).with("value", id);
            for near in link_catalog::suggest(id, 3) {
                issue = issue.way_out(Edit::new(field, near));
            }
            issues.push(issue);
            None
        }
    }
}
