//! What the address says: the state, also a broken one, and the language.

use anyhow::{Result, ensure};

use super::{Journey, ZERO, at, start_with};
use crate::Page;

pub const KEEPS_STATE: Journey =
    Journey { name: "the_address_holds_the_state_and_opens_it_again", run: keeps_state };
pub const SURVIVES: Journey =
    Journey { name: "a_broken_address_opens_the_default_and_says_so", run: survives };
pub const SPEAKS: Journey =
    Journey { name: "the_page_speaks_chinese_by_address_and_by_button", run: speaks };

fn keeps_state(page: &mut Page, url: &str) -> Result<()> {
    start_with(page, url, "")?;
    page.drag_slider(ZERO, 1.0, 3)?;
    page.wait_until("the address names ZeRO-3", "location.hash.includes('strategy.zero=3')")?;
    let verdict = page.text(&at("verdict"))?;
    let address = page.url()?;
    page.goto("about:blank")?;
    page.goto(&address)?;
    page.wait_for_text(&at("verdict"), &verdict)?;
    let zero = page.eval(&format!("document.querySelector('{ZERO}').value"))?;
    ensure!(zero == "3", "ZeRO is {zero} after the address was opened again");
    Ok(())
}

fn survives(page: &mut Page, url: &str) -> Result<()> {
    for (hash, words) in [
        ("#rubbish", "not a Headroom link"),
        ("#v=1&model=llama-2-7b", "cut off"),
        ("#v=99&model=llama-2-7b&end", "version 99"),
        (
            "#v=1&model=llama-2-7b&hardware.device=a100-sxm-80gb&strategy.zero=nine&end",
            "strategy.zero",
        ),
        ("#v=1&model=%ff&end", "model"),
    ] {
        page.goto("about:blank")?;
        start_with(page, url, hash)?;
        page.wait_for_text(&at("notices"), words)?;
        page.wait_for_text(&at("verdict"), "Does not fit")?;
    }
    Ok(())
}

fn speaks(page: &mut Page, url: &str) -> Result<()> {
    page.goto(&format!("{url}?lang=zh-CN"))?;
    page.wait_for_text(&at("verdict"), "放不下")?;
    page.wait_until("the document is Chinese", "document.documentElement.lang === 'zh-CN'")?;
    page.click(&at("language-en"))?;
    page.wait_for_text(&at("verdict"), "Does not fit")?;
    page.wait_until("the document is English", "document.documentElement.lang === 'en'")?;
    page.wait_until("the address leaves the language open", "location.search === ''")?;
    page.click(&at("language-zh-CN"))?;
    page.wait_for_text(&at("verdict"), "放不下")
}
