//! Attention over a paged KV cache as it was timed in vLLM, and between the timed shapes.
//!
//! The published tables are of full attention and of sliding windows, but the sample that they were
//! taken from has lost the column that says which. A window shows in the time, so the fit finds it
//! for each timing ([`AttentionFit`]); a prediction is told the window.

use super::fit::{Robust, least_squares};
use super::gpu::Gpu;
use super::kriging::{Site, interpolate, krige};
use super::tables;
use super::{Estimate, four_digits, overshoot, sigmoid, soft_maximum};

/// Which tokens ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionPhase {
    /// All tokens of the prompts.
    Prefill,
    /// One new token of each sequence.
    Decode,
}

impl AttentionPhase {
    pub const ALL: [Self; 2] = [Self::Prefill, Self::Decode];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }

    /// The larger of FLOPs over the peak and bytes over the bandwidth: what a model without
    /// timings says, seconds.
    pub fn roofline(self, gpu: &Gpu, shape: AttentionShape) -> f64 {
        let terms = shape.terms(gpu, self);
        libm::fmax(terms.arithmetic, terms.movement)
    }
}

/// Attention of a batch of equal sequences on one GPU, bf16 queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttentionShape {
    pub batch: u64,
    /// Tokens of a sequence, the new one included.
    pub context: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head_dim: u64,
    /// Bytes of a number in the cache: 2 or 1.
    pub cache_bytes: u64,
    /// Tokens that a token sees at most.
    pub window: Option<u64>,
}

/// The physical form: t = t₀ + U/uW + ((F/eP)^q + (Q/wW + Q/cW)^q)^(1/q).
///
/// F operations of the pairs that are seen, Q bytes of queries, outputs and what is seen of the
/// cache, from memory where it does not fit into the on-chip cache; U bytes of new tokens on
/// their way into the cache (decoding: and of queries and outputs). e is of heads of 128, times
/// (d/128)^g in its odds; an fp8 cache has its own t₀, e and u.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionForm {
    /// t₀, µs: a CUDA graph of one operator, its launch included.
    pub launch_us: f64,
    /// Odds e/(1 − e).
    pub arithmetic_odds: f64,
    /// w.
    pub memory: f64,
    /// u.
    pub update: f64,
    /// c.
    pub cache: f64,
    /// q.
    pub softness: f64,
    /// g.
    pub head_exponent: f64,
    /// Factors of t₀, e's odds and u with an fp8 cache.
    pub fp8_launch: f64,
    pub fp8_arithmetic: f64,
    pub fp8_update: f64,
}

/// A timed shape: batch, context, heads, KV heads, head size, bytes of a cached number, window (0:
/// none), kriging weight.
pub type AttentionPoint = (u16, u32, u8, u8, u16, u8, u16, f32);

/// The timings of one GPU and phase.
#[derive(Clone, Copy, Debug)]
pub struct AttentionTable {
    pub gpu: &'static str,
    pub phase: AttentionPhase,
    pub form: AttentionForm,
    /// Mean error of shapes that were left out of the fit, their windows found.
    pub left_out_error: f64,
    pub points: &'static [AttentionPoint],
}

/// Kernel lengths: octaves of sequences × heads (decoding: KV heads), context, context within the
/// window, query heads a KV head, head size; separate query layout; bytes of a cached number; octaves
/// of sequences; window in effect.
const LENGTHS: [f64; 9] = [6.0, 6.0, 6.0, 4.0, 3.0, 1.5, 2.0, 8.0, 2.0];

/// Noise of a timing against the spread of the residuals.
const NUGGET: f64 = 0.05;

/// Correlation of the residuals of two GPUs that run the same kernels.
const BETWEEN: f64 = 0.9;

/// The contexts that were timed, as log₂, by phase.
const TIMED_CONTEXT: [(f64, f64); 2] = [(0.0, 14.0), (1.0, 17.0)];

/// Windows that vLLM's tables were collected with; 0 for none.
const WINDOWS: [u64; 4] = [0, 128, 1024, 8192];

/// How much nearer a window must bring a timing to the form, in logarithms, to be believed.
const WINDOW_EVIDENCE: f64 = 0.12;

/// Rows of keys or queries that kernels take at a time.
const TILE: f64 = 128.0;

