//! Draws lanes and the memory curve on any plotters backend, in device pixels.

use crate::charts::geometry::{Band, Hatch, LaneRow, LanesLayout, Rect, Run, Viewport, time_ticks};
use crate::charts::hooks::Theme;
use crate::charts::model::{ChartModel, LaneData, Pass};
use crate::charts::painter::{Ink, Painter, fitted, text_width};
use crate::i18n::text;
use plotters::prelude::{DrawingBackend, RGBColor};
use plotters::style::Color;
use plotters::style::text_anchor::HPos;
use sim_core::quantity::Locale;
use sim_core::trace::Phase;

const TICK_PX: f64 = 12.0;
const LABEL_PX: f64 = 12.0;

/// A strip of spans that is busy for the smallest part of the time is still this visible.
const FAINTEST: f64 = 0.35;

/// A span at least this wide shows its name.
const OWN_LABEL_PX: f64 = 34.0;

/// A pass of a micro-batch shows its number when its spans are on average narrower than this.
const PASS_LABEL_PX: f64 = 16.0;

/// A span of weight gradients at least this wide is hatched.
const HATCHED_PX: f64 = 16.0;

/// All that is drawn.
pub struct Drawing<'a> {
    pub model: &'a ChartModel,
    pub layout: &'a LanesLayout,
    pub view: Viewport,
    pub width: i32,
    /// Device pixels a pixel of the page.
    pub ratio: f64,
    pub theme: &'a Theme,
    /// Whose memory is shown.
    pub class: usize,
    /// The end of the memory axis, in bytes.
    pub memory_axis: f64,
    pub locale: Locale,
}

