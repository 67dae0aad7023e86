//! Hardware: accelerators, links and how much of their peaks kernels reach.
//!
//! Rates are dense (no structured sparsity), decimal and per device; link rates are one-way.

pub mod basis;
pub mod catalog;
pub mod device;
pub mod efficiency;
pub mod link;
pub mod link_catalog;
pub mod measured;

pub use basis::Basis;
pub use device::{DensePeaks, Device, DeviceBasis, Family, Pcie, Segment, Vendor};
pub use efficiency::{ComputeEfficiency, efficiency_of};
pub use link::{
    BusBandwidth, GroupBandwidth, Link, LinkClass, LinkKind, NodeNetwork, PeerAccess, Ports,
    RatePer,
};
