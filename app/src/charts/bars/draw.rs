//! Draws memory bars on any plotters backend.

use crate::charts::geometry::{BarRow, BarsLayout, BarsOptions, Hatch, Rect, Tick};
use crate::charts::hooks::Theme;
use crate::charts::painter::{Ink, Painter, text_width};
use plotters::prelude::{DrawingBackend, RGBColor};
use plotters::style::Color;
use plotters::style::text_anchor::HPos;
use sim_core::trace::Category;

const NAME_PX: f64 = 14.0;
const LABEL_PX: f64 = 12.0;

/// How far the outline of what does not fit stands out above and below its bar.
const BREAKOUT_PX: i32 = 4;

/// One bar's texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowTexts {
    pub name: String,
    pub total: String,
    /// `+33.1 GiB`, for a bar that does not fit.
    pub over: Option<String>,
    pub free: String,
    /// By category: name, and amount.
    pub segments: [(&'static str, String); Category::COUNT],
}

/// All that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct BarsDrawing {
    pub layout: BarsLayout,
    pub options: BarsOptions,
    pub texts: Vec<RowTexts>,
    pub capacity: String,
    /// Pixels from the left, and text.
    pub ticks: Vec<(i32, String)>,
    /// Bar and index of the category.
    pub selected: Option<(usize, usize)>,
}

impl BarsDrawing {
    /// Where the marks of an axis that ends at `axis_max` lie.
    pub fn place_ticks(layout: &BarsLayout, ticks: Vec<Tick>, axis_max: f64) -> Vec<(i32, String)> {
        let x = |value: f64| {
            layout.plot.left + (value / axis_max * f64::from(layout.plot.width())).round() as i32
        };
        ticks.into_iter().map(|tick| (x(tick.value), tick.text)).collect()
    }

    pub fn draw<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>, theme: &Theme) {
        let pen = Pen { theme };
        self.draw_axis(painter, &pen);
        for (row, texts) in self.layout.rows.iter().zip(&self.texts) {
            draw_row(painter, &pen, row, texts);
            self.draw_name(painter, &pen, row, texts);
        }
        self.draw_capacity(painter, &pen);
        for (i, (row, texts)) in self.layout.rows.iter().zip(&self.texts).enumerate() {
            if let Some(over) = row.over {
                draw_over(painter, &pen, over);
            }
            label_segments(painter, &pen, row, texts);
            let selected = row.segments.iter().find(|s| self.selected == Some((i, s.0)));
            if let Some((_, rect)) = selected {
                painter.outline(*rect, theme.palette.background, 4);
                painter.outline(*rect, theme.palette.text, 2);
            }
        }
    }

    fn draw_axis<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>, pen: &Pen<'_>) {
        let Rect { left, top, right, bottom } = self.layout.plot;
        for (x, text) in &self.ticks {
            let line = Rect { left: *x, right: x + 1, top, bottom };
            painter.fill(line, pen.theme.palette.grid, 1.0);
            let half = text_width(text, LABEL_PX) / 2.0;
            let align = if f64::from(*x) + half > f64::from(self.layout.width) {
                HPos::Right
            } else if f64::from(*x) - half < 0.0 {
                HPos::Left
            } else {
                HPos::Center
            };
            painter.text(
                text,
                *x,
                bottom + 11,
                pen.ink(LABEL_PX, pen.theme.palette.text_muted, align),
            );
        }
        let base = Rect { left, right, top: bottom, bottom: bottom + 1 };
        painter.fill(base, pen.theme.palette.border, 1.0);
    }

    fn draw_name<B: DrawingBackend>(
        &self,
        painter: &mut Painter<'_, B>,
        pen: &Pen<'_>,
        row: &BarRow,
        texts: &RowTexts,
    ) {
        let palette = &pen.theme.palette;
        let total_color = if texts.over.is_some() { palette.danger } else { palette.text };
        if self.options.is_narrow() {
            let y = row.lane.top - 10;
            painter.text(&texts.name, row.lane.left, y, pen.ink(NAME_PX, palette.text, HPos::Left));
            let total = match &texts.over {
                Some(over) => format!("{}  {over}", texts.total),
                None => texts.total.clone(),
            };
            painter.text(&total, row.lane.right, y, pen.bold(NAME_PX, total_color, HPos::Right));
            return;
        }
        let y = (row.lane.top + row.lane.bottom) / 2;
        painter.text(&texts.name, 0, y, pen.ink(NAME_PX, palette.text, HPos::Left));
        let x = self.layout.width;
        match &texts.over {
            Some(over) if row.lane.height() >= 34 => {
                painter.text(&texts.total, x, y - 8, pen.bold(NAME_PX, total_color, HPos::Right));
                painter.text(over, x, y + 9, pen.ink(LABEL_PX, palette.danger, HPos::Right));
            }
            _ => painter.text(&texts.total, x, y, pen.bold(NAME_PX, total_color, HPos::Right)),
        }
    }

    fn draw_capacity<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>, pen: &Pen<'_>) {
        let palette = &pen.theme.palette;
        let (x, top) = (self.layout.capacity_x, self.layout.plot.top);
        let line =
            Rect { left: x - 1, right: x + 1, top: top - 4, bottom: self.layout.plot.bottom };
        painter.fill(line, palette.background, 1.0);
        painter.fill(line, palette.capacity, 1.0);
        let width = text_width(&self.capacity, LABEL_PX) as i32;
        let has_room_right = x + width / 2 <= self.layout.width;
        let has_room_left = x - width / 2 >= 0;
        let align = match (has_room_left, has_room_right) {
            (_, false) => HPos::Right,
            (false, true) => HPos::Left,
            (true, true) => HPos::Center,
        };
        painter.text(&self.capacity, x, top - 13, pen.bold(LABEL_PX, palette.capacity, align));
    }
}

