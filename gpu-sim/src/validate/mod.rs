//! `headroom validate`: predictions beside measurements that others have published.

mod analytic;
mod pytorch_trace;
mod summary;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
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
}

/// What a file's line gave: predictions, or the reason why there are none.
pub type Outcome = Result<Vec<Row>, &'static str>;

/// A file that is understood, and how a line of it becomes predictions; `None` passes over lines
/// that belong to another reader.
type Reader = (&'static str, fn(usize, &serde_json::Value) -> Option<(&'static str, Outcome)>);

const READERS: [Reader; 2] =
    [("pytorch_trace.jsonl", pytorch_trace::read), ("train.jsonl", analytic::read)];

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
        for (number, line) in lines(&path)?.iter().enumerate() {
            let value = serde_json::from_str(line)
                .with_context(|| format!("{}, line {}", path.display(), number + 1))?;
            let Some((source, outcome)) = read(number, &value) else { continue };
            let summary = Summary::of(&mut summaries, name, source);
            match outcome {
                Ok(found) => {
                    found.iter().for_each(|row| summary.add(row));
                    rows.extend(found);
                }
                Err(reason) => summary.skip(reason),
            }
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
        write!(out, "{}", summary::table(&summaries))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The line's own id, else the file's name and the line's number.
fn id(file: &str, number: usize, row: &serde_json::Value) -> String {
    row["id"].as_str().map_or_else(|| format!("{file}:{}", number + 1), str::to_owned)
}

fn lines(path: &Path) -> Result<Vec<String>> {
    let file =
        std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let lines: std::io::Result<Vec<String>> = BufReader::new(file).lines().collect();
    let lines = lines.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(lines.into_iter().filter(|line| !line.trim().is_empty()).collect())
}
