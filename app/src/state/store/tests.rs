//! Changes of the state, without a browser.

use super::*;
use leptos::reactive::owner::Owner;

fn with_store(act: impl FnOnce(Store)) {
    let scenario = Scenario::from_json(
        r#"{"model":"gpt2","hardware":{"device":"a100","devices_per_node":8},
            "workload":{"sequence":128}}"#,
    )
    .expect("the scenario is whole");
    Owner::new().with(|| act(Store::new(scenario)));
}

#[test]
fn an_impossible_value_stays_and_the_last_good_answer_is_kept() {
    with_store(|store| {
        let before = store.shown().get_untracked().expect("it can run");
        store.edit(Edit::new("strategy.tp", 3));
        assert_eq!(store.latest("strategy.tp"), 3);
        assert!(store.is_stale());
        assert!(store.has_error("strategy.tp"));
        let shown = store.shown().get_untracked().expect("it could run");
        assert!(Arc::ptr_eq(&before, &shown));
    });
}

#[test]
fn what_is_no_value_is_held_until_it_is_one() {
    with_store(|store| {
        store.hold("strategy.tp", "two".to_owned());
        assert_eq!(store.held_text("strategy.tp").as_deref(), Some("two"));
        assert!(store.is_stale());
        store.edit(Edit::new("strategy.tp", 2));
        assert_eq!(store.held_text("strategy.tp"), None);
        assert!(!store.is_stale());
    });
}

#[test]
fn a_value_of_another_type_is_held_as_well() {
    with_store(|store| {
        store.edit(Edit::new("strategy.zero", "three"));
        assert_eq!(store.held_text("strategy.zero").as_deref(), Some("\"three\""));
        assert_eq!(store.latest("strategy.zero"), 0);
    });
}

#[test]
fn undo_goes_back_over_a_whole_fix() {
    with_store(|store| {
        store
            .edit_all(vec![Edit::new("strategy.zero", 3), Edit::new("strategy.recompute", "full")]);
        store.undo();
        assert_eq!(store.latest("strategy.zero"), 0);
        assert_eq!(store.latest("strategy.recompute"), "none");
        store.redo();
        assert_eq!(store.latest("strategy.zero"), 3);
    });
}

#[test]
fn a_catalogue_models_number_can_be_replaced_and_given_back() {
    with_store(|store| {
        store.edit_model("model.layers", Some(2));
        let shown = store.shown().get_untracked().expect("it can run");
        assert_eq!(shown.plan.model.layers, 2);
        store.edit_model("model.layers", None);
        let shown = store.shown().get_untracked().expect("it can run");
        assert_eq!(shown.plan.model.layers, 12);
        assert_eq!(store.latest("model"), "gpt2");
    });
}

#[test]
fn emptying_an_empty_box_changes_nothing() {
    with_store(|store| {
        store.edit_model("model.layers", None);
        assert_eq!(store.latest("model"), "gpt2");
        assert!(!store.can_undo());
    });
}

#[test]
fn undo_without_a_past_keeps_what_is_being_typed() {
    with_store(|store| {
        store.hold("strategy.tp", "two".to_owned());
        store.undo();
        assert_eq!(store.held_text("strategy.tp").as_deref(), Some("two"));
    });
}

#[test]
fn replacements_are_undone_one_by_one() {
    with_store(|store| {
        let first = store.scenario().get_untracked();
        let named = |name: &str| Scenario { name: name.to_owned(), ..first.clone() };
        store.replace(named("a"));
        store.replace(named("b"));
        store.undo();
        assert_eq!(store.scenario().get_untracked(), named("a"));
        store.undo();
        assert_eq!(store.scenario().get_untracked(), first);
    });
}

#[test]
fn a_topic_has_one_notice() {
    with_store(|store| {
        store.notify(Tone::Refused, Message::new("import.refused").with("name", "a"));
        store.notify(Tone::Refused, Message::new("import.refused").with("name", "b"));
        let notices = store.notices.get_untracked();
        assert_eq!(notices.len(), 1);
        store.dismiss(notices[0].id);
        assert!(store.notices.get_untracked().is_empty());
    });
}
