//! Operators that somebody has timed, GPU by GPU: matrix products, attention and collectives.
//!
//! A table is a physical form and, for each timing, a weight that corrects it nearby
//! ([`kriging`]). The tables in `tables/` are made by `cargo xtask operators` from the timings in
//! `validation/ops`, which ai-dynamo/aiconfigurator publishes (Apache-2.0).

pub mod attention;
pub mod fit;
pub mod gemm;
pub mod gpu;
pub mod kriging;
pub mod nccl;
#[expect(clippy::approx_constant, reason = "some weights look like a constant by chance")]
mod tables;

pub use attention::{AttentionPhase, AttentionShape, AttentionSurface};
pub use gemm::{GemmFormat, GemmShape, GemmSurface, Weights};
pub use nccl::{NcclOperation, NcclShape, NcclSurface};

/// Where the timings are from.
pub const SOURCE: &str =
    "timings published by ai-dynamo/aiconfigurator; error of shapes left out of the fit";

/// Whether an estimate lies among the timings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Between shapes that were timed.
    Inside,
    /// Beyond them: the physical form, less and less corrected.
    Beyond,
}

/// A time from a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub seconds: f64,
    pub coverage: Coverage,
}

impl Estimate {
    /// A form's seconds times e^residual; `beyond` octaves outside of what was timed the correction
    /// has shrunk to 1/(1 + beyond²).
    fn corrected(form: f64, residual: f64, beyond: f64) -> Self {
        let faded = residual / (1.0 + beyond * beyond);
        let coverage = if beyond > 0.0 { Coverage::Beyond } else { Coverage::Inside };
        Self { seconds: form * libm::exp(faded), coverage }
    }
}

/// How far a coordinate lies outside of a range.
fn overshoot(coordinate: f64, (low, high): (f64, f64)) -> f64 {
    libm::fmax(libm::fmax(low - coordinate, coordinate - high), 0.0)
}

/// (a^q + b^q)^(1/q) of times; scaled by the larger one, so that tiny times don't vanish.
pub fn soft_maximum(a: f64, b: f64, q: f64) -> f64 {
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    if small <= 0.0 {
        return large;
    }
    large * libm::pow(1.0 + libm::pow(small / large, q), 1.0 / q)
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// Rounded to four digits: what a table holds.
fn four_digits(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    let scale = libm::pow(10.0, 3.0 - libm::floor(libm::log10(libm::fabs(x))));
    libm::round(x * scale) / scale
}
