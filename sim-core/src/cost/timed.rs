//! Prices of products, attention and collectives from what others have timed on the same GPU.

use super::Cost;
use crate::hardware::measured::gpu::{self, Gpu};
use crate::hardware::measured::{
    AttentionPhase, AttentionSurface, Coverage, Estimate, GemmFormat, GemmShape, GemmSurface,
    NcclOperation, NcclShape, NcclSurface, SOURCE, Weights,
};
use crate::hardware::{Basis, Device};
use crate::operators::{CollectiveKind, Gemm, Work};
use crate::precision::MathMode;
use crate::quantity::Secs;
use crate::report::Assumption;
use crate::trace::{Bound, Pricing};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

/// The timed products and attention of a device; made ready when the first of them is asked for.
#[derive(Clone, Debug, Default)]
pub struct TimedOperators {
    bf16: OnceCell<Option<GemmSurface>>,
    fp8: OnceCell<Option<GemmSurface>>,
    attention: [OnceCell<Option<AttentionSurface>>; 2],
    /// Shapes come back: forward, recomputation, every kind of layer.
    known: RefCell<BTreeMap<(bool, GemmShape), Estimate>>,
}

impl TimedOperators {
    /// The time of an operator of a timed kind and format; `None` for everything else.
    pub fn seconds(&self, device: &Device, math: MathMode, work: &Work) -> Option<Estimate> {
        self.product(device, math, work).or_else(|| self.attention(device, work))
    }

    /// Attention was timed as a CUDA graph of its own; within a graph of a whole step its kernels
    /// wait as long for each other as those of products do: one for prompts, two for a token, whose
    /// parts are put together.
    fn attention(&self, device: &Device, work: &Work) -> Option<Estimate> {
        let (phase, shape) = work.attention?;
        let launch = self.surface(device, GemmFormat::Bf16)?.launch();
        let surface = self.attention_surface(device, phase)?;
        let kernels = if phase == AttentionPhase::Decode { 2.0 } else { 1.0 };
        Some(surface.estimate_launched_in(shape, kernels * launch))
    }

    /// A product whose weights are read in another size than the format's (four-bit weights) is
    /// another kernel.
    fn product(&self, device: &Device, math: MathMode, work: &Work) -> Option<Estimate> {
        let gemm = work.gemm?;
        let format = format(math)?;
        let (m, n, k) = (gemm.shape.m as f64, gemm.shape.n as f64, gemm.shape.k as f64);
        let weights = work.bytes / gemm.count as f64 - 2.0 * m * (k + n);
        let per_weight = weights / (k * n);
        let fits = match format {
            GemmFormat::Bf16 => (1.99..2.01).contains(&per_weight),
            _ => (0.99..2.01).contains(&per_weight),
        };
        let surface = self.surface(device, format).filter(|_| fits)?;
        let key = (format == GemmFormat::Bf16, gemm.shape);
        let one = *self
            .known
            .borrow_mut()
            .entry(key)
            .or_insert_with(|| surface.estimate(gemm.shape, Weights::Cold));
        Some(Estimate { seconds: repeated(one.seconds, surface.launch(), gemm, work), ..one })
    }

    fn surface(&self, device: &Device, format: GemmFormat) -> Option<&GemmSurface> {
        let cell = if format == GemmFormat::Bf16 { &self.bf16 } else { &self.fp8 };
        cell.get_or_init(|| GemmSurface::of_device(device, format)).as_ref()
    }

    fn attention_surface(
        &self,
        device: &Device,
        phase: AttentionPhase,
    ) -> Option<&AttentionSurface> {
        self.attention[phase as usize]
            .get_or_init(|| AttentionSurface::of_gpu(gpu::of_device(device)?, phase))
            .as_ref()
    }

    /// What the prices rest on, attention where the job serves; nothing for a device without
    /// timings.
    pub fn assumptions(&self, device: &Device, math: MathMode, serves: bool) -> Vec<Assumption> {
        let error = |id, value| Assumption {
            id,
            of: device.name,
            value,
            unit: "1",
            basis: Basis::Published,
            source: SOURCE,
        };
        let products = format(math).and_then(|format| self.surface(device, format));
        let mut list: Vec<_> = products
            .map(|surface| error("timed-products-error", surface.left_out_error))
            .into_iter()
            .collect();
        if serves {
            let of = |phase, id| {
                let surface = self.attention_surface(device, phase)?;
                Some(error(id, surface.left_out_error))
            };
            list.extend(of(AttentionPhase::Prefill, "timed-prefill-error"));
            list.extend(of(AttentionPhase::Decode, "timed-decode-error"));
        }
        list
    }
}

/// Products of equal shape in fewer launches than products share the time of a launch.
fn repeated(seconds: f64, launch: f64, gemm: Gemm, work: &Work) -> f64 {
    let count = gemm.count as f64;
    let saved = libm::fmax(count - work.launches, 0.0) * launch;
    libm::fmax(count * seconds - saved, seconds)
}

/// The timed format of an arithmetic; fp16 runs at bf16's rates, in kernels of the same library.
const fn format(math: MathMode) -> Option<GemmFormat> {
    match math {
        MathMode::Bf16 | MathMode::Fp16 => Some(GemmFormat::Bf16),
        MathMode::Fp8 => Some(GemmFormat::Fp8),
        MathMode::Fp32 | MathMode::Tf32 | MathMode::Int8 => None,
    }
}

/// The time of a collective inside one node; `None` for more ranks or kinds than were timed.
pub fn collective(gpu: &Gpu, kind: CollectiveKind, bytes: u64, ranks: u64) -> Option<Cost> {
    let operation = match kind {
        CollectiveKind::AllReduce => NcclOperation::AllReduce,
        CollectiveKind::AllGather => NcclOperation::AllGather,
        CollectiveKind::ReduceScatter => NcclOperation::ReduceScatter,
        CollectiveKind::AllToAll => NcclOperation::AllToAll,
        // Single messages from each rank to the next.
        CollectiveKind::RingPass => return None,
    };
    let ranks = u32::try_from(ranks).ok()?;
    let surface = NcclSurface::of_gpu(gpu, operation)?;
    // Two-byte numbers, as activations and most gradients are.
    let shape = NcclShape { bytes: libm::fmax(bytes as f64, 1.0), ranks, number_bytes: 2.0 };
    let estimate = surface.estimate(shape)?;
    // Twice the latency is where as much goes into bytes as into steps.
    let waits = estimate.seconds < 2.0 * surface.latency(ranks);
    let bound = if waits { Bound::Latency } else { Bound::Bandwidth };
    let pricing = pricing(estimate.coverage);
    Some(Cost { time: Secs::new(estimate.seconds), bound, pricing })
}

/// How far timed collectives of a group are off when left out of the fit; `None` for more ranks
/// than were timed.
pub fn collectives_error(gpu: &Gpu, ranks: u64) -> Option<Assumption> {
    let surface = NcclSurface::of_gpu(gpu, NcclOperation::AllReduce)?;
    surface.covers(u32::try_from(ranks).ok()?).then_some(Assumption {
        id: "timed-collectives-error",
        of: "",
        value: surface.left_out_error,
        unit: "1",
        basis: Basis::Published,
        source: SOURCE,
    })
}

/// How a price from a table was come by.
pub const fn pricing(coverage: Coverage) -> Pricing {
    match coverage {
        Coverage::Inside => Pricing::Interpolated,
        Coverage::Beyond => Pricing::Extrapolated,
    }
}
