//! Matrix products C[m, n] = A[m, k] · B[k, n] as they were timed, and between the timed shapes.

use super::fit::{Robust, least_squares};
use super::gpu::Gpu;
use super::kriging::{Site, interpolate, krige};
use super::tables;
use super::{Coverage, Estimate, overshoot, sigmoid, soft_maximum};
use crate::hardware::device::Device;

/// What the operands are stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GemmFormat {
    Bf16,
    /// One scale a tensor; the timing includes the kernel that quantizes A.
    Fp8,
    /// A scale for each block of 128 × 128 weights; timed without a CUDA graph, launches included.
    Fp8Block,
    /// Four-bit floats with a scale for each 16; the timing includes the kernel that quantizes A.
    Nvfp4,
}

impl GemmFormat {
    pub const ALL: [Self; 4] = [Self::Bf16, Self::Fp8, Self::Fp8Block, Self::Nvfp4];

    /// Its name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bfloat16",
            Self::Fp8 => "fp8",
            Self::Fp8Block => "fp8_block",
            Self::Nvfp4 => "nvfp4",
        }
    }

    /// Bytes of a number of A or B, scales included.
    const fn bytes(self) -> f64 {
        match self {
            Self::Bf16 => 2.0,
            Self::Fp8 | Self::Fp8Block => 1.0,
            Self::Nvfp4 => 0.5625,
        }
    }

    /// Peak rate over that of bf16.
    const fn speed(self) -> f64 {
        match self {
            Self::Bf16 => 1.0,
            Self::Fp8 | Self::Fp8Block => 2.0,
            Self::Nvfp4 => 4.0,
        }
    }

    /// The larger of FLOPs over the peak and bytes over the bandwidth: what a model without
    /// timings says, seconds.
    pub fn roofline(self, gpu: &Gpu, shape: GemmShape) -> f64 {
        let (m, n, k) = shape.sizes();
        let traffic = Traffic::of(shape, self);
        libm::fmax(
            2.0 * m * n * k / (gpu.bf16_flops * self.speed()),
            (traffic.weights + traffic.activations) / gpu.bandwidth,
        )
    }

    /// Weights that take turns in the timing loop: six layers in bf16 and fp8, one otherwise.
    const fn turns(self) -> f64 {
        match self {
            Self::Bf16 | Self::Fp8 => 6.0,
            Self::Fp8Block | Self::Nvfp4 => 1.0,
        }
    }
}

/// Where B comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// As in the timing loop: small ones stay in the cache between rounds.
    TakeTurns,
    /// From memory: a model's layers displace each other.
    Cold,
}

/// A size of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GemmShape {
    pub m: u64,
    pub n: u64,
    pub k: u64,
}

/// The physical form: t = t₀ + ((F/eP)^q + (D/wW + Q/cW)^q)^(1/q) + X/cW.
///
/// F operations at peak P; Q bytes of A, B and C through the cache at c times the bandwidth W; D of
/// them from memory, what is larger than the cache; X bytes that quantizing A moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GemmForm {
    /// t₀, µs.
    pub launch_us: f64,
    /// e.
    pub arithmetic: f64,
    /// w.
    pub memory: f64,
    /// c.
    pub cache: f64,
    /// q.
    pub softness: f64,
    /// Share of the cache that keeps weights from one round to the next.
    pub capacity: f64,
}

/// A timed product: m, n, k and its kriging weight.
pub type GemmPoint = (u32, u32, u32, f32);

/// The timings of one GPU and format.
#[derive(Clone, Copy, Debug)]
pub struct GemmTable {
    pub gpu: &'static str,
    pub format: GemmFormat,
    pub form: GemmForm,
    /// Mean error of shapes that were left out of the fit.
    pub left_out_error: f64,
    pub points: &'static [GemmPoint],
}

/// Kernel lengths, in octaves: m, n, k; share of the last wave of 128 × 256 tiles that is idle; how
/// far the weights of a round overflow the cache.
const LENGTHS: [f64; 5] = [6.0, 6.0, 6.0, 2.0, 6.0];

/// Noise of a timing against the spread of the residuals.
const NUGGET: f64 = 0.03;

/// Correlation of the residuals of two GPUs that run the same kernels.
const BETWEEN: f64 = 0.95;

/// The shapes that were timed, as log₂: all from 1 to 32768 rows, 32 to 65536 columns and depth.
const TIMED: [(f64, f64); 3] = [(0.0, 15.0), (5.0, 16.0), (5.0, 16.0)];

impl GemmShape {
    fn sizes(self) -> (f64, f64, f64) {
        (self.m as f64, self.n as f64, self.k as f64)
    }

