//! Ties the state to the browser: address, storage, keys, and the document's language and theme.

use crate::i18n::{Message, text};
use crate::platform::clock::{self, Alarm};
use crate::platform::keyboard::PageKey;
use crate::platform::{address, document, keyboard, preferences};
use crate::state::Store;
use crate::state::link::{self, LinkError};
use crate::state::notice::Tone;
use crate::state::preferences::{Theme, first_spoken, unit_name, unit_named};
use leptos::prelude::*;

/// How long the scenario must stand still before the address follows, in milliseconds.
const ADDRESS_PAUSE_MS: u32 = 250;

/// How long to leave the address alone after the browser has refused, in milliseconds.
const REFUSED_PAUSE_MS: u32 = 10_000;

/// The language in the query.
pub const LANGUAGE: &str = "lang";

/// Connects everything. `error` is what was wrong with the link that the page was opened with.
pub fn connect(store: Store, error: Option<LinkError>) {
    restore(store);
    remember(store);
    follow_address(store);
    keyboard::on_page_key(move |key| match key {
        PageKey::Undo => store.undo(),
        PageKey::Redo => store.redo(),
    });
    if let Some(error) = error {
        store.notify(Tone::Refused, refused_link(&error, "notice.link.opened-default"));
    }
}

/// A link's refusal, with what happened instead.
fn refused_link(error: &LinkError, instead: &'static str) -> Message {
    error.message().with_key("instead", instead)
}

fn restore(store: Store) {
    let mut wishes = Vec::new();
    wishes.extend(address::query(LANGUAGE));
    wishes.extend(preferences::remembered("language"));
    wishes.extend(preferences::languages());
    store.locale.set(first_spoken(wishes.iter().map(String::as_str)));
    if let Some(name) = preferences::remembered("theme") {
        store.theme.set(Theme::named(&name));
    }
    if let Some(name) = preferences::remembered("unit") {
        store.unit.set(unit_named(&name));
    }
}

fn remember(store: Store) {
    Effect::new(move |before: Option<()>| {
        let locale = store.locale.get();
        document::set_language(locale.tag());
        document::set_title(text(locale, "page.title"));
        if before.is_some() {
            preferences::remember("language", locale.tag());
            // It would win over the choice that was just made.
            if address::query(LANGUAGE).is_some() && address::drop_query(LANGUAGE).is_err() {
                clock::later(REFUSED_PAUSE_MS, || {
                    // Twice refused, the query stays; the choice holds as long as the page.
                    let _ = address::drop_query(LANGUAGE);
                });
            }
        }
    });
    Effect::new(move |before: Option<()>| {
        let theme = store.theme.get();
        document::set_theme(theme.attribute());
        if before.is_some() {
            preferences::remember("theme", theme.name());
        }
    });
    Effect::new(move |before: Option<()>| {
        let unit = store.unit.get();
        if before.is_some() {
            preferences::remember("unit", unit_name(unit));
        }
    });
}

fn follow_address(store: Store) {
    let alarm = Alarm::default();
    let is_told = StoredValue::new(false);
    Effect::new(move |before: Option<()>| {
        store.scenario().track();
        // What the page was opened with is in the address already, or is the default.
        if before.is_some() {
            let again = alarm.clone();
            alarm.set(ADDRESS_PAUSE_MS, move || write_address(store, again, is_told));
        }
    });
    address::on_hash_change(move || match link::decode(&address::hash()) {
        Ok(Some(scenario)) => store.replace(scenario),
        Ok(None) => {}
        Err(error) => {
            store.notify(Tone::Refused, refused_link(&error, "notice.link.kept-state"));
        }
    });
}

/// Writes the scenario into the address; a scenario that is too long for one leaves none behind,
/// because a link to something else would be worse.
fn write_address(store: Store, alarm: Alarm, is_told: StoredValue<bool>) {
    let link = untrack(|| store.link());
    if link.is_none() && !is_told.get_value() {
        store.notify(Tone::Note, Message::new("notice.link.too-long"));
    }
    is_told.set_value(link.is_none());
    if address::replace_hash(&link.unwrap_or_default()).is_err() {
        store.notify(Tone::Note, Message::new("notice.link.address-refused"));
        let again = alarm.clone();
        alarm.set(REFUSED_PAUSE_MS, move || write_address(store, again, is_told));
    }
}
