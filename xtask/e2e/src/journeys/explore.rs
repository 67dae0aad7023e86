//! The question that the page is for: does it fit, and what would make it fit?

use anyhow::{Context as _, Result, ensure};

use super::{Journey, ZERO, at, start_with};
use crate::Page;

pub const OFFERS_A_FIX: Journey =
    Journey { name: "the_first_preset_does_not_fit_and_one_click_makes_it_fit", run: offers_a_fix };
pub const ZERO_SHRINKS: Journey =
    Journey { name: "zero_shrinks_the_memory_and_brings_its_gathers", run: zero_shrinks };
pub const KEYS_MOVE: Journey =
    Journey { name: "the_zero_slider_moves_by_keyboard_and_can_be_undone", run: keys_move };

fn offers_a_fix(page: &mut Page, url: &str) -> Result<()> {
    start_with(page, url, "")?;
    page.wait_for_text(&at("verdict"), "Does not fit")?;
    page.wait_for(&at("fix"))?;
    page.click(&at("fix"))?;
    page.wait_until(
        "the verdict says that it fits",
        "document.querySelector('[data-fits]')?.dataset.fits === 'true'",
    )?;
    page.wait_until("the keyboard is at the verdict", "document.activeElement.id === 'verdict'")?;
    page.wait_for_text(&at("spoken"), "Fits")
}

fn zero_shrinks(page: &mut Page, url: &str) -> Result<()> {
    start_with(page, url, EIGHT_A100)?;
    let mut needs = Vec::new();
    for stage in 0..=3_u8 {
        page.drag_slider(ZERO, f64::from(stage) / 3.0, 4)?;
        let value = page.eval(&format!("+document.querySelector('{ZERO}').value"))?;
        ensure!(value == stage, "the slider is at {value}, not at {stage}");
        let collective = if stage == 0 { "All-reduce" } else { "All-gather" };
        page.wait_for_text("main", collective)?;
        page.settle()?;
        needs.push(needed(&page.text(&at("verdict"))?)?);
    }
    // Stages 1 and 2 may peak alike: before the first backward there are no gradients to shard.
    let shrinks = needs[1] < needs[0] && needs[2] < needs[0] && needs[3] < needs[2];
    ensure!(shrinks, "GiB needed at ZeRO 0 to 3: {needs:?}");
    Ok(())
}

fn keys_move(page: &mut Page, url: &str) -> Result<()> {
    start_with(page, url, EIGHT_A100)?;
    let before = page.text(&at("verdict"))?;
    page.eval(&format!("document.querySelector('{ZERO}').focus()"))?;
    page.press("ArrowRight")?;
    page.wait_until("the verdict changes", &verdict_is_not(&before))?;
    page.click(&at("undo"))?;
    page.wait_for_text(&at("verdict"), &before)
}

const EIGHT_A100: &str =
    "#v=1&model=llama-2-7b&hardware.device=a100-sxm-80gb&hardware.devices_per_node=8&end";

/// The first number of `Does not fit — needs 134 of 24.0 GiB (+110)`.
fn needed(verdict: &str) -> Result<f64> {
    let mut words = verdict.split(|c: char| !c.is_ascii_digit() && c != '.');
    let number = words.find_map(|word| word.parse().ok());
    number.with_context(|| format!("no number in the verdict: {verdict}"))
}

fn verdict_is_not(text: &str) -> String {
    let (selector, text) = (serde_json::json!(at("verdict")), serde_json::json!(text));
    format!("document.querySelector({selector}).innerText !== {text}")
}
