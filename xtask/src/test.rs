//! `cargo xtask test`: every check in the order of its cost, each with its time, one closing line.

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::bootstrap::{self, Install, WASM};
use crate::page::{self, Profile};
use crate::site::Site;
use crate::workspace::{Workspace, run as run_command};

#[derive(Args)]
pub struct Options {
    /// Only these parts [default: all]
    parts: Vec<Part>,
    /// Install Chromium and ChromeDriver with apt-get if they are missing (as root)
    #[arg(long)]
    install: bool,
    /// Only the journeys whose name contains this
    #[arg(long, default_value = "")]
    journey: String,
    /// Take the journeys through a page that is served already (ends with a slash), such as one in the making
    #[arg(long)]
    url: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Format and lints
    Lint,
    /// Tests that need no browser
    Native,
    /// Tests compiled to wasm, in Chromium
    Wasm,
    /// The finished page in Chromium
    Browser,
}

struct Step {
    part: Part,
    name: &'static str,
    run: fn(&Workspace, &Options) -> Result<()>,
}

const STEPS: [Step; 8] = [
    Step { part: Part::Lint, name: "format", run: format },
    Step {
        part: Part::Lint,
        name: "lints of the core, the page and the command",
        run: lint_native,
    },
    Step { part: Part::Lint, name: "lints of the page for wasm", run: lint_wasm },
    Step { part: Part::Lint, name: "lints of the tools", run: lint_tools },
    Step {
        part: Part::Native,
        name: "tests of the core, the page and the command",
        run: test_native,
    },
    Step { part: Part::Native, name: "tests of the tools", run: test_tools },
    Step { part: Part::Wasm, name: "tests of the core in Chromium", run: test_core_wasm },
    Step { part: Part::Browser, name: "journeys through the finished page", run: journeys },
];

/// Packages built with the profile `xtask`, as `cargo xtask` builds them, and therefore only once.
const TOOLS: [&str; 3] = ["xtask", "e2e", "wasm-runner"];
const PRODUCT: [&str; 3] = ["sim-core", "app", "gpu-sim"];

/// A path that a careless absolute address would not survive.
const SUB_PATH: &str = "/some/prefix/";

pub fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let start = Instant::now();
    prepare(workspace, options)?;
    let chosen: Vec<&Step> = STEPS.iter().filter(|step| options.wants(step.part)).collect();
    let (mut passed, mut failed) = (0, 0);
    let mut summary = Vec::new();
    for (index, step) in chosen.iter().enumerate() {
        println!("\n==> {}/{} {}", index + 1, chosen.len(), step.name);
        let start = Instant::now();
        let result = (step.run)(workspace, options);
        let word = match result {
            Ok(()) => {
                passed += 1;
                "ok".to_owned()
            }
            Err(error) => {
                failed += 1;
                format!("FAILED: {error:#}")
            }
        };
        summary.push(format!(
            "step {} ({:.1} s) ... {word}",
            step.name,
            start.elapsed().as_secs_f64()
        ));
        if failed > 0 {
            break;
        }
    }
    println!("\n{}", summary.join("\n"));
    let word = if failed == 0 { "ok" } else { "FAILED" };
    let filtered_out = STEPS.len() - chosen.len();
    let not_run = chosen.len() - passed - failed;
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; {not_run} ignored; 0 measured; \
         {filtered_out} filtered out; finished in {:.2}s",
        start.elapsed().as_secs_f64()
    );
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Options {
    fn wants(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }
}

/// What is missing is said before the minutes of compiling, not after.
fn prepare(workspace: &Workspace, options: &Options) -> Result<()> {
    bootstrap::wasm_target(workspace)?;
    if options.wants(Part::Lint) {
        bootstrap::lint_tools(workspace)?;
    }
    if options.wants(Part::Wasm) || options.wants(Part::Browser) {
        let install = if options.install { Install::Asked } else { Install::InCi };
        bootstrap::chromium(install)?;
    }
    Ok(())
}

fn format(workspace: &Workspace, _: &Options) -> Result<()> {
    // Not through `cargo()`: `fmt` takes no `--locked`.
    pass(workspace.program("cargo").args(["fmt", "--all", "--check"]))
}

fn lint_native(workspace: &Workspace, _: &Options) -> Result<()> {
    let mut clippy = workspace.cargo("clippy");
    packages(&mut clippy, &PRODUCT).args(["--package", "bench", "--all-targets"]);
    pass(clippy.args(DENY_WARNINGS))
}

fn lint_wasm(workspace: &Workspace, _: &Options) -> Result<()> {
    let mut clippy = workspace.cargo("clippy");
    // Not its tests: those are native, and so are the crates that they bring.
    packages(&mut clippy, &["app"]).args(["--target", WASM, "--bins"]);
    pass(clippy.args(DENY_WARNINGS))?;
    // What is timed in the browser is run by hand, and must not rot meanwhile.
    let mut clippy = workspace.cargo("clippy");
    packages(&mut clippy, &["bench"]).args(["--target", WASM, "--tests"]);
    pass(clippy.args(DENY_WARNINGS))
}

fn lint_tools(workspace: &Workspace, _: &Options) -> Result<()> {
    let mut clippy = workspace.cargo("clippy");
    packages(&mut clippy, &TOOLS).args(["--profile", "xtask", "--all-targets"]);
    pass(clippy.args(DENY_WARNINGS))
}

fn test_native(workspace: &Workspace, _: &Options) -> Result<()> {
    pass(packages(&mut workspace.cargo("test"), &PRODUCT))
}

fn test_tools(workspace: &Workspace, _: &Options) -> Result<()> {
    let mut test = workspace.cargo("test");
    pass(packages(&mut test, &["xtask", "e2e"]).args(["--profile", "xtask"]))
}

/// The same numbers must come out of wasm as out of native code.
fn test_core_wasm(workspace: &Workspace, _: &Options) -> Result<()> {
    let mut test = wasm_test(workspace, "sim-core");
    pass(test.args(["--test", "wasm"]))
}

fn wasm_test(workspace: &Workspace, package: &str) -> Command {
    let mut test = workspace.cargo("test");
    packages(&mut test, &[package]).args(["--target", WASM]);
    test
}

fn journeys(workspace: &Workspace, options: &Options) -> Result<()> {
    let url = match &options.url {
        Some(url) => url.clone(),
        None => {
            let folder = workspace.scratch("test");
            page::build(workspace, Profile::Release, &folder)?;
            Site::finished(&folder, SUB_PATH).serve(0)?.url
        }
    };
    let pictures = workspace.scratch("failures");
    let outcome = e2e::journeys::run_all(&url, &options.journey, &pictures)?;
    if outcome.failed > 0 {
        bail!("{} journeys failed", outcome.failed);
    }
    Ok(())
}

fn pass(command: &mut Command) -> Result<()> {
    run_command(command)?;
    Ok(())
}

const DENY_WARNINGS: [&str; 3] = ["--", "--deny", "warnings"];

fn packages<'a>(command: &'a mut Command, names: &[&str]) -> &'a mut Command {
    for name in names {
        command.args(["--package", name]);
    }
    command
}
