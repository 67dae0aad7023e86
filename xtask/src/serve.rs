//! `cargo xtask serve`: build, show, wait for a change, again.

use std::fs;
use std::time::Instant;

use anyhow::Result;

use crate::bootstrap;
use crate::page::{self, Profile};
use crate::site::Site;
use crate::watch::Snapshot;
use crate::workspace::Workspace;

/// Serves until it is interrupted.
pub fn run(workspace: &Workspace, profile: Profile, port: u16) -> Result<()> {
    bootstrap::wasm_target(workspace)?;
    let server = Site::in_the_making().serve(port)?;
    // By port, so that two servers do not take each other's pages away.
    let out = workspace.scratch("serve").join(server.port.to_string());
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    println!("Building the page; the first time takes a few minutes.");
    for build in 1.. {
        let start = Instant::now();
        let before = Snapshot::of(workspace);
        // A folder for each build: the one on show stays whole while the next is written.
        let folder = out.join(build.to_string());
        match page::build(workspace, profile, &folder) {
            Ok(()) => {
                server.site.show(&folder);
                let seconds = start.elapsed().as_secs_f64();
                println!("\nBuilt in {seconds:.1} s: {}  (Ctrl-C ends)", server.url);
                remove_older(&out, build);
            }
            Err(error) => eprintln!("\nerror: {error:#}\nStill serving; waiting for a change."),
        }
        before.wait_for_change(workspace);
        println!("\nA file has changed; building.");
    }
    Ok(())
}

/// Keeps the build on show and the one before it, which a loading page may still ask for.
fn remove_older(out: &std::path::Path, build: u64) {
    for old in 1..build.saturating_sub(1) {
        // It may be gone already, or the build may have failed.
        let _ = fs::remove_dir_all(out.join(old.to_string()));
    }
}
