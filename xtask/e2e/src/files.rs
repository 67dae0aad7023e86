//! Gives the page files: through its file picker or by dropping them on it.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::{Page, Point};

impl Page {
    /// Chooses files in an `input type=file`, as if picked by hand.
    pub fn choose_files(&mut self, selector: &str, files: &[&Path]) -> Result<()> {
        let document = self.connection.call("DOM.getDocument", json!({ "depth": 0 }))?;
        let found = self.connection.call(
            "DOM.querySelector",
            json!({ "nodeId": document["root"]["nodeId"], "selector": selector }),
        )?;
        ensure!(found["nodeId"].as_u64().is_some_and(|id| id > 0), "there is no {selector}");
        self.connection
            .call(
                "DOM.setFileInputFiles",
                json!({ "nodeId": found["nodeId"], "files": absolute(files)? }),
            )
            .map(drop)
    }

    /// Drags files from outside of the browser to a place, and drops them there.
    pub fn drop_files(&mut self, point: Point, files: &[&Path]) -> Result<()> {
        let data = json!({ "items": [], "files": absolute(files)?, "dragOperationsMask": COPY });
        for kind in ["dragEnter", "dragOver", "drop"] {
            self.drag_data(kind, point, &data)?;
        }
        Ok(())
    }

    /// Drags files over a place and away again, without a drop.
    pub fn drag_files_over(&mut self, point: Point, files: &[&Path]) -> Result<()> {
        let data = json!({ "items": [], "files": absolute(files)?, "dragOperationsMask": COPY });
        for kind in ["dragEnter", "dragOver", "dragCancel"] {
            self.drag_data(kind, point, &data)?;
        }
        Ok(())
    }

    /// Drops a file that exists nowhere but here: an event made by script, with any name and content.
    pub fn drop_text(&mut self, selector: &str, name: &str, mime: &str, text: &str) -> Result<()> {
        let (selector_json, name) = (json!(selector), json!(name));
        let (mime, text) = (json!(mime), json!(text));
        let found = self.eval(&format!(
            "(() => {{ const e = document.querySelector({selector_json}); if (!e) return false; \
             const dataTransfer = new DataTransfer(); \
             dataTransfer.items.add(new File([{text}], {name}, {{ type: {mime} }})); \
             for (const type of ['dragenter', 'dragover', 'drop']) \
               e.dispatchEvent(new DragEvent(type, {{ bubbles: true, cancelable: true, dataTransfer }})); \
             return true; }})()"
        ))?;
        ensure!(found == true, "there is no {selector}");
        Ok(())
    }

    fn drag_data(&mut self, kind: &str, point: Point, data: &Value) -> Result<()> {
        let params = json!({ "type": kind, "x": point.x, "y": point.y, "data": data });
        self.connection.call("Input.dispatchDragEvent", params).map(drop)
    }
}

/// The bit of the protocol's operations mask that stands for a copy.
const COPY: u32 = 1;

fn absolute(files: &[&Path]) -> Result<Vec<String>> {
    let absolute = files.iter().map(|file| {
        let path = file.canonicalize().with_context(|| format!("no file {}", file.display()))?;
        Ok(path.display().to_string())
    });
    absolute.collect()
}
