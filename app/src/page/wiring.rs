//! Ties the state to the browser: address, storage, keys, and the document's language and theme.

use crate::i18n::{Message, text};
use crate::platform::clock::Alarm;
use crate::platform::keyboard::PageKey;
use crate::platform::{address, document, keyboard, preferences};
use crate::state::Store;
use crate::state::link::{self, LinkError};
use crate::state::notice::Tone;
use crate::state::preferences::{Theme, first_spoken, unit_name, unit_named};
use leptos::prelude::*;

/// How long the scenario must stand still before the address follows, in milliseconds.
const ADDRESS_PAUSE_MS: u32 = 250;

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
    wishes.extend(address::query("lang"));
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
    Effect::new(move |before: Option<()>| {
        store.scenario().track();
        // What the page was opened with is in the address already, or is the default.
        if before.is_some() {
            alarm.set(ADDRESS_PAUSE_MS, move || {
                address::replace_hash(&untrack(|| store.link()));
            });
        }
    });
    address::on_hash_change(move || match link::decode(&address::hash()) {
        Ok(Some(scenario)) => store.replace(scenario, "link"),
        Ok(None) => {}
        Err(error) => {
            store.notify(Tone::Refused, refused_link(&error, "notice.link.kept-state"));
        }
    });
}
