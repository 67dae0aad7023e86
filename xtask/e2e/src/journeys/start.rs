//! The first visit, and the one that fails.

use anyhow::{Result, ensure};

use super::Journey;
use crate::Page;

pub const OPENS: Journey = Journey { name: "the_page_opens_without_a_problem", run: opens };
pub const SAYS_WHEN_IT_CANNOT: Journey =
    Journey { name: "a_program_that_does_not_arrive_is_said_so", run: says_when_it_cannot };

fn opens(page: &mut Page, url: &str) -> Result<()> {
    page.goto(url)?;
    page.wait_for("main")?;
    let title = page.eval("document.title")?;
    ensure!(title.as_str().is_some_and(|title| title.contains("Headroom")), "title is {title}");
    page.wait_until("the first paint's skeleton is gone", "!document.getElementById('boot')")?;
    Ok(())
}

fn says_when_it_cannot(page: &mut Page, url: &str) -> Result<()> {
    for blocked in ["*.wasm*", "*app*.js*"] {
        page.block(&[blocked])?;
        page.goto(url)?;
        page.wait_for_text("#boot", "Headroom")?;
        page.wait_for_text("#boot-failed", "could not start")?;
    }
    // What is provoked here is no problem of the page.
    page.take_problems()?;
    Ok(())
}
