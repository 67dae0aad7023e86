//! Interpolation between scattered measurements: kriging with a Matérn kernel of smoothness 3/2.
//!
//! What is interpolated is ln(measured / form), the residual of a physical form: far from all
//! measurements it goes to 0 and the form stands alone.

use super::fit::Kriged;

/// k(d) = (1 + √3·d)·e^(−√3·d) of a squared distance (Rasmussen and Williams 2006, eq. 4.17).
///
/// ```
/// use sim_core::hardware::measured::kriging::matern;
/// assert_eq!(matern(0.0), 1.0);
/// // d = 1: (1 + 1.7321)·e^(−1.7321).
/// assert!((matern(1.0) - 0.483_358).abs() < 1e-6);
/// ```
pub fn matern(squared_distance: f64) -> f64 {
    let scaled = libm::sqrt(3.0 * squared_distance);
    (1.0 + scaled) * libm::exp(-scaled)
}

/// Squared distance of two places whose coordinates are in kernel lengths.
pub fn squared_distance<const D: usize>(a: &[f64; D], b: &[f64; D]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// A measurement as it enters the interpolation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site<const D: usize> {
    /// Coordinates in kernel lengths.
    pub at: [f64; D],
    /// Its share in every prediction, the correlation with another device's kernels included.
    pub weight: f64,
}

/// The residual at a place: Σ weight · k(distance).
pub fn interpolate<const D: usize>(sites: &[Site<D>], at: &[f64; D]) -> f64 {
    sites.iter().map(|site| site.weight * matern(squared_distance(&site.at, at))).sum()
}

/// Weights of measurements at `places` of several devices, residuals of devices correlated by
/// `between`.
pub fn krige<const D: usize>(
    places: &[(usize, [f64; D])],
    residuals: &[f64],
    between: f64,
    nugget: f64,
) -> Kriged {
    let kernel = |i: usize, j: usize| {
        let (a, b) = (&places[i], &places[j]);
        let correlation = if a.0 == b.0 { 1.0 } else { between };
        correlation * matern(squared_distance(&a.1, &b.1))
    };
    super::fit::krige(&kernel, residuals, nugget)
}
