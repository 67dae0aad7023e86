//! What holds for all sources of the page: no words outside the locale files, no colours outside
//! tokens.css, and colours that can be told apart.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const TOKENS: &str = include_str!("../../../public/styles/tokens.css");

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("the folder of sources is there");
    for path in entries.map(|entry| entry.expect("its entries can be read").path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The insides of every `view! { … }`.
fn views(source: &str) -> Vec<&str> {
    let mut views = Vec::new();
    for (at, _) in source.match_indices("view! {") {
        let inside = &source[at + 7..];
        let mut depth = 1_usize;
        let end = inside.char_indices().find(|(_, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        views.extend(end.map(|(end, _)| &inside[..end]));
    }
    views
}

/// Attributes whose text a reader sees or hears.
const READ_OUT: [&str; 8] = [
    "alt",
    "aria-description",
    "aria-label",
    "aria-roledescription",
    "aria-valuetext",
    "placeholder",
    "prop:title",
    "title",
];

/// String literals that an attribute of [`READ_OUT`] is set to.
fn literal_attributes(view: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in view.match_indices("=\"") {
        let name = view[..at].rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
        if READ_OUT.contains(&name) {
            found.extend(view[at + 2..].split('"').next());
        }
    }
    found
}

/// String literals that stand as a child: after a tag, after a block, or after another literal.
fn literal_children(view: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut before = '>';
    let mut rest = view;
    while let Some(c) = rest.chars().next() {
        if c == '"' {
            let Some(end) = rest[1..].find('"') else { break };
            if matches!(before, '>' | '}' | '"') {
                found.push(&rest[1..=end]);
            }
            rest = &rest[end + 2..];
            before = '"';
            continue;
        }
        if !c.is_whitespace() {
            before = c;
        }
        rest = &rest[c.len_utf8()..];
    }
    found
}

#[test]
fn no_component_holds_words() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    assert!(files.len() > 20, "the sources are found");
    for file in files {
        let source = fs::read_to_string(&file).expect("sources are text");
        for view in views(&source) {
            for literal in literal_children(view).into_iter().chain(literal_attributes(view)) {
                let is_wordless = !literal.chars().any(char::is_alphabetic);
                assert!(is_wordless, "{}: {literal:?} belongs into the locales", file.display());
            }
        }
    }
}

#[test]
fn a_word_in_a_view_is_found() {
    assert_eq!(literal_children(r#"<p class="a">"Hello" {x} "there"</p>"#), ["Hello", "there"]);
    let attributes = literal_attributes(r#"<a class="b" title="Go" aria-label="There" href="c">"#);
    assert_eq!(attributes, ["Go", "There"]);
    assert_eq!(views(r"view! { <p>{ a }</p> }"), [" <p>{ a }</p> "]);
}

/// Files outside `platform/` that name the browser, each with its reason.
const KNOW_THE_BROWSER: [(&str, &str); 1] =
    [("charts/timeline/canvas.rs", "FIXME: the surface that it draws on moves to platform/canvas")];

#[test]
fn only_the_platform_knows_the_browser() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    for file in files {
        let path = file.strip_prefix(&folder).expect("it was found there");
        let is_allowed = path.starts_with("platform")
            || path == Path::new("page/tests.rs")
            || KNOW_THE_BROWSER.iter().any(|(known, _)| path == Path::new(known));
        let source = fs::read_to_string(&file).expect("sources are text");
        for name in ["web_sys", "js_sys", "gloo"] {
            let is_used = source.lines().any(|line| {
                !line.trim_start().starts_with("//")
                    && line
                        .match_indices(name)
                        .any(|(at, _)| line[at + name.len()..].starts_with("::"))
            });
            assert!(is_allowed || !is_used, "{}: {name} belongs into platform/", path.display());
        }
    }
}

/// The colours of the rule whose selector line is `selector`.
fn colours(selector: &str) -> BTreeMap<&'static str, &'static str> {
    let at = TOKENS.find(selector).expect("the rule is there") + selector.len();
    let rule = TOKENS[at..].split('}').next().unwrap_or_default();
    rule.lines()
        .filter_map(|line| line.trim().strip_prefix("--")?.strip_suffix(';')?.split_once(": #"))
        .collect()
}

fn light() -> BTreeMap<&'static str, &'static str> {
    colours("\n:root {")
}

fn dark() -> BTreeMap<&'static str, &'static str> {
    colours("\n:root[data-theme=\"dark\"] {")
}

/// Relative luminance as WCAG 2 defines it.
fn luminance(hex: &str) -> f64 {
    let channel = |at: usize| {
        let value = u8::from_str_radix(&hex[at..at + 2], 16).expect("six hexadecimal digits");
        let share = f64::from(value) / 255.0;
        if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
}

fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

#[test]
fn both_ways_into_the_dark_theme_agree() {
    assert_eq!(colours("\n  :root:not([data-theme=\"light\"]) {"), dark());
    assert_eq!(light().keys().collect::<Vec<_>>(), dark().keys().collect::<Vec<_>>());
}

#[test]
fn colours_with_a_meaning_stand_out_from_the_background() {
    for theme in [light(), dark()] {
        for (name, colour) in &theme {
            if name.starts_with("category-") || name.starts_with("phase-") {
                let ratio = contrast(colour, theme["background"]);
                assert!(ratio >= 3.0, "--{name}: {ratio:.2}");
            }
        }
    }
}

#[test]
fn neighbours_in_a_training_bar_stand_out_from_each_other() {
    const STACK: [&str; 8] = [
        "category-weights",
        "category-gradients",
        "category-optimizer",
        "category-activations",
        "category-logits",
        "category-transient",
        "category-runtime",
        "category-fragmentation",
    ];
    for theme in [light(), dark()] {
        for pair in STACK.windows(2) {
            let ratio = contrast(theme[pair[0]], theme[pair[1]]);
            assert!(ratio >= 2.99, "{pair:?}: {ratio:.2}");
        }
    }
}

#[test]
fn text_is_readable_on_every_surface() {
    for theme in [light(), dark()] {
        for text in ["text", "text-muted", "accent", "danger", "ok", "warning"] {
            for surface in ["background", "surface", "surface-raised"] {
                let ratio = contrast(theme[text], theme[surface]);
                assert!(ratio >= 4.5, "--{text} on --{surface}: {ratio:.2}");
            }
        }
        for tone in ["danger", "ok", "warning", "accent"] {
            let soft = theme[format!("{tone}-soft").as_str()];
            for text in [tone, "text", "text-muted"] {
                let ratio = contrast(theme[text], soft);
                assert!(ratio >= 4.5, "--{text} on --{tone}-soft: {ratio:.2}");
            }
        }
        assert!(contrast(theme["on-accent"], theme["accent"]) >= 4.5);
        assert!(contrast(theme["border-strong"], theme["background"]) >= 3.0);
    }
}
