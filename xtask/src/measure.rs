//! `cargo xtask screenshots` and `cargo xtask latency`: look at the real page in Chromium.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use e2e::latency::Latencies;
use e2e::{Browser, Locale, Page, Scheme, Viewport};

use crate::site::{Server, Site};
use crate::workspace::Workspace;
use crate::{Target, bootstrap, page};

#[derive(Args)]
pub struct ScreenshotOptions {
    #[command(flatten)]
    target: Target,
    /// Folder for the pictures [default: headroom/screenshots in cargo's target folder]
    #[arg(long)]
    out: Option<PathBuf>,
    /// First word of the file names
    #[arg(long, default_value = "page")]
    name: String,
    /// Wait until this is visible before the picture is taken (CSS selector)
    #[arg(long)]
    wait: Option<String>,
    /// Click this before the picture is taken (CSS selector; may be given more than once)
    #[arg(long)]
    click: Vec<String>,
    /// Take the whole document, not only what fits on the screen
    #[arg(long)]
    full_page: bool,
}

#[derive(Args)]
pub struct LatencyOptions {
    #[command(flatten)]
    target: Target,
    /// The slider to drag (CSS selector)
    #[arg(long, default_value = r#"input[type=range][data-control="zero"]"#)]
    selector: String,
    /// How many moves of the mouse, to and fro, a value each
    #[arg(long, default_value_t = 100)]
    steps: u32,
    /// How many drags; the first also warms the program up
    #[arg(long, default_value_t = 3)]
    repeat: u32,
    /// Run scripts this many times slower than this machine
    #[arg(long, default_value_t = 1.0)]
    slowdown: f64,
    /// Fail if the p95 of the last drag is above this many milliseconds
    #[arg(long)]
    limit: Option<f64>,
}

/// Takes a picture of each size, theme and language.
pub fn screenshots(workspace: &Workspace, options: &ScreenshotOptions) -> Result<()> {
    let served = open(workspace, &options.target)?;
    let out = options.out.clone().unwrap_or_else(|| workspace.scratch("screenshots"));
    let browser = Browser::launch()?;
    for viewport in [Viewport::DESKTOP, Viewport::PHONE] {
        for scheme in Scheme::ALL {
            for locale in Locale::ALL {
                let mut page = browser.new_page()?;
                page.set_viewport(viewport)?;
                page.set_scheme(scheme)?;
                show(&mut page, &address(&served.url, locale, &options.target.hash))?;
                if let Some(selector) = &options.wait {
                    page.wait_for(selector)?;
                }
                for selector in &options.click {
                    page.click(selector)?;
                    page.settle()?;
                }
                let Viewport { width, height, .. } = viewport;
                let (name, scheme, locale) = (&options.name, scheme.name(), locale.tag());
                let file = out.join(format!("{name}-{width}x{height}-{scheme}-{locale}.png"));
                if options.full_page {
                    page.screenshot_full(&file)?;
                } else {
                    page.screenshot(&file)?;
                }
                println!("{}", file.display());
                for problem in page.problems()? {
                    println!("  {}", problem.brief());
                }
            }
        }
    }
    Ok(())
}

/// Drags a slider and prints how long its steps take to reach the screen.
pub fn latency(workspace: &Workspace, options: &LatencyOptions) -> Result<()> {
    let served = open(workspace, &options.target)?;
    let browser = Browser::launch()?;
    let mut page = browser.new_page()?;
    page.set_viewport(Viewport::DESKTOP)?;
    page.set_cpu_slowdown(options.slowdown)?;
    show(&mut page, &address(&served.url, Locale::English, &options.target.hash))?;
    println!("{}: input event to after the next paint", options.selector);
    let mut last = None;
    for drag in 1..=options.repeat.max(1) {
        let latencies = Latencies::of_slider(&mut page, &options.selector, options.steps)?;
        println!("drag {drag}: {latencies}");
        last = Some(latencies.percentile(0.95));
    }
    page.assert_clean()?;
    if let (Some(limit), Some(p95)) = (options.limit, last) {
        ensure!(p95 <= limit, "p95 {p95:.1} ms is above the limit of {limit} ms");
    }
    Ok(())
}

/// The page that the options name: one that is served already, or a new build.
fn open(workspace: &Workspace, target: &Target) -> Result<Opened> {
    // Before the minutes of building.
    e2e::find_chromium()?;
    if let Some(url) = &target.url {
        return Ok(Opened { url: url.clone(), _server: None });
    }
    bootstrap::wasm_target(workspace)?;
    let folder = workspace.scratch("measure");
    page::build(workspace, target.profile(), &folder)?;
    let server = Site::finished(&folder, "/").serve(0)?;
    Ok(Opened { url: server.url.clone(), _server: Some(server) })
}

struct Opened {
    url: String,
    _server: Option<Server>,
}

fn address(url: &str, locale: Locale, hash: &str) -> String {
    let hash = hash.trim_start_matches('#');
    let mark = if hash.is_empty() { "" } else { "#" };
    format!("{url}?lang={}{mark}{hash}", locale.tag())
}

fn show(page: &mut Page, address: &str) -> Result<()> {
    page.goto(address)?;
    page.wait_for("main").with_context(|| format!("{address} shows no page"))?;
    page.wait_until("fonts are ready", "document.fonts.ready.then(() => true)")?;
    page.settle()
}
