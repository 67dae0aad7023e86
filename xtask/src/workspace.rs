//! Where things are, and how to call cargo there.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// The workspace that this program belongs to.
#[derive(Clone)]
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
    locked: bool,
}

impl Workspace {
    /// Asks cargo, which has told this program where its own package is.
    ///
    /// The place is not compiled in: two clones may share one target folder.
    pub fn find() -> Result<Self> {
        let here = match env::var_os("CARGO_MANIFEST_DIR") {
            Some(package) => PathBuf::from(package),
            None => env::current_dir()?,
        };
        let output = cargo()
            .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
            .current_dir(&here)
            .output()
            .context("cannot start cargo")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let folder = |key: &str| {
            metadata[key]
                .as_str()
                .map(PathBuf::from)
                .with_context(|| format!("cargo gave no {key}"))
        };
        let (root, target) = (folder("workspace_root")?, folder("target_directory")?);
        Ok(Self { root, target, locked: false })
    }

    /// The same, but cargo fails where Cargo.lock would have to change.
    pub fn locked(&self) -> Self {
        Self { locked: true, ..self.clone() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's target folder.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// A folder below cargo's target folder for what xtask writes.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.target.join("headroom").join(name)
    }

    /// A cargo command that works on the packages: `build`, `test`, `clippy`, …
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut command = cargo();
        command.current_dir(&self.root).arg(subcommand);
        if self.locked {
            command.arg("--locked");
        }
        command
    }

    /// Another program, started at the root.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(&self.root);
        command
    }
}

/// Cargo without the variables by which the cargo that started xtask described xtask's package.
///
/// Build scripts that watch them would run again, and with them half of the dependencies.
fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let describes_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
        if describes_package.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command to its end with its output on the terminal; fails if it fails.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", words(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", words(command));
    }
    Ok(())
}

/// The command as one would type it.
pub fn words(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_stem().unwrap_or(program.as_os_str());
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    std::iter::once(name.to_string_lossy()).chain(arguments).collect::<Vec<_>>().join(" ")
}
