//! `headroom catalog`: the models, devices, links and presets that a scenario can name.

use anyhow::Result;
use clap::ValueEnum;
use serde_json::json;
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
    for row in rows {
        if arguments.json {
            writeln!(out, "{row}")?;
        } else {
            let cells: Vec<String> = row
                .as_object()
                .into_iter()
                .flat_map(|object| object.values())
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                .collect();
            writeln!(out, "{}", cells.join("\t"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn models() -> Vec<serde_json::Value> {
    model::catalog::MODELS
        .iter()
        .map(|entry| {
            json!({
                "id": entry.id,
                "name": entry.name,
                "parameters": entry.shape.total_params(),
                "layers": entry.shape.layers,
                "hidden": entry.shape.hidden,
            })
        })
        .collect()
}

fn devices() -> Vec<serde_json::Value> {
    hardware::catalog::devices()
        .map(|device| {
            json!({
                "id": device.id,
                "name": device.name,
                "memory_gib": device.memory_usable_gib(),
                "memory_gb_per_s": device.memory_bandwidth_gb_per_s,
                "bf16_tflops": device.peaks.bf16_tflops,
                "fp16_tflops": device.peaks.fp16_tflops,
            })
        })
        .collect()
}

fn links() -> Vec<serde_json::Value> {
    link_catalog::LINKS
        .iter()
        .map(|link| {
            json!({
                "id": link.id,
                "name": link.name,
                "one_way_gb_per_s": link.one_way_gb_per_s,
                "latency_us": link.latency_us,
            })
        })
        .collect()
}

fn ready() -> Vec<serde_json::Value> {
    presets::ALL
        .iter()
        .map(|preset| {
            let scenario = preset.scenario();
            json!({"id": preset.id, "name": scenario.name, "scenario": scenario})
        })
        .collect()
}
