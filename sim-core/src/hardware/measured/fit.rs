//! Fitting: least squares that outliers do not bend, and the weights of kriging.
//!
//! Runs when tables are made, not when a scenario is estimated. Everything is in fixed order, so
//! that the same measurements give the same tables everywhere.

/// How a fit treats what does not fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robust {
    /// Residuals beyond this count linearly instead of quadratically.
    pub outlier: f64,
    /// How strongly parameters stay near their start where the data do not decide.
    pub prior: f64,
}

impl Robust {
    pub const STRICT: Self = Self { outlier: 0.05, prior: 0.02 };
}

const ITERATIONS: usize = 80;

/// Parameters that minimise Σ 2f²(√(1 + (r/f)²) − 1), f the size of an outlier, plus a weak pull to
/// `start`
/// (Levenberg–Marquardt with reweighting; derivatives by differences).
pub fn least_squares<const P: usize>(
    start: [f64; P],
    robust: Robust,
    residuals: impl Fn(&[f64; P]) -> Vec<f64>,
) -> [f64; P] {
    let Robust { outlier, prior } = robust;
    let cost_of = |at: &[f64; P], residuals: &[f64]| -> f64 {
        let robust = |r: &f64| {
            2.0 * outlier * outlier * (libm::sqrt(1.0 + (r / outlier) * (r / outlier)) - 1.0)
        };
        let pull: f64 =
            (0..P).map(|i| (prior * (at[i] - start[i])) * (prior * (at[i] - start[i]))).sum();
        residuals.iter().map(robust).sum::<f64>() + pull
    };
    let mut at = start;
    let mut here = residuals(&at);
    let mut cost = cost_of(&at, &here);
    let mut damping = 1e-2;
    for _ in 0..ITERATIONS {
        let (normal, gradient) = normal_equations(&at, &start, &here, robust, &residuals);
        let mut improved = false;
        for _ in 0..12 {
            let mut damped = normal.clone();
            for i in 0..P {
                damped[i * P + i] += damping * (normal[i * P + i] + 1e-9);
            }
            let Some(step) = Cholesky::of(damped, P).map(|factor| factor.solve(&gradient)) else {
                damping *= 8.0;
                continue;
            };
            let mut next = at;
            for i in 0..P {
                next[i] -= step[i].clamp(-1.0, 1.0);
            }
            let there = residuals(&next);
            let next_cost = cost_of(&next, &there);
            if next_cost < cost {
                improved = cost - next_cost > 1e-9 * cost;
                (at, here, cost) = (next, there, next_cost);
                damping /= 4.0;
                break;
            }
            damping *= 4.0;
        }
        if !improved {
            break;
        }
    }
    at
}

/// JᵀWJ and JᵀWr, with the pull to the start.
fn normal_equations<const P: usize>(
    at: &[f64; P],
    start: &[f64; P],
    here: &[f64],
    Robust { outlier, prior }: Robust,
    residuals: &impl Fn(&[f64; P]) -> Vec<f64>,
) -> (Vec<f64>, Vec<f64>) {
    const STEP: f64 = 1e-5;
    let columns: Vec<Vec<f64>> = (0..P)
        .map(|i| {
            let mut moved = *at;
            moved[i] += STEP;
            residuals(&moved).iter().zip(here).map(|(there, here)| (there - here) / STEP).collect()
        })
        .collect();
    let weights: Vec<f64> =
        here.iter().map(|r| 1.0 / libm::sqrt(1.0 + (r / outlier) * (r / outlier))).collect();
    let mut normal = vec![0.0; P * P];
    let mut gradient = vec![0.0; P];
    for i in 0..P {
        for j in 0..=i {
            let product = columns[i].iter().zip(&columns[j]).zip(&weights);
            let sum: f64 = product.map(|((a, b), w)| a * b * w).sum();
            normal[i * P + j] = sum;
            normal[j * P + i] = sum;
        }
        let product = columns[i].iter().zip(here).zip(&weights);
        gradient[i] = product.map(|((a, r), w)| a * r * w).sum();
        normal[i * P + i] += prior * prior;
        gradient[i] += prior * prior * (at[i] - start[i]);
    }
    (normal, gradient)
}

/// Kriging weights, and how far each measurement is from what all others predict for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kriged {
    pub weights: Vec<f64>,
    /// Prediction minus measurement, in the units of the residuals.
    pub leave_one_out: Vec<f64>,
}

/// A measurement that misses the others' prediction by more than 15 % is trusted less, in
/// proportion.
const SURPRISE: f64 = 0.15;

/// One without knowing the surprises, two with those of the pass before.
const PASSES: usize = 3;

