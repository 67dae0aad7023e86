//! Drawings in SVG: of a new one only what differs from the one before is written to the page.

use web_sys::Element;

/// Shows `now` in `place`, where `before` was shown; both as plotters writes them.
pub fn show(place: &Element, before: &str, now: &str) {
    if update(place, before, now).is_none() {
        place.set_inner_html(now);
    }
}

/// Nothing when it is not this drawing with other elements.
fn update(place: &Element, before: &str, now: &str) -> Option<()> {
    let (head_before, elements_before) = elements(before)?;
    let (head, elements) = elements(now)?;
    let svg = place.first_element_child().filter(|_| head == head_before)?;
    let mut shown = svg.first_element_child();
    let mut before = elements_before.as_slice();
    for (i, element) in elements.iter().enumerate() {
        // Patterns have more lines or fewer: what comes after them is to find itself again.
        for _ in 0..surplus(before, &elements[i..]) {
            let here = shown?;
            shown = here.next_element_sibling();
            here.remove();
            before = &before[1..];
        }
        match (&shown, before) {
            (Some(here), [same, rest @ ..]) if tag(same) == tag(element) => {
                let next = here.next_element_sibling();
                if same != element {
                    change(here, same, element)?;
                }
                (shown, before) = (next, rest);
            }
            (Some(here), _) => here.insert_adjacent_html("beforebegin", element).ok()?,
            (None, _) => {
                return svg.insert_adjacent_html("beforeend", &elements[i..].concat()).ok();
            }
        }
    }
    while let Some(surplus) = shown {
        shown = surplus.next_element_sibling();
        surplus.remove();
    }
    Some(())
}

/// How many of the elements before are to go, so that the next one is of the tag that is needed; none
/// where fewer new ones come in between.
fn surplus(before: &[&str], now: &[&str]) -> usize {
    let (Some(first), Some(needed)) = (before.first(), now.first()) else { return 0 };
    let until = |elements: &[&str], element: &str| {
        elements.iter().position(|other| tag(other) == tag(element))
    };
    match (until(before, needed), until(now, first)) {
        (Some(old), Some(new)) if old <= new => old,
        (Some(old), None) => old,
        _ => 0,
    }
}

fn tag(element: &str) -> &str {
    element.split([' ', '>']).next().unwrap_or_default()
}

fn change(shown: &Element, before: &str, now: &str) -> Option<()> {
    let (before, parts) = (Parts::of(before)?, Parts::of(now)?);
    for (name, value) in &parts.attributes {
        if !before.attributes.contains(&(*name, *value)) {
            shown.set_attribute(name, &unescaped(value)).ok()?;
        }
    }
    for (name, _) in &before.attributes {
        if parts.attributes.iter().all(|(kept, _)| kept != name) {
            shown.remove_attribute(name).ok()?;
        }
    }
    if before.text != parts.text {
        shown.set_text_content(Some(&unescaped(parts.text)));
    }
    Some(())
}

/// The opening tag of a drawing, and its elements, none of which has others inside.
fn elements(svg: &str) -> Option<(&str, Vec<&str>)> {
    let (head, mut rest) = svg.trim_end().strip_suffix("</svg>")?.split_once('\n')?;
    let mut elements = Vec::new();
    while !rest.is_empty() {
        let opening = rest.find('>')? + 1;
        let length = if rest[..opening].ends_with("/>") {
            opening
        } else {
            let closing = opening + rest[opening..].find("</")?;
            closing + rest[closing..].find('>')? + 1
        };
        elements.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    Some((head, elements))
}

/// One element, its values and text as they are written.
#[derive(Debug, PartialEq)]
struct Parts<'a> {
    attributes: Vec<(&'a str, &'a str)>,
    text: &'a str,
}

impl<'a> Parts<'a> {
    fn of(element: &'a str) -> Option<Self> {
        let (opening, rest) = element.strip_prefix('<')?.split_once('>')?;
        let opening = opening.trim_end_matches('/');
        let (_, mut values) = opening.split_once(' ').unwrap_or((opening, ""));
        let mut attributes = Vec::new();
        while let Some((name, rest)) = values.split_once("=\"") {
            let (value, rest) = rest.split_once('"')?;
            attributes.push((name.trim_start(), value));
            values = rest;
        }
        let text = rest.rsplit_once("</").map_or("", |(text, _)| text);
        Some(Self { attributes, text })
    }
}

/// What plotters escapes.
fn unescaped(text: &str) -> String {
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    if !text.contains('&') {
        return text.to_owned();
    }
    // The ampersand last: what it begins is no entity.
    entities.iter().fold(text.to_owned(), |text, (entity, c)| text.replace(entity, c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::prelude::{DrawingBackend, RGBColor, SVGBackend, TextStyle};
    use plotters::style::IntoFont;

    fn drawing(text: &str) -> String {
        let mut svg = String::new();
        {
            let mut backend = SVGBackend::with_string(&mut svg, (100, 20));
            let red = RGBColor(255, 0, 0);
            let _ = backend.draw_rect((1, 2), (3, 4), &red, true);
            let style = TextStyle::from(("a'b", 12).into_font());
            let _ = backend.draw_text(text, &style, (5, 6));
            let _ = backend.draw_line((0, 0), (9, 9), &red);
            let _ = backend.present();
        }
        svg
    }

    #[test]
    fn what_plotters_writes_falls_into_its_elements() {
        let svg = drawing("1 < 2 & 3");
        let (head, elements) = elements(&svg).expect("it is a drawing");
        assert!(head.starts_with("<svg width=\"100\""), "{head}");
        let parts: Vec<_> = elements.iter().filter_map(|element| Parts::of(element)).collect();
        let tags: Vec<_> = elements.iter().map(|element| tag(element)).collect();
        assert_eq!(tags, ["<rect", "<text", "<line"]);
        assert!(parts[0].attributes.contains(&("x", "1")), "{:?}", parts[0]);
        assert_eq!(unescaped(parts[1].text).trim(), "1 < 2 & 3");
        let family = parts[1].attributes.iter().find(|(name, _)| *name == "font-family");
        assert_eq!(family.map(|(_, value)| unescaped(value)).as_deref(), Some("a'b"));
    }

    #[test]
    fn a_shorter_pattern_goes_and_a_longer_one_comes() {
        let (line, rect) = ("<line x1=\"1\"/>", "<rect x=\"1\"/>");
        assert_eq!(surplus(&[line, line, rect], &[rect, rect, line]), 2);
        assert_eq!(surplus(&[rect, line], &[line, rect]), 1);
        assert_eq!(surplus(&[rect, line, line, line], &[line, rect]), 1);
        assert_eq!(surplus(&[rect, rect, line], &[line, rect]), 0);
        assert_eq!(surplus(&[rect], &[line, line]), 0);
        assert_eq!(surplus(&[line], &[line]), 0);
        assert_eq!(surplus(&[], &[line]), 0);
    }

    #[test]
    fn what_is_no_drawing_has_no_elements() {
        assert_eq!(elements(""), None);
        assert_eq!(elements("<p>\n</p>"), None);
        assert_eq!(unescaped("&amp;lt;"), "&lt;");
    }
}