struct Pen<'a> {
    theme: &'a Theme,
}

impl Pen<'_> {
    fn ink(&self, size: f64, color: RGBColor, align: HPos) -> Ink<'_> {
        Ink { size, color, family: &self.theme.family, align, is_bold: false }
    }

    fn bold(&self, size: f64, color: RGBColor, align: HPos) -> Ink<'_> {
        Ink { is_bold: true, ..self.ink(size, color, align) }
    }
}

/// The pattern that a category has beside its colour.
pub fn pattern_of(category: usize) -> Option<Hatch> {
    match Category::ALL.get(category) {
        Some(Category::Recompute) => Some(Hatch::Rising),
        Some(Category::Runtime) => Some(Hatch::Horizontal),
        Some(Category::Fragmentation) => Some(Hatch::Falling),
        _ => None,
    }
}

fn draw_row<B: DrawingBackend>(
    painter: &mut Painter<'_, B>,
    pen: &Pen<'_>,
    row: &BarRow,
    texts: &RowTexts,
) {
    let palette = &pen.theme.palette;
    if let Some(free) = row.free {
        painter.dashed_outline(free, palette.border_strong, 3);
        label(painter, pen, free, None, std::slice::from_ref(&texts.free));
    }
    if let Some(ghost) = row.ghost {
        painter.fill(ghost, palette.border, 0.5);
        painter.outline(ghost, palette.border_strong, 1);
    }
    for (category, rect) in &row.segments {
        let color = palette.categories[*category];
        painter.fill(*rect, color, 1.0);
        if let Some(hatch) = pattern_of(*category) {
            painter.hatch(*rect, hatch, 6, palette.background.mix(0.55), 1);
        }
        if rect.left > row.lane.left {
            painter.fill(Rect { right: rect.left + 1, ..*rect }, palette.background, 1.0);
        }
    }
}

/// Names and amounts where they have room: over everything else, on the segment's own colour.
fn label_segments<B: DrawingBackend>(
    painter: &mut Painter<'_, B>,
    pen: &Pen<'_>,
    row: &BarRow,
    texts: &RowTexts,
) {
    for (category, rect) in &row.segments {
        let ground = pen.theme.palette.categories[*category];
        let (name, amount) = &texts.segments[*category];
        let texts = [format!("{name} {amount}"), (*name).to_owned(), amount.clone()];
        label(painter, pen, roomier_part(*rect, row.over), Some(ground), &texts);
    }
}

/// Of a segment that crosses the line of what the device offers, the wider side.
fn roomier_part(segment: Rect, over: Option<Rect>) -> Rect {
    match over {
        Some(over) if segment.left < over.left && over.left < segment.right => {
            let (inside, outside) =
                (Rect { right: over.left, ..segment }, Rect { left: over.left, ..segment });
            if inside.width() >= outside.width() { inside } else { outside }
        }
        _ => segment,
    }
}

/// Writes the first of some texts that has room in a box, on `ground` where the box has one.
fn label<B: DrawingBackend>(
    painter: &mut Painter<'_, B>,
    pen: &Pen<'_>,
    area: Rect,
    ground: Option<RGBColor>,
    texts: &[String],
) {
    if area.height() < 14 {
        return;
    }
    let room = f64::from(area.width() - 10);
    let Some(text) = texts.iter().find(|text| text_width(text, LABEL_PX) <= room) else { return };
    let (x, y) = ((area.left + area.right) / 2, (area.top + area.bottom) / 2);
    let palette = &pen.theme.palette;
    let color = ground.map_or(palette.text_muted, |ground| palette.ink_on(ground));
    if let Some(ground) = ground {
        let half = (text_width(text, LABEL_PX) / 2.0) as i32 + 4;
        let height = LABEL_PX as i32;
        let behind = Rect {
            left: (x - half).max(area.left + 1),
            right: (x + half).min(area.right),
            top: (y - height * 2 / 3).max(area.top),
            bottom: (y + height * 2 / 3).min(area.bottom),
        };
        painter.fill(behind, ground, 1.0);
    }
    painter.text(text, x, y, pen.ink(LABEL_PX, color, HPos::Center));
}

fn draw_over<B: DrawingBackend>(painter: &mut Painter<'_, B>, pen: &Pen<'_>, over: Rect) {
    let palette = &pen.theme.palette;
    painter.hatch(over, Hatch::Rising, 14, palette.background.mix(0.85), 3);
    painter.hatch(over, Hatch::Rising, 14, palette.danger.mix(1.0), 1);
    let frame = Rect { top: over.top - BREAKOUT_PX, bottom: over.bottom + BREAKOUT_PX, ..over };
    painter.outline(frame, palette.danger, 2);
}