/// Solves (K + N)w = r, N diagonal: `nugget`, more for measurements that surprise the others.
///
/// Leave-one-out errors in closed form (Rasmussen and Williams 2006, eq. 5.12).
pub fn krige(kernel: &impl Fn(usize, usize) -> f64, residuals: &[f64], nugget: f64) -> Kriged {
    let count = residuals.len();
    let mut noise = vec![nugget; count];
    let mut result = Kriged { weights: Vec::new(), leave_one_out: Vec::new() };
    for pass in 0..PASSES {
        let mut matrix = vec![0.0; count * count];
        for i in 0..count {
            for j in 0..=i {
                matrix[i * count + j] = kernel(i, j);
                matrix[j * count + i] = matrix[i * count + j];
            }
            matrix[i * count + i] += noise[i];
        }
        let factor = Cholesky::of(matrix, count)
            .expect("a kernel matrix with a nugget is positive definite");
        let weights = factor.solve(residuals);
        let diagonal = factor.inverse_diagonal();
        let leave_one_out: Vec<f64> =
            weights.iter().zip(&diagonal).map(|(weight, diagonal)| -weight / diagonal).collect();
        if pass + 1 < PASSES {
            for (noise, error) in noise.iter_mut().zip(&leave_one_out) {
                *noise = nugget * libm::fmax(1.0, libm::fabs(*error) / SURPRISE);
            }
        }
        result = Kriged { weights, leave_one_out };
    }
    result
}

/// A = LLᵀ, L lower triangular, row by row.
struct Cholesky {
    lower: Vec<f64>,
    size: usize,
}

impl Cholesky {
    /// `None` where the matrix is not positive definite.
    fn of(mut matrix: Vec<f64>, size: usize) -> Option<Self> {
        for i in 0..size {
            for j in 0..=i {
                let (row_i, row_j) = (i * size, j * size);
                let dot: f64 = matrix[row_i..row_i + j]
                    .iter()
                    .zip(&matrix[row_j..row_j + j])
                    .map(|(a, b)| a * b)
                    .sum();
                let value = matrix[row_i + j] - dot;
                if i == j {
                    if value.is_nan() || value <= 0.0 {
                        return None;
                    }
                    matrix[row_i + i] = libm::sqrt(value);
                } else {
                    matrix[row_i + j] = value / matrix[row_j + j];
                }
            }
        }
        Some(Self { lower: matrix, size })
    }

    fn solve(&self, right: &[f64]) -> Vec<f64> {
        let (l, n) = (&self.lower, self.size);
        let mut x = right.to_vec();
        for i in 0..n {
            let dot: f64 = l[i * n..i * n + i].iter().zip(&x[..i]).map(|(a, b)| a * b).sum();
            x[i] = (x[i] - dot) / l[i * n + i];
        }
        for i in (0..n).rev() {
            x[i] /= l[i * n + i];
            let solved = x[i];
            for (j, value) in x[..i].iter_mut().enumerate() {
                *value -= l[i * n + j] * solved;
            }
        }
        x
    }

    /// The diagonal of A⁻¹ = L⁻ᵀL⁻¹: squared norms of the columns of L⁻¹.
    fn inverse_diagonal(&self) -> Vec<f64> {
        let (l, n) = (&self.lower, self.size);
        // Row i of L⁻¹ from the rows above it.
        let mut inverse = vec![0.0; n * n];
        let mut diagonal = vec![0.0; n];
        let mut row = vec![0.0; n];
        for i in 0..n {
            row[..i].fill(0.0);
            for j in 0..i {
                let factor = l[i * n + j];
                for (sum, above) in row[..=j].iter_mut().zip(&inverse[j * n..=j * n + j]) {
                    *sum -= factor * above;
                }
            }
            let pivot = l[i * n + i];
            for j in 0..i {
                inverse[i * n + j] = row[j] / pivot;
            }
            inverse[i * n + i] = 1.0 / pivot;
            for j in 0..=i {
                diagonal[j] += inverse[i * n + j] * inverse[i * n + j];
            }
        }
        diagonal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_two_by_two_system_by_hand() {
        // [4 2; 2 3]: inverse 1/8·[3 −2; −2 4].
        let factor = Cholesky::of(vec![4.0, 2.0, 2.0, 3.0], 2).expect("positive definite");
        let x = factor.solve(&[8.0, 7.0]);
        assert!((x[0] - 1.25).abs() < 1e-14 && (x[1] - 1.5).abs() < 1e-14, "{x:?}");
        let diagonal = factor.inverse_diagonal();
        assert!((diagonal[0] - 0.375).abs() < 1e-14 && (diagonal[1] - 0.5).abs() < 1e-14);
        assert!(Cholesky::of(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
    }

    #[test]
    fn a_line_with_an_outlier_is_found() {
        let points: Vec<(f64, f64)> = (0..20)
            .map(|i| (f64::from(i), if i == 7 { 90.0 } else { 2.0 + 3.0 * f64::from(i) }))
            .collect();
        let [a, b] = least_squares([0.0, 0.0], Robust::STRICT, |p: &[f64; 2]| {
            points.iter().map(|(x, y)| p[0] + p[1] * x - y).collect()
        });
        assert!((a - 2.0).abs() < 0.1 && (b - 3.0).abs() < 0.01, "{a} {b}");
    }

    #[test]
    fn leaving_a_measurement_out_is_predicting_it_from_the_others() {
        let kernel = |i: usize, j: usize| {
            super::super::kriging::matern(((i as f64 - j as f64) / 3.0).powi(2))
        };
        let residuals = [0.02, 0.05, 0.03, -0.02];
        let all = krige(&kernel, &residuals, 0.1);
        let others = krige(&kernel, &residuals[..3], 0.1);
        let predicted: f64 = (0..3).map(|i| others.weights[i] * kernel(i, 3)).sum();
        assert!((all.leave_one_out[3] - (predicted - residuals[3])).abs() < 1e-12);
    }
}
