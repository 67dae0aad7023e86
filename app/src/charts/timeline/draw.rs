//! Draws lanes and the memory curve on any plotters backend, in device pixels.

use crate::charts::geometry::{
    Band, Column, Hatch, LaneRow, LanesLayout, Rect, Run, Viewport, time_ticks,
};
use crate::charts::hooks::Theme;
use crate::charts::model::{Amounts, ChartModel, LaneData, Pass};
use crate::charts::painter::{Ink, Painter, text_width};
use crate::i18n::text;
use plotters::prelude::{DrawingBackend, RGBColor};
use plotters::style::Color;
use plotters::style::text_anchor::HPos;
use sim_core::quantity::Locale;
use sim_core::trace::{Category, Phase};

const TICK_PX: f64 = 12.0;
const LABEL_PX: f64 = 12.0;

/// A strip of spans that is busy for the smallest part of the time is still this visible.
const FAINTEST: f64 = 0.35;

/// A pass of a micro-batch shows its number when its spans are on average narrower than this.
const OWN_LABEL_PX: f64 = 34.0;

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

    fn px(&self, size: f64) -> i32 {
        ((size * self.ratio).round() as i32).max(1)
    }

    /// The pixel of an instant, within the canvas.
    fn x(&self, time: f64) -> i32 {
        let x = self.view.x(time, f64::from(self.width));
        x.round().clamp(0.0, f64::from(self.width)) as i32
    }

    fn ink(&self, size: f64, color: RGBColor, align: HPos) -> Ink<'_> {
        Ink { size, color, family: &self.theme.family, align, is_bold: false }
    }

    fn fill_band<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>, band: Band, color: RGBColor) {
        let area = Rect { left: 0, right: self.width, top: band.top, bottom: band.bottom };
        painter.fill(area, color, 1.0);
    }

    fn draw_axis<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>) {
        let most = (f64::from(self.width) / self.ratio / 96.0).max(2.0) as usize;
        let axis = self.layout.axis;
        for tick in time_ticks(self.view.from(), self.view.to(), most) {
            let x = self.x(tick.value);
            let line =
                Rect { left: x, right: x + self.px(1.0), top: axis.bottom - self.px(4.0), bottom: self.layout.height };
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

    fn draw_lane<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>, row: &LaneRow, lane: &LaneData) {
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
        if text_width(name, LABEL_PX) <= room {
            let ink = self.theme.palette.ink_on(self.theme.palette.phases[usize::from(run.kind)]);
            self.center(painter, area, name, ink, false);
        }
    }

    /// The micro-batches' numbers, as in the figures of pipeline papers, and where each begins.
    fn label_passes<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>, band: Band, passes: &[Pass]) {
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
            let is_narrow = width / f64::from(pass.spans.max(1)) < OWN_LABEL_PX * self.ratio;
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

    fn memory_y(&self, bytes: f64) -> i32 {
        self.layout.memory_y(bytes, self.memory_axis)
    }

    fn draw_curve<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>) {
        let (points, index) = self.model.curve(self.class);
        let columns = index.columns(points, self.view, self.width);
        let mut floor = vec![0.0; columns.len()];
        let amounts: Vec<Amounts> =
            columns.iter().map(|column| self.model.with_runtime(self.class, &column.stack)).collect();
        for category in Category::ALL {
            let i = category as usize;
            if amounts.iter().all(|amounts| amounts[i] <= 0.0) {
                continue;
            }
            let top: Vec<f64> = floor.iter().zip(&amounts).map(|(f, a)| f + a[i]).collect();
            let shape = self.area(&columns, &top, &floor);
            painter.polygon(&shape, self.theme.palette.categories[i], 1.0);
            floor = top;
        }
        self.draw_limits(painter, &columns, &floor);
    }

    /// The steps of `top` from left to right, and those of `floor` back.
    fn area(&self, columns: &[Column], top: &[f64], floor: &[f64]) -> Vec<(i32, i32)> {
        let end = self.x(self.model.trace().duration());
        let edge = |i: usize| columns.get(i).map_or(end, |column| column.left.min(end));
        let step = |i: usize, bytes: f64| {
            let y = self.memory_y(bytes);
            [(edge(i), y), (edge(i + 1), y)]
        };
        let forth = top.iter().enumerate().flat_map(|(i, bytes)| step(i, *bytes));
        let back = floor.iter().enumerate().rev().flat_map(|(i, bytes)| {
            let [left, right] = step(i, *bytes);
            [right, left]
        });
        forth.chain(back).collect()
    }

    /// The line of what the device offers, what goes beyond it, and the peak.
    fn draw_limits<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>, columns: &[Column], total: &[f64]) {
        let palette = &self.theme.palette;
        let peak = &self.model.classes()[self.class];
        let capacity = self.model.capacity();
        self.draw_edge_beyond(painter, columns, total, capacity);
        let y = self.memory_y(capacity);
        let line = Rect { left: 0, right: self.width, top: y - self.px(1.0), bottom: y + self.px(1.0) };
        painter.fill(line, palette.capacity, 1.0);

        let held = self.memory_y(peak.total);
        let area = Rect { left: 0, right: self.width, top: held, bottom: held + self.px(1.0) };
        painter.dashes(area, palette.text_muted, self.px(4.0));
        let (points, index) = self.model.curve(self.class);
        let at_peak = self.model.with_runtime(self.class, &index.at(points, peak.at));
        let used: f64 = at_peak.iter().sum();
        if (self.view.from()..=self.view.to()).contains(&peak.at) {
            let center = (self.x(peak.at), self.memory_y(used));
            painter.disc(center, self.px(4.0) as u32, palette.background);
            painter.disc(center, self.px(3.0) as u32, palette.text);
        }
    }

    /// The edge of the curve where it is above the line.
    fn draw_edge_beyond<B: DrawingBackend>(
        &self,
        painter: &mut Painter<'_, B>,
        columns: &[Column],
        total: &[f64],
        capacity: f64,
    ) {
        let end = self.x(self.model.trace().duration());
        let mut edge: Vec<(i32, i32)> = Vec::new();
        for (i, (column, bytes)) in columns.iter().zip(total).enumerate() {
            if *bytes > capacity {
                let right = columns.get(i + 1).map_or(end, |next| next.left.min(end));
                let y = self.memory_y(*bytes);
                edge.extend([(column.left.min(end), y), (right, y)]);
            } else if !edge.is_empty() {
                painter.path(&edge, self.theme.palette.danger, self.px(2.0) as u32);
                edge.clear();
            }
        }
        if !edge.is_empty() {
            painter.path(&edge, self.theme.palette.danger, self.px(2.0) as u32);
        }
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