impl Drawing<'_> {
    pub fn draw<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>) {
        for row in &self.layout.lanes {
            self.fill_band(painter, row.band, self.theme.palette.lane_background);
        }
        self.fill_band(painter, self.layout.curve, self.theme.palette.lane_background);
        self.draw_axis(painter);
        for row in &self.layout.lanes {
            if let Some(lane) = self.model.groups().get(row.group).and_then(|g| g.get(row.lane)) {
                self.draw_lane(painter, row, self.model.lane(*lane));
            }
        }
        if self.class < self.model.classes().len() {
            self.draw_curve(painter);
        }
        self.draw_after_the_end(painter);
    }

    pub fn px(&self, size: f64) -> i32 {
        ((size * self.ratio).round() as i32).max(1)
    }

    /// The pixel of an instant, within the canvas.
    pub fn x(&self, time: f64) -> i32 {
        let x = self.view.x(time, f64::from(self.width));
        x.round().clamp(0.0, f64::from(self.width)) as i32
    }

    fn ink(&self, size: f64, color: RGBColor, align: HPos) -> Ink<'_> {
        Ink { size, color, family: &self.theme.family, align, is_bold: false }
    }

    fn fill_band<B: DrawingBackend>(
        &self,
        painter: &mut Painter<'_, B>,
        band: Band,
        color: RGBColor,
    ) {
        let area = Rect { left: 0, right: self.width, top: band.top, bottom: band.bottom };
        painter.fill(area, color, 1.0);
    }

    fn draw_axis<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>) {
        let most = (f64::from(self.width) / self.ratio / 96.0).max(2.0) as usize;
        let axis = self.layout.axis;
        for tick in time_ticks(self.view.from(), self.view.to(), most) {
            let x = self.x(tick.value);
            let line = Rect {
                left: x,
                right: x + self.px(1.0),
                top: axis.bottom - self.px(4.0),
                bottom: self.layout.height,
            };
            painter.fill(line, self.theme.palette.grid, 1.0);
            let half = (text_width(&tick.text, TICK_PX) * self.ratio / 2.0) as i32;
            let align = if x - half < 0 {
                HPos::Left
            } else if x + half > self.width {
                HPos::Right
            } else {
                HPos::Center
            };
            let y = (axis.top + axis.bottom - self.px(4.0)) / 2;
            painter.text(&tick.text, x, y, self.ink(TICK_PX, self.theme.palette.text_muted, align));
        }
    }

    fn draw_lane<B: DrawingBackend>(
        &self,
        painter: &mut Painter<'_, B>,
        row: &LaneRow,
        lane: &LaneData,
    ) {
        let palette = &self.theme.palette;
        let gap = self.px(1.0);
        let Band { top, bottom } = row.band;
        for run in lane.spans.runs(self.view, self.width) {
            let mut area = Rect { left: run.left, right: run.right, top, bottom };
            if !run.is_merged() && area.width() >= 4 * gap {
                area.right -= gap;
            }
            let color = palette.phases[usize::from(run.kind)];
            let strength = f64::from(run.strength);
            painter.fill(area, color, FAINTEST + (1.0 - FAINTEST) * strength);
            if let Some(hatch) = self.pattern_of(&run) {
                let line = palette.background.mix(0.7);
                painter.hatch(area, hatch, self.px(5.0), line, gap as u32);
            }
            if !run.is_merged() && f64::from(area.width()) > OWN_LABEL_PX * self.ratio {
                self.label_span(painter, area, &run, lane);
            }
        }
        let is_several = lane.passes.last().is_some_and(|pass| pass.micro_batch > 0);
        if is_several {
            self.label_passes(painter, row.band, &lane.passes);
        }
    }

    /// The operation's name, where it has room.
    fn label_span<B: DrawingBackend>(
        &self,
        painter: &mut Painter<'_, B>,
        area: Rect,
        run: &Run,
        lane: &LaneData,
    ) {
        let Some(span) = self.model.span(lane.tasks[run.spans.start]) else { return };
        let name = text(self.locale, &format!("operation.{}", span.operation.name));
        let room = f64::from(area.width()) / self.ratio - 8.0;
        if let Some(name) = fitted(name, LABEL_PX, room) {
            let ground = self.theme.palette.phases[usize::from(run.kind)];
            if self.pattern_of(run).is_some() {
                self.clear_behind(painter, area, &name, ground);
            }
            self.center(painter, area, &name, self.theme.palette.ink_on(ground), false);
        }
    }

    /// Takes the pattern away where a text will stand.
    fn clear_behind<B: DrawingBackend>(
        &self,
        painter: &mut Painter<'_, B>,
        area: Rect,
        text: &str,
        ground: RGBColor,
    ) {
        let (x, y) = ((area.left + area.right) / 2, (area.top + area.bottom) / 2);
        let half = self.px(text_width(text, LABEL_PX) / 2.0 + 2.0);
        let behind = Rect {
            left: (x - half).max(area.left),
            right: (x + half).min(area.right),
            top: (y - self.px(8.0)).max(area.top),
            bottom: (y + self.px(8.0)).min(area.bottom),
        };
        painter.fill(behind, ground, 1.0);
    }

    /// The micro-batches' numbers, as in the figures of pipeline papers, and where each begins.
    fn label_passes<B: DrawingBackend>(
        &self,
        painter: &mut Painter<'_, B>,
        band: Band,
        passes: &[Pass],
    ) {
        let palette = &self.theme.palette;
        let first = passes.partition_point(|pass| pass.end <= self.view.from());
        let shown = passes[first..].iter().take_while(|pass| pass.start < self.view.to());
        for pass in shown {
            let (left, right) = (self.x(pass.start), self.x(pass.end));
            let width = f64::from(right - left);
            if width < 7.0 * self.ratio {
                continue;
            }
            let area = Rect { left, right, top: band.top, bottom: band.bottom };
            painter.fill(Rect { right: left + self.px(1.0), ..area }, palette.background, 1.0);
            let number = pass.micro_batch.to_string();
            // Of the whole pass, however much of it is shown.
            let whole = (pass.end - pass.start) / self.view.span() * f64::from(self.width);
            let is_narrow = whole / f64::from(pass.spans.max(1)) < PASS_LABEL_PX * self.ratio;
            if is_narrow && (text_width(&number, LABEL_PX) + 7.0) * self.ratio < width {
                let phase = if pass.is_backward { Phase::Backward } else { Phase::Forward };
                let ink = palette.ink_on(palette.phases[phase as usize]);
                self.center(painter, area, &number, ink, true);
            }
        }
    }

    fn center<B: DrawingBackend>(
        &self,
        painter: &mut Painter<'_, B>,
        area: Rect,
        text: &str,
        color: RGBColor,
        is_bold: bool,
    ) {
        let x = (area.left + area.right) / 2;
        let y = (area.top + area.bottom) / 2 + self.px(0.5);
        painter.text(text, x, y, Ink { is_bold, ..self.ink(LABEL_PX, color, HPos::Center) });
    }

    /// After the step has ended there is nothing, not even idleness.
    fn draw_after_the_end<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>) {
        let palette = &self.theme.palette;
        let end = self.x(self.model.trace().duration());
        if end >= self.width {
            return;
        }
        let top = self.layout.axis.bottom;
        let area = Rect { left: end, right: self.width, top, bottom: self.layout.height };
        painter.fill(area, palette.background, 0.8);
        painter.fill(Rect { right: end + self.px(1.0), ..area }, palette.border_strong, 1.0);
    }

    /// The pattern that a phase has beside its colour. That of weight gradients, which come and go
    /// with every operation, would only flicker where they are narrow.
    fn pattern_of(&self, run: &Run) -> Option<Hatch> {
        match Phase::ALL.get(usize::from(run.kind)) {
            Some(Phase::Recompute) => Some(Hatch::Rising),
            Some(Phase::WeightGradient) if run.right - run.left >= self.px(HATCHED_PX) => {
                Some(Hatch::Falling)
            }
            _ => None,
        }
    }
}
