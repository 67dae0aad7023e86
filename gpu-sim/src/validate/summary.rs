//! Errors of a source: median, mean, worst and bias, by metric.

use super::Row;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// All comparisons with one source.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    file: &'static str,
    source: &'static str,
    /// Signed relative errors by metric, in the order of the rows.
    errors: BTreeMap<&'static str, Vec<f64>>,
    skipped: BTreeMap<&'static str, u64>,
}

impl Summary {
    /// The summary of a source, new where there is none.
    pub fn of<'a>(
        all: &'a mut Vec<Self>,
        file: &'static str,
        source: &'static str,
    ) -> &'a mut Self {
        let known = all.iter().position(|one| one.file == file && one.source == source);
        let index = known.unwrap_or_else(|| {
            all.push(Self { file, source, ..Self::default() });
            all.len() - 1
        });
        &mut all[index]
    }

    /// Counts a row.
    pub fn add(&mut self, row: &Row) {
        self.errors.entry(row.metric).or_default().push(row.predicted / row.measured - 1.0);
    }

    /// Counts a point that is not compared.
    pub fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// One object for each metric; one without points where everything was skipped.
    pub fn metrics(&self) -> Vec<Value> {
        let object = |metric: &str, errors: &[f64]| {
            let statistics = Statistics::of(errors);
            json!({
                "file": self.file, "source": self.source, "metric": metric,
                "points": errors.len(), "skipped": self.skipped,
                "median_abs_error": statistics.map(|s| s.median_abs),
                "mean_abs_error": statistics.map(|s| s.mean_abs),
                "worst": statistics.map(|s| s.worst),
                "bias": statistics.map(|s| s.bias),
            })
        };
        if self.errors.is_empty() {
            return vec![object("none", &[])];
        }
        self.errors.iter().map(|(metric, errors)| object(metric, errors)).collect()
    }
}

/// Relative errors as fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Statistics {
    median_abs: f64,
    mean_abs: f64,
    /// The error that is farthest from zero, with its sign.
    worst: f64,
    /// The median with its sign.
    bias: f64,
}

impl Statistics {
    fn of(errors: &[f64]) -> Option<Self> {
        let worst = errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
        let absolute: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        Some(Self {
            median_abs: median(&absolute),
            mean_abs: absolute.iter().sum::<f64>() / absolute.len() as f64,
            worst,
            bias: median(errors),
        })
    }
}

/// The median of at least one value; the mean of the two in the middle of an even number.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// A table for the terminal.
pub fn table(summaries: &[Summary]) -> String {
    let mut text = format!(
        "{:<28} {:<24} {:>6} {:>9} {:>9} {:>9} {:>9}\n",
        "source", "metric", "points", "median", "mean", "worst", "bias"
    );
    for summary in summaries {
        for (metric, errors) in &summary.errors {
            let Some(s) = Statistics::of(errors) else { continue };
            let percent = |error: f64| format!("{:+.3} %", 100.0 * error);
            let absolute = |error: f64| format!("{:.3} %", 100.0 * error);
            writeln!(
                text,
                "{:<28} {metric:<24} {:>6} {:>9} {:>9} {:>9} {:>9}",
                summary.source,
                errors.len(),
                absolute(s.median_abs),
                absolute(s.mean_abs),
                percent(s.worst),
                percent(s.bias),
            )
            .expect("a string takes every line");
        }
        for (reason, count) in &summary.skipped {
            writeln!(text, "{:<28} skipped {count}: {reason}", summary.source)
                .expect("a string takes every line");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_three_errors_by_hand() {
        let got = Statistics::of(&[0.01, -0.04, 0.02]).expect("three errors");
        assert_eq!((got.median_abs, got.worst, got.bias), (0.02, -0.04, 0.01));
        assert!((got.mean_abs - 0.07 / 3.0).abs() < 1e-15);
        assert_eq!(Statistics::of(&[]), None);
    }
}
