//! The answer in one line: fits or not, how fast, and what would make it fit.

use super::icon::{Icon, Shape};
use super::issues::keep_keyboard;
use crate::i18n::{fill, text};
use crate::state::edit_words::edits_words;
use crate::state::fix_finder::{self, Fixes};
use crate::state::values::{pair, percent, setting, sharding};
use crate::state::verdict::{Verdict, first_question, verdict, weakest_basis};
use crate::state::{Store, use_store};
use leptos::prelude::*;
use serde_json::json;
use sim_core::explain::Question;
use sim_core::plan::Plan;
use sim_core::quantity::{Bytes, Locale, Unit, format_bytes, format_count, format_secs};
use sim_core::report::{Basis, TimeReport};

/// Id of the answer, where the keyboard goes when what was pressed is gone.
pub const VERDICT: &str = "verdict";

#[component]
pub fn VerdictLine() -> impl IntoView {
    let store = use_store();
    let fixes = fix_finder::watch(store);
    // What cannot run fits as little as what is too large.
    let fits = Memo::new(move |_| {
        !store.is_stale() && shown_verdict(store).is_some_and(|answer| answer.fits)
    });
    let shape = Signal::derive(move || if fits.get() { Shape::Check } else { Shape::Cross });
    let why_memory = move |_| {
        let question =
            store.shown().with_untracked(|shown| shown.as_deref().and_then(first_question));
        store.selected.set(question);
    };
    view! {
        <div
            class="verdict"
            class:fits=move || fits.get()
            class:impossible=move || store.is_stale()
            data-fits=move || fits.get().to_string()
        >
            <div class="verdict-top">
                <h2 id=VERDICT class="verdict-heading" tabindex="-1">
                    <button class="verdict-answer" data-testid="verdict" on:click=why_memory>
                        <span class="verdict-mark"><Icon shape/></span>
                        <span>{move || sentence(store)}</span>
                    </button>
                </h2>
                <BasisBadge/>
            </div>
            <Setup/>
            <Speed/>
            <Show when=move || !fits.get() && !store.is_stale() fallback=|| view! { <Job/> }>
                <FixRow fixes/>
            </Show>
        </div>
    }
}

fn shown_verdict(store: Store) -> Option<Verdict> {
    store.shown().with(|shown| shown.as_ref().and_then(|shown| verdict(&shown.report)))
}

/// The answer in words.
pub fn sentence(store: Store) -> String {
    match shown_verdict(store) {
        None => store.text("verdict.impossible").to_owned(),
        Some(_) if store.is_stale() => store.text("verdict.impossible-now").to_owned(),
        Some(answer) => in_words(store.locale.get(), answer, store.unit.get()),
    }
}

/// `Fits — 71.2 of 79.3 GiB on the fullest GPU (8.1 free)`, or what it needs and what there is.
fn in_words(locale: Locale, answer: Verdict, unit: Unit) -> String {
    let margin = Bytes::new(answer.free().get().abs());
    let (needs, capacity, margin) = if answer.fits {
        let (needs, capacity) = pair(answer.needs, answer.capacity, unit);
        (needs, capacity, pair(margin, answer.capacity, unit).0)
    } else {
        let full = |bytes| format_bytes(bytes, unit);
        let (margin, _) = pair(margin, answer.needs, unit);
        (full(answer.needs), full(answer.capacity), margin)
    };
    let key = if answer.fits { "verdict.fits" } else { "verdict.does-not-fit" };
    fill(text(locale, key), &[("needs", needs), ("capacity", capacity), ("margin", margin)])
}

/// Time, throughput and utilization, each of which can be asked for its reason.
#[component]
fn Speed() -> impl IntoView {
    let store = use_store();
    let time = Memo::new(move |_| {
        store.shown().with(|shown| shown.as_ref().and_then(|shown| shown.report.time))
    });
    let number = move |key: &'static str, question: Question, read: fn(&TimeReport) -> String| {
        let value = move || time.get().as_ref().map(read).unwrap_or_default();
        view! {
            <button
                class="figure"
                data-testid=key
                class:asked=move || store.selected.get() == Some(question)
                on:click=move |_| store.selected.set(Some(question))
            >
                <span class="figure-value">{value}</span>
                " "
                <span class="figure-name">{move || store.text(key)}</span>
            </button>
        }
    };
    let serves = Memo::new(move |_| time.get().is_some_and(|time| time.serving.is_some()));
    let of_serving = move || {
        view! {
            {number("verdict.ttft", Question::TimeToFirstToken, |time| {
                time.serving.map_or_else(String::new, |serving| format_secs(serving.ttft_s))
            })}
            <Show when=move || time.get().and_then(|time| time.serving?.tpot_s).is_some()>
                {number("verdict.tpot", Question::TimePerOutputToken, |time| {
                    let each = time.serving.and_then(|serving| serving.tpot_s);
                    each.map_or_else(String::new, format_secs)
                })}
            </Show>
            {number("verdict.generated", Question::TokensPerSecond, |time| {
                format_count(time.tokens_per_s)
            })}
        }
    };
    let of_training = move || {
        view! {
            {number("verdict.step", Question::StepTime, |time| format_secs(time.step_s))}
            {number("verdict.tokens", Question::TokensPerSecond, |time| {
                format_count(time.tokens_per_s)
            })}
            {number("verdict.mfu", Question::Mfu, |time| percent(time.mfu))}
        }
    };
    view! {
        <div class="speed">
            <Show when=move || serves.get() fallback=of_training>
                {of_serving()}
            </Show>
            <Show when=move || time.get().is_some_and(|time| time.exposed_comm_s > 0.0)>
                {number("verdict.exposed", Question::ExposedCommunication, |time| {
                    format_secs(time.exposed_comm_s)
                })}
            </Show>
            <Show when=move || time.get().is_some_and(|time| time.bubble_fraction > 0.0)>
                {number("verdict.bubble", Question::Bubble, |time| percent(time.bubble_fraction))}
            </Show>
        </div>
    }
}