    /// Coordinates in kernel lengths.
    fn place(self, gpu: &Gpu, format: GemmFormat) -> [f64; 5] {
        let (m, n, k) = self.sizes();
        let tiles = libm::ceil(m / 128.0) * libm::ceil(n / 256.0);
        let waves = libm::ceil(tiles / gpu.processors) * gpu.processors / tiles;
        let traffic = Traffic::of(self, format);
        let round = (6.0 * traffic.weights + traffic.activations) / gpu.cache_bytes;
        let coordinates = [
            libm::log2(m),
            libm::log2(n),
            libm::log2(k),
            libm::fmin(libm::log2(waves), 1.0),
            libm::log2(round).clamp(-2.0, 2.0),
        ];
        let mut place = [0.0; 5];
        for (place, (coordinate, length)) in place.iter_mut().zip(coordinates.iter().zip(LENGTHS)) {
            *place = coordinate / length;
        }
        place
    }

    /// Octaves beyond the shapes that were timed.
    fn overshoot(self) -> f64 {
        let (m, n, k) = self.sizes();
        let logs = [libm::log2(m), libm::log2(n), libm::log2(k)];
        logs.into_iter().zip(TIMED).map(|(log, range)| overshoot(log, range)).sum()
    }

    fn is_empty(self) -> bool {
        self.m == 0 || self.n == 0 || self.k == 0
    }
}

/// Bytes that a product moves.
#[derive(Clone, Copy, Debug)]
struct Traffic {
    weights: f64,
    /// A, and C in two bytes.
    activations: f64,
    /// Of the kernel that quantizes A: reads two bytes, writes and leaves what the product reads.
    quantizing: f64,
}

impl Traffic {
    fn of(shape: GemmShape, format: GemmFormat) -> Self {
        let (m, n, k) = shape.sizes();
        let size = format.bytes();
        Self {
            weights: k * n * size,
            activations: m * k * size + 2.0 * m * n,
            quantizing: if size < 2.0 { m * k * (2.0 + size) } else { 0.0 },
        }
    }
}

/// Share of `bytes` that a cache of `capacity` bytes does not keep.
fn missed(bytes: f64, capacity: f64) -> f64 {
    let load = bytes / capacity;
    let fourth = load * load * load * load;
    fourth / (1.0 + fourth)
}

impl GemmForm {
    /// Seconds, without a correction.
    pub fn seconds(&self, gpu: &Gpu, format: GemmFormat, shape: GemmShape, from: Weights) -> f64 {
        let (m, n, k) = shape.sizes();
        let traffic = Traffic::of(shape, format);
        let capacity = self.capacity * gpu.cache_bytes;
        let cold = match from {
            Weights::TakeTurns => {
                missed(format.turns() * traffic.weights + traffic.activations, capacity)
            }
            Weights::Cold => 1.0,
        };
        let from_memory =
            traffic.weights * cold + traffic.activations * missed(traffic.activations, capacity);
        let through_cache = traffic.weights + traffic.activations;
        let arithmetic = 2.0 * m * n * k / (gpu.bf16_flops * format.speed() * self.arithmetic);
        let movement = from_memory / (gpu.bandwidth * self.memory)
            + through_cache / (gpu.bandwidth * self.cache);
        self.launch_us * 1e-6
            + soft_maximum(arithmetic, movement, self.softness)
            + traffic.quantizing / (gpu.bandwidth * self.cache)
    }

    /// Fits it to timings in seconds.
    pub fn fit(gpu: &Gpu, format: GemmFormat, timings: &[(GemmShape, f64)]) -> Self {
        let of = |p: &[f64; 6]| Self {
            launch_us: libm::exp(p[0]),
            arithmetic: sigmoid(p[1]),
            memory: sigmoid(p[2]),
            cache: libm::exp(p[3]),
            softness: 1.0 + libm::exp(p[4]),
            capacity: 0.02 + 1.5 * sigmoid(p[5]),
        };
        let start = [libm::log(3.0), 1.4, 1.4, libm::log(4.0), 0.0, 0.0];
        let parameters = least_squares(start, Robust::STRICT, |p| {
            let form = of(p);
            let error = |(shape, seconds): &(GemmShape, f64)| {
                libm::log(form.seconds(gpu, format, *shape, Weights::TakeTurns) / seconds)
            };
            timings.iter().map(error).collect()
        });
        let form = of(&parameters);
        Self {
            launch_us: super::four_digits(form.launch_us),
            arithmetic: super::four_digits(form.arithmetic),
            memory: super::four_digits(form.memory),
            cache: super::four_digits(form.cache),
            softness: super::four_digits(form.softness),
            capacity: super::four_digits(form.capacity),
        }
    }
}