/// What a shape costs, in seconds at the GPU's peaks.
struct Terms {
    arithmetic: f64,
    movement: f64,
    update: f64,
    /// Bytes that are read, over the on-chip cache.
    load: f64,
}

impl AttentionShape {
    fn seen(&self) -> f64 {
        self.window.map_or(self.context, |window| self.context.min(window)) as f64
    }

    fn terms(&self, gpu: &Gpu, phase: AttentionPhase) -> Terms {
        let (b, c, h, k, d, s) = (
            self.batch as f64,
            self.context as f64,
            self.heads as f64,
            self.kv_heads as f64,
            self.head_dim as f64,
            self.cache_bytes as f64,
        );
        let w = self.seen();
        let (flops, bytes, update) = match phase {
            AttentionPhase::Prefill => {
                // The triangle, or band, and half a tile along its edge.
                let pairs = c * w - w * w / 2.0 + libm::fmin(c, TILE) * TILE / 2.0;
                let pairs = libm::fmax(pairs, c * w / 2.0);
                let bytes = b * c * d * (4.0 * h + 2.0 * k * s);
                (4.0 * b * h * d * pairs, bytes, b * c * 2.0 * k * d * (2.0 + s))
            }
            AttentionPhase::Decode => {
                let bytes = b * 2.0 * k * d * libm::fmax(w, 16.0) * s;
                let update = b * d * (2.0 * k * (2.0 + s) + 4.0 * h);
                (4.0 * b * h * d * w, bytes, update)
            }
        };
        Terms {
            arithmetic: flops / gpu.bf16_flops,
            movement: bytes / gpu.bandwidth,
            update: update / gpu.bandwidth,
            load: bytes / gpu.cache_bytes,
        }
    }

    /// Coordinates in kernel lengths.
    fn place(&self, phase: AttentionPhase) -> [f64; 9] {
        let log = |x: u64| libm::log2(x as f64);
        let grouped = self.heads as f64 / self.kv_heads as f64;
        // FlashAttention-2 swaps the axes of one token's grouped queries, with a copy.
        let swaps = self.batch > 1 && self.kv_heads > 1 && self.heads > self.kv_heads;
        let binds = self.window.is_some_and(|window| window < self.context);
        let flag = |is: bool| if is { 1.0 } else { 0.0 };
        let parallel = match phase {
            AttentionPhase::Prefill => self.batch * self.heads,
            AttentionPhase::Decode => self.batch * self.kv_heads,
        };
        let (context, binds) = match phase {
            AttentionPhase::Prefill => (log(self.context), 0.0),
            AttentionPhase::Decode => (0.0, flag(binds)),
        };
        let mut place = [
            log(parallel),
            context,
            libm::log2(self.seen()),
            libm::log2(grouped),
            log(self.head_dim),
            flag(swaps),
            self.cache_bytes as f64,
            log(self.batch),
            binds,
        ];
        for (place, length) in place.iter_mut().zip(LENGTHS) {
            *place /= length;
        }
        place
    }

    fn is_empty(&self) -> bool {
        [self.batch, self.context, self.heads, self.kv_heads, self.head_dim].contains(&0)
    }
}

impl AttentionForm {
    /// Seconds, without a correction.
    pub fn seconds(&self, gpu: &Gpu, phase: AttentionPhase, shape: AttentionShape) -> f64 {
        let fp8 = if shape.cache_bytes < 2 { self.fp8_launch } else { 1.0 };
        self.launch_us * 1e-6 * fp8 + self.at_work(gpu, phase, shape)
    }

    /// Seconds without t₀.
    fn at_work(&self, gpu: &Gpu, phase: AttentionPhase, shape: AttentionShape) -> f64 {
        let terms = shape.terms(gpu, phase);
        let factor = |fp8: f64| if shape.cache_bytes < 2 { fp8 } else { 1.0 };
        let odds = self.arithmetic_odds
            * libm::pow(shape.head_dim as f64 / 128.0, self.head_exponent)
            * factor(self.fp8_arithmetic);
        let cube = terms.load * terms.load * terms.load;
        let cold = if cube.is_finite() { cube / (1.0 + cube) } else { 1.0 };
        let arithmetic = terms.arithmetic * (1.0 + odds) / odds;
        let movement = terms.movement * (cold / self.memory + 1.0 / self.cache);
        terms.update / (self.update * factor(self.fp8_update))
            + soft_maximum(arithmetic, movement, self.softness)
    }

