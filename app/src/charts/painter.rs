//! Boxes, lines, patterns and text on any plotters backend.

use super::geometry::{Hatch, Rect};
use plotters::prelude::{DrawingBackend, FontStyle, IntoFont, RGBColor, TextStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, RGBAColor};
use std::borrow::Cow;

/// Plotters' SVG writes 1/1.24 of a font's size, and its canvas the size itself.
pub const SVG_TEXT_SCALE: f64 = 1.24;

/// What a text looks like and which of its points lies at its place.
#[derive(Clone, Copy)]
pub struct Ink<'a> {
    /// In pixels of the page.
    pub size: f64,
    pub color: RGBColor,
    pub family: &'a str,
    pub align: HPos,
    pub is_bold: bool,
}

/// A backend with the page's scale. Drawing never fails half way: what a backend refuses is left out.
pub struct Painter<'a, B: DrawingBackend> {
    backend: &'a mut B,
    text_scale: f64,
}

impl<'a, B: DrawingBackend> Painter<'a, B> {
    /// `text_scale` turns pixels of the page into the backend's font sizes.
    pub fn new(backend: &'a mut B, text_scale: f64) -> Self {
        Self { backend, text_scale }
    }

    /// A filled box; `alpha` from 0 to 1.
    pub fn fill(&mut self, area: Rect, color: RGBColor, alpha: f64) {
        if area.width() > 0 && area.height() > 0 {
            let corners = ((area.left, area.top), (area.right, area.bottom));
            let _ = self.backend.draw_rect(corners.0, corners.1, &color.mix(alpha), true);
        }
    }

    /// The outline of a box, inside of it.
    pub fn outline(&mut self, area: Rect, color: RGBColor, width: i32) {
        let Rect { left, top, right, bottom } = area;
        self.fill(Rect { bottom: top + width, ..area }, color, 1.0);
        self.fill(Rect { top: bottom - width, ..area }, color, 1.0);
        self.fill(Rect { right: left + width, ..area }, color, 1.0);
        self.fill(Rect { left: right - width, ..area }, color, 1.0);
    }

    /// A dashed outline of a box, inside of it.
    pub fn dashed_outline(&mut self, area: Rect, color: RGBColor, dash: i32) {
        let Rect { left, top, right, bottom } = area;
        for y in [top, bottom - 1] {
            self.dashes(Rect { top: y, bottom: y + 1, ..area }, color, dash);
        }
        for x in [left, right - 1] {
            self.dashes(Rect { left: x, right: x + 1, ..area }, color, dash);
        }
    }

    /// A thin box, broken into dashes along its longer side.
    pub fn dashes(&mut self, area: Rect, color: RGBColor, dash: i32) {
        let dash = dash.max(1);
        let is_flat = area.width() >= area.height();
        let (from, to) = if is_flat { (area.left, area.right) } else { (area.top, area.bottom) };
        for start in (from..to).step_by(2 * dash as usize) {
            let end = (start + dash).min(to);
            let piece = if is_flat {
                Rect { left: start, right: end, ..area }
            } else {
                Rect { top: start, bottom: end, ..area }
            };
            self.fill(piece, color, 1.0);
        }
    }

    /// Lines across a box.
    pub fn hatch(&mut self, area: Rect, hatch: Hatch, step: i32, style: RGBAColor, width: u32) {
        for (from, to) in hatch.lines(area, step) {
            let _ = self.backend.draw_line(from, to, &style.stroke_width(width));
        }
    }

    /// A line through several pixels.
    pub fn path(&mut self, points: &[(i32, i32)], color: RGBColor, width: u32) {
        let _ = self.backend.draw_path(points.iter().copied(), &color.stroke_width(width));
    }

    /// A filled shape.
    pub fn polygon(&mut self, corners: &[(i32, i32)], color: RGBColor, alpha: f64) {
        let _ = self.backend.fill_polygon(corners.iter().copied(), &color.mix(alpha));
    }

    /// A filled disc.
    pub fn disc(&mut self, center: (i32, i32), radius: u32, color: RGBColor) {
        let _ = self.backend.draw_circle(center, radius, &color.mix(1.0), true);
    }

    /// A line of text, centred vertically at `y`.
    pub fn text(&mut self, text: &str, x: i32, y: i32, ink: Ink<'_>) {
        let style = if ink.is_bold { FontStyle::Bold } else { FontStyle::Normal };
        let font = (ink.family, ink.size * self.text_scale).into_font().style(style);
        let style = TextStyle::from(font).color(&ink.color).pos(Pos::new(ink.align, VPos::Center));
        let _ = self.backend.draw_text(text, &style, (x, y));
    }
}

/// About how wide a text is, in pixels of the page: enough to tell whether it has room.
pub fn text_width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            // Full-width characters of Chinese fill the square of their size.
            '\u{1100}'.. => 1.0,
            'M' | 'W' | 'm' | 'w' | '%' => 0.85,
            'A'..='Z' | '×' | '+' => 0.66,
            'i' | 'j' | 'l' | 't' | 'f' | '.' | ',' | '·' | ' ' | '\u{a0}' | '(' | ')' => 0.33,
            _ => 0.57,
        })
        .sum();
    ems * size
}

/// A text that fits into `room` pixels: whole, or cut with an ellipsis; none when little would be
/// left.
pub fn fitted(text: &str, size: f64, room: f64) -> Option<Cow<'_, str>> {
    if text_width(text, size) <= room {
        return Some(Cow::Borrowed(text));
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        let has_room = text_width(&cut, size) <= room - size * 0.9;
        if !has_room {
            cut.pop();
            break;
        }
    }
    let kept = cut.trim_end();
    (text_width(kept, size) >= 2.0 * size).then(|| Cow::Owned(format!("{kept}…")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::prelude::SVGBackend;

    #[test]
    fn a_text_stands_at_the_size_of_the_page() {
        let mut svg = String::new();
        {
            let mut backend = SVGBackend::with_string(&mut svg, (100, 20));
            let mut painter = Painter::new(&mut backend, SVG_TEXT_SCALE);
            let ink = Ink {
                size: 12.0,
                color: RGBColor(1, 2, 3),
                family: "sans-serif",
                align: HPos::Left,
                is_bold: true,
            };
            painter.text("a<b", 5, 10, ink);
        }
        assert!(svg.contains("font-size=\"12\"") && svg.contains("font-weight=\"bold\""), "{svg}");
        assert!(svg.contains("a&lt;b"));
    }

    #[test]
    fn chinese_is_wider_than_latin() {
        assert!(text_width("激活值", 12.0) > text_width("abc", 12.0));
    }

    #[test]
    fn a_text_without_room_is_cut_or_left_out() {
        assert_eq!(fitted("Norm", 12.0, 60.0).as_deref(), Some("Norm"));
        assert_eq!(fitted("Query projection", 12.0, 60.0).as_deref(), Some("Query p…"));
        assert_eq!(fitted("Query projection", 12.0, 20.0), None);
        assert_eq!(fitted("Query projection", 12.0, f64::NAN), None);
    }
}