/// How well the answer is known: as its weakest constant.
#[component]
fn BasisBadge() -> impl IntoView {
    let store = use_store();
    let basis = Memo::new(move |_| {
        store.shown().with(|shown| shown.as_ref().and_then(|shown| weakest_basis(&shown.report)))
    });
    move || {
        basis.get().map(|basis| {
            let name = basis_name(basis);
            view! {
                <span
                    class=format!("badge {name}")
                    data-testid="basis"
                    title=move || store.text(&format!("basis.{name}.help"))
                >
                    {move || store.text(&format!("basis.{name}"))}
                </span>
            }
        })
    }
}

/// The name of a basis in class names and in the keys of texts: `basis.<name>`.
pub fn basis_name(basis: Basis) -> &'static str {
    match basis {
        Basis::Measured => "measured",
        Basis::Published => "published",
        Basis::Assumed => "assumed",
    }
}

/// What was simulated: the machines and how the model is spread over them.
#[component]
fn Setup() -> impl IntoView {
    let store = use_store();
    view! {
        <p class="verdict-setup" data-testid="setup">{move || line(store, "verdict.setup")}</p>
    }
}

/// The job, where no fixes are needed.
#[component]
fn Job() -> impl IntoView {
    let store = use_store();
    view! { <p class="fixes setup" data-testid="job">{move || line(store, "verdict.job")}</p> }
}

/// A line about what is shown.
fn line(store: Store, key: &str) -> Option<String> {
    let locale = store.locale.get();
    store.shown().with(|shown| {
        shown.as_ref().map(|shown| {
            let serves = shown.plan.serving.is_some();
            let key = if serves { format!("{key}-serving") } else { key.to_owned() };
            fill(text(locale, &key), &setup(locale, &shown.plan))
        })
    })
}

fn setup(locale: Locale, plan: &Plan) -> Vec<(&'static str, String)> {
    let words = |field: &str, value: serde_json::Value| setting(locale, field, &value);
    let (workload, quantization) = (&plan.scenario.workload, &plan.scenario.quantization);
    vec![
        ("input", workload.input_tokens.to_string()),
        ("output", workload.output_tokens.to_string()),
        ("concurrency", workload.concurrency.to_string()),
        ("engine", words("workload.engine", json!(workload.engine))),
        ("weights", words("quantization.weights", json!(quantization.weights))),
        ("kv_cache", words("quantization.kv_cache", json!(quantization.kv_cache))),
        ("model", plan.model_name.clone()),
        ("count", plan.devices().to_string()),
        ("device", plan.device.name.to_owned()),
        ("sharding", sharding(locale, &plan.scenario.strategy)),
        ("dp", plan.dp.to_string()),
        ("tp", plan.tp.to_string()),
        ("pp", plan.pp.to_string()),
        ("sequence", plan.sequence.to_string()),
        ("micro_batch", plan.micro_batch.to_string()),
        ("global_batch", plan.global_batch.to_string()),
        ("precision", words("workload.precision", json!(plan.precision))),
        ("optimizer", words("workload.optimizer", json!(plan.optimizer))),
        ("recompute", words("strategy.recompute", json!(plan.recompute))),
    ]
}

/// Up to three changes that were simulated and fit.
#[component]
fn FixRow(fixes: RwSignal<Fixes>) -> impl IntoView {
    let store = use_store();
    let found = Memo::new(move |_| fixes.with(|fixes| fixes.found.clone()));
    let state = move || {
        let key = fixes.with(|fixes| match (fixes.searching, fixes.found.is_empty()) {
            (true, true) => "fix.searching",
            (false, true) => "fix.none",
            (_, false) => "fix.found",
        });
        store.text(key)
    };
    let buttons = move || {
        found
            .get()
            .into_iter()
            .map(|fix| {
                let edits = fix.edits.clone();
                let apply = move |_| {
                    store.edit_all(fix.edits.clone());
                    keep_keyboard(VERDICT.to_owned());
                };
                let more = fix.more_devices.map(|count| {
                    let words = move || fill(store.text("fix.more-gpus"), &[("count", count)]);
                    view! { " " <span class="fix-more">{words}</span> }
                });
                view! {
                    <button class="fix" data-testid="fix" on:click=apply>
                        <span>{move || edits_words(store.locale.get(), &edits)}</span>
                        <span class="fix-result">
                            "→ " {move || format_bytes(fix.needs, store.unit.get())} {more}
                        </span>
                    </button>
                }
            })
            .collect_view()
    };
    view! {
        <div class="fixes" data-testid="fixes">
            <span class="fixes-name">{state}</span>
            {buttons}
        </div>
    }
}