    fn fit(gpu: &Gpu, phase: AttentionPhase, timings: &[(AttentionShape, f64)]) -> Self {
        const GENTLE: Robust = Robust { outlier: 0.1, prior: 0.05 };
        let of = |p: &[f64; 10]| Self {
            launch_us: libm::exp(p[0]),
            arithmetic_odds: libm::exp(p[1]),
            memory: sigmoid(p[2]),
            update: libm::exp(p[3]),
            cache: libm::exp(p[4]),
            softness: 1.0 + libm::exp(p[5]),
            // The parameter is of log₂.
            head_exponent: p[6] / core::f64::consts::LN_2,
            fp8_launch: libm::exp(p[7]),
            fp8_arithmetic: libm::exp(p[8]),
            fp8_update: libm::exp(p[9]),
        };
        let start =
            [libm::log(11.0), 0.5, 1.4, libm::log(0.3), libm::log(4.0), 0.5, 0.0, 0.0, 0.0, 0.0];
        let parameters = least_squares(start, GENTLE, |p| {
            let form = of(p);
            let error = |(shape, seconds): &(AttentionShape, f64)| {
                libm::log(form.seconds(gpu, phase, *shape) / seconds)
            };
            timings.iter().map(error).collect()
        });
        let form = of(&parameters);
        Self {
            launch_us: four_digits(form.launch_us),
            arithmetic_odds: four_digits(form.arithmetic_odds),
            memory: four_digits(form.memory),
            update: four_digits(form.update),
            cache: four_digits(form.cache),
            softness: four_digits(form.softness),
            head_exponent: four_digits(form.head_exponent),
            fp8_launch: four_digits(form.fp8_launch),
            fp8_arithmetic: four_digits(form.fp8_arithmetic),
            fp8_update: four_digits(form.fp8_update),
        }
    }

    /// The shape with the window that explains a timing best: full attention, unless a window that
    /// hides something is nearer by more than a little.
    pub fn with_window(
        &self,
        gpu: &Gpu,
        phase: AttentionPhase,
        shape: AttentionShape,
        seconds: f64,
    ) -> AttentionShape {
        let distance = |window: u64| {
            let shape = AttentionShape { window: (window > 0).then_some(window), ..shape };
            let log = libm::log(self.seconds(gpu, phase, shape) / seconds);
            (shape, libm::fabs(log) + if window > 0 { WINDOW_EVIDENCE } else { 0.0 })
        };
        WINDOWS
            .into_iter()
            .filter(|window| *window < shape.context)
            .map(distance)
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(shape, |(shape, _)| shape)
    }
}

/// Forms and weights of a family's GPUs in one phase.
#[derive(Clone, Debug)]
pub struct AttentionFit {
    pub family: &'static [Gpu],
    pub phase: AttentionPhase,
    pub forms: Vec<AttentionForm>,
    /// Timed shapes, windows found, with their kriging weights, by GPU.
    pub weights: Vec<Vec<(AttentionShape, f64)>>,
}

impl AttentionFit {
    /// Fits timings in seconds, by GPU of the family; windows of the shapes are ignored.
    ///
    /// The form is fitted to short contexts first, which most windows leave alone; then windows
    /// and form in turns.
    pub fn of(
        family: &'static [Gpu],
        phase: AttentionPhase,
        timings: &[Vec<(AttentionShape, f64)>],
    ) -> Self {
        const TURNS: usize = 6;
        let mut forms = Vec::new();
        let (mut places, mut residuals) = (Vec::new(), Vec::new());
        let mut shapes = Vec::new();
        for (index, timings) in timings.iter().enumerate() {
            let gpu = &family[index];
            let mut known: Vec<_> = timings
                .iter()
                .map(|(shape, seconds)| (AttentionShape { window: None, ..*shape }, *seconds))
                .collect();
            let short: Vec<_> =
                known.iter().copied().filter(|(shape, _)| shape.context <= 1024).collect();
            let mut form = AttentionForm::fit(gpu, phase, &short);
            for _ in 0..TURNS {
                for (shape, seconds) in &mut known {
                    *shape = form.with_window(gpu, phase, *shape, *seconds);
                }
                form = AttentionForm::fit(gpu, phase, &known);
            }
            for (shape, seconds) in &known {
                places.push((index, shape.place(phase)));
                residuals.push(libm::log(seconds / form.seconds(gpu, phase, *shape)));
            }
            shapes.push(known);
            forms.push(form);
        }
        let kriged = krige(&places, &residuals, BETWEEN, NUGGET);
        let mut next = kriged.weights.into_iter();
        let weights = shapes
            .iter()
            .map(|known| {
                let weighted =
                    known.iter().map(|(shape, _)| (*shape, next.next().expect("one a timing")));
                weighted.collect()
            })
            .collect();
        Self { family, phase, forms, weights }
    }
}

