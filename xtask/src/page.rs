//! Builds the page: cargo for wasm32, the bindings, index.html and the static files, in one folder.

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::bootstrap::WASM;
use crate::compress::{self, files_below, with_ending};
use crate::index_html::{self, Program};
use crate::workspace::{Workspace, run};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Quick to build, names kept for stack traces.
    Dev,
    /// Optimised, with content-hashed names and compressed copies.
    Release,
}

/// Names a folder as written here: only such a folder is ever replaced.
const MARKER: &str = ".headroom-page";

/// Builds the page into a folder of its own. On failure the folder is as it was.
pub fn build(workspace: &Workspace, profile: Profile, out: &Path) -> Result<()> {
    ensure!(
        is_replaceable(out, workspace)?,
        "{} is not empty and was not written by this command: name another folder",
        out.display()
    );
    let wasm = compile(workspace, profile)?;
    // In the same parent, so that the finished folder only has to be renamed.
    let staging = with_ending(out, "new");
    remove(&staging)?;
    fs::create_dir_all(&staging).with_context(|| format!("cannot create {}", staging.display()))?;
    assemble(workspace, profile, &wasm, &staging)?;
    remove(out)?;
    fs::rename(&staging, out).with_context(|| format!("cannot write {}", out.display()))
}

/// What a visitor loads, in words.
pub fn sizes(out: &Path) -> Result<String> {
    let mut plain = 0;
    let mut packed = 0;
    for file in files_below(out)? {
        let is_program = file.extension().is_some_and(|end| end == "wasm" || end == "js");
        if is_program {
            plain += file.metadata()?.len();
            packed += with_ending(&file, "br").metadata().map_or(0, |copy| copy.len());
        }
    }
    Ok(format!("program {} kB, {} kB with brotli", plain / 1000, packed / 1000))
}

fn compile(workspace: &Workspace, profile: Profile) -> Result<PathBuf> {
    let mut cargo = workspace.cargo("build");
    cargo.args(["--package", "app", "--bin", "app", "--target", WASM]);
    let folder = match profile {
        Profile::Dev => "debug",
        Profile::Release => {
            cargo.arg("--release");
            "release"
        }
    };
    run(&mut cargo)?;
    Ok(workspace.target().join(WASM).join(folder).join("app.wasm"))
}

fn assemble(workspace: &Workspace, profile: Profile, wasm: &Path, out: &Path) -> Result<()> {
    copy_folder(&workspace.root().join("public"), out)?;
    bind(profile, wasm, out)?;

    // No wasm-opt: versions that lag behind rustc exit well and leave a module that does not start.
    let (js, wasm) = (out.join("app.js"), out.join("app_bg.wasm"));
    let program = match profile {
        Profile::Dev => ("app.js".to_owned(), "app_bg.wasm".to_owned()),
        Profile::Release => (hashed(&js)?, hashed(&wasm)?),
    };
    fs::rename(&js, out.join(&program.0))?;
    fs::rename(&wasm, out.join(&program.1))?;

    let source = workspace.root().join("app/index.html");
    let html =
        fs::read_to_string(&source).with_context(|| format!("cannot read {}", source.display()))?;
    let html = index_html::with_program(&html, &Program { js: &program.0, wasm: &program.1 })?;
    let html = index_html::with_style_versions(&html, |href| {
        content_hash(&out.join(href)).with_context(|| format!("index.html asks for {href}"))
    })?;
    fs::write(out.join("index.html"), html)?;
    fs::write(out.join(MARKER), "")?;
    match profile {
        Profile::Dev => Ok(()),
        Profile::Release => compress::folder(out),
    }
}

/// Writes app.js and app_bg.wasm: what the `wasm-bindgen` command does.
fn bind(profile: Profile, wasm: &Path, out: &Path) -> Result<()> {
    let release = profile == Profile::Release;
    Bindgen::new()
        .input_path(wasm)
        .out_name("app")
        .web(true)?
        .debug(!release)
        .keep_debug(false)
        .remove_name_section(release)
        .remove_producers_section(release)
        .generate(out)
        .context("cannot write the bindings")
}

/// `app_bg.wasm` becomes `app_bg-0123456789abcdef.wasm`.
fn hashed(file: &Path) -> Result<String> {
    let part =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, ending) = (part(file.file_stem()), part(file.extension()));
    Ok(format!("{stem}-{}.{ending}", content_hash(file)?))
}

/// Tells one version from the next; it guards against nothing else.
fn content_hash(file: &Path) -> Result<String> {
    let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&content);
    Ok(format!("{:016x}", hasher.finish()))
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for file in files_below(from)? {
        let inside = file.strip_prefix(from).expect("files_below lists files below the folder");
        let copy = to.join(inside);
        if let Some(parent) = copy.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(&file, &copy).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}

/// True for a folder that is missing, empty, below the build's own, or marked.
fn is_replaceable(folder: &Path, workspace: &Workspace) -> Result<bool> {
    if !folder.exists() || folder.starts_with(workspace.target()) || folder.join(MARKER).is_file() {
        return Ok(true);
    }
    let mut entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries.next().is_none())
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot replace {}", folder.display()))?;
    }
    Ok(())
}
