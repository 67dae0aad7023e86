//! A row's columns beside the report of its scenario.

use super::flops::step_flops;
use super::setup::Setup;
use super::sources::{Column, Counts, Unit};
use crate::validate::fields::{Fields, Reason};
use crate::validate::{Row, Skip};
use sim_core::report::{RankMemory, Report, TimeReport};

/// Columns that are compared, and what each is.
const METRICS: &[(&str, Metric)] = &[
    ("peak_mem_gb", Metric::Peak),
    ("alloc_mem_gb", Metric::Allocated),
    ("reserved_mem_gb", Metric::Reserved),
    ("total_mem_all_gpus_gb", Metric::Total),
    ("fits_in_memory", Metric::Fits),
    ("tokens_per_s_per_gpu", Metric::Tokens),
    ("samples_per_s_per_gpu", Metric::Samples),
    ("iter_time_s", Metric::Step),
    ("tflops_per_gpu", Metric::Tflops),
    ("mfu", Metric::Mfu),
    ("hfu", Metric::Hfu),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Metric {
    Peak,
    Allocated,
    Reserved,
    Total,
    Fits,
    Tokens,
    Samples,
    Step,
    Tflops,
    Mfu,
    Hfu,
}

impl Metric {
    const fn is_rate(self) -> bool {
        matches!(self, Self::Tokens | Self::Samples | Self::Step)
    }

    const fn is_utilization(self) -> bool {
        matches!(self, Self::Tflops | Self::Mfu | Self::Hfu)
    }
}

/// Share of the dense peak in the trivial prediction of a step's time: half of it.
const TRIVIAL_SHARE: f64 = 0.5;

const GIB: f64 = 1_073_741_824.0;

/// All columns of a row that can be compared, and why the others cannot.
pub fn compare(row: Fields<'_>, setup: &Setup, report: &Report, id: &str) -> (Vec<Row>, Vec<Skip>) {
    let columns = columns(row);
    let has_rate = columns.iter().any(|(_, metric, _)| metric.is_rate());
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    let ran = columns.iter().any(|(_, metric, _)| metric.is_rate());
    for (name, metric, measured) in columns {
        // One step, counted several ways: utilizations only where there is no rate.
        if metric.is_utilization() && has_rate || metric == Metric::Hfu {
            continue;
        }
        match predict(row, setup, report, metric) {
            Ok(Prediction { value, trivial }) => {
                let row = Row::new(id.to_owned(), name, measured, value);
                rows.push(Row { trivial, ..row });
            }
            Err(reason) => skipped.push(Skip { metric: Some(name), reason }),
        }
    }
    if setup.source.ran_means_fits && ran {
        let predicted = f64::from(u8::from(report.fits));
        rows.push(Row::new(id.to_owned(), "fits", 1.0, predicted));
    }
    for row in &mut rows {
        if row.metric == "fits_in_memory" {
            row.metric = "fits";
        }
    }
    (rows, skipped)
}

/// The columns of a row that have a number; only a verdict may be 0.
fn columns(row: Fields<'_>) -> Vec<(&'static str, Metric, f64)> {
    let Some(measured) = row.value("measured").and_then(serde_json::Value::as_array) else {
        return Vec::new();
    };
    let column = |one: &serde_json::Value| {
        let name = one.get("metric")?.as_str()?;
        let value = one.get("value")?.as_f64().filter(|value| value.is_finite())?;
        let (name, metric) = METRICS.iter().find(|(known, _)| *known == name)?;
        let is_verdict = *metric == Metric::Fits && (value == 0.0 || value == 1.0);
        (is_verdict || *metric != Metric::Fits && value > 0.0).then_some((*name, *metric, value))
    };
    measured.iter().filter_map(column).collect()
}

/// A positive number of a row's columns.
pub fn number(row: Fields<'_>, metric: &str) -> Option<f64> {
    let measured = row.value("measured")?.as_array()?;
    let one = measured.iter().find(|one| one.get("metric").is_some_and(|name| name == metric))?;
    one.get("value")?.as_f64().filter(|value| value.is_finite() && *value > 0.0)
}

/// True where a row has a column that is compared with a report.
pub fn has_columns(row: Fields<'_>) -> bool {
    !columns(row).is_empty()
}

struct Prediction {
    value: f64,
    /// What the trivial predictor says, for times.
    trivial: Option<f64>,
}

fn predict(
    row: Fields<'_>,
    setup: &Setup,
    report: &Report,
    metric: Metric,
) -> Result<Prediction, Reason> {
    let source = setup.source;
    let alone = |value: f64| Ok(Prediction { value, trivial: None });
    match metric {
        Metric::Peak => alone(memory(setup, report, source.peak, Over::Fullest)?),
        Metric::Allocated => alone(memory(setup, report, source.allocated, Over::Fullest)?),
        Metric::Reserved => alone(memory(setup, report, source.reserved, Over::Fullest)?),
        Metric::Total => alone(memory(setup, report, source.peak, Over::Sum)?),
        Metric::Fits => alone(f64::from(u8::from(report.fits))),
        _ => time(row, setup, report, metric),
    }
}

/// Over which GPUs a memory column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Fullest,
    Sum,
}

