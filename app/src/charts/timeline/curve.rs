//! Draws the memory curve below the lanes.

use super::draw::Drawing;
use crate::charts::geometry::{Column, Rect};
use crate::charts::model::Amounts;
use crate::charts::painter::Painter;
use plotters::prelude::DrawingBackend;
use sim_core::trace::Category;

impl Drawing<'_> {
    fn memory_y(&self, bytes: f64) -> i32 {
        self.layout.memory_y(bytes, self.memory_axis)
    }

    pub fn draw_curve<B: DrawingBackend>(&self, painter: &mut Painter<'_, B>) {
        let (points, index) = self.model.curve(self.class);
        let columns = index.columns(points, self.view, self.width);
        let mut floor = vec![0.0; columns.len()];
        let amounts: Vec<Amounts> = columns
            .iter()
            .map(|column| self.model.with_runtime(self.class, &column.stack))
            .collect();
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
        let mut shape = self.steps(columns, top);
        shape.extend(self.steps(columns, floor).into_iter().rev());
        shape
    }

    /// The corners of a line of steps: columns of the same height are one step.
    fn steps(&self, columns: &[Column], heights: &[f64]) -> Vec<(i32, i32)> {
        let end = self.x(self.model.trace().duration());
        let mut corners: Vec<(i32, i32)> = Vec::new();
        for (i, bytes) in heights.iter().enumerate() {
            let edge = |i: usize| columns.get(i).map_or(end, |column| column.left.min(end));
            let (y, right) = (self.memory_y(*bytes), edge(i + 1));
            match corners.last_mut() {
                Some(last) if last.1 == y => last.0 = right,
                _ => corners.extend([(edge(i), y), (right, y)]),
            }
        }
        corners
    }

    /// The line of what the device offers, what goes beyond it, and the peak.
    fn draw_limits<B: DrawingBackend>(
        &self,
        painter: &mut Painter<'_, B>,
        columns: &[Column],
        total: &[f64],
    ) {
        let palette = &self.theme.palette;
        let peak = &self.model.classes()[self.class];
        let capacity = self.model.capacity();
        self.draw_edge_beyond(painter, columns, total, capacity);
        let y = self.memory_y(capacity);
        let line =
            Rect { left: 0, right: self.width, top: y - self.px(1.0), bottom: y + self.px(1.0) };
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
}
