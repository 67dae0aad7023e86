//! `headroom validate`: predictions beside measurements that others have published.

mod analytic;
mod answer;
mod fields;
mod infer;
mod job;
mod operators;
mod playbook;
mod pytorch_fsdp_trace;
mod pytorch_trace;
mod summary;
mod training;
mod user_reports;
mod vocabulary;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use summary::Summary;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A folder with files of the names and fields of `validation/`.
    #[arg(default_value = "validation")]
    folder: PathBuf,
    /// One JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// One prediction beside its measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub id: String,
    pub metric: &'static str,
    pub measured: f64,
    pub predicted: f64,
    /// What FLOPs over half of the peak give, for times.
    #[serde(skip)]
    pub trivial: Option<f64>,
    /// Runs of one name are alternatives to each other: their order is compared too.
    #[serde(skip)]
    pub cell: Option<String>,
    /// What a verdict rests on.
    #[serde(skip)]
    pub need: Option<Need>,
}

/// Memory that the fullest GPU needs, and what it has, in GiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    pub need_gib: f64,
    pub capacity_gib: f64,
}

impl Row {
    /// A prediction that nothing else is known of.
    pub fn new(id: String, metric: &'static str, measured: f64, predicted: f64) -> Self {
        Self { id, metric, measured, predicted, trivial: None, cell: None, need: None }
    }

    /// A verdict beside ours.
    pub fn fits(id: String, measured: bool, predicted: bool, need: Need) -> Self {
        let number = |verdict: bool| f64::from(u8::from(verdict));
        let row = Self::new(id, "fits", number(measured), number(predicted));
        Self { need: Some(need), ..row }
    }
}

/// Something that is not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The column; `None` for the whole line.
    pub metric: Option<&'static str>,
    pub reason: String,
}

/// What a line of a file gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The name in summaries.
    pub source: String,
    pub rows: Vec<Row>,
    pub skipped: Vec<Skip>,
}

impl Compared {
    /// A line that is not compared.
    pub fn skipped(source: impl Into<String>, reason: impl Into<String>) -> Self {
        let skip = Skip { metric: None, reason: reason.into() };
        Self { source: source.into(), rows: Vec::new(), skipped: vec![skip] }
    }
}

/// A file that is understood, and how a line of it becomes predictions.
type Reader = (&'static str, fn(usize, &Value) -> Compared);

const READERS: [Reader; 12] = [
    ("pytorch_trace.jsonl", pytorch_trace::read),
    ("pytorch_trace_own.jsonl", pytorch_trace::read_own),
    ("pytorch_fsdp_trace.jsonl", pytorch_fsdp_trace::read),
    ("pytorch_fsdp_modes.jsonl", pytorch_fsdp_trace::read_modes),
    ("train.jsonl", training::read),
    ("playbook_sweep.jsonl", playbook::read),
    ("infer.jsonl", infer::read),
    ("user_reports.jsonl", user_reports::read),
    ("ops/gemm.jsonl", operators::gemm),
    ("ops/attention_prefill.jsonl", operators::prefill),
    ("ops/attention_decode.jsonl", operators::decode),
    ("ops/nccl.jsonl", operators::nccl),
];

/// Compares all files of a folder.
///
/// # Errors
/// When the folder has no file that is understood, a file cannot be read, or a line is no JSON.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut summaries: Vec<Summary> = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut files = 0;
    for (name, read) in READERS {
        let path = arguments.folder.join(name);
        if !path.exists() {
            continue;
        }
        files += 1;
        for compared in compare_all(&values(&path)?, read) {
            let summary = Summary::of(&mut summaries, name, &compared.source);
            compared.rows.iter().for_each(|row| summary.add(row));
            compared.skipped.into_iter().for_each(|skip| summary.skip(skip));
            rows.extend(compared.rows);
        }
    }
    ensure!(
        files > 0,
        "{} has no file that is understood: {}",
        arguments.folder.display(),
        READERS.map(|reader| reader.0).join(", ")
    );
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let sources: Vec<_> = summaries.iter().flat_map(Summary::metrics).collect();
        writeln!(out, "{}", json!({"sources": sources, "rows": rows}))?;
    } else {
        write!(out, "{}{}", summary::table(&summaries), summary::wrong(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads all lines of a file on all cores; the answers are in the order of the lines.
fn compare_all(lines: &[Value], read: fn(usize, &Value) -> Compared) -> Vec<Compared> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(lines.len().max(1));
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(line) = lines.get(index) else { return };
                    if sender.send((index, read(index, line))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut all: Vec<(usize, Compared)> = receiver.into_iter().collect();
        all.sort_by_key(|(index, _)| *index);
        all.into_iter().map(|(_, compared)| compared).collect()
    })
}

/// The line's own id, else the file's name and the line's number.
fn id(file: &str, number: usize, row: &Value) -> String {
    row["id"].as_str().map_or_else(|| format!("{file}:{}", number + 1), str::to_owned)
}

fn values(path: &Path) -> Result<Vec<Value>> {
    let file =
        std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut values = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        if line.trim().is_empty() {
            continue;
        }
        let value = serde_json::from_str(&line)
            .with_context(|| format!("{}, line {}", path.display(), number + 1))?;
        values.push(value);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_lines() {
        fn read(number: usize, line: &Value) -> Compared {
            assert_eq!(line["n"], number);
            Compared { source: number.to_string(), rows: Vec::new(), skipped: Vec::new() }
        }
        let lines: Vec<Value> = (0..500).map(|n| json!({ "n": n })).collect();
        let answers = compare_all(&lines, read);
        let order: Vec<String> = answers.into_iter().map(|one| one.source).collect();
        assert_eq!(order, (0..500).map(|n| n.to_string()).collect::<Vec<_>>());
        assert!(compare_all(&[], read).is_empty());
    }
}
