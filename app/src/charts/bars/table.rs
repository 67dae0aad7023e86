//! The bars as a table: legend, figures, and the way to a number's reason.

use super::Shown;
use crate::charts::model::ChartModel;
use crate::charts::words;
use crate::i18n::{filled, text};
use leptos::prelude::*;
use sim_core::explain::Question;
use sim_core::quantity::{Locale, Unit};
use sim_core::trace::Category;
use std::sync::Arc;

/// With more classes than this the table shows a choice of them.
const MOST_COLUMNS: usize = 4;
const MOST_COLUMNS_NARROW: usize = 2;

/// Categories that keep their row when they are empty, so that the table does not jump.
const ALWAYS: [Category; 8] = [
    Category::Weights,
    Category::Gradients,
    Category::Optimizer,
    Category::Activations,
    Category::Logits,
    Category::Transient,
    Category::Runtime,
    Category::Fragmentation,
];

/// A row per category, a column per class.
#[component]
pub fn MemoryTable(
    model: Memo<Arc<ChartModel>>,
    shown: Memo<Shown>,
    unit: Signal<Unit>,
    locale: Signal<Locale>,
    selected: RwSignal<Option<Question>>,
    /// Class and index of the category under the pointer.
    hovered: RwSignal<Option<(usize, usize)>>,
    is_narrow: Memo<bool>,
) -> impl IntoView {
    let used = Memo::new(move |_| model.with(|model| model.used()));
    let chosen = Memo::new(move |_| {
        let fullest = model.with(|model| model.fullest_class());
        match selected.get() {
            Some(Question::Memory { class, .. }) => class,
            _ => fullest,
        }
    });
    let columns = Memo::new(move |_| {
        let most = if is_narrow.get() { MOST_COLUMNS_NARROW } else { MOST_COLUMNS };
        model.with(|model| columns(model, chosen.get(), most))
    });
    let is_single = move || columns.with(Vec::len) <= 1;
    let class_name =
        move |class| model.with(|model| words::class_name(locale.get(), model.classes(), class));
    let head = move || {
        let classes = columns.get();
        if classes.len() <= 1 {
            return view! {
                <th scope="col" role="columnheader">{move || text(locale.get(), "chart.table.size")}</th>
                <th scope="col" role="columnheader">{move || text(locale.get(), "chart.table.share")}</th>
            }
            .into_any();
        }
        let head =
            |class| view! { <th scope="col" role="columnheader">{move || class_name(class)}</th> };
        classes.into_iter().map(head).collect_view().into_any()
    };
    let row = move |category: Category| {
        view! { <Row category shown columns chosen unit locale selected hovered/> }
    };
    let rows = move || {
        let used = used.get();
        let is_shown = |category: &Category| used[*category as usize] || ALWAYS.contains(category);
        Category::ALL.into_iter().filter(is_shown).map(row).collect_view()
    };
    let totals = move || {
        let classes = columns.get();
        let total = move |class: usize| {
            let total = shown.with(|shown| shown.amounts.get(class).map(|a| a.iter().sum::<f64>()));
            words::bytes(total.unwrap_or(0.0), unit.get())
        };
        let is_single = classes.len() <= 1;
        let cells = classes.into_iter().map(|class| {
            view! { <td role="cell" data-total=class.to_string()>{move || total(class)}</td> }
        });
        let cells = cells.collect_view();
        view! { {cells} {is_single.then(|| view! { <td role="cell"></td> })} }
    };
    view! {
        <table class="memory-table" role="table" class:is-single=is_single>
            <caption class="visually-hidden">
                {move || text(locale.get(), "chart.memory.table")}
            </caption>
            <thead role="rowgroup">
                <tr role="row">
                    <th scope="col" role="columnheader">
                        {move || text(locale.get(), "chart.table.category")}
                    </th>
                    {head}
                </tr>
            </thead>
            <tbody role="rowgroup">{rows}</tbody>
            <tfoot role="rowgroup">
                <tr role="row">
                    <th scope="row" role="rowheader">
                        {move || text(locale.get(), "chart.table.total")}
                    </th>
                    {totals}
                </tr>
            </tfoot>
        </table>
    }
}

/// The classes with a column: all, or the chosen, the fullest, the first and the last.
fn columns(model: &ChartModel, chosen: usize, most: usize) -> Vec<usize> {
    let count = model.classes().len();
    if count <= most {
        return (0..count).collect();
    }
    let mut classes: Vec<usize> = Vec::new();
    for class in [chosen.min(count - 1), model.fullest_class(), 0, count - 1] {
        if classes.len() < most && !classes.contains(&class) {
            classes.push(class);
        }
    }
    classes.sort_unstable();
    classes
}

#[component]
fn Row(
    category: Category,
    shown: Memo<Shown>,
    columns: Memo<Vec<usize>>,
    chosen: Memo<usize>,
    unit: Signal<Unit>,
    locale: Signal<Locale>,
    selected: RwSignal<Option<Question>>,
    hovered: RwSignal<Option<(usize, usize)>>,
) -> impl IntoView {
    let index = category as usize;
    let amount =
        move |class: usize| shown.with(|shown| shown.amounts.get(class).map_or(0.0, |a| a[index]));
    let ask = move |class| selected.set(Some(Question::Memory { class, category }));
    let is_asked = move || matches!(selected.get(), Some(Question::Memory { category: c, .. }) if c == category);
    let is_empty = move || columns.with(|columns| columns.iter().all(|c| amount(*c) <= 0.0));
    let share = move |class: usize| {
        let total = shown.with(|shown| shown.amounts.get(class).map_or(0.0, |a| a.iter().sum()));
        words::share(amount(class), total)
    };
    let figure = move |class: usize| words::bytes(amount(class), unit.get());
    let cells = move || {
        let classes = columns.get();
        if let [class] = classes[..] {
            return view! {
                <td role="cell" data-bytes=move || format!("{:.0}", amount(class))>{move || figure(class)}</td>
                <td role="cell" class="is-share">{move || share(class)}</td>
            }
            .into_any();
        }
        let cell = |class: usize| {
            let name = move || {
                let category = words::category_name(locale.get(), category);
                let values = [("category", category.to_owned()), ("size", figure(class))];
                filled(locale.get(), "chart.memory.ask", &values)
            };
            let is_this = move || selected.get() == Some(Question::Memory { class, category });
            view! {
                <td role="cell" data-bytes=move || format!("{:.0}", amount(class))>
                    <button
                        type="button"
                        class="memory-cell"
                        aria-label=name
                        aria-pressed=move || is_this().to_string()
                        on:click=move |event| {
                            event.stop_propagation();
                            ask(class);
                        }
                    >
                        {move || figure(class)}
                    </button>
                </td>
            }
        };
        classes.into_iter().map(cell).collect_view().into_any()
    };
    view! {
        <tr
            role="row"
            data-category=category.name()
            class:is-selected=is_asked
            class:is-hovered=move || hovered.get().is_some_and(|(_, c)| c == index)
            class:is-empty=is_empty
            on:click=move |_| ask(chosen.get_untracked())
        >
            <th scope="row" role="rowheader">
                <button
                    type="button"
                    class="memory-category"
                    aria-pressed=move || is_asked().to_string()
                    on:click=move |event| {
                        event.stop_propagation();
                        ask(chosen.get_untracked());
                    }
                >
                    <span
                        class="swatch"
                        data-swatch=category.name()
                        style=format!("--swatch:var(--category-{})", category.name())
                    ></span>
                    <span class="swatch-name">
                        {move || words::category_name(locale.get(), category)}
                    </span>
                </button>
            </th>
            {cells}
        </tr>
    }
}
