//! What a visitor does, step by step, in the real page. A journey is tested by being listed in [`ALL`].

mod address;
mod explore;
mod import;
mod screens;
mod start;

use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use crate::{Browser, Page, Viewport};

/// One journey: its name is the sentence that it proves.
pub struct Journey {
    pub name: &'static str,
    /// Gets a page of its own at desktop size and the address of the site, which ends with a slash.
    pub run: fn(&mut Page, &str) -> Result<()>,
}

pub const ALL: &[Journey] = &[
    start::OPENS,
    start::SAYS_WHEN_IT_CANNOT,
    explore::OFFERS_A_FIX,
    explore::ZERO_SHRINKS,
    explore::KEYS_MOVE,
    import::IMPORTS,
    import::REFUSES,
    address::KEEPS_STATE,
    address::SURVIVES,
    address::SPEAKS,
    screens::FITS_A_PHONE,
];

/// The slider that moves optimizer states, gradients and weights from one GPU to all.
const ZERO: &str = "input[type=range][data-control=zero]";

/// The selector of an element that the page marks for tests.
fn at(test_id: &str) -> String {
    format!("[data-testid=\"{test_id}\"]")
}

/// Opens the page in English with a state, which may be empty, and waits for its verdict.
fn start_with(page: &mut Page, url: &str, hash: &str) -> Result<()> {
    page.goto(&format!("{url}?lang=en{hash}"))?;
    page.wait_for(&at("verdict"))
}

/// How many journeys did what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub passed: usize,
    pub failed: usize,
    pub filtered_out: usize,
}

/// Runs the journeys whose name contains the filter, each in a fresh tab, and prints them as `cargo test` does.
///
/// A page that reports a problem fails its journey.
/// A picture of each failure is saved in `pictures`.
pub fn run_all(url: &str, filter: &str, pictures: &Path) -> Result<Outcome> {
    let browser = Browser::launch()?;
    let start = Instant::now();
    let mut outcome = Outcome::default();
    let chosen: Vec<&Journey> =
        ALL.iter().filter(|journey| journey.name.contains(filter)).collect();
    outcome.filtered_out = ALL.len() - chosen.len();
    println!("\nrunning {} journeys", chosen.len());
    let mut failures = Vec::new();
    for journey in chosen {
        let mut page = browser.new_page()?;
        page.set_viewport(Viewport::DESKTOP)?;
        match (journey.run)(&mut page, url).and_then(|()| page.assert_clean()) {
            Ok(()) => {
                outcome.passed += 1;
                println!("test {} ... ok", journey.name);
            }
            Err(error) => {
                outcome.failed += 1;
                println!("test {} ... FAILED", journey.name);
                let picture = pictures.join(format!("{}.png", journey.name));
                let saved = match page.screenshot(&picture) {
                    Ok(()) => format!("picture: {}", picture.display()),
                    Err(error) => format!("no picture: {error:#}"),
                };
                failures.push(format!("---- {} ----\n{error:#}\n{saved}\n", journey.name));
            }
        }
    }
    if !failures.is_empty() {
        println!("\nfailures:\n\n{}", failures.join("\n"));
    }
    let Outcome { passed, failed, filtered_out } = outcome;
    let word = if failed == 0 { "ok" } else { "FAILED" };
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; \
         {filtered_out} filtered out; finished in {seconds:.2}s\n"
    );
    Ok(outcome)
}
