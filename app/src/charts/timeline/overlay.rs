//! What moves over the timeline without drawing it anew: cursor, pointed-at and pinned spans.

use crate::charts::geometry::{Band, LanesLayout, Rect, Viewport, time_text};
use crate::charts::hooks::Theme;
use crate::charts::model::ChartModel;
use crate::charts::painter::{Ink, Painter, text_width};
use plotters::prelude::{DrawingBackend, RGBColor};
use plotters::style::text_anchor::HPos;
use sim_core::engine::TaskId;

const FLAG_PX: f64 = 12.0;

/// The cursor's instant is told apart from this many others in what is shown.
const FLAG_STEPS: f64 = 200.0;

/// All that is drawn, in device pixels.
pub struct Overlay<'a> {
    pub model: &'a ChartModel,
    pub layout: &'a LanesLayout,
    pub view: Viewport,
    pub width: i32,
    /// Device pixels a pixel of the page.
    pub ratio: f64,
    pub theme: &'a Theme,
    pub cursor: Option<f64>,
    pub hovered: Option<TaskId>,
    pub pinned: Option<TaskId>,
    /// The row that the keyboard is on, while it is there.
    pub row: Option<usize>,
}

impl Overlay<'_> {
    pub fn draw<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>) {
        let palette = &self.theme.palette;
        if let Some(row) = self.row.and_then(|row| self.layout.lanes.get(row)) {
            let Band { top, bottom } = row.band;
            let mark = Rect { left: 0, right: self.px(3.0), top, bottom };
            painter.fill(mark, palette.accent, 1.0);
        }
        if let Some(task) = self.pinned
            && let Some(area) = self.area(task)
        {
            let waited = self.model.waited_for(task);
            if let Some(from) = waited.and_then(|span| self.area(span.task)) {
                self.draw_arrow(painter, from, area);
            }
            self.outline(painter, area, palette.accent);
        }
        if self.hovered != self.pinned
            && let Some(area) = self.hovered.and_then(|task| self.area(task))
        {
            self.outline(painter, area, palette.text);
        }
        if let Some(time) = self.cursor {
            self.draw_cursor(painter, time);
        }
    }

    fn px(&self, size: f64) -> i32 {
        ((size * self.ratio).round() as i32).max(1)
    }

    fn x(&self, time: f64) -> f64 {
        self.view.x(time, f64::from(self.width))
    }

    /// The pixels of a span that is shown.
    fn area(&self, task: TaskId) -> Option<Rect> {
        let span = self.model.span(task)?;
        let row = self.layout.lanes.iter().find(|row| {
            self.model.groups().get(row.group).and_then(|g| g.get(row.lane)) == Some(&span.lane)
        })?;
        let (left, right) = (self.x(span.start), self.x(span.end));
        if right < 0.0 || left > f64::from(self.width) {
            return None;
        }
        let held = |x: f64| x.round().clamp(0.0, f64::from(self.width)) as i32;
        let (left, right) = (held(left), held(right));
        Some(Rect { left, right: right.max(left + 1), top: row.band.top, bottom: row.band.bottom })
    }

    fn outline<B: DrawingBackend>(
        &self,
        painter: &mut Painter<'_, B>,
        area: Rect,
        color: RGBColor,
    ) {
        let line = self.px(2.0);
        let around = Rect {
            left: area.left - line,
            right: area.right + line,
            top: area.top - line,
            bottom: area.bottom + line,
        };
        painter.outline(around, color, line);
        if area.width() > 3 * line {
            let inner = Rect { right: area.right, ..area };
            painter.outline(inner, self.theme.palette.background, self.px(1.0));
        }
    }

    /// From the end of what was waited for to the beginning of what waited.
    fn draw_arrow<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>, from: Rect, to: Rect) {
        let color = self.theme.palette.accent;
        let line = self.px(2.0);
        let thin = self.px(1.0);
        self.outline(painter, from, self.theme.palette.text_muted);
        if from.top == to.top {
            return;
        }
        let is_down = to.top > from.top;
        let start = (from.right, if is_down { from.bottom } else { from.top });
        let end = (to.left, if is_down { to.top } else { to.bottom });
        let turn = if is_down { end.1 - self.px(7.0) } else { end.1 + self.px(7.0) };
        painter.path(&[start, (start.0, turn), (end.0, turn), end], color, line as u32);
        let head = self.px(5.0);
        let base = if is_down { end.1 - head } else { end.1 + head };
        painter.polygon(
            &[(end.0 - head, base), (end.0 + head, base), (end.0, end.1 + thin)],
            color,
            1.0,
        );
    }

    fn draw_cursor<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>, time: f64) {
        let palette = &self.theme.palette;
        let x = self.x(time).round();
        if !(0.0..=f64::from(self.width)).contains(&x) {
            return;
        }
        let x = x as i32;
        let axis = self.layout.axis;
        let line =
            Rect { left: x, right: x + self.px(1.0), top: axis.bottom, bottom: self.layout.height };
        painter.fill(line, palette.text, 1.0);
        let text = time_text(time, self.view.span() / FLAG_STEPS);
        let half = (text_width(&text, FLAG_PX) * self.ratio / 2.0) as i32 + self.px(6.0);
        let center = x.clamp(half.min(self.width / 2), (self.width - half).max(self.width / 2));
        let flag = Rect {
            left: center - half,
            right: center + half,
            top: axis.top,
            bottom: axis.bottom - self.px(2.0),
        };
        painter.fill(flag, palette.text, 1.0);
        let ink = Ink {
            size: FLAG_PX,
            color: palette.background,
            family: &self.theme.family,
            align: HPos::Center,
            is_bold: false,
        };
        painter.text(&text, center, (flag.top + flag.bottom) / 2, ink);
    }
}
