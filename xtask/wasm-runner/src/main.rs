//! Runs wasm32 tests in headless Chromium: cargo calls it as the runner of that target.
//!
//! It is wasm-bindgen's own test runner, linked as a library, so that its version is the one in Cargo.lock
//! and nothing has to be installed but Chromium and ChromeDriver.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use anyhow::{Context as _, Result};
use serde_json::json;
use wasm_bindgen_cli::wasm_bindgen_test_runner;

fn main() -> Result<()> {
    let mut arguments: Vec<_> = env::args_os().collect();
    // Cargo's path may be relative to the folder that is left below.
    if let Some(module) = arguments.get_mut(1)
        && let Ok(absolute) = Path::new(module).canonicalize()
    {
        *module = absolute.into();
    }
    let folder = Configuration::write()?;
    env::set_current_dir(&folder.0)?;
    wasm_bindgen_test_runner::run_cli_with_args(arguments)
}

/// A folder with the webdriver.json that the runner looks for where it is started.
struct Configuration(PathBuf);

impl Configuration {
    /// Names the Chromium that is there, with the flags that the browser journeys use.
    fn write() -> Result<Self> {
        let folder = Self(env::temp_dir().join(format!("headroom-wasm-tests-{}", process::id())));
        let options = json!({
            "goog:chromeOptions": { "binary": e2e::find_chromium()?, "args": e2e::FLAGS },
        });
        fs::create_dir_all(&folder.0)?;
        let file = folder.0.join("webdriver.json");
        fs::write(&file, options.to_string())
            .with_context(|| format!("cannot write {}", file.display()))?;
        Ok(folder)
    }
}

impl Drop for Configuration {
    fn drop(&mut self) {
        // A folder that stays in the temporary ones does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}
