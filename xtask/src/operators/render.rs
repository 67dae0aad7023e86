//! The tables as source text.

use std::fmt::Write as _;

use sim_core::hardware::measured::NcclOperation;
use sim_core::hardware::measured::attention::AttentionFit;
use sim_core::hardware::measured::gemm::FamilyFit;
use sim_core::hardware::measured::gpu::Gpu;
use sim_core::hardware::measured::nccl::NcclFit;

/// Width of a line.
const WIDTH: usize = 100;

/// The first lines of a GPU's file.
pub fn header(gpu: &Gpu) -> String {
    format!(
        "//! Timed operators of `{}`; made by `cargo xtask operators`, not by hand.\n\n\
         use crate::hardware::measured::attention::{{AttentionForm, AttentionPhase, AttentionTable}};\n\
         use crate::hardware::measured::gemm::{{GemmForm, GemmFormat, GemmTable}};\n\
         use crate::hardware::measured::nccl::{{NcclForm, NcclOperation, NcclTable}};\n",
        gpu.name
    )
}

/// One GPU's products in one format.
pub fn gemm(fit: &FamilyFit, index: usize, error: f64) -> String {
    let form = &fit.forms[index];
    let mut text = format!(
        "GemmTable {{\n    gpu: {:?},\n    format: GemmFormat::{:?},\n    form: GemmForm {{\n",
        fit.family[index].name, fit.format
    );
    for (name, value) in [
        ("launch_us", form.launch_us),
        ("arithmetic", form.arithmetic),
        ("memory", form.memory),
        ("cache", form.cache),
        ("softness", form.softness),
        ("capacity", form.capacity),
    ] {
        field(&mut text, 2, name, value);
    }
    text.push_str("    },\n");
    field(&mut text, 1, "left_out_error", (error * 1e4).round() / 1e4);
    let points = fit.weights[index].iter().map(|(shape, weight)| {
        format!("({}, {}, {}, {:?})", shape.m, shape.n, shape.k, rounded(*weight))
    });
    points_into(&mut text, points);
    text
}

/// One GPU's attention in one phase.
pub fn attention(fit: &AttentionFit, index: usize, error: f64) -> String {
    let form = &fit.forms[index];
    let mut text = format!(
        "AttentionTable {{\n    gpu: {:?},\n    phase: AttentionPhase::{:?},\n    form: AttentionForm {{\n",
        fit.family[index].name, fit.phase
    );
    for (name, value) in [
        ("launch_us", form.launch_us),
        ("arithmetic_odds", form.arithmetic_odds),
        ("memory", form.memory),
        ("update", form.update),
        ("cache", form.cache),
        ("softness", form.softness),
        ("head_exponent", form.head_exponent),
        ("fp8_launch", form.fp8_launch),
        ("fp8_arithmetic", form.fp8_arithmetic),
        ("fp8_update", form.fp8_update),
    ] {
        field(&mut text, 2, name, value);
    }
    text.push_str("    },\n");
    field(&mut text, 1, "left_out_error", (error * 1e4).round() / 1e4);
    let points = fit.weights[index].iter().map(|(shape, weight)| {
        format!(
            "({}, {}, {}, {}, {}, {}, {}, {:?})",
            shape.batch,
            shape.context,
            shape.heads,
            shape.kv_heads,
            shape.head_dim,
            shape.cache_bytes,
            shape.window.unwrap_or(0),
            rounded(*weight)
        )
    });
    points_into(&mut text, points);
    text
}

/// One GPU's collective.
pub fn nccl(gpu: &Gpu, operation: NcclOperation, fit: &NcclFit, error: f64) -> String {
    let mut text = format!(
        "NcclTable {{\n    gpu: {:?},\n    operation: NcclOperation::{operation:?},\n    forms: &[\n",
        gpu.name
    );
    for form in &fit.forms {
        writeln!(
            text,
            "        NcclForm {{ ranks: {}, latency_us: {:?}, gb_per_s: {:?}, softness: {:?} }},",
            form.ranks, form.latency_us, form.gb_per_s, form.softness
        )
        .expect("a string takes every line");
    }
    text.push_str("    ],\n");
    field(&mut text, 1, "left_out_error", (error * 1e4).round() / 1e4);
    let points = fit.weights.iter().map(|(shape, weight)| {
        let log = shape.bytes.log2().round();
        format!("({log}, {}, {}, {:?})", shape.ranks, shape.number_bytes, rounded(*weight))
    });
    points_into(&mut text, points);
    text
}

/// A list of tables.
pub fn list(name: &str, kind: &str, tables: &[String]) -> String {
    let mut text =
        format!("\n#[rustfmt::skip]\npub const {name}: [{kind}; {}] = [\n", tables.len());
    for table in tables {
        for line in table.lines() {
            writeln!(text, "    {line}").expect("a string takes every line");
        }
    }
    text.push_str("];\n");
    text
}

/// The module of all files.
pub fn index(gpus: &[&Gpu]) -> String {
    let mut text =
        "//! The tables, one file a GPU; made by `cargo xtask operators`, not by hand.\n\n"
            .to_owned();
    let mut names: Vec<&str> = gpus.iter().map(|gpu| gpu.name).collect();
    names.sort_unstable();
    for name in &names {
        writeln!(text, "mod {name};").expect("a string takes every line");
    }
    text.push_str("\nuse super::attention::AttentionTable;\nuse super::gemm::GemmTable;\nuse super::nccl::NcclTable;\n");
    for (list, kind) in
        [("GEMM", "GemmTable"), ("ATTENTION", "AttentionTable"), ("NCCL", "NcclTable")]
    {
        let count = names.len();
        write!(text, "\n#[rustfmt::skip]\npub const {list}: [&[{kind}]; {count}] = [\n")
            .expect("a string takes every line");
        for name in &names {
            writeln!(text, "    &{name}::{list},").expect("a string takes every line");
        }
        text.push_str("];\n");
    }
    text
}

fn field(text: &mut String, indent: usize, name: &str, value: f64) {
    writeln!(text, "{}{name}: {value:?},", "    ".repeat(indent))
        .expect("a string takes every line");
}

/// A weight to four places: what the residual of a prediction then loses is far below the noise.
fn rounded(weight: f64) -> f64 {
    let rounded = (weight * 1e4).round() / 1e4;
    // No negative zero.
    rounded + 0.0
}

fn points_into(text: &mut String, points: impl Iterator<Item = String>) {
    text.push_str("    points: &[");
    let mut column = WIDTH;
    for point in points {
        if column + point.len() + 2 > WIDTH {
            text.push_str("\n        ");
            column = 12;
        } else {
            text.push(' ');
        }
        text.push_str(&point);
        text.push(',');
        column += point.len() + 2;
    }
    text.push_str("\n    ],\n},\n");
}
