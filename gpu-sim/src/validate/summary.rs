//! Errors of a source: median, mean, worst and bias, by metric.

use super::{Row, Skip};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The metric that is a verdict: 1 where it fits, 0 where it does not.
const VERDICT: &str = "fits";

/// All comparisons with one source.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    file: &'static str,
    source: String,
    /// Comparisons by metric, in the order of the lines.
    points: BTreeMap<&'static str, Vec<Point>>,
    /// What is not compared, by reason; under `None` whole lines.
    skipped: BTreeMap<Option<&'static str>, BTreeMap<String, u64>>,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    measured: f64,
    predicted: f64,
    trivial: Option<f64>,
    cell: Option<String>,
}

impl Summary {
    /// The summary of a source, new where there is none.
    pub fn of<'a>(all: &'a mut Vec<Self>, file: &'static str, source: &str) -> &'a mut Self {
        let known = all.iter().position(|one| one.file == file && one.source == source);
        let index = known.unwrap_or_else(|| {
            all.push(Self { file, source: source.to_owned(), ..Self::default() });
            all.len() - 1
        });
        &mut all[index]
    }

    /// Counts a comparison.
    pub fn add(&mut self, row: &Row) {
        self.points.entry(row.metric).or_default().push(Point {
            measured: row.measured,
            predicted: row.predicted,
            trivial: row.trivial,
            cell: row.cell.clone(),
        });
    }

    /// Counts what is not compared.
    pub fn skip(&mut self, skip: Skip) {
        *self.skipped.entry(skip.metric).or_default().entry(skip.reason).or_default() += 1;
    }

    /// One object for each metric; one without points where whole lines were skipped only.
    pub fn metrics(&self) -> Vec<Value> {
        let mut names: BTreeSet<&str> = self.points.keys().copied().collect();
        names.extend(self.skipped.keys().flatten());
        if names.is_empty() {
            names.insert("none");
        }
        names.into_iter().map(|metric| self.metric(metric)).collect()
    }

    fn metric(&self, metric: &str) -> Value {
        let points = self.points.get(metric).map_or(&[][..], Vec::as_slice);
        let mut object = json!({
            "file": self.file, "source": self.source, "metric": metric,
            "points": points.len(), "skipped": self.reasons(metric),
        });
        if metric == VERDICT {
            object["accuracy"] = json!(accuracy(points));
            return object;
        }
        let statistics = Statistics::of(&errors(points, |point| Some(point.predicted)));
        object["median_abs_error"] = json!(statistics.map(|s| s.median_abs));
        object["mean_abs_error"] = json!(statistics.map(|s| s.mean_abs));
        object["worst"] = json!(statistics.map(|s| s.worst));
        object["bias"] = json!(statistics.map(|s| s.bias));
        if let Some(trivial) = Statistics::of(&errors(points, |point| point.trivial)) {
            object["trivial_median_abs_error"] = json!(trivial.median_abs);
        }
        if let Some(ranking) = Ranking::of(points) {
            object["spearman"] = json!(ranking.spearman);
            object["regret"] = json!(ranking.regret);
        }
        object
    }

    /// Why lines, and this metric of others, are not compared.
    fn reasons(&self, metric: &str) -> BTreeMap<&str, u64> {
        let mut all: BTreeMap<&str, u64> = BTreeMap::new();
        for (of, reasons) in &self.skipped {
            if of.is_none_or(|of| of == metric) {
                for (reason, count) in reasons {
                    *all.entry(reason).or_default() += count;
                }
            }
        }
        all
    }
}

/// Signed relative errors of a prediction.
fn errors(points: &[Point], prediction: impl Fn(&Point) -> Option<f64>) -> Vec<f64> {
    points.iter().filter_map(|point| Some(prediction(point)? / point.measured - 1.0)).collect()
}