/// The timings of a GPU and phase, made ready to interpolate.
#[derive(Clone, Debug)]
pub struct AttentionSurface {
    gpu: &'static Gpu,
    phase: AttentionPhase,
    pub form: AttentionForm,
    sites: Vec<Site<9>>,
    /// Mean error of shapes that were left out of the fit.
    pub left_out_error: f64,
}

impl AttentionSurface {
    /// The surface of a GPU of the tables.
    pub fn of_gpu(gpu: &'static Gpu, phase: AttentionPhase) -> Option<Self> {
        let own = table(gpu, phase)?;
        let mut sites = Vec::new();
        for other in gpu.family() {
            let correlation = if other.name == gpu.name { 1.0 } else { BETWEEN };
            for point in table(other, phase).map_or(&[][..], |table| table.points) {
                let at = shape_of(point).place(phase);
                sites.push(Site { at, weight: correlation * f64::from(point.7) });
            }
        }
        let (form, left_out_error) = (own.form, own.left_out_error);
        Some(Self { gpu, phase, form, sites, left_out_error })
    }

    /// A surface from timings of a family, of the GPU at `of`.
    pub fn from_fit(fit: &AttentionFit, of: usize) -> Self {
        let mut sites = Vec::new();
        for (index, weights) in fit.weights.iter().enumerate() {
            let correlation = if index == of { 1.0 } else { BETWEEN };
            for (shape, weight) in weights {
                sites.push(Site { at: shape.place(fit.phase), weight: correlation * weight });
            }
        }
        Self {
            gpu: &fit.family[of],
            phase: fit.phase,
            form: fit.forms[of],
            sites,
            left_out_error: 0.0,
        }
    }

    /// What attention takes, launched as in the timings.
    pub fn estimate(&self, shape: AttentionShape) -> Estimate {
        let fp8 = if shape.cache_bytes < 2 { self.form.fp8_launch } else { 1.0 };
        self.estimate_launched_in(shape, self.form.launch_us * 1e-6 * fp8)
    }

    /// What attention takes with `launch` seconds instead of the t₀ of the timings.
    pub fn estimate_launched_in(&self, shape: AttentionShape, launch: f64) -> Estimate {
        if shape.is_empty() {
            return Estimate { seconds: 0.0, coverage: super::Coverage::Inside };
        }
        let form = launch + self.form.at_work(self.gpu, self.phase, shape);
        let beyond =
            overshoot(libm::log2(shape.context as f64), TIMED_CONTEXT[self.phase as usize]);
        Estimate::corrected(form, interpolate(&self.sites, &shape.place(self.phase)), beyond)
    }

    /// True where the shape was timed on this GPU, with whatever window.
    pub fn has(&self, shape: AttentionShape) -> bool {
        let same = |point: &AttentionPoint| {
            AttentionShape { window: shape.window, ..shape_of(point) } == shape
        };
        table(self.gpu, self.phase).is_some_and(|table| table.points.iter().any(same))
    }
}

fn table(gpu: &Gpu, phase: AttentionPhase) -> Option<&'static AttentionTable> {
    tables::ATTENTION.into_iter().flatten().find(|t| t.gpu == gpu.name && t.phase == phase)
}

fn shape_of(point: &AttentionPoint) -> AttentionShape {
    AttentionShape {
        batch: u64::from(point.0),
        context: u64::from(point.1),
        heads: u64::from(point.2),
        kv_heads: u64::from(point.3),
        head_dim: u64::from(point.4),
        cache_bytes: u64::from(point.5),
        window: (point.6 > 0).then_some(u64::from(point.6)),
    }
}

#[cfg(test)]
mod tests;
