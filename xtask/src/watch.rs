//! Waits for a change of the page's sources by looking at them from time to time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use crate::compress::files_below;
use crate::workspace::Workspace;

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What the page is made of.
const SOURCES: [&str; 5] = ["app", "sim-core", "public", "Cargo.toml", "Cargo.lock"];

/// The state of the sources at one moment.
#[derive(PartialEq, Eq)]
pub struct Snapshot(BTreeMap<PathBuf, (SystemTime, u64)>);

impl Snapshot {
    pub fn of(workspace: &Workspace) -> Self {
        let mut files = BTreeMap::new();
        for source in SOURCES {
            let source = workspace.root().join(source);
            // A file that goes away while it is looked at shows in the next snapshot.
            let below = if source.is_dir() {
                files_below(&source).unwrap_or_default()
            } else {
                vec![source]
            };
            for file in below.into_iter().filter(|file| !is_editor_leftover(file)) {
                if let Ok(metadata) = file.metadata()
                    && let Ok(changed) = metadata.modified()
                {
                    files.insert(file, (changed, metadata.len()));
                }
            }
        }
        Self(files)
    }

    /// Waits until the sources differ from this state and have come to rest.
    pub fn wait_for_change(self, workspace: &Workspace) {
        let mut last = self;
        let mut changed = false;
        loop {
            sleep(LOOK_EVERY);
            let now = Self::of(workspace);
            if now != last {
                changed = true;
                last = now;
            } else if changed {
                return;
            }
        }
    }
}

/// Swap and backup files that editors write next to the real one.
fn is_editor_leftover(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || name.starts_with('#') || name.ends_with('~') || name.ends_with(".swp")
}