/// Share of verdicts that agree.
fn accuracy(points: &[Point]) -> Option<f64> {
    let right = points.iter().filter(|point| point.measured == point.predicted).count();
    (!points.is_empty()).then(|| right as f64 / points.len() as f64)
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

/// How well predictions order alternatives, averaged over the cells of at least three of them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ranking {
    /// Rank correlation of predicted and measured speed.
    spearman: f64,
    /// Share of the best measured speed that is lost by taking the run that is predicted best.
    regret: f64,
}

/// Fewest alternatives whose order says something.
const SMALLEST_CELL: usize = 3;

impl Ranking {
    fn of(points: &[Point]) -> Option<Self> {
        let mut cells: BTreeMap<&str, Vec<&Point>> = BTreeMap::new();
        for point in points {
            if let Some(cell) = &point.cell {
                cells.entry(cell).or_default().push(point);
            }
        }
        cells.retain(|_, points| points.len() >= SMALLEST_CELL);
        if cells.is_empty() {
            return None;
        }
        let mean = |of: fn(&[&Point]) -> f64| {
            cells.values().map(|points| of(points)).sum::<f64>() / cells.len() as f64
        };
        Some(Self { spearman: mean(spearman), regret: mean(regret) })
    }
}

fn regret(points: &[&Point]) -> f64 {
    let best = points.iter().map(|point| point.measured).fold(0.0, f64::max);
    let chosen = points.iter().max_by(|a, b| a.predicted.total_cmp(&b.predicted));
    1.0 - chosen.map_or(0.0, |point| point.measured) / best
}

/// Spearman's rank correlation: that of the ranks, equal values sharing the mean of theirs; 0 where
/// all values of one side are equal.
fn spearman(points: &[&Point]) -> f64 {
    let measured: Vec<f64> = points.iter().map(|point| point.measured).collect();
    let predicted: Vec<f64> = points.iter().map(|point| point.predicted).collect();
    let (a, b) = (ranks(&measured), ranks(&predicted));
    let mean = (points.len() as f64 + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let norm = (product(&a, &a) * product(&b, &b)).sqrt();
    if norm == 0.0 { 0.0 } else { product(&a, &b) / norm }
}

/// Ranks from 1 on; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count() as f64;
    let equal = |value: f64| values.iter().filter(|other| **other == value).count() as f64;
    values.iter().map(|value| below(*value) + (equal(*value) + 1.0) / 2.0).collect()
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
        "{:<18} {:<24} {:>6} {:>9} {:>9} {:>10} {:>10} {:>9}\n",
        "source", "metric", "points", "median", "mean", "worst", "bias", "trivial"
    );
    let mut line = |parts: std::fmt::Arguments<'_>| {
        text.write_fmt(parts).expect("a string takes every line");
        text.push('\n');
    };
    let percent = |error: f64| format!("{:+.3} %", 100.0 * error);
    let absolute = |error: f64| format!("{:.3} %", 100.0 * error);
    for summary in summaries {
        let source = &summary.source;
        for (metric, points) in &summary.points {
            let count = points.len();
            if *metric == VERDICT {
                let accuracy = absolute(accuracy(points).unwrap_or(0.0));
                line(format_args!("{source:<18} {metric:<24} {count:>6} {accuracy} right"));
                continue;
            }
            let all = errors(points, |point| Some(point.predicted));
            let Some(s) = Statistics::of(&all) else { continue };
            let trivial = Statistics::of(&errors(points, |point| point.trivial));
            line(format_args!(
                "{source:<18} {metric:<24} {count:>6} {:>9} {:>9} {:>10} {:>10} {:>9}",
                absolute(s.median_abs),
                absolute(s.mean_abs),
                percent(s.worst),
                percent(s.bias),
                trivial.map_or_else(String::new, |trivial| absolute(trivial.median_abs)),
            ));
            if let Some(Ranking { spearman, regret }) = Ranking::of(points) {
                let regret = absolute(regret);
                line(format_args!(
                    "{source:<18} order of alternatives: Spearman {spearman:.3}, regret {regret}"
                ));
            }
        }
        for (metric, reasons) in &summary.skipped {
            for (reason, count) in reasons {
                match metric {
                    Some(metric) => {
                        line(format_args!("{source:<18} {metric} skipped {count}: {reason}"));
                    }
                    None => line(format_args!("{source:<18} skipped {count}: {reason}")),
                }
            }
        }
    }
    text
}

