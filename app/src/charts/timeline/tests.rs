//! The timeline's drawing and words for every preset, without a browser.

use super::draw::Drawing;
use super::facts::facts;
use super::overlay::Overlay;
use crate::charts::geometry::{GroupSpec, LanesLayout, LanesOptions, Viewport};
use crate::charts::hooks::Theme;
use crate::charts::model::ChartModel;
use crate::charts::painter::{Painter, SVG_TEXT_SCALE};
use crate::charts::palette::Palette;
use crate::i18n::text;
use plotters::prelude::{DrawingBackend as _, SVGBackend};
use sim_core::engine::TaskId;
use sim_core::quantity::{Locale, Unit};
use sim_core::trace::Phase;
use sim_core::{presets, simulate};
use std::sync::Arc;

fn models() -> impl Iterator<Item = (&'static str, ChartModel)> {
    presets::ALL.iter().map(|preset| {
        let simulation = simulate(&preset.scenario()).expect("presets can be computed");
        (preset.id, ChartModel::new(Arc::new(simulation)))
    })
}

fn theme() -> Theme {
    Theme { palette: Palette::sample(), family: "sans-serif".to_owned() }
}

fn layout(model: &ChartModel, options: LanesOptions) -> LanesLayout {
    let groups = model.groups().iter();
    let groups: Vec<_> = groups.map(|g| GroupSpec { lanes: g.len(), is_open: true }).collect();
    LanesLayout::new(&groups, options)
}

/// The base and the overlay of a timeline as SVG.
fn svg(model: &ChartModel, view: Viewport, width: i32, ratio: f64, task: Option<TaskId>) -> String {
    let mut svg = String::new();
    let theme = theme();
    let layout = layout(model, LanesOptions::WIDE).scaled(ratio);
    {
        let mut backend = SVGBackend::with_string(&mut svg, (width as u32, layout.height as u32));
        let mut painter = Painter::new(&mut backend, SVG_TEXT_SCALE);
        let drawing = Drawing {
            model,
            layout: &layout,
            view,
            width,
            ratio,
            theme: &theme,
            class: model.fullest_class(),
            memory_axis: model.memory_axis(Unit::Gib),
            locale: Locale::En,
        };
        drawing.draw(&mut painter);
        let overlay = Overlay {
            model,
            layout: &layout,
            view,
            width,
            ratio,
            theme: &theme,
            cursor: Some(view.from() + view.span() / 3.0),
            hovered: Some(TaskId(0)),
            pinned: task,
            row: Some(0),
        };
        overlay.draw(&mut painter);
        backend.present().expect("writing to a string cannot fail");
    }
    svg
}

#[test]
fn every_preset_is_drawn_at_every_zoom_without_leaving_the_canvas() {
    for (id, model) in models() {
        let duration = model.trace().duration();
        let last = TaskId(model.trace().len() as u32 - 1);
        for share in [1.0, 0.05, 1e-5] {
            let view = Viewport::window(duration * 0.4, duration * (0.4 + share), duration);
            for (width, ratio) in [(900, 1.0), (700, 2.0), (1, 1.0)] {
                let svg = svg(&model, view, width, ratio, Some(last));
                assert!(svg.contains("<rect"), "{id}");
                assert!(!svg.contains("width=\"-"), "{id}");
            }
        }
    }
}

#[test]
fn the_work_of_a_drawing_follows_the_pixels_and_not_the_spans() {
    for (id, model) in models() {
        let svg = svg(&model, Viewport::fit(model.trace().duration()), 800, 1.0, None);
        let lanes = model.trace().lanes().len();
        let most = lanes * 2 * 800 + 2000;
        assert!(svg.matches("<rect").count() < most, "{id}");
    }
}

#[test]
fn a_task_of_another_simulation_is_ignored() {
    let (_, model) = models().next().expect("there are presets");
    let stranger = TaskId(u32::MAX - 1);
    assert!(facts(&model, stranger, Locale::En, Unit::Gib).is_none());
    assert!(model.changes(stranger).is_empty());
    assert!(svg(&model, Viewport::fit(1.0), 300, 1.0, Some(stranger)).contains("<rect"));
}

#[test]
fn every_operation_and_phase_has_words_in_both_languages() {
    for (id, model) in models() {
        for lane in 0..model.trace().lanes().len() {
            for task in model.lane(lane).tasks.iter().take(400) {
                for locale in [Locale::En, Locale::ZhCn] {
                    let facts = facts(&model, *task, locale, Unit::Gib).expect("its own task");
                    assert!(!facts.title.starts_with("operation."), "{id}: {}", facts.title);
                    assert!(facts.rows.iter().all(|(_, value)| !value.contains("NaN")), "{id}");
                }
            }
        }
    }
    for phase in Phase::ALL {
        let key = format!("phase.{}", phase.name());
        assert_ne!(text(Locale::En, &key), key);
    }
}
