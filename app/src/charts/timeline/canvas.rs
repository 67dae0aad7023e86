//! The two canvases of the timeline, and what pointers and keys do on them.

use super::details::Tooltip;
use super::draw::Drawing;
use super::gestures::{Gesture, Gestures, Wheel};
use super::keys::action;
use super::labels::MemoryNotes;
use super::overlay::Overlay;
use super::state::TimelineState;
use crate::charts::geometry::Viewport;
use crate::charts::hooks::{redraw, use_theme};
use crate::charts::painter::Painter;
use crate::i18n::{filled, text};
use crate::platform::canvas::{cleared, pixel_ratio};
use crate::platform::frame::before_paint;
use leptos::ev::{KeyboardEvent, PointerEvent, WheelEvent};
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use sim_core::quantity::format_secs;

/// The drawing surface; `place` gets its width.
#[component]
pub fn TimelineCanvas(state: TimelineState, place: NodeRef<Div>) -> impl IntoView {
    let (base, overlay) = (NodeRef::<Canvas>::new(), NodeRef::<Canvas>::new());
    let is_focused = RwSignal::new(false);
    let theme = use_theme();
    let device_width =
        move || (f64::from(state.width.get_untracked()) * pixel_ratio()).round() as i32;

    redraw(
        move || {
            state.model.track();
            state.view.track();
            state.layout.track();
            state.width.track();
            state.class.track();
            state.memory_axis.track();
            state.locale.track();
            theme.track();
        },
        move || {
            let Some(canvas) = base.get_untracked() else { return };
            let (width, height) =
                (state.width.get_untracked(), state.layout.with_untracked(|l| l.height));
            let Some(mut backend) = cleared(canvas, width, height) else { return };
            let ratio = pixel_ratio();
            let layout = state.layout.with_untracked(|layout| layout.scaled(ratio));
            state.model.with_untracked(|model| {
                theme.with_untracked(|theme| {
                    let drawing = Drawing {
                        model,
                        layout: &layout,
                        view: state.view.get_untracked(),
                        width: device_width(),
                        ratio,
                        theme,
                        class: state.class.get_untracked(),
                        memory_axis: state.memory_axis.get_untracked(),
                        locale: state.locale.get_untracked(),
                    };
                    drawing.draw(&mut Painter::new(&mut backend, ratio));
                });
            });
        },
    );
    // The size of the overlay while it is empty: most drawings of the chart leave it so.
    let blank = StoredValue::new(None::<(i32, i32)>);
    redraw(
        move || {
            state.model.track();
            state.view.track();
            state.layout.track();
            state.width.track();
            state.cursor.track();
            state.hover.track();
            state.pinned.track();
            state.row.track();
            is_focused.track();
            theme.track();
        },
        move || {
            let Some(canvas) = overlay.get_untracked() else { return };
            let (width, height) =
                (state.width.get_untracked(), state.layout.with_untracked(|l| l.height));
            let (cursor, pinned) = (state.cursor.get_untracked(), state.pinned.get_untracked());
            let hovered = state.hover.get_untracked().and_then(|hover| hover.task);
            let row = is_focused.get_untracked().then(|| state.row.get_untracked());
            let is_blank =
                cursor.is_none() && pinned.is_none() && hovered.is_none() && row.is_none();
            let blank_now = is_blank.then_some((width, height));
            if is_blank && blank.get_value() == blank_now {
                return;
            }
            let Some(mut backend) = cleared(canvas, width, height) else { return };
            blank.set_value(blank_now);
            let ratio = pixel_ratio();
            let layout = state.layout.with_untracked(|layout| layout.scaled(ratio));
            state.model.with_untracked(|model| {
                theme.with_untracked(|theme| {
                    let overlay = Overlay {
                        model,
                        layout: &layout,
                        view: state.view.get_untracked(),
                        width: device_width(),
                        ratio,
                        theme,
                        cursor,
                        hovered,
                        pinned,
                        row,
                    };
                    overlay.draw(&mut Painter::new(&mut backend, ratio));
                });
            });
        },
    );

    let hands = Hands::new(state);
    let label = move || {
        let step = state.model.with(|model| model.trace().duration());
        filled(state.locale.get(), "chart.timeline.summary", &[("time", format_secs(step))])
    };
    view! {
        <div class="timeline-place" node_ref=place>
            <canvas class="timeline-base" node_ref=base aria-hidden="true"></canvas>
            <MemoryNotes state/>
            <canvas
                class="timeline-overlay"
                class:is-dragging=move || hands.is_dragging.get()
                node_ref=overlay
                tabindex="0"
                role="application"
                aria-label=label
                aria-describedby="timeline-keys"
                on:pointerdown=move |event| hands.press(&event)
                on:pointermove=move |event| hands.moved(&event)
                on:pointerup=move |event| hands.release(&event)
                on:pointercancel=move |event| hands.cancel(&event)
                on:pointerleave=move |event| hands.leave(&event)
                on:wheel=move |event| hands.wheel(&event)
                on:dblclick=move |_| state.view.update(|view| *view = Viewport::fit(view.limit()))
                on:keydown=move |event| hands.key(&event)
                on:focus=move |_| is_focused.set(true)
                on:blur=move |_| {
                    is_focused.set(false);
                    state.leave();
                }
            ></canvas>
            <Tooltip state/>
            <p id="timeline-keys" class="visually-hidden">
                {move || text(state.locale.get(), "chart.timeline.keys")}
            </p>
        </div>
    }
}