/// The timings of a GPU and format, made ready to interpolate.
#[derive(Clone, Debug)]
pub struct GemmSurface {
    gpu: &'static Gpu,
    format: GemmFormat,
    form: GemmForm,
    sites: Vec<Site<5>>,
    /// Mean error of shapes that were left out of the fit.
    pub left_out_error: f64,
}

impl GemmSurface {
    /// The surface of a device; `None` where nobody has timed it.
    pub fn of_device(device: &Device, format: GemmFormat) -> Option<Self> {
        Self::of_gpu(super::gpu::of_device(device)?, format)
    }

    /// The surface of a GPU of the tables.
    pub fn of_gpu(gpu: &'static Gpu, format: GemmFormat) -> Option<Self> {
        let table = |of: &Gpu| {
            tables::GEMM.into_iter().flatten().find(|t| t.gpu == of.name && t.format == format)
        };
        let own = table(gpu)?;
        let mut sites = Vec::new();
        for other in gpu.family() {
            let correlation = if other.name == gpu.name { 1.0 } else { BETWEEN };
            for (m, n, k, weight) in table(other).map_or(&[][..], |table| table.points) {
                let shape = GemmShape { m: u64::from(*m), n: u64::from(*n), k: u64::from(*k) };
                let at = shape.place(other, format);
                sites.push(Site { at, weight: correlation * f64::from(*weight) });
            }
        }
        let (form, left_out_error) = (own.form, own.left_out_error);
        Some(Self { gpu, format, form, sites, left_out_error })
    }

    /// A surface from timings of a family, by position in it; the surface of the GPU at `of`.
    pub fn from_fit(fit: &FamilyFit, of: usize) -> Self {
        let gpu = &fit.family[of];
        let mut sites = Vec::new();
        for (index, weights) in fit.weights.iter().enumerate() {
            let correlation = if index == of { 1.0 } else { BETWEEN };
            for (shape, weight) in weights {
                let at = shape.place(&fit.family[index], fit.format);
                sites.push(Site { at, weight: correlation * weight });
            }
        }
        Self { gpu, format: fit.format, form: fit.forms[of], sites, left_out_error: 0.0 }
    }

    /// What a product takes.
    pub fn estimate(&self, shape: GemmShape, from: Weights) -> Estimate {
        if shape.is_empty() {
            return Estimate { seconds: 0.0, coverage: Coverage::Inside };
        }
        let form = self.form.seconds(self.gpu, self.format, shape, from);
        let beyond = shape.overshoot();
        let residual = interpolate(&self.sites, &shape.place(self.gpu, self.format));
        Estimate::corrected(form, residual, beyond)
    }

    /// Time of a kernel with nothing to do, seconds.
    pub fn launch(&self) -> f64 {
        self.form.launch_us * 1e-6
    }

    /// True where the shape itself was timed on this GPU.
    pub fn has(&self, shape: GemmShape) -> bool {
        let same = |p: &GemmPoint| {
            (u64::from(p.0), u64::from(p.1), u64::from(p.2)) == (shape.m, shape.n, shape.k)
        };
        tables::GEMM
            .into_iter()
            .flatten()
            .filter(|table| table.gpu == self.gpu.name && table.format == self.format)
            .any(|table| table.points.iter().any(same))
    }
}

/// Forms and weights of a family's GPUs in one format.
#[derive(Clone, Debug)]
pub struct FamilyFit {
    pub family: &'static [Gpu],
    pub format: GemmFormat,
    pub forms: Vec<GemmForm>,
    /// Timed shapes with their kriging weights, by GPU.
    pub weights: Vec<Vec<(GemmShape, f64)>>,
}

impl FamilyFit {
    /// Fits timings in seconds, by GPU of the family.
    pub fn of(
        family: &'static [Gpu],
        format: GemmFormat,
        timings: &[Vec<(GemmShape, f64)>],
    ) -> Self {
        let mut forms = Vec::new();
        let (mut places, mut residuals) = (Vec::new(), Vec::new());
        for (index, timings) in timings.iter().enumerate() {
            let form = GemmForm::fit(&family[index], format, timings);
            for (shape, seconds) in timings {
                places.push((index, shape.place(&family[index], format)));
                let base = form.seconds(&family[index], format, *shape, Weights::TakeTurns);
                residuals.push(libm::log(seconds / base));
            }
            forms.push(form);
        }
        let kriged = krige(&places, &residuals, BETWEEN, NUGGET);
        let mut next = kriged.weights.into_iter();
        let weights = timings
            .iter()
            .map(|timings| {
                timings
                    .iter()
                    .map(|(shape, _)| (*shape, next.next().expect("one a timing")))
                    .collect()
            })
            .collect();
        Self { family, format, forms, weights }
    }
}

#[cfg(test)]
mod tests;