fn memory(
    setup: &Setup,
    report: &Report,
    column: Option<Column>,
    over: Over,
) -> Result<f64, Reason> {
    let unclear = || "what the memory column counts is not said".to_owned();
    if setup.memory_is_unclear {
        return Err(unclear());
    }
    let Column { counts, unit } = column.ok_or_else(unclear)?;
    let memory = report.memory.as_ref().ok_or("no memory in the report")?;
    let gib = |rank: &RankMemory| match counts {
        Counts::Allocated => rank.peak_allocated_gib,
        Counts::Reserved => rank.peak_reserved_gib,
        Counts::Driver => rank.driver_total_gib,
        Counts::Resident => {
            let states = rank.model_state_bytes;
            // PyTorch frees gradients after the step; FSDP keeps its shards of them.
            let gradients = if setup.shards_gradients { states.gradients } else { 0 };
            (states.weights + states.optimizer + gradients) as f64 / GIB
        }
    };
    let ranks = memory.per_rank.iter();
    let total = match over {
        Over::Fullest => ranks.map(gib).fold(0.0, f64::max),
        Over::Sum => ranks.map(|rank| rank.ranks as f64 * gib(rank)).sum(),
    };
    Ok(match unit {
        Unit::Gib => total,
        Unit::Gb => total * GIB / 1e9,
    })
}

fn time(
    row: Fields<'_>,
    setup: &Setup,
    report: &Report,
    metric: Metric,
) -> Result<Prediction, Reason> {
    if let Some(reason) = &setup.no_time {
        return Err(reason.clone());
    }
    if let Some(reason) = setup.source.time_differs {
        return Err(reason.to_owned());
    }
    if setup.source.key == "torchtune" && setup.count > 1 {
        return Err("tokens/s of one GPU or of all: not said".to_owned());
    }
    let time = report.time.as_ref().ok_or("no time in the report")?;
    let trivial_s = trivial_step_s(time);
    let of = |step_s: f64| -> Result<f64, Reason> {
        let per_gpu = |count: f64| count / step_s / setup.count as f64;
        let tokens = time.tokens_per_s * time.step_s;
        Ok(match metric {
            Metric::Step => step_s,
            Metric::Samples => per_gpu(setup.global_batch as f64),
            Metric::Tokens => per_gpu(tokens),
            Metric::Tflops => per_gpu(step_flops(row, setup)?) / 1e12,
            _ => {
                let peak = time.tflops_per_device / time.mfu * 1e12;
                100.0 * per_gpu(step_flops(row, setup)?) / peak
            }
        })
    };
    Ok(Prediction { value: of(time.step_s)?, trivial: Some(of(trivial_s)?) })
}

/// FLOPs, recomputation included, over half of the dense peak of all GPUs, in seconds.
pub fn trivial_step_s(time: &TimeReport) -> f64 {
    time.step_s * time.hfu / TRIVIAL_SHARE
}
