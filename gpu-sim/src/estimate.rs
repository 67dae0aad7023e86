//! `headroom estimate`: reads scenarios, prints reports.

use crate::message;
use anyhow::{Context, Result};
use serde_json::Value;
use sim_core::report::Report;
use sim_core::scenario::{MAX_SCENARIO_BYTES, Scenario};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("input").required(true))]
pub struct Arguments {
    /// A file with one scenario; `-` reads standard input.
    #[arg(long, value_name = "FILE", group = "input")]
    scenario: Option<PathBuf>,
    /// A file with one scenario a line; `-` reads standard input.
    #[arg(long, value_name = "FILE", group = "input")]
    jsonl: Option<PathBuf>,
    /// A ready scenario, by its id in `headroom catalog presets`.
    #[arg(long, value_name = "ID", group = "input")]
    preset: Option<String>,
    /// Indent the report.
    #[arg(long)]
    pretty: bool,
}

/// Prints a report for every scenario.
///
/// # Errors
/// When a file cannot be read, a preset does not exist, or standard output cannot be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let mut failed = false;
    let mut answer = |text: &str| -> Result<()> {
        let (report, good) = answer(text);
        failed |= !good;
        if arguments.pretty {
            writeln!(out, "{report:#}")?;
        } else {
            writeln!(out, "{report}")?;
        }
        Ok(())
    };
    if let Some(path) = &arguments.scenario {
        // One byte more than allowed is enough to know that it is too long.
        let limit = MAX_SCENARIO_BYTES as u64 + 1;
        let mut bytes = Vec::new();
        open(path)?
            .take(limit)
            .read_to_end(&mut bytes)
            .with_context(|| format!("cannot read {}", path.display()))?;
        answer(&String::from_utf8_lossy(&bytes))?;
    } else if let Some(path) = &arguments.jsonl {
        let mut reader = open(path)?;
        while let Some(line) =
            next_line(&mut reader).with_context(|| format!("cannot read {}", path.display()))?
        {
            if !line.trim().is_empty() {
                answer(&line)?;
            }
        }
    } else if let Some(id) = &arguments.preset {
        let preset = sim_core::presets::find(id).with_context(|| {
            let known: Vec<&str> = sim_core::presets::ALL.iter().map(|p| p.id).collect();
            format!("no preset is called {id}; there are {}", known.join(", "))
        })?;
        answer(&preset.scenario().to_json())?;
    }
    Ok(ExitCode::from(u8::from(failed)))
}

fn open(path: &PathBuf) -> Result<Box<dyn BufRead>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    Ok(Box::new(BufReader::new(file)))
}

/// The next line, cut where it is too long to be a scenario; the rest of it is skipped.
fn next_line(reader: &mut dyn BufRead) -> std::io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut some = false;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        some = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let room = (MAX_SCENARIO_BYTES + 1).saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = end.map_or(chunk.len(), |at| at + 1);
        reader.consume(used);
        if end.is_some() {
            break;
        }
    }
    Ok(some.then(|| String::from_utf8_lossy(&line).into_owned()))
}

/// The report of a scenario's text, and whether the scenario could be computed.
fn answer(text: &str) -> (Value, bool) {
    let report = match Scenario::from_json(text) {
        Ok(scenario) => sim_core::report(&scenario),
        Err(error) => Report::unreadable(&error),
    };
    let mut value = serde_json::to_value(&report).expect("a report has string keys only");
    if let Some(issues) = value["issues"].as_array_mut() {
        for (json, issue) in issues.iter_mut().zip(&report.issues) {
            json["message"] = message::sentence(issue).into();
        }
    }
    (value, report.memory.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut_and_the_next_one_read() {
        let long = "x".repeat(MAX_SCENARIO_BYTES + 100);
        let text = format!("{long}\nshort");
        let mut reader = BufReader::new(text.as_bytes());
        let first = next_line(&mut reader).expect("readable").expect("a line");
        assert_eq!(first.len(), MAX_SCENARIO_BYTES + 1);
        assert_eq!(next_line(&mut reader).expect("readable").as_deref(), Some("short"));
        assert_eq!(next_line(&mut reader).expect("readable"), None);
    }

    #[test]
    fn a_text_that_is_no_scenario_names_the_field() {
        let (report, good) = answer(r#"{"model": "llama-2-7b", "hardware": {"devise": "t4"}}"#);
        assert!(!good);
        assert_eq!(report["issues"][0]["field"], "hardware.devise");
    }

    #[test]
    fn defaults_are_echoed() {
        let (report, good) =
            answer(r#"{"model": "gpt2", "hardware": {"device": "a100-sxm-80gb"}}"#);
        assert!(good, "{report}");
        assert_eq!(report["scenario"]["workload"]["sequence"], 2048);
        assert_eq!(report["scenario"]["strategy"]["dp"], 1);
    }
}
