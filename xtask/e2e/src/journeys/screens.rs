//! The page on other screens.

use anyhow::{Result, ensure};

use super::{Journey, at, start_with};
use crate::{Page, Viewport};

pub const FITS_A_PHONE: Journey =
    Journey { name: "nothing_is_cut_off_on_a_phone_and_the_controls_open", run: fits_a_phone };

fn fits_a_phone(page: &mut Page, url: &str) -> Result<()> {
    page.set_viewport(Viewport::PHONE)?;
    start_with(page, url, "")?;
    let overflow = page.eval("document.documentElement.scrollWidth - innerWidth")?;
    ensure!(overflow.as_f64() <= Some(0.0), "the page is {overflow} px wider than the phone");
    page.click(&at("open-controls"))?;
    page.wait_for(super::ZERO)?;
    page.wait_until("the keyboard is in the sheet", "document.activeElement.id === 'controls'")?;
    page.press("Escape")?;
    page.wait_until(
        "the keyboard is back at the button that opened the sheet",
        "document.activeElement.id === 'open-controls'",
    )?;
    Ok(())
}
