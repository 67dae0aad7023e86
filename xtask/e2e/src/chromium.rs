//! Which Chromium to start, and with which flags.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// Names it has on the `PATH` of one system or another.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];

/// Where macOS keeps it, outside of the `PATH`.
const BUNDLES: [&str; 2] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/// Flags for a quiet, repeatable, headless browser that looks at nothing but the page under test.
///
/// The sandbox is off because it needs privileges that containers withhold, and root always lacks it.
pub const FLAGS: [&str; 13] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--mute-audio",
];

/// Finds Chromium: `HEADROOM_CHROMIUM` if that is set, else the first known name on the `PATH`.
pub fn find() -> Result<PathBuf> {
    if let Some(path) = env::var_os("HEADROOM_CHROMIUM") {
        let path = PathBuf::from(path);
        if !path.is_file() {
            bail!("HEADROOM_CHROMIUM names {}, which is no file", path.display());
        }
        return Ok(path);
    }
    let on_path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&on_path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .chain(BUNDLES.iter().map(PathBuf::from))
        .find(|path| is_program(path))
        .context(
            "Chromium is missing: install it (Debian: `apt-get install chromium chromium-driver`) \
             or set HEADROOM_CHROMIUM to its path",
        )
}

fn is_program(path: &Path) -> bool {
    path.with_extension(env::consts::EXE_EXTENSION).is_file()
}
