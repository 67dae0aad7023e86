//! NCCL's collectives as nccl-tests timed them inside one node, and between the timed sizes.

use super::fit::{Robust, least_squares};
use super::gpu::Gpu;
use super::kriging::{Site, interpolate, krige};
use super::tables;
use super::{Coverage, Estimate, overshoot, soft_maximum};
use crate::hardware::device::Device;

/// A collective of nccl-tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NcclOperation {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
}

impl NcclOperation {
    pub const ALL: [Self; 4] =
        [Self::AllReduce, Self::AllGather, Self::ReduceScatter, Self::AllToAll];

    /// Its name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "alltoall",
        }
    }

    /// Bytes that pass a rank's link: c·(n−1)/n·S, c = 2 for all-reduce, 1 for the others.
    pub fn moved(self, shape: &NcclShape) -> f64 {
        let ranks = f64::from(shape.ranks);
        self.rounds() * (ranks - 1.0) / ranks * shape.bytes
    }

    /// Times that each byte passes a rank's link.
    const fn rounds(self) -> f64 {
        match self {
            Self::AllReduce => 2.0,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => 1.0,
        }
    }
}

/// A message: the whole buffer (gathered, unreduced), ranks, and bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NcclShape {
    pub bytes: f64,
    pub ranks: u32,
    /// 1 or 2 were timed.
    pub number_bytes: f64,
}

/// t = (α^q + (c·(n−1)/n·S/B)^q)^(1/q): c = 2 for all-reduce, 1 for the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NcclForm {
    pub ranks: u32,
    /// α, µs.
    pub latency_us: f64,
    /// B, GB/s.
    pub gb_per_s: f64,
    /// q.
    pub softness: f64,
}

/// A timed message: log₂ of its bytes, ranks, bytes of a number, kriging weight.
pub type NcclPoint = (u8, u8, u8, f32);

/// The timings of one GPU and operation.
#[derive(Clone, Copy, Debug)]
pub struct NcclTable {
    pub gpu: &'static str,
    pub operation: NcclOperation,
    /// By number of ranks, ascending.
    pub forms: &'static [NcclForm],
    /// Mean error of messages that were left out of the fit.
    pub left_out_error: f64,
    pub points: &'static [NcclPoint],
}

/// Kernel lengths: octaves of bytes, octaves of ranks, bytes of a number.
const LENGTHS: [f64; 3] = [2.0, 1.0, 6.0];

/// Noise of a timing against the spread of the residuals.
const NUGGET: f64 = 0.05;

/// The messages that were timed, as log₂ of their bytes.
const TIMED: (f64, f64) = (9.0, 29.0);

impl NcclShape {
    fn place(&self) -> [f64; 3] {
        [
            libm::log2(self.bytes) / LENGTHS[0],
            libm::log2(f64::from(self.ranks)) / LENGTHS[1],
            self.number_bytes.clamp(1.0, 2.0) / LENGTHS[2],
        ]
    }
}

impl NcclForm {
    /// Seconds, without a correction.
    pub fn seconds(&self, operation: NcclOperation, bytes: f64) -> f64 {
        let ranks = f64::from(self.ranks);
        let moved = operation.rounds() * (ranks - 1.0) / ranks * bytes;
        soft_maximum(self.latency_us * 1e-6, moved / (self.gb_per_s * 1e9), self.softness)
    }

    /// Fits it to timings in seconds, all with its number of ranks.
    fn fit(operation: NcclOperation, ranks: u32, timings: &[(NcclShape, f64)]) -> Self {
        let of = |p: &[f64; 3]| Self {
            ranks,
            latency_us: libm::exp(p[0]),
            gb_per_s: libm::exp(p[1]),
            softness: 1.0 + libm::exp(p[2]),
        };
        let start = [libm::log(10.0), libm::log(100.0), 0.5];
        let parameters = least_squares(start, Robust::STRICT, |p| {
            let form = of(p);
            let error = |(shape, seconds): &(NcclShape, f64)| {
                libm::log(form.seconds(operation, shape.bytes) / seconds)
            };
            timings.iter().map(error).collect()
        });
        let form = of(&parameters);
        Self {
            ranks,
            latency_us: super::four_digits(form.latency_us),
            gb_per_s: super::four_digits(form.gb_per_s),
            softness: super::four_digits(form.softness),
        }
    }
}

/// Forms and weights of one GPU and operation.
#[derive(Clone, Debug)]
pub struct NcclFit {
    pub forms: Vec<NcclForm>,
    /// Timed messages with their kriging weights.
    pub weights: Vec<(NcclShape, f64)>,
}

