//! `headroom`: scenarios in, reports out.

mod catalog;
mod estimate;
mod message;
mod validate;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// What if the GPU has too little memory for the whole model?
#[derive(Debug, Parser)]
#[command(name = "headroom", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Memory and time of a scenario, one JSON report a line.
    Estimate(estimate::Arguments),
    /// What ids a scenario can name.
    Catalog(catalog::Arguments),
    /// Predictions beside published measurements.
    Validate(validate::Arguments),
}

/// 0 done, 1 a scenario has errors (all are listed), 2 usage, as clap has it.
fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Estimate(arguments) => estimate::run(&arguments),
        Command::Catalog(arguments) => catalog::run(&arguments),
        Command::Validate(arguments) => validate::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        // A reader that has seen enough, such as `head`, is no failure.
        let closed = error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe);
        if closed {
            return ExitCode::SUCCESS;
        }
        eprintln!("headroom: {error:#}");
        ExitCode::from(2)
    })
}
