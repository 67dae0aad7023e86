//! A visitor brings a model: a config.json from Hugging Face, good or bad, picked or dropped.

use std::path::PathBuf;
use std::{env, fs, process};

use anyhow::{Result, ensure};

use super::{Journey, at, start_with};
use crate::{Page, Point};

pub const IMPORTS: Journey =
    Journey { name: "a_config_json_is_taken_from_the_picker_and_by_drop", run: imports };
pub const REFUSES: Journey =
    Journey { name: "a_bad_file_names_its_fault_and_changes_nothing", run: refuses };

const GPT2: &str = include_str!("../../../../sim-core/tests/configs/gpt2.json");
const LLAMA: &str = include_str!("../../../../sim-core/tests/configs/llama-1-7b.json");

fn imports(page: &mut Page, url: &str) -> Result<()> {
    start_with(page, url, "")?;
    let gpt2 = TemporaryFile::new("gpt2-config.json", GPT2)?;
    page.choose_files(&at("import-input"), &[&gpt2.0])?;
    page.wait_for_text(&at("notices"), "gpt2-config.json")?;
    page.wait_for_text(&at("model-facts"), "12 layers")?;
    let small = page.text(&at("verdict"))?;
    ensure!(small.starts_with("Fits"), "GPT-2 on one card: {small}");

    let llama = TemporaryFile::new("llama-config.json", LLAMA)?;
    page.drop_files(MIDDLE, &[&llama.0])?;
    page.wait_for_text(&at("notices"), "llama-config.json")?;
    page.wait_for_text(&at("model-facts"), "32 layers")?;
    page.wait_for_text(&at("verdict"), "Does not fit")
}

fn refuses(page: &mut Page, url: &str) -> Result<()> {
    start_with(page, url, "")?;
    let (facts, verdict) = (page.text(&at("model-facts"))?, page.text(&at("verdict"))?);
    let wrong_type = LLAMA.replace("4096", "\"wide\"");
    let zero = LLAMA.replace("32000", "0");
    for (content, words) in [
        ("{ not json", "not JSON"),
        ("[]", "object"),
        (wrong_type.as_str(), "hidden_size"),
        (zero.as_str(), "vocab_size"),
        ("{}", "missing"),
    ] {
        page.drop_text("body", "bad.json", "application/json", content)?;
        page.wait_for_text(&at("notices"), words)?;
        ensure!(page.text(&at("model-facts"))? == facts, "the model has changed: {words}");
        ensure!(page.text(&at("verdict"))? == verdict, "the verdict has changed: {words}");
    }
    Ok(())
}

/// Anywhere will do: the whole page takes files.
const MIDDLE: Point = Point { x: 700.0, y: 450.0 };

/// A file for the picker, which takes nothing else.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str, content: &str) -> Result<Self> {
        let folder = env::temp_dir().join(format!("headroom-files-{}-{name}", process::id()));
        fs::create_dir_all(&folder)?;
        let file = folder.join(name);
        fs::write(&file, content)?;
        Ok(Self(file))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if let Some(folder) = self.0.parent() {
            // A file that stays in the temporary folder does no harm.
            let _ = fs::remove_dir_all(folder);
        }
    }
}
