//! What the timeline's parts share: what is shown, where everything lies, and what moves it.

use super::gestures::Gesture;
use super::keys::{Action, Direction, Edge};
use crate::charts::geometry::{GroupSpec, LaneRow, LanesLayout, LanesOptions, Viewport};
use crate::charts::model::{ChartModel, LaneData};
use leptos::prelude::*;
use sim_core::engine::TaskId;
use sim_core::explain::Question;
use sim_core::quantity::{Locale, Unit};
use std::collections::BTreeSet;
use std::sync::Arc;

/// With more classes than this only their compute lanes are open at first.
const MOST_OPEN: usize = 4;
const MOST_OPEN_NARROW: usize = 1;

/// A pointer this near to a span means it, in pixels.
const NEAR_PX: f64 = 3.0;

/// The pointer over a span or beside all of them, in pixels of the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hover {
    pub x: f64,
    pub y: f64,
    pub task: Option<TaskId>,
}

/// Signals of one timeline.
#[derive(Clone, Copy)]
pub struct TimelineState {
    pub model: Memo<Arc<ChartModel>>,
    pub unit: Signal<Unit>,
    pub locale: Signal<Locale>,
    pub cursor: RwSignal<Option<f64>>,
    pub pinned: RwSignal<Option<TaskId>>,
    /// Where the pinned span was clicked, in seconds: the cursor returns there.
    pub pinned_at: RwSignal<Option<f64>>,
    pub hover: RwSignal<Option<Hover>>,
    pub view: RwSignal<Viewport>,
    /// Pixels of the canvas.
    pub width: Signal<i32>,
    pub layout: Memo<LanesLayout>,
    is_narrow: Signal<bool>,
    /// Groups that are not as they are at first.
    toggled: RwSignal<BTreeSet<usize>>,
    /// The row that the keyboard is on.
    pub row: RwSignal<usize>,
    /// Whose memory is shown.
    pub class: Memo<usize>,
    pub memory_axis: Signal<f64>,
    /// What the keyboard has come to, for those who cannot see it.
    pub spoken: RwSignal<Option<TaskId>>,
}

/// What a timeline is made from.
pub struct TimelineInputs {
    pub model: Memo<Arc<ChartModel>>,
    pub unit: Signal<Unit>,
    pub locale: Signal<Locale>,
    pub cursor: RwSignal<Option<f64>>,
    pub pinned: RwSignal<Option<TaskId>>,
    pub selected: RwSignal<Option<Question>>,
    pub width: Signal<i32>,
    pub is_narrow: Signal<bool>,
    /// The end of the time axis, in seconds.
    pub limit: Signal<f64>,
    pub memory_axis: Signal<f64>,
}

impl TimelineState {
    pub fn new(inputs: TimelineInputs) -> Self {
        let TimelineInputs { model, selected, is_narrow, limit, .. } = inputs;
        let toggled = RwSignal::new(BTreeSet::new());
        let layout = Memo::new(move |_| {
            let options = if is_narrow.get() { LanesOptions::NARROW } else { LanesOptions::WIDE };
            let most = most_open(is_narrow.get());
            let groups = model.with(|model| toggled.with(|toggled| groups(model, most, toggled)));
            LanesLayout::new(&groups, options)
        });
        let class = Memo::new(move |_| {
            let asked = match selected.get() {
                Some(Question::Memory { class, .. }) => Some(class),
                _ => None,
            };
            model.with(|model| {
                asked.filter(|class| *class < model.classes().len())
                    .unwrap_or_else(|| model.fullest_class())
            })
        });
        let view = RwSignal::new(Viewport::fit(limit.get_untracked()));
        let state = Self {
            model,
            unit: inputs.unit,
            locale: inputs.locale,
            cursor: inputs.cursor,
            pinned: inputs.pinned,
            pinned_at: RwSignal::new(None),
            hover: RwSignal::new(None),
            view,
            width: inputs.width,
            layout,
            is_narrow,
            toggled,
            row: RwSignal::new(0),
            class,
            memory_axis: inputs.memory_axis,
            spoken: RwSignal::new(None),
        };
        Effect::new(move |_| {
            let limit = limit.get();
            view.update(|view| *view = view.with_limit(limit));
        });
        Effect::new(move |before: Option<()>| {
            model.track();
            // Tasks of another simulation are other tasks.
            if before.is_some() {
                state.forget();
            }
        });
        state
    }

