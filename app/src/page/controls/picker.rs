//! A list with a search box: type to narrow it, arrows and Enter to choose.

use super::row::{help_id, input_id, reason_id};
use crate::page::icon::{Icon, Shape};
use crate::platform::document;
use crate::platform::frame::after_paint;
use crate::state::controls::Control;
use crate::state::use_store;
use leptos::ev;
use leptos::prelude::*;
use sim_core::quantity::{Bytes, Unit, format_bytes, format_count};
use sim_core::scenario::Edit;

/// One row of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub id: &'static str,
    pub name: &'static str,
    /// Heading above its group: a text, or the key of one.
    pub group: &'static str,
    /// What stands at the end of the row.
    pub detail: Detail,
    /// Further words that find it.
    pub words: &'static [&'static str],
}

/// A number beside a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detail {
    Count(f64),
    /// Memory, in the reader's unit.
    Memory(Bytes),
}

impl Detail {
    fn in_words(self, unit: Unit) -> String {
        match self {
            Self::Count(count) => format_count(count),
            Self::Memory(bytes) => format_bytes(bytes, unit),
        }
    }
}

impl Choice {
    /// Everything that finds it, in lower case.
    fn own_words(&self) -> String {
        format!("{} {} {} {}", self.id, self.name, self.group, self.words.join(" ")).to_lowercase()
    }

    fn is_called(&self, query: &str) -> bool {
        let query = query.trim().to_lowercase();
        self.id == query
            || self.name.to_lowercase() == query
            || self.words.contains(&query.as_str())
    }
}

/// Which rows of `choices` a query leaves: those with a word that begins with each of its words, or
/// where there are none, those that contain them anywhere.
fn found(choices: &[Choice], query: &str) -> Vec<usize> {
    let query = query.to_lowercase();
    let own: Vec<String> = choices.iter().map(Choice::own_words).collect();
    let rows = |matches: fn(&str, &str) -> bool| -> Vec<usize> {
        let all = |own: &str| query.split_whitespace().all(|word| matches(own, word));
        (0..own.len()).filter(|&i| all(&own[i])).collect()
    };
    let begins = rows(|own, word| {
        own.split(|c: char| c.is_whitespace() || c == '-').any(|part| part.starts_with(word))
    });
    if begins.is_empty() { rows(|own, word| own.contains(word)) } else { begins }
}

