//! Memory bars: one bar per kind of GPU against the line of what a device offers.

mod draw;
mod table;

use super::geometry::{BarSpec, BarsLayout, BarsOptions, MemoryScale, memory_ticks};
use super::hooks::{Theme, glide, redraw, use_theme, use_width};
use super::model::{Amounts, ChartModel};
use super::painter::{Painter, SVG_TEXT_SCALE};
use super::words;
use crate::i18n::{filled, text};
use crate::platform::svg::show;
use draw::{BarsDrawing, RowTexts};
use leptos::ev::PointerEvent;
use leptos::html::Div;
use leptos::prelude::*;
use plotters::prelude::SVGBackend;
use sim_core::Simulation;
use sim_core::explain::Question;
use sim_core::quantity::{Locale, Unit, format_secs};
use sim_core::trace::Category;
use std::sync::Arc;
use table::MemoryTable;

/// What the bars and their table show: bytes by category of every class, at one instant.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    amounts: Vec<Amounts>,
    /// Seconds; at each class's own peak without.
    time: Option<f64>,
}

/// Bars and their table, at the instant under `cursor`; at the peak without one.
#[component]
pub fn MemoryBars(
    #[prop(into)] simulation: Signal<Arc<Simulation>>,
    #[prop(into)] cursor: Signal<Option<f64>>,
    #[prop(into)] unit: Signal<Unit>,
    #[prop(into)] locale: Signal<Locale>,
    selected: RwSignal<Option<Question>>,
) -> impl IntoView {
    let model =
        Memo::new_with_compare(move |_| Arc::new(ChartModel::new(simulation.get())), |_, _| true);
    let shown = Memo::new(move |_| {
        let time = cursor.get();
        model.with(|model| Shown {
            amounts: (0..model.classes().len()).map(|class| model.amounts(class, time)).collect(),
            time,
        })
    });
    let place = NodeRef::<Div>::new();
    let width = use_width(place);
    let theme = use_theme();
    let axis = glide(Signal::derive(move || model.with(|model| model.memory_axis(unit.get()))));
    let layout = Memo::new(move |_| {
        let options = BarsOptions::new(width.get());
        let axis = axis.get();
        model.with(|model| {
            let bars = shown.with(|shown| specs(model, shown));
            BarsLayout::new(&bars, model.capacity(), axis, options)
        })
    });
    let drawing = Memo::new(move |_| {
        let (locale, unit, axis) = (locale.get(), unit.get(), axis.get());
        let (layout, options) = (layout.get(), BarsOptions::new(width.get()));
        let selected = selected.get();
        model.with(|model| {
            let texts = shown.with(|shown| texts(model, shown, locale, unit));
            let scale = MemoryScale::of(axis, unit);
            let ticks = memory_ticks(axis, scale, (layout.plot.width() / 90).max(2) as usize);
            let capacity = words::bytes(model.capacity(), unit);
            BarsDrawing {
                ticks: BarsDrawing::place_ticks(&layout, ticks, axis),
                layout,
                options,
                texts,
                capacity: filled(locale, "chart.memory.capacity", &[("size", capacity)]),
                selected: match selected {
                    Some(Question::Memory { class, category }) => Some((class, category as usize)),
                    _ => None,
                },
            }
        })
    });
    let before = StoredValue::new(String::new());
    redraw(
        move || {
            place.track();
            drawing.track();
            theme.track();
        },
        move || {
            let Some(place) = place.get_untracked() else { return };
            let now =
                drawing.with_untracked(|drawing| theme.with_untracked(|theme| svg(drawing, theme)));
            before.with_value(|before| show(&place, before, &now));
            before.set_value(now);
        },
    );
    let is_narrow = Memo::new(move |_| BarsOptions::new(width.get()).is_narrow());
    let hovered = RwSignal::new(None::<(usize, usize)>);
    let under = move |event: &PointerEvent| {
        let at = (f64::from(event.offset_x()), f64::from(event.offset_y()));
        layout.with_untracked(|layout| layout.hit(at.0, at.1))
    };
    let summary = move || {
        let (locale, unit) = (locale.get(), unit.get());
        model.with(|model| shown.with(|shown| summary(model, shown, locale, unit)))
    };
    let instant = move || match shown.with(|shown| shown.time) {
        Some(time) => filled(locale.get(), "chart.at", &[("time", format_secs(time))]),
        None => model.with(|model| match model.classes() {
            [class] => {
                filled(locale.get(), "chart.memory.at-peak", &[("time", format_secs(class.at))])
            }
            _ => text(locale.get(), "chart.memory.at-peaks").to_owned(),
        }),
    };
    view! {
        <figure class="chart memory-bars">
            <figcaption class="chart-head">
                <h2 class="chart-title">{move || text(locale.get(), "chart.memory.title")}</h2>
                <span class="chart-instant">{instant}</span>
            </figcaption>
            <div
                class="chart-drawing"
                role="img"
                aria-label=summary
                node_ref=place
                class:is-on-segment=move || hovered.get().is_some()
                on:pointermove=move |event| {
                    let now = under(&event);
                    if hovered.get_untracked() != now {
                        hovered.set(now);
                    }
                }
                on:pointerleave=move |_| hovered.set(None)
                on:pointerup=move |event| {
                    if let Some((class, category)) = under(&event) {
                        let category = Category::ALL[category];
                        selected.set(Some(Question::Memory { class, category }));
                    }
                }
            ></div>
            <MemoryTable model shown unit locale selected hovered is_narrow/>
        </figure>
    }
}

