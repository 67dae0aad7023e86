//! `cargo xtask operators`: the tables of timed operators, from the timings in `validation/ops`.

mod leave_out;
mod read;
mod render;

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use clap::Args;
use sim_core::hardware::measured::attention::AttentionFit;
use sim_core::hardware::measured::gemm::FamilyFit;
use sim_core::hardware::measured::gpu::{FAMILIES, Gpu};
use sim_core::hardware::measured::nccl::NcclFit;
use sim_core::hardware::measured::{AttentionPhase, GemmFormat, NcclOperation};

use crate::workspace::Workspace;
use read::Timings;

#[derive(Args)]
pub struct Options {
    /// Only print how far shapes are predicted that the fit has not seen
    #[arg(long)]
    leave_out: bool,
}

/// Where the tables are, from the root of the workspace.
const TABLES: &str = "sim-core/src/hardware/measured/tables";

pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let timings = Timings::read(&workspace.root().join("validation/ops"))?;
    if options.leave_out {
        print!("{}", report(&timings));
        return Ok(());
    }
    for (name, text) in files(&timings) {
        let path = workspace.root().join(TABLES).join(&name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{TABLES}/{name}");
    }
    Ok(())
}

/// Name and text of every file of tables.
fn files(timings: &Timings) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for family in FAMILIES {
        // Fits are of families, files of GPUs.
        let mut gemm = vec![Vec::new(); family.len()];
        for format in GemmFormat::ALL {
            let of_family = timings.gemm(family, format);
            let errors = leave_out::gemm(family, format, &of_family);
            let fit = FamilyFit::of(family, format, &of_family);
            for (index, tables) in gemm.iter_mut().enumerate() {
                if !of_family[index].is_empty() {
                    tables.push(render::gemm(&fit, index, leave_out::mean(&errors[index])));
                }
            }
        }
        let mut attention = vec![Vec::new(); family.len()];
        for phase in AttentionPhase::ALL {
            let of_family = timings.attention(family, phase);
            let errors = leave_out::attention(family, phase, &of_family);
            let fit = AttentionFit::of(family, phase, &of_family);
            for (index, tables) in attention.iter_mut().enumerate() {
                tables.push(render::attention(&fit, index, leave_out::mean(&errors[index])));
            }
        }
        for (index, gpu) in family.iter().enumerate() {
            let collective = |operation| {
                let of_gpu = timings.nccl(gpu, operation);
                let error = leave_out::mean(&leave_out::nccl(operation, &of_gpu));
                render::nccl(gpu, operation, &NcclFit::of(operation, &of_gpu), error)
            };
            let mut text = render::header(gpu);
            text.push_str(&render::list("GEMM", "GemmTable", &gemm[index]));
            text.push_str(&render::list("ATTENTION", "AttentionTable", &attention[index]));
            text.push_str(&render::list("NCCL", "NcclTable", &NcclOperation::ALL.map(collective)));
            files.push((format!("{}.rs", gpu.name), text));
        }
    }
    files.push(("mod.rs".to_owned(), render::index(&gpus())));
    files
}

fn gpus() -> Vec<&'static Gpu> {
    FAMILIES.into_iter().flatten().collect()
}

/// Mean error of left-out shapes, by kind and GPU, beside that of a peak roofline.
fn report(timings: &Timings) -> String {
    let mut text = format!(
        "{:<20} {:<16} {:>7} {:>8} {:>8} {:>8}\n",
        "GPU", "operator", "timings", "median", "mean", "trivial"
    );
    let mut line = |gpu: &str, kind: &str, errors: &[f64], trivial: f64| {
        writeln!(
            text,
            "{gpu:<20} {kind:<16} {:>7} {:>6.1} % {:>6.1} % {:>6.1} %",
            errors.len(),
            100.0 * leave_out::median(errors),
            100.0 * leave_out::mean(errors),
            100.0 * trivial,
        )
        .expect("a string takes every line");
    };
    for family in FAMILIES {
        for format in GemmFormat::ALL {
            let of_family = timings.gemm(family, format);
            let errors = leave_out::gemm(family, format, &of_family);
            for (index, gpu) in family.iter().enumerate() {
                if !errors[index].is_empty() {
                    let trivial = leave_out::roofline(gpu, format, &of_family[index]);
                    line(gpu.name, &format!("GEMM {}", format.name()), &errors[index], trivial);
                }
            }
        }
        for phase in AttentionPhase::ALL {
            let of_family = timings.attention(family, phase);
            let errors = leave_out::attention(family, phase, &of_family);
            for (index, gpu) in family.iter().enumerate() {
                let trivial = leave_out::attention_roofline(gpu, phase, &of_family[index]);
                line(gpu.name, phase.name(), &errors[index], trivial);
            }
        }
        for gpu in family {
            for operation in NcclOperation::ALL {
                let of_gpu = timings.nccl(gpu, operation);
                let errors = leave_out::nccl(operation, &of_gpu);
                let trivial = leave_out::largest_bandwidth(operation, &of_gpu);
                line(gpu.name, operation.name(), &errors, trivial);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests;
