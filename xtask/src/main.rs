//! Headroom's build: `cargo xtask serve`, `dist`, `test`, `screenshots`, `latency`, `operators`.

mod bootstrap;
mod compress;
mod http;
mod index_html;
mod measure;
mod operators;
mod page;
mod serve;
mod site;
mod test;
mod watch;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand};

use crate::page::Profile;
use crate::workspace::Workspace;

/// Builds, serves and tests Headroom's page.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the page, serve it on 127.0.0.1, rebuild and reload when a file changes
    Serve {
        /// Optimised and compressed, as `dist` builds it
        #[arg(long)]
        release: bool,
        /// The next free port is taken if this one is not
        #[arg(long, default_value_t = 8080)]
        port: u16,
    },
    /// Write the page to a folder that any web server can offer under any path
    Dist {
        /// Where to, from the root of the workspace; what is in there is replaced
        #[arg(long, default_value = "dist")]
        out: PathBuf,
    },
    /// Run every test, the quick ones first; stops at the first that fails
    Test(test::Options),
    /// Take pictures of the page: desktop and phone, light and dark, English and Chinese
    Screenshots(measure::ScreenshotOptions),
    /// Make the core's tables of timed operators from the timings in validation/ops
    Operators(operators::Options),
    /// Drag a slider of the page and print how long each step takes to reach the screen
    Latency(measure::LatencyOptions),
}

/// Which page a command looks at.
#[derive(Args)]
struct Target {
    /// A page that is served already; without it the page is built and served
    #[arg(long)]
    url: Option<String>,
    /// Build the page without optimisation: quicker to build, slower to run
    #[arg(long, conflicts_with = "url")]
    dev: bool,
    /// The state to open, as it stands in the address: `#…`
    #[arg(long, default_value = "")]
    hash: String,
}

impl Target {
    fn profile(&self) -> Profile {
        if self.dev { Profile::Dev } else { Profile::Release }
    }
}

/// What shells report for a program that Ctrl-C ended.
const ON_INTERRUPT: u8 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            // What an interrupt broke is no news.
            if INTERRUPTED.load(Ordering::SeqCst) {
                return ExitCode::from(ON_INTERRUPT);
            }
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    // Destructors do not run on an interrupt, so Chromium is ended here.
    let served = matches!(command, Command::Serve { .. });
    ctrlc::set_handler(move || {
        INTERRUPTED.store(true, Ordering::SeqCst);
        e2e::stop_all();
        println!();
        // Serving has no other way to end; everything else was cut short.
        std::process::exit(if served { 0 } else { ON_INTERRUPT.into() });
    })
    .context("cannot listen for Ctrl-C")?;

    let workspace = Workspace::find()?;
    match command {
        Command::Serve { release, port } => {
            let profile = if release { Profile::Release } else { Profile::Dev };
            serve::run(&workspace, profile, port)?;
        }
        Command::Dist { out } => {
            bootstrap::wasm_target(&workspace)?;
            let out = workspace.root().join(out);
            page::build(&workspace.locked(), Profile::Release, &out)?;
            println!("{} holds the page; {}", out.display(), page::sizes(&out)?);
        }
        Command::Test(options) => return test::run(&workspace.locked(), &options),
        Command::Screenshots(options) => measure::screenshots(&workspace, &options)?,
        Command::Operators(options) => operators::run(&workspace, &options)?,
        Command::Latency(options) => measure::latency(&workspace, &options)?,
    }
    Ok(ExitCode::SUCCESS)
}
