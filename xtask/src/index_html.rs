//! Turns app/index.html, which Trunk reads as it is, into the page that is served: a pure function over text.

use std::ops::Range;

use anyhow::{Context as _, Result, bail};

/// The names of the built program, relative to the page.
pub struct Program<'a> {
    pub js: &'a str,
    pub wasm: &'a str,
}

/// Puts the program in the place of Trunk's `rust` link and takes its `copy-dir` link out.
pub fn with_program(html: &str, program: &Program<'_>) -> Result<String> {
    let mut page = html.to_owned();
    let mut starts = 0;
    while let Some(link) = trunk_link(&page) {
        let tag = &page[link.clone()];
        let replacement = match attribute(tag, "rel") {
            Some("rust") => {
                starts += 1;
                start_of(program)
            }
            Some("copy-dir") => String::new(),
            other => bail!(
                "app/index.html has a data-trunk link of kind {other:?}, which xtask does not know"
            ),
        };
        page.replace_range(link, &replacement);
    }
    if starts != 1 {
        bail!("app/index.html must have one data-trunk link with rel=\"rust\", not {starts}");
    }
    Ok(page)
}

/// Appends a version to the addresses of the stylesheets, so that no old one meets a new program.
pub fn with_style_versions(html: &str, version: impl Fn(&str) -> Result<String>) -> Result<String> {
    let mut page = html.to_owned();
    let mut from = 0;
    while let Some(link) = next_tag(&page, "<link", from) {
        from = link.end;
        let tag = &page[link.clone()];
        if attribute(tag, "rel") != Some("stylesheet") {
            continue;
        }
        let href = attribute(tag, "href").context("a stylesheet link has no href")?.to_owned();
        let versioned = tag.replace(&href, &format!("{href}?v={}", version(&href)?));
        from = link.start + versioned.len();
        page.replace_range(link, &versioned);
    }
    Ok(page)
}

/// Adds a script at the end of the body.
pub fn with_script(html: &str, script: &str) -> String {
    let end = html.rfind("</body>").unwrap_or(html.len());
    format!("{}<script>{script}</script>\n{}", &html[..end], &html[end..])
}

/// Makes relative addresses start from `base`, for a page that is shown at a deeper path.
pub fn with_base(html: &str, base: &str) -> String {
    let Some(head) = html.find("<head>") else { return html.to_owned() };
    let (before, after) = html.split_at(head + "<head>".len());
    format!("{before}<base href=\"{base}\">{after}")
}

/// Starts the program and says so with the same event as Trunk's own start.
fn start_of(Program { js, wasm }: &Program<'_>) -> String {
    format!(
        r#"<link rel="modulepreload" href="./{js}">
    <link rel="preload" href="./{wasm}" as="fetch" type="application/wasm" crossorigin>
    <script type="module">
      import init from "./{js}";
      await init({{ module_or_path: "./{wasm}" }});
      dispatchEvent(new CustomEvent("TrunkApplicationStarted"));
    </script>"#
    )
}

fn trunk_link(html: &str) -> Option<Range<usize>> {
    let mut from = 0;
    loop {
        let link = next_tag(html, "<link", from)?;
        if html[link.clone()].contains(" data-trunk") {
            return Some(link);
        }
        from = link.end;
    }
}

fn next_tag(html: &str, open: &str, from: usize) -> Option<Range<usize>> {
    let start = from + html[from..].find(open)?;
    let end = start + html[start..].find('>')? + 1;
    Some(start..end)
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = tag.split_once(&format!(" {name}=\""))?;
    value.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: Program<'_> = Program { js: "app-1.js", wasm: "app-2.wasm" };
    const RUST: &str = r#"<link data-trunk rel="rust" href="Cargo.toml">"#;

    #[test]
    fn the_real_page_loses_its_trunk_links_and_starts_the_program() {
        let html = include_str!("../../app/index.html");
        let page = with_program(html, &PROGRAM).expect("app/index.html is in order");
        assert!(!page.contains("<link data-trunk"), "{page}");
        assert!(page.contains(r#"import init from "./app-1.js""#));
        assert!(page.contains(r#"module_or_path: "./app-2.wasm""#));
    }

    #[test]
    fn every_address_in_the_real_page_is_relative() {
        let html = include_str!("../../app/index.html");
        assert!(!html.contains("=\"/") && !html.contains("://"), "it must work below any path");
    }

    #[test]
    fn an_unknown_or_missing_link_is_an_error() {
        assert!(with_program("<head></head>", &PROGRAM).is_err());
        assert!(with_program(&RUST.repeat(2), &PROGRAM).is_err());
        let sass = format!(r#"{RUST}<link data-trunk rel="sass" href="x.scss">"#);
        assert!(with_program(&sass, &PROGRAM).is_err());
    }

    #[test]
    fn only_stylesheets_get_a_version() {
        let html = r#"<link rel="icon" href="i.svg"><link rel="stylesheet" href="a.css"><b>"#;
        let page = with_style_versions(html, |href| Ok(href.len().to_string()));
        let expected =
            r#"<link rel="icon" href="i.svg"><link rel="stylesheet" href="a.css?v=5"><b>"#;
        assert_eq!(page.expect("both have an address"), expected);
    }

    #[test]
    fn a_script_goes_last_and_a_base_first() {
        let html = "<head><title>t</title></head><body>x</body>";
        assert_eq!(
            with_base(html, "/p/"),
            r#"<head><base href="/p/"><title>t</title></head><body>x</body>"#
        );
        assert!(with_script(html, "f()").ends_with("x<script>f()</script>\n</body>"));
    }
}