    /// True when all lanes of a group are shown.
    pub fn is_open(&self, group: usize) -> bool {
        let is_open_first = self.model.with(|model| model.classes().len()) <= most_open(self.is_narrow.get());
        self.toggled.with(|toggled| is_open_first != toggled.contains(&group))
    }

    /// Opens a closed group and closes an open one.
    pub fn toggle(&self, group: usize) {
        self.toggled.update(|toggled| {
            if !toggled.remove(&group) {
                toggled.insert(group);
            }
        });
    }

    /// The duration of the step, in seconds.
    fn duration(&self) -> f64 {
        self.model.with_untracked(|model| model.trace().duration())
    }

    /// The instant at a pixel, within the step.
    pub fn time_at(&self, x: f64) -> f64 {
        let view = self.view.get_untracked();
        view.time(x, f64::from(self.width.get_untracked())).clamp(0.0, self.duration())
    }

    fn secs_per_px(&self) -> f64 {
        self.view.get_untracked().span() / f64::from(self.width.get_untracked().max(1))
    }

    /// The span at a pixel.
    pub fn task_at(&self, x: f64, y: f64) -> Option<TaskId> {
        let row = self.layout.with_untracked(|layout| layout.lane_at(y, 1.0).copied())?;
        let view = self.view.get_untracked();
        let time = view.time(x, f64::from(self.width.get_untracked()));
        let slack = NEAR_PX * self.secs_per_px();
        self.with_lane(row, |lane| lane.spans.near(time, slack).map(|span| lane.tasks[span]))
    }

    fn with_lane<T>(&self, row: LaneRow, act: impl FnOnce(&LaneData) -> Option<T>) -> Option<T> {
        self.model.with_untracked(|model| {
            let lane = *model.groups().get(row.group)?.get(row.lane)?;
            act(model.lane(lane))
        })
    }

    /// The pointer is at a pixel.
    pub fn hover_at(&self, x: f64, y: f64) {
        let hover = Hover { x, y, task: self.task_at(x, y) };
        self.hover.set(Some(hover));
        self.cursor.set(Some(self.time_at(x)));
    }

    /// The pointer is elsewhere: the cursor goes back to the pinned span, or away.
    pub fn leave(&self) {
        self.hover.set(None);
        self.cursor.set(self.pinned_at.get_untracked());
    }

    /// Nothing is pinned, pointed at or spoken.
    fn forget(&self) {
        self.pinned_at.set(None);
        self.spoken.set(None);
        self.hover.set(None);
        self.pinned.set(None);
        self.cursor.set(None);
    }

    /// Pins a span, and the cursor to an instant in it.
    pub fn pin(&self, task: TaskId, at: f64) {
        self.pinned_at.set(Some(at));
        self.pinned.set(Some(task));
        self.cursor.set(Some(at));
    }

    /// Pins the span that another one waited for, and shows it.
    pub fn go_to(&self, task: TaskId) {
        let middle = self
            .model
            .with_untracked(|model| model.span(task).map(|span| f64::midpoint(span.start, span.end)));
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
            Action::ToSpan(direction) => self.to_span(direction),
            Action::ToLane(direction) => self.to_lane(direction),
            Action::Pin => {
                if let (Some(task), Some(at)) = (self.task_under_cursor(), self.cursor.get_untracked()) {
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

    fn to_span(&self, direction: Direction) {
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

    fn to_lane(&self, direction: Direction) {
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

fn most_open(is_narrow: bool) -> usize {
    if is_narrow { MOST_OPEN_NARROW } else { MOST_OPEN }
}

fn groups(model: &ChartModel, most_open: usize, toggled: &BTreeSet<usize>) -> Vec<GroupSpec> {
    let is_open_first = model.classes().len() <= most_open;
    let spec = |(group, lanes): (usize, &Vec<usize>)| GroupSpec {
        lanes: lanes.len(),
        is_open: is_open_first != toggled.contains(&group),
    };
    model.groups().iter().enumerate().map(spec).collect()
}
