//! The two locale files agree, and cover what the core names.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

const EN: &str = include_str!("../../../public/locales/en.txt");
const ZH: &str = include_str!("../../../public/locales/zh-CN.txt");

fn rows(file: &'static str) -> BTreeMap<&'static str, &'static str> {
    let mut rows = BTreeMap::new();
    for (key, value) in Table::lines(file) {
        assert!(rows.insert(key, value).is_none(), "{key} stands twice");
    }
    rows
}

fn placeholders(value: &str) -> BTreeSet<&str> {
    value.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|part| part.0).collect()
}

#[test]
fn both_languages_have_the_same_keys() {
    let (en, zh) = (rows(EN), rows(ZH));
    let missing: Vec<_> = en.keys().filter(|key| !zh.contains_key(*key)).collect();
    assert!(missing.is_empty(), "missing in zh-CN: {missing:#?}");
    let missing: Vec<_> = zh.keys().filter(|key| !en.contains_key(*key)).collect();
    assert!(missing.is_empty(), "missing in en: {missing:#?}");
}

#[test]
fn no_text_is_empty_and_placeholders_agree() {
    let zh = rows(ZH);
    for (key, value) in rows(EN) {
        let other = zh.get(key).copied().unwrap_or_default();
        assert!(!value.is_empty() && !other.is_empty(), "{key} is empty");
        assert_eq!(placeholders(value), placeholders(other), "placeholders of {key}");
    }
}

#[test]
fn a_missing_key_is_its_own_text() {
    assert_eq!(text(Locale::ZhCn, "no.such.key"), "no.such.key");
    assert_eq!(find(Locale::En, "no.such.key"), None);
}

#[test]
fn placeholders_are_filled_by_name() {
    assert_eq!(fill("{a} of {b}, {a}", &[("a", "1"), ("b", "2")]), "1 of 2, 1");
    assert_eq!(fill("{a} {unknown} {", &[("a", 1)]), "1 {unknown} {");
}