impl NcclFit {
    /// Fits timings in seconds.
    pub fn of(operation: NcclOperation, timings: &[(NcclShape, f64)]) -> Self {
        let mut ranks: Vec<u32> = timings.iter().map(|(shape, _)| shape.ranks).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let forms: Vec<NcclForm> = ranks
            .into_iter()
            .map(|ranks| {
                let of_ranks: Vec<_> =
                    timings.iter().copied().filter(|(shape, _)| shape.ranks == ranks).collect();
                NcclForm::fit(operation, ranks, &of_ranks)
            })
            .collect();
        let form = |ranks: u32| {
            forms.iter().find(|form| form.ranks == ranks).expect("a form for every number of ranks")
        };
        let places: Vec<_> = timings.iter().map(|(shape, _)| (0, shape.place())).collect();
        let residuals: Vec<f64> = timings
            .iter()
            .map(|(shape, seconds)| {
                libm::log(seconds / form(shape.ranks).seconds(operation, shape.bytes))
            })
            .collect();
        let kriged = krige(&places, &residuals, 1.0, NUGGET);
        let weights = timings
            .iter()
            .zip(kriged.weights)
            .map(|((shape, _), weight)| (*shape, weight))
            .collect();
        Self { forms, weights }
    }
}

/// The timings of a GPU and operation, made ready to interpolate.
#[derive(Clone, Debug)]
pub struct NcclSurface {
    operation: NcclOperation,
    forms: Vec<NcclForm>,
    sites: Vec<Site<3>>,
    /// Mean error of messages that were left out of the fit.
    pub left_out_error: f64,
}

impl NcclSurface {
    /// The surface of a device; `None` where nobody has timed it.
    pub fn of_device(device: &Device, operation: NcclOperation) -> Option<Self> {
        Self::of_gpu(super::gpu::of_device(device)?, operation)
    }

    /// The surface of a GPU of the tables.
    pub fn of_gpu(gpu: &Gpu, operation: NcclOperation) -> Option<Self> {
        let table = table(gpu, operation)?;
        let site = |(log_bytes, ranks, number_bytes, weight): &NcclPoint| {
            let shape = NcclShape {
                bytes: libm::exp2(f64::from(*log_bytes)),
                ranks: u32::from(*ranks),
                number_bytes: f64::from(*number_bytes),
            };
            Site { at: shape.place(), weight: f64::from(*weight) }
        };
        Some(Self {
            operation,
            forms: table.forms.to_vec(),
            sites: table.points.iter().map(site).collect(),
            left_out_error: table.left_out_error,
        })
    }

    /// A surface from timings.
    pub fn from_fit(operation: NcclOperation, fit: &NcclFit) -> Self {
        let site = |(shape, weight): &(NcclShape, f64)| Site { at: shape.place(), weight: *weight };
        let sites = fit.weights.iter().map(site).collect();
        Self { operation, forms: fit.forms.clone(), sites, left_out_error: 0.0 }
    }

    /// What a message takes; `None` for more ranks than were timed.
    ///
    /// Between timed numbers of ranks: linear in log₂ of both.
    pub fn estimate(&self, shape: NcclShape) -> Option<Estimate> {
        let above = self.forms.iter().find(|form| form.ranks >= shape.ranks)?;
        let below = self.forms.iter().rev().find(|form| form.ranks <= shape.ranks)?;
        let at = |form: &NcclForm| {
            let shape = NcclShape { ranks: form.ranks, ..shape };
            let beyond = overshoot(libm::log2(shape.bytes), TIMED);
            let residual = interpolate(&self.sites, &shape.place());
            Estimate::corrected(form.seconds(self.operation, shape.bytes), residual, beyond)
        };
        let (high, low) = (at(above), at(below));
        if above.ranks == below.ranks {
            return Some(high);
        }
        let log = |ranks: u32| libm::log2(f64::from(ranks));
        let share = (log(shape.ranks) - log(below.ranks)) / (log(above.ranks) - log(below.ranks));
        let ratio = libm::pow(high.seconds / low.seconds, share);
        Some(Estimate { seconds: low.seconds * ratio, coverage: Coverage::Beyond })
    }

    /// True for numbers of ranks between those that were timed.
    pub fn covers(&self, ranks: u32) -> bool {
        let timed = |form: Option<&NcclForm>| form.map_or(0, |form| form.ranks);
        (timed(self.forms.first())..=timed(self.forms.last())).contains(&ranks)
    }

    /// Time of the smallest message, seconds.
    pub fn latency(&self, ranks: u32) -> f64 {
        let form = self.forms.iter().find(|form| form.ranks >= ranks).or(self.forms.last());
        form.map_or(0.0, |form| form.latency_us * 1e-6)
    }
}

fn table(gpu: &Gpu, operation: NcclOperation) -> Option<&'static NcclTable> {
    tables::NCCL.into_iter().flatten().find(|t| t.gpu == gpu.name && t.operation == operation)
}

/// True where the message itself was timed on a GPU.
pub fn has(gpu: &Gpu, operation: NcclOperation, shape: NcclShape) -> bool {
    let same = |p: &NcclPoint| {
        f64::from(p.0) == libm::log2(shape.bytes)
            && u32::from(p.1) == shape.ranks
            && f64::from(p.2) == shape.number_bytes
    };
    table(gpu, operation).is_some_and(|table| table.points.iter().any(same))
}

#[cfg(test)]
mod tests;
