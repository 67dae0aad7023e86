//! Fetches what a fresh machine lacks: the wasm target, rustfmt and clippy, Chromium for the browser tests.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::workspace::{Workspace, run};

pub const WASM: &str = "wasm32-unknown-unknown";
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// Adds the wasm target to the toolchain in use if it is not there.
///
/// rust-toolchain.toml lists it too, but rustup goes by that list only where it may install by itself.
pub fn wasm_target(workspace: &Workspace) -> Result<()> {
    let output = workspace
        .program("rustc")
        .args(["--print", "target-libdir", "--target", WASM])
        .output()
        .context("cannot start rustc; install Rust with rustup (https://rustup.rs)")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    if Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir() {
        return Ok(());
    }
    println!("The {WASM} target is missing; adding it with rustup.");
    run(workspace.program("rustup").args(["target", "add", WASM])).with_context(|| {
        format!("install the {WASM} target of your Rust toolchain (`rustup target add {WASM}`)")
    })
}

/// Adds rustfmt and clippy to the toolchain in use if they are not there.
pub fn lint_tools(workspace: &Workspace) -> Result<()> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let works = workspace
            .program("cargo")
            .args([subcommand, "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !works {
            println!("{component} is missing; adding it with rustup.");
            run(workspace.program("rustup").args(["component", "add", component]))
                .with_context(|| format!("install it (`rustup component add {component}`)"))?;
        }
    }
    Ok(())
}

/// Whether missing Debian packages may be installed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Install {
    /// Only by root on a machine that says it is a CI runner.
    InCi,
    /// The user asked for it.
    Asked,
}

/// Makes sure of Chromium and ChromeDriver, or says in one line how to get them.
pub fn chromium(install: Install) -> Result<()> {
    let Err(missing) = browser_and_driver() else { return Ok(()) };
    let wanted = install == Install::Asked || env::var_os("CI").is_some();
    if !(wanted && is_root() && on_path("apt-get")) {
        let packages = PACKAGES.join(" ");
        bail!(
            "{missing}. On Debian: `apt-get update && apt-get install {packages}` as root, \
             or `cargo xtask test --install` as root; elsewhere set HEADROOM_CHROMIUM and CHROMEDRIVER"
        );
    }
    println!("{missing}; installing {} with apt-get.", PACKAGES.join(" and "));
    run(&mut apt_get(&["update", "--quiet"]))?;
    let mut arguments = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    arguments.extend(PACKAGES);
    run(&mut apt_get(&arguments))?;
    browser_and_driver().map_err(|missing| anyhow::anyhow!("{missing} even after its installation"))
}

fn browser_and_driver() -> Result<(), String> {
    let browser = e2e::find_chromium();
    let driver = env::var_os("CHROMEDRIVER").is_some() || on_path("chromedriver");
    match (browser, driver) {
        (Ok(_), true) => Ok(()),
        (Ok(_), false) => Err("ChromeDriver is missing".to_owned()),
        (Err(_), true) => Err("Chromium is missing".to_owned()),
        (Err(_), false) => Err("Chromium and ChromeDriver are missing".to_owned()),
    }
}

fn apt_get(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command
}

fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .any(|folder| folder.join(program).with_extension(env::consts::EXE_EXTENSION).is_file())
}

#[cfg(target_os = "linux")]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    // The owner of a process's folder in /proc is its effective user.
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

#[cfg(not(target_os = "linux"))]
fn is_root() -> bool {
    false
}
