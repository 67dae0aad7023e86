//! The top line: presets, undo, units, language, theme, sharing.

use super::icon::{Icon, Shape};
use super::presets::Presets;
use super::segmented::{Segment, Segmented};
use super::wiring::LANGUAGE;
use crate::i18n::{LOCALES, Message};
use crate::platform::clock::Alarm;
use crate::platform::{address, clipboard};
use crate::state::notice::Tone;
use crate::state::preferences::Theme;
use crate::state::use_store;
use leptos::prelude::*;
use sim_core::quantity::{Locale, Unit};

/// How long the share button says that it has copied, in milliseconds.
const COPIED_MS: u32 = 2000;

#[component]
pub fn Header() -> impl IntoView {
    let store = use_store();
    let units = vec![
        Segment { value: Unit::Gib, text: "unit.gib", test_id: "unit-gib" },
        Segment { value: Unit::Gb, text: "unit.gb", test_id: "unit-gb" },
    ];
    let languages = LOCALES
        .into_iter()
        .map(|(value, text)| Segment {
            value,
            text,
            test_id: match value {
                Locale::ZhCn => "language-zh-CN",
                Locale::En => "language-en",
            },
        })
        .collect();
    view! {
        <header class="header">
            <h1 class="wordmark">{move || store.text("page.name")}</h1>
            <Presets/>
            <div class="header-history">
                <button
                    class="quiet"
                    data-testid="undo"
                    aria-label=move || store.text("header.undo")
                    title=move || store.text("header.undo")
                    disabled=move || !store.can_undo()
                    on:click=move |_| store.undo()
                >
                    <Icon shape=Shape::Undo/>
                </button>
                <button
                    class="quiet"
                    data-testid="redo"
                    aria-label=move || store.text("header.redo")
                    title=move || store.text("header.redo")
                    disabled=move || !store.can_redo()
                    on:click=move |_| store.redo()
                >
                    <Icon shape=Shape::Redo/>
                </button>
            </div>
            <div class="header-end">
                <Segmented label="header.unit" segments=units chosen=store.unit/>
                <Segmented label="header.language" segments=languages chosen=store.locale/>
                <ThemeButton/>
                <ShareButton/>
            </div>
        </header>
    }
}

/// Goes round system, light, dark.
#[component]
fn ThemeButton() -> impl IntoView {
    let store = use_store();
    let label = move || store.text(&format!("theme.{}", store.theme.get().name()));
    let shape = Signal::derive(move || match store.theme.get() {
        Theme::Auto => Shape::Auto,
        Theme::Light => Shape::Light,
        Theme::Dark => Shape::Dark,
    });
    let next = move |_| {
        store.theme.update(|theme| {
            *theme = match theme {
                Theme::Auto => Theme::Light,
                Theme::Light => Theme::Dark,
                Theme::Dark => Theme::Auto,
            };
        });
    };
    view! {
        <button class="quiet" data-testid="theme" aria-label=label title=label on:click=next>
            <Icon shape/>
        </button>
    }
}

/// Copies a link to what is on the screen.
#[component]
fn ShareButton() -> impl IntoView {
    let store = use_store();
    let copied = RwSignal::new(false);
    let alarm = StoredValue::new_local(Alarm::default());
    let share = move |_| {
        let Some(link) = untrack(|| store.link()) else {
            store.notify(Tone::Refused, Message::new("notice.link.too-long"));
            return;
        };
        let url = address::with_hash(&link, LANGUAGE);
        clipboard::copy(&url.clone(), move |done| {
            if done {
                copied.set(true);
                alarm.with_value(|alarm| alarm.set(COPIED_MS, move || copied.set(false)));
            } else {
                store.notify(Tone::Note, Message::new("notice.copy-by-hand").with("url", url));
            }
        });
    };
    let shape = Signal::derive(move || if copied.get() { Shape::Check } else { Shape::Share });
    view! {
        <button class="share" data-testid="share" on:click=share>
            <Icon shape/>
            <span aria-live="polite">
                {move || store.text(if copied.get() { "header.copied" } else { "header.share" })}
            </span>
        </button>
    }
}
