//! Writes compressed copies next to the files of a finished page, for servers that offer them.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Endings of files that shrink; pictures and fonts are compressed already.
const TEXTUAL: [&str; 9] =
    ["html", "js", "css", "wasm", "svg", "json", "webmanifest", "txt", "csv"];

/// Less gains nothing but the header.
const SMALLEST: u64 = 512;

/// Writes a `.br` and a `.gz` next to every file below a folder that shrinks.
pub fn folder(folder: &Path) -> Result<()> {
    for file in files_below(folder)? {
        let textual = file.extension().is_some_and(|end| TEXTUAL.iter().any(|known| end == *known));
        if textual && file.metadata()?.len() >= SMALLEST {
            let content = fs::read(&file)?;
            gzip(&content, &with_ending(&file, "gz"))?;
            brotli(&content, &with_ending(&file, "br"))?;
        }
    }
    Ok(())
}

/// Every file below a folder, in the order of their names.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// `a.js` with `gz` is `a.js.gz`.
pub fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn gzip(content: &[u8], to: &Path) -> Result<()> {
    let mut encoder = GzEncoder::new(File::create(to)?, Compression::best());
    encoder.write_all(content)?;
    encoder.finish()?;
    Ok(())
}

fn brotli(content: &[u8], to: &Path) -> Result<()> {
    // Quality 11 and a window of 4 MB, which every browser accepts.
    let params = BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        size_hint: content.len(),
        ..Default::default()
    };
    brotli::BrotliCompress(&mut &content[..], &mut File::create(to)?, &params)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn both_copies_hold_the_same_content_and_small_or_dense_files_get_none() {
        let folder = std::env::temp_dir().join(format!("headroom-compress-{}", std::process::id()));
        fs::create_dir_all(folder.join("below")).expect("the temporary folder is writable");
        let text = "headroom ".repeat(500);
        let file = folder.join("below/a.js");
        fs::write(&file, &text).expect("writable");
        fs::write(folder.join("b.png"), &text).expect("writable");
        fs::write(folder.join("c.txt"), "short").expect("writable");

        super::folder(&folder).expect("compresses");

        assert_eq!(files_below(&folder).expect("lists").len(), 5);
        let mut unzipped = String::new();
        let zipped = File::open(with_ending(&file, "gz")).expect("written");
        flate2::read::GzDecoder::new(zipped).read_to_string(&mut unzipped).expect("is gzip");
        let mut unpacked = Vec::new();
        let mut packed = File::open(with_ending(&file, "br")).expect("written");
        brotli::BrotliDecompress(&mut packed, &mut unpacked).expect("is brotli");
        fs::remove_dir_all(&folder).expect("removable");
        assert_eq!((unzipped.as_bytes(), unpacked.as_slice()), (text.as_bytes(), text.as_bytes()));
    }
}
