//! One headless Chromium process: started on a fresh profile, ended and swept up when dropped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, process};

use anyhow::{Context as _, Result, bail};

use crate::{Page, chromium};

/// A cold start on a busy machine with a cold disk has taken ten seconds.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// What runs now, so that an interrupt can end it too.
static RUNNING: Mutex<Vec<Running>> = Mutex::new(Vec::new());
static LAUNCHES: AtomicU32 = AtomicU32::new(0);

/// A running Chromium.
pub struct Browser {
    id: u32,
    endpoint: String,
}

struct Running {
    id: u32,
    process: Child,
    profile: PathBuf,
}

impl Browser {
    /// Starts Chromium with [`chromium::FLAGS`] on an empty profile.
    pub fn launch() -> Result<Self> {
        Self::launch_with(&[])
    }

    /// As [`Browser::launch`], with more flags.
    pub fn launch_with(more_flags: &[&str]) -> Result<Self> {
        let program = chromium::find()?;
        let id = LAUNCHES.fetch_add(1, Ordering::Relaxed);
        let profile = env::temp_dir().join(format!("headroom-e2e-{}-{id}", process::id()));
        fs::create_dir_all(&profile)
            .with_context(|| format!("cannot create {}", profile.display()))?;
        let log = File::create(profile.join("stderr.log"))?;
        let process = Command::new(&program)
            .args(chromium::FLAGS)
            .args(more_flags)
            .arg("--remote-debugging-port=0")
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        running().push(Running { id, process, profile: profile.clone() });
        // From here on the drop of `browser` ends the process, whatever fails.
        let mut browser = Self { id, endpoint: String::new() };
        browser.endpoint = browser.wait_for_endpoint(&profile)?;
        Ok(browser)
    }

    /// Opens a tab with storage, cookies and cache of its own.
    pub fn new_page(&self) -> Result<Page> {
        Page::open(&self.endpoint)
    }

    /// Chromium writes its port and path to a file once it listens.
    fn wait_for_endpoint(&self, profile: &Path) -> Result<String> {
        let port_file = profile.join("DevToolsActivePort");
        let start = Instant::now();
        loop {
            let text = fs::read_to_string(&port_file).unwrap_or_default();
            if let Some((port, path)) = text.split_once('\n')
                && !path.is_empty()
            {
                return Ok(format!("ws://127.0.0.1:{}{}", port.trim(), path.trim()));
            }
            if let Some(status) = self.exit_status()? {
                bail!("Chromium ended at once ({status}): {}", last_lines(profile));
            }
            if start.elapsed() > START_TIMEOUT {
                let seconds = START_TIMEOUT.as_secs();
                bail!("Chromium opened no port in {seconds} s: {}", last_lines(profile));
            }
            sleep(POLL);
        }
    }

    fn exit_status(&self) -> Result<Option<process::ExitStatus>> {
        match running().iter_mut().find(|running| running.id == self.id) {
            Some(running) => Ok(running.process.try_wait()?),
            None => bail!("Chromium was stopped"),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let mut all = running();
        if let Some(index) = all.iter().position(|running| running.id == self.id) {
            all.swap_remove(index).end();
        }
    }
}

impl Running {
    fn end(mut self) {
        // Failures mean that it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        // Its helper processes may write for a moment longer.
        for _ in 0..50 {
            if fs::remove_dir_all(&self.profile).is_ok() || !self.profile.exists() {
                return;
            }
            sleep(POLL);
        }
    }
}

/// Ends every Chromium of this process. For interrupt handlers, which run no destructors.
pub fn stop_all() {
    running().drain(..).for_each(Running::end);
}

fn running() -> std::sync::MutexGuard<'static, Vec<Running>> {
    RUNNING.lock().expect("nothing panics while it holds this lock")
}

fn last_lines(profile: &Path) -> String {
    let log = fs::read_to_string(profile.join("stderr.log")).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}