fn specs(model: &ChartModel, shown: &Shown) -> Vec<BarSpec> {
    let peaks = model.classes().iter().map(|class| class.total);
    let ghost = |peak: f64| shown.time.map(|_| peak);
    let bars = shown.amounts.iter().zip(peaks);
    bars.map(|(bytes, peak)| BarSpec { bytes: *bytes, ghost: ghost(peak) }).collect()
}

fn texts(model: &ChartModel, shown: &Shown, locale: Locale, unit: Unit) -> Vec<RowTexts> {
    let row = |(class, amounts): (usize, &Amounts)| {
        let total: f64 = amounts.iter().sum();
        let beyond = total - model.capacity();
        let excess =
            || filled(locale, "chart.memory.over", &[("size", words::bytes(beyond, unit))]);
        // What the allocator has reserved is not free between its uses.
        let held =
            if shown.time.is_some() { model.classes()[class].total.max(total) } else { total };
        let free = words::bytes(model.capacity() - held, unit);
        RowTexts {
            name: words::class_name(locale, model.classes(), class),
            total: words::bytes(total, unit),
            over: (beyond > 0.0).then(excess),
            free: filled(locale, "chart.memory.free", &[("size", free)]),
            segments: Category::ALL.map(|category| {
                let amount = words::bytes(amounts[category as usize], unit);
                (words::category_name(locale, category), amount)
            }),
        }
    };
    shown.amounts.iter().enumerate().map(row).collect()
}

/// One sentence a class, for those who cannot see the bars.
fn summary(model: &ChartModel, shown: &Shown, locale: Locale, unit: Unit) -> String {
    let sentence = |row: RowTexts| {
        let key =
            if row.over.is_some() { "chart.memory.summary-over" } else { "chart.memory.summary" };
        let capacity = words::bytes(model.capacity(), unit);
        filled(
            locale,
            key,
            &[
                ("class", row.name),
                ("total", row.total),
                ("capacity", capacity),
                ("over", row.over.unwrap_or_default()),
            ],
        )
    };
    texts(model, shown, locale, unit).into_iter().map(sentence).collect::<Vec<_>>().join(" ")
}

fn svg(drawing: &BarsDrawing, theme: &Theme) -> String {
    let mut svg = String::new();
    let size = (drawing.layout.width.max(0) as u32, drawing.layout.height.max(0) as u32);
    if drawing.layout.width > 0 {
        let mut backend = SVGBackend::with_string(&mut svg, size);
        drawing.draw(&mut Painter::new(&mut backend, SVG_TEXT_SCALE), theme);
        // Closes the document; writing to a string cannot fail.
        let _ = plotters::prelude::DrawingBackend::present(&mut backend);
    }
    svg
}

#[cfg(test)]
mod tests;