/// The list with its box. `name` is what stands in the box while the list is closed.
#[component]
pub fn Picker(
    control: &'static Control,
    choices: Vec<Choice>,
    #[prop(into)] name: Signal<String>,
) -> impl IntoView {
    let store = use_store();
    let field = control.field;
    let choices = StoredValue::new(choices);
    let list_id = format!("list-{}", control.short_name());
    let row_id = move |i: usize| format!("row-{}-{i}", control.short_name());
    let open = RwSignal::new(false);
    let query = RwSignal::new(String::new());
    let active = RwSignal::new(0_usize);
    let rows =
        Memo::new(move |_| query.with(|query| choices.with_value(|choices| found(choices, query))));
    let close = move || {
        open.set(false);
        query.set(String::new());
    };
    // The list opens at what is chosen, so that Enter changes nothing.
    let unfold = move || {
        if open.get_untracked() {
            return;
        }
        let chosen = name.get_untracked();
        let at = choices.with_value(|choices| choices.iter().position(|c| c.is_called(&chosen)));
        active.set(at.unwrap_or_default());
        open.set(true);
        if let Some(at) = at {
            after_paint(move || document::reveal(&row_id(at)));
        }
    };
    let pick = move |i: usize| {
        let id = choices.with_value(|choices| choices[i].id);
        store.edit(Edit::new(field, id));
        close();
    };
    let step = move |by: isize| {
        let count = rows.with_untracked(Vec::len);
        if !open.get_untracked() {
            unfold();
            return;
        }
        if count > 0 {
            active.update(|at| *at = at.saturating_add_signed(by).min(count - 1));
        }
        let at = active.get_untracked();
        if let Some(i) = rows.with_untracked(|rows| rows.get(at).copied()) {
            document::reveal(&row_id(i));
        }
    };
    let keyed = move |event: ev::KeyboardEvent| match event.key().as_str() {
        "ArrowDown" => {
            event.prevent_default();
            step(1);
        }
        "ArrowUp" => {
            event.prevent_default();
            step(-1);
        }
        "Enter" if open.get_untracked() => {
            event.prevent_default();
            let at = active.get_untracked();
            if let Some(i) = rows.with_untracked(|rows| rows.get(at).copied()) {
                pick(i);
            }
        }
        "Escape" => {
            if open.get_untracked() {
                // Else it would close the sheet around the list as well.
                event.prevent_default();
            }
            close();
        }
        "Tab" => close(),
        _ => {}
    };
    let typed = move |event: ev::Event| {
        query.set(event_target_value(&event));
        active.set(0);
        open.set(true);
    };
    // A whole name that was pasted or filled in is a choice without Enter.
    let changed = move |event: ev::Event| {
        let text = event_target_value(&event);
        let named = choices.with_value(|choices| choices.iter().position(|c| c.is_called(&text)));
        if let Some(i) = named {
            pick(i);
        }
    };
    let list = move || {
        let mut group = "";
        rows.get()
            .into_iter()
            .enumerate()
            .map(|(at, i)| {
                let choice = choices.with_value(|choices| choices[i].clone());
                let heading = (choice.group != group).then(|| {
                    let key = choice.group;
                    view! {
                        <li class="picker-group" role="presentation">{move || store.text(key)}</li>
                    }
                });
                group = choice.group;
                view! {
                    {heading}
                    <li
                        id=row_id(i)
                        role="option"
                        class:active=move || active.get() == at
                        aria-selected=move || (active.get() == at).to_string()
                        data-id=choice.id
                        on:mousedown=move |event| {
                            event.prevent_default();
                            pick(i);
                        }
                        on:mousemove=move |_| active.set(at)
                    >
                        <span>{choice.name}</span>
                        <span class="number">
                            {move || choice.detail.in_words(store.unit.get())}
                        </span>
                    </li>
                }
            })
            .collect_view()
    };
    view! {
        <div class="picker" class:open=move || open.get()>
            <input
                type="text"
                role="combobox"
                autocomplete="off"
                spellcheck="false"
                id=input_id(control)
                data-control=control.short_name()
                aria-autocomplete="list"
                aria-controls=list_id.clone()
                aria-expanded=move || open.get().to_string()
                aria-activedescendant=move || {
                    rows.with(|rows| rows.get(active.get()).copied())
                        .filter(|_| open.get())
                        .map(row_id)
                }
                aria-describedby=format!("{} {}", help_id(control), reason_id(control))
                aria-invalid=move || store.has_error(field).to_string()
                placeholder=move || name.get()
                prop:value=move || if open.get() { query.get() } else { name.get() }
                on:mousedown=move |_| unfold()
                on:input=typed
                on:change=changed
                on:keydown=keyed
                on:blur=move |_| close()
            />
            <Icon shape=Shape::Chevron/>
            <Show when=move || open.get()>
                <ul class="picker-list" role="listbox" id=list_id.clone()>
                    {list}
                    <Show when=move || rows.with(Vec::is_empty)>
                        <li class="picker-group">{move || store.text("picker.nothing")}</li>
                    </Show>
                </ul>
            </Show>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(id: &'static str, name: &'static str) -> Choice {
        Choice { id, name, group: "Llama 2", detail: Detail::Count(0.0), words: &["meta"] }
    }

    #[test]
    fn a_word_is_looked_for_at_the_beginning_of_words_first() {
        let choices = [choice("qwen3-1.7b", "Qwen3 1.7B"), choice("qwen2.5-7b", "Qwen2.5 7B")];
        assert_eq!(found(&choices, "qwen 7b"), [1]);
        assert_eq!(found(&choices, ".7b"), [0]);
    }

    #[test]
    fn every_word_must_be_found() {
        let choices = [choice("llama-2-7b", "Llama 2 7B"), choice("llama-2-70b", "Llama 2 70B")];
        assert_eq!(found(&choices, "7b"), [0]);
        assert_eq!(found(&choices, "META llama"), [0, 1]);
        assert_eq!(found(&choices, "llama 13b"), [0_usize; 0]);
        assert_eq!(found(&choices, ""), [0, 1]);
    }

    #[test]
    fn a_whole_name_is_a_choice() {
        let llama = choice("llama-2-7b", "Llama 2 7B");
        assert!(llama.is_called("llama-2-7b") && llama.is_called(" LLAMA 2 7b "));
        assert!(!llama.is_called("llama-2"));
    }
}
