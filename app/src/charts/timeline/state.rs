//! What the timeline's parts share: what is shown, where everything lies, and what moves it.

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
                asked
                    .filter(|class| *class < model.classes().len())
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
        let is_open_first =
            self.model.with(|model| model.classes().len()) <= most_open(self.is_narrow.get());
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
    pub fn duration(&self) -> f64 {
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

    pub fn with_lane<T>(
        &self,
        row: LaneRow,
        act: impl FnOnce(&LaneData) -> Option<T>,
    ) -> Option<T> {
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
    pub fn forget(&self) {
        self.pinned_at.set(None);
        self.spoken.set(None);
        self.hover.set(None);
        self.pinned.set(None);
        self.cursor.set(None);
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
