//! `headroom catalog`: the models, devices, links and presets that a scenario can name.

use anyhow::Result;
use clap::ValueEnum;
use serde_json::{Value, json};
use sim_core::hardware::{self, link_catalog};
use sim_core::{model, presets};
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What to list.
    list: List,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum List {
    Models,
    Devices,
    Links,
    Presets,
}

/// Prints a catalogue.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let rows = match arguments.list {
        List::Models => models(),
        List::Devices => devices(),
        List::Links => links(),
        List::Presets => ready(),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        for row in rows {
            let object: serde_json::Map<String, Value> =
                row.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            writeln!(out, "{}", Value::Object(object))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(first) = rows.first() {
        let names: Vec<&str> = first.iter().map(|(name, _)| *name).collect();
        writeln!(out, "{}", names.join("\t"))?;
    }
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .map(|(_, value)| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        writeln!(out, "{}", cells.join("\t"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Named cells in the order of the table's columns.
type Row = Vec<(&'static str, Value)>;

/// Bytes of a cached number in 16 bits, the usual format.
const KV_VALUE_BYTES: u64 = 2;

fn models() -> Vec<Row> {
    model::catalog::MODELS
        .iter()
        .map(|entry| {
            vec![
                ("id", json!(entry.id)),
                ("name", json!(entry.name)),
                ("parameters", json!(entry.shape.total_params())),
                ("active_parameters", json!(entry.shape.active_params())),
                ("layers", json!(entry.shape.layers)),
                ("hidden", json!(entry.shape.hidden)),
                ("kv_bytes_per_token", json!(entry.shape.kv_values_per_token() * KV_VALUE_BYTES)),
            ]
        })
        .collect()
}

fn devices() -> Vec<Row> {
    hardware::catalog::devices()
        .map(|device| {
            vec![
                ("id", json!(device.id)),
                ("name", json!(device.name)),
                ("memory_gib", json!(device.memory_usable_gib())),
                ("memory_gb_per_s", json!(device.memory_bandwidth_gb_per_s)),
                ("bf16_tflops", json!(device.peaks.bf16_tflops)),
                ("fp16_tflops", json!(device.peaks.fp16_tflops)),
            ]
        })
        .collect()
}

fn links() -> Vec<Row> {
    link_catalog::LINKS
        .iter()
        .map(|link| {
            vec![
                ("id", json!(link.id)),
                ("name", json!(link.name)),
                ("one_way_gb_per_s", json!(link.one_way_gb_per_s)),
                ("latency_us", json!(link.latency_us)),
            ]
        })
        .collect()
}

fn ready() -> Vec<Row> {
    presets::ALL
        .iter()
        .map(|preset| {
            let scenario = preset.scenario();
            vec![
                ("id", json!(preset.id)),
                ("name", json!(scenario.name)),
                ("scenario", json!(scenario)),
            ]
        })
        .collect()
}
