//! What gestures and keys do to the timeline's state.

use super::gestures::Gesture;
use super::keys::{Action, Direction, Edge};
use super::state::TimelineState;
use crate::charts::geometry::{LaneRow, Viewport};
use leptos::prelude::*;
use sim_core::engine::TaskId;

impl TimelineState {
    /// Pins a span, and the cursor to an instant in it.
    pub fn pin(&self, task: TaskId, at: f64) {
        self.pinned_at.set(Some(at));
        self.pinned.set(Some(task));
        self.cursor.set(Some(at));
    }

    /// Pins the span that another one waited for, and shows it.
    pub fn go_to(&self, task: TaskId) {
        let middle = self.model.with_untracked(|model| {
            model.span(task).map(|span| f64::midpoint(span.start, span.end))
        });
        let Some(middle) = middle else { return };
        self.view.update(|view| *view = view.reveal(middle));
        self.pin(task, middle);
    }

    pub fn act_on(&self, gesture: Gesture) {
        let width = f64::from(self.width.get_untracked().max(1));
        match gesture {
            Gesture::Hover { x, y } => self.hover_at(x, y),
            Gesture::Pan { dx } => {
                self.view.update(|view| *view = view.pan(-dx / width * view.span()));
            }
            Gesture::Zoom { x, factor } => {
                self.view.update(|view| *view = view.zoom(view.time(x, width), factor));
            }
            Gesture::Click { x, y } => match self.task_at(x, y) {
                Some(task) => self.pin(task, self.time_at(x)),
                None => {
                    self.pinned_at.set(None);
                    self.pinned.set(None);
                    self.cursor.set(Some(self.time_at(x)));
                }
            },
        }
    }

    pub fn do_action(&self, action: Action) {
        match action {
            Action::Zoom(factor) => {
                self.view.update(|view| {
                    let center = f64::midpoint(view.from(), view.to());
                    let cursor = self.cursor.get_untracked();
                    let at = cursor.filter(|at| (view.from()..=view.to()).contains(at));
                    *view = view.zoom(at.unwrap_or(center), factor);
                });
            }
            Action::Pan(share) => self.view.update(|view| *view = view.pan(share * view.span())),
            Action::Fit => self.fit(),
            Action::ToEdge(edge) => {
                self.move_cursor(if edge == Edge::Start { 0.0 } else { self.duration() });
            }
            Action::MoveCursor(share) => {
                let view = self.view.get_untracked();
                let from = self.cursor.get_untracked().unwrap_or(view.from());
                self.move_cursor(from + share * view.span());
            }
            Action::ToSpan(direction) => self.step_to_span(direction),
            Action::ToLane(direction) => self.step_to_lane(direction),
            Action::Pin => {
                if let (Some(task), Some(at)) =
                    (self.task_under_cursor(), self.cursor.get_untracked())
                {
                    self.pin(task, at);
                }
            }
            Action::Clear => self.forget(),
        }
    }

    /// Shows the pinned span; all when that is shown already, or nothing is pinned.
    pub fn fit(&self) {
        let pinned = self.pinned.get_untracked();
        self.view.update(|view| {
            let all = Viewport::fit(view.limit());
            let span = pinned.and_then(|task| {
                self.model.with_untracked(|model| {
                    let span = model.span(task)?;
                    let room = (span.end - span.start) * 0.5;
                    Some(Viewport::window(span.start - room, span.end + room, view.limit()))
                })
            });
            *view = span.filter(|span| span != view).unwrap_or(all);
        });
    }

    fn row(&self) -> Option<LaneRow> {
        self.layout.with_untracked(|layout| {
            let row = self.row.get_untracked().min(layout.lanes.len().checked_sub(1)?);
            Some(layout.lanes[row])
        })
    }

    /// The span under the cursor on the keyboard's lane.
    fn task_under_cursor(&self) -> Option<TaskId> {
        let (row, time) = (self.row()?, self.cursor.get_untracked()?);
        self.with_lane(row, |lane| lane.spans.near(time, 0.0).map(|span| lane.tasks[span]))
    }

    fn move_cursor(&self, to: f64) {
        let to = to.clamp(0.0, self.duration());
        self.view.update(|view| *view = view.reveal(to));
        self.hover.set(None);
        self.cursor.set(Some(to));
        self.spoken.set(self.task_under_cursor());
    }

    fn step_to_span(&self, direction: Direction) {
        let time = self.cursor.get_untracked().unwrap_or(0.0);
        let start = self.row().and_then(|row| {
            self.with_lane(row, |lane| {
                let span = match direction {
                    Direction::Back => lane.spans.before(time),
                    Direction::Forth => lane.spans.after(time),
                };
                span.map(|span| lane.spans.start(span))
            })
        });
        if let Some(start) = start {
            self.move_cursor(start);
        }
    }

    fn step_to_lane(&self, direction: Direction) {
        let last = self.layout.with_untracked(|layout| layout.lanes.len().saturating_sub(1));
        self.row.update(|row| {
            *row = match direction {
                Direction::Back => row.saturating_sub(1),
                Direction::Forth => (*row + 1).min(last),
            };
        });
        self.spoken.set(self.task_under_cursor());
    }
}
