//! Architecture: which module may import which, with the reason; and what a pure core must not use.

#![cfg(not(target_arch = "wasm32"))]

use std::path::{Path, PathBuf};

/// From the bottom up: a module imports its own or a lower layer.
const LAYERS: &[(&[&str], &str)] = &[
    (&["quantity", "engine"], "numbers with units, and tasks on resources: no language models"),
    (&["precision", "model", "hardware", "formats"], "facts about models and machines"),
    (&["scenario"], "what a user chooses"),
    (&["issue"], "findings name fields of a scenario and edits of it"),
    (&["trace", "operators", "program"], "what happens, and what each operator needs"),
    (&["report", "formulas"], "the answer's shape"),
    (&["schedule", "memory", "cost", "serving", "plan"], "a checked job and its prices"),
    (&["check", "lowering", "estimate"], "from scenario to plan, trace and report"),
    (&["simulation", "explain", "presets"], "the façade"),
];

/// Imports upward that are allowed, with the reason.
const EXCEPTIONS: &[(&str, &str, &str)] =
    &[("scenario", "check", "only the table of accepted ranges, for error messages")];

/// What would make a result depend on the machine.
const FORBIDDEN: &[(&str, &str)] = &[
    ("std::fs", "the core does no I/O"),
    ("std::io", "the core does no I/O"),
    ("std::net", "the core does no I/O"),
    ("std::time", "the core has no clock"),
    ("std::thread", "the core has no threads"),
    ("HashMap", "iteration order differs from run to run"),
    ("HashSet", "iteration order differs from run to run"),
    (".powf(", "f64 functions differ by platform: libm"),
    (".powi(", "f64 functions differ by platform: libm"),
    (".sqrt()", "f64 functions differ by platform: libm"),
    (".ln()", "f64 functions differ by platform: libm"),
    (".exp()", "f64 functions differ by platform: libm"),
    (".log2()", "f64 functions differ by platform: libm"),
    ("partial_cmp(", "order of floats: total_cmp"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the crate") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Path and text of every source file, its unit tests cut off.
fn files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&root, &mut paths);
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let name = path.strip_prefix(&root).expect("below src").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(path).expect("a readable source file");
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("").to_owned();
            (name, code)
        })
        .collect()
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|(modules, _)| modules.contains(&module))
}

#[test]
fn modules_import_their_own_or_a_lower_layer() {
    for (name, code) in files() {
        let module = name.split(['/', '.']).next().unwrap_or("").to_owned();
        if module == "lib" || module == "tests" {
            continue;
        }
        let own = layer_of(&module).unwrap_or_else(|| panic!("{module} is in no layer"));
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for imported in line.split("crate::").skip(1) {
                let target = imported.split(|c: char| !c.is_alphanumeric() && c != '_').next();
                let target = target.unwrap_or("");
                let Some(other) = layer_of(target) else { continue };
                assert!(!line.contains("crate::{"), "{name}: one `use crate::…` a line");
                let excepted =
                    EXCEPTIONS.iter().any(|(from, to, _)| *from == module && *to == target);
                assert!(
                    other <= own || excepted,
                    "{name}: {module} must not import {target}: {}",
                    LAYERS[own].1
                );
            }
        }
    }
}

#[test]
fn the_core_is_pure() {
    for (name, code) in files() {
        for (word, reason) in FORBIDDEN {
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                assert!(!line.contains(word), "{name}: `{word}`: {reason}");
            }
        }
    }
}

#[test]
fn every_file_says_its_responsibility() {
    for (name, code) in files() {
        assert!(code.starts_with("//!"), "{name}");
    }
}