/// The verdicts that are wrong and what ours rest on, one a line.
pub fn wrong(rows: &[Row]) -> String {
    let verdict = |value: f64| if value > 0.5 { "fits" } else { "does not fit" };
    let mut text = String::new();
    for row in rows.iter().filter(|row| row.metric == VERDICT) {
        let (Some(need), false) = (row.need, row.predicted == row.measured) else { continue };
        writeln!(
            text,
            "wrong: {}, measured: {}, predicted: {}, needs {:.1} of {:.1} GiB",
            row.id,
            verdict(row.measured),
            verdict(row.predicted),
            need.need_gib,
            need.capacity_gib,
        )
        .expect("a string takes every line");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(pairs: &[(f64, f64)]) -> Vec<Point> {
        let point = |(measured, predicted): &(f64, f64)| Point {
            measured: *measured,
            predicted: *predicted,
            trivial: None,
            cell: Some("a".to_owned()),
        };
        pairs.iter().map(point).collect()
    }

    #[test]
    fn statistics_of_three_errors_by_hand() {
        let got = Statistics::of(&[0.01, -0.04, 0.02]).expect("three errors");
        assert_eq!((got.median_abs, got.worst, got.bias), (0.02, -0.04, 0.01));
        assert!((got.mean_abs - 0.07 / 3.0).abs() < 1e-15);
        assert_eq!(Statistics::of(&[]), None);
    }

    #[test]
    fn order_and_regret_of_four_runs_by_hand() {
        // Ranks 2, 1, 4, 3 against 1, 2, 3, 4: 1 − 6·4/(4·15) = 0.6; 90 taken where 100 was there.
        let runs = points(&[(60.0, 7.0), (70.0, 6.0), (90.0, 9.0), (100.0, 8.0)]);
        let got = Ranking::of(&runs).expect("one cell");
        assert!((got.spearman - 0.6).abs() < 1e-12, "{got:?}");
        assert!((got.regret - 0.1).abs() < 1e-12, "{got:?}");
        assert_eq!(Ranking::of(&runs[..2]), None);
        let equal = points(&[(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)]);
        assert_eq!(Ranking::of(&equal).map(|r| r.spearman), Some(0.0));
    }

    #[test]
    fn wrong_verdicts_are_listed_with_their_need() {
        let row = |id: &str, measured, predicted, need_gib| {
            let need = super::super::Need { need_gib, capacity_gib: 24.0 };
            Row::fits(id.to_owned(), measured, predicted, need)
        };
        let rows =
            [row("a", true, true, 20.0), row("b", false, false, 30.0), row("c", false, true, 23.0)];
        assert_eq!(
            wrong(&rows),
            "wrong: c, measured: does not fit, predicted: fits, needs 23.0 of 24.0 GiB\n"
        );
    }

    #[test]
    fn verdicts_have_an_accuracy() {
        let mut all = Vec::new();
        let summary = Summary::of(&mut all, "file", "source");
        for (measured, predicted) in [(1.0, 1.0), (0.0, 1.0), (0.0, 0.0), (1.0, 1.0)] {
            summary.add(&Row::new(String::new(), "fits", measured, predicted));
        }
        let reason = "why".to_owned();
        summary.skip(Skip { metric: None, reason: reason.clone() });
        summary.skip(Skip { metric: Some("other"), reason });
        let metrics = summary.metrics();
        assert_eq!(metrics.len(), 2);
        assert_eq!(metrics[0]["accuracy"], 0.75);
        assert_eq!(metrics[0]["skipped"]["why"], 1);
        assert!(metrics[0].get("median_abs_error").is_none());
        assert_eq!(metrics[1]["points"], 0);
        assert_eq!(metrics[1]["skipped"]["why"], 2);
    }
}
