//! What is known of a span, in words.

use crate::charts::model::ChartModel;
use crate::charts::words;
use crate::i18n::{filled, text};
use crate::state::values::in_words;
use sim_core::engine::TaskId;
use sim_core::explain::Value;
use sim_core::quantity::{Locale, Unit, format_secs};
use sim_core::trace::{Phase, Span};

/// A span in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The operation, with its layer and micro-batch.
    pub title: String,
    pub phase: Phase,
    /// The phase and how long it takes.
    pub short: String,
    /// The rate that was achieved, and what binds it.
    pub pace: String,
    /// Key of the label `chart.span.<key>`, and value.
    pub rows: Vec<(&'static str, String)>,
    /// The span that it waited for.
    pub waited_for: Option<(TaskId, String)>,
}

/// What is known of `task`.
pub fn facts(model: &ChartModel, task: TaskId, locale: Locale, unit: Unit) -> Option<Facts> {
    let span = model.span(task)?;
    let operation = span.operation;
    let lane = &model.trace().lanes()[span.lane];
    let seconds = span.end - span.start;
    let bound = text(locale, &format!("bound.{}", operation.bound.name()));
    let mut rows = vec![
        ("gpu", words::class_name(locale, model.classes(), lane.class)),
        ("lane", words::lane_name(locale, lane)),
        ("start", format_secs(span.start)),
        ("duration", format_secs(seconds)),
    ];
    if operation.flops > 0.0 {
        rows.push(("flops", in_words(Value::Flops(operation.flops), unit)));
        rows.push(("flops-rate", in_words(Value::FlopsPerSecond(operation.flops / seconds), unit)));
    }
    if operation.bytes > 0.0 {
        rows.push(("bytes", words::bytes(operation.bytes, unit)));
        rows.push(("bytes-rate", in_words(Value::BytesPerSecond(operation.bytes / seconds), unit)));
    }
    rows.push(("bound", bound.to_owned()));
    let pricing = text(locale, &format!("pricing.{}", operation.pricing.name()));
    rows.push(("pricing", pricing.to_owned()));
    let changes = model.changes(task);
    for (key, sign) in [("allocates", 1.0), ("frees", -1.0)] {
        let of_sign = changes.iter().filter(|(_, bytes)| bytes * sign > 0.0);
        let parts = of_sign.map(|(category, bytes)| {
            let values = [
                ("category", words::category_name(locale, *category).to_owned()),
                ("size", words::bytes(bytes.abs(), unit)),
            ];
            filled(locale, "chart.span.change", &values)
        });
        let parts: Vec<String> = parts.collect();
        if !parts.is_empty() {
            rows.push((key, parts.join(" · ")));
        }
    }
    let rate = if operation.flops > 0.0 && !operation.phase.is_communication() {
        Value::FlopsPerSecond(operation.flops / seconds)
    } else {
        Value::BytesPerSecond(operation.bytes / seconds)
    };
    let short = [
        ("phase", words::phase_name(locale, operation.phase).to_owned()),
        ("duration", format_secs(seconds)),
    ];
    let pace = [("rate", in_words(rate, unit)), ("bound", bound.to_owned())];
    Some(Facts {
        title: title(model, &span, locale),
        phase: operation.phase,
        short: filled(locale, "chart.span.short", &short),
        pace: if seconds > 0.0 { filled(locale, "chart.span.pace", &pace) } else { String::new() },
        rows,
        waited_for: model.waited_for(task).map(|span| (span.task, title(model, &span, locale))),
    })
}

/// `Attention · layer 12 · micro-batch 3`; a served batch has steps.
fn title(model: &ChartModel, span: &Span<'_>, locale: Locale) -> String {
    let turn = if model.serves() { "step" } else { "micro-batch" };
    let mut title = text(locale, &format!("operation.{}", span.operation.name)).to_owned();
    for (key, number) in [("layer", span.layer), (turn, span.micro_batch)] {
        if let Some(number) = number {
            title.push_str(" · ");
            title.push_str(&filled(locale, &format!("chart.span.{key}"), &[("number", number)]));
        }
    }
    title
}
