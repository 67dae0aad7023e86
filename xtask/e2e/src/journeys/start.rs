//! The first visit.

use anyhow::{Result, ensure};

use super::Journey;
use crate::Page;

pub const OPENS: Journey = Journey { name: "the_page_opens_without_a_problem", run: opens };

fn opens(page: &mut Page, url: &str) -> Result<()> {
    page.goto(url)?;
    page.wait_for("main")?;
    let title = page.eval("document.title")?;
    ensure!(title.as_str().is_some_and(|title| title.contains("Headroom")), "title is {title}");
    page.wait_until("the first paint's skeleton is gone", "!document.getElementById('boot')")?;
    Ok(())
}