/// Turns the browser's events into gestures and actions, at most one movement a frame.
#[derive(Clone, Copy)]
struct Hands {
    state: TimelineState,
    gestures: StoredValue<Gestures>,
    is_dragging: RwSignal<bool>,
    /// The pointer's last place that is not yet acted on.
    hovering: StoredValue<Option<(f64, f64)>>,
}

impl Hands {
    fn new(state: TimelineState) -> Self {
        Self {
            state,
            gestures: StoredValue::new(Gestures::default()),
            is_dragging: RwSignal::new(false),
            hovering: StoredValue::new(None),
        }
    }

    fn press(self, event: &PointerEvent) {
        if event.button() != 0 {
            return;
        }
        let (x, y) = place_of(event);
        self.gestures.update_value(|gestures| gestures.press(event.pointer_id(), x, y));
        // The drag goes on outside; without it the drag ends there.
        let canvas = event_target::<leptos::web_sys::Element>(event);
        let _ = canvas.set_pointer_capture(event.pointer_id());
    }

    fn moved(self, event: &PointerEvent) {
        let (x, y) = place_of(event);
        let id = event.pointer_id();
        let gestures = self.gestures.try_update_value(|gestures| gestures.moved(id, x, y));
        for gesture in gestures.into_iter().flatten() {
            match gesture {
                Gesture::Hover { x, y } => self.hover(x, y),
                moving => self.state.act_on(moving),
            }
        }
        self.set_dragging();
    }

    /// Acts on the last place only, before the next paint.
    fn hover(self, x: f64, y: f64) {
        let is_waiting = self.hovering.get_value().is_some();
        self.hovering.set_value(Some((x, y)));
        if !is_waiting {
            before_paint(move || {
                let last = self.hovering.try_update_value(Option::take).flatten();
                if let Some((x, y)) = last {
                    self.state.hover_at(x, y);
                }
            });
        }
    }

    fn release(self, event: &PointerEvent) {
        let (x, y) = place_of(event);
        let id = event.pointer_id();
        let click = self.gestures.try_update_value(|gestures| gestures.release(id, x, y));
        if let Some(click) = click.flatten() {
            self.state.act_on(click);
        }
        self.set_dragging();
    }

    fn cancel(self, event: &PointerEvent) {
        self.gestures.update_value(|gestures| gestures.cancel(event.pointer_id()));
        self.set_dragging();
    }

    fn leave(self, event: &PointerEvent) {
        self.cancel(event);
        self.hovering.set_value(None);
        // A finger that is lifted leaves its cursor behind.
        if event.pointer_type() == "mouse" {
            self.state.leave();
        } else {
            self.state.hover.set(None);
        }
    }

    fn set_dragging(self) {
        let now = self.gestures.with_value(Gestures::is_dragging);
        if self.is_dragging.get_untracked() != now {
            self.is_dragging.set(now);
            self.state.hover.set(None);
        }
    }

    fn wheel(self, event: &WheelEvent) {
        let wheel = Wheel {
            x: f64::from(event.offset_x()),
            delta_x: event.delta_x(),
            delta_y: event.delta_y(),
            mode: event.delta_mode(),
            is_shifted: event.shift_key(),
        };
        let gesture = wheel.gesture();
        let is_all = self.state.view.with_untracked(|view| view.is_fit());
        let does_nothing = match gesture {
            Gesture::Zoom { factor, .. } => factor <= 1.0 && !event.ctrl_key(),
            _ => true,
        };
        // Nothing to zoom out of or to pan: the page scrolls.
        if is_all && does_nothing {
            return;
        }
        event.prevent_default();
        self.state.act_on(gesture);
    }

    fn key(self, event: &KeyboardEvent) {
        if event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        if let Some(action) = action(&event.key(), event.shift_key()) {
            event.prevent_default();
            self.state.do_action(action);
        }
    }
}

fn place_of(event: &PointerEvent) -> (f64, f64) {
    (f64::from(event.offset_x()), f64::from(event.offset_y()))
}
