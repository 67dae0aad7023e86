//! The importer against nonsense: wrong types, absurd numbers, cut texts, and mutations of real files.

use proptest::prelude::{Just, Strategy, any, prop};
use proptest::{prop_assert, prop_oneof, proptest};
use serde_json::{Value, json};

use super::super::{ImportError, JsonKind, MAX_BYTES, from_bytes, from_json, from_value};
use super::{FIXTURES, LLAMA, import, llama_with, published, refused};
use crate::model::limits;

#[test]
fn every_bad_number_names_its_field_and_what_is_accepted() {
    for name in [
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "vocab_size",
        "intermediate_size",
    ] {
        for bad in [json!(0), json!(-1), json!(1e300), json!(u64::MAX), json!(-0.5), json!(2.5)] {
            let error = refused(llama_with(json!({name: bad})));
            assert_eq!(error.field(), Some(name), "{bad}: {error}");
            assert!(matches!(error.code(), "out-of-range" | "wrong-type"), "{bad}: {error}");
        }
        for bad in [json!("4096"), json!(true), json!([1]), json!({"a": 1})] {
            let error = refused(llama_with(json!({name: bad})));
            assert_eq!((error.field(), error.code()), (Some(name), "wrong-type"), "{bad}");
        }
        let error = refused(llama_with(json!({name: null})));
        assert_eq!((error.field(), error.code()), (Some(name), "missing"));
    }
    assert_eq!(import(llama_with(json!({"hidden_size": 64.0}))).expect("read").shape.hidden, 64);
}

#[test]
fn sizes_that_do_not_fit_together_are_refused() {
    let heads = refused(llama_with(json!({"num_attention_heads": 3, "num_key_value_heads": 1})));
    assert_eq!((heads.field(), heads.code()), (Some("num_attention_heads"), "inconsistent"));
    let kv = refused(llama_with(json!({"num_key_value_heads": 3})));
    assert_eq!((kv.field(), kv.code()), (Some("num_key_value_heads"), "inconsistent"));
    let more_kv = refused(llama_with(json!({"num_key_value_heads": 8})));
    assert_eq!(more_kv.code(), "out-of-range");
    let odd = refused(llama_with(json!({"model_type": "qwen", "intermediate_size": 11})));
    assert_eq!((odd.field(), odd.code()), (Some("intermediate_size"), "inconsistent"));
    let wide = refused(llama_with(json!({"head_dim": 65536, "num_attention_heads": 16384})));
    assert_eq!(wide.code(), "out-of-range");
}

#[test]
fn files_that_are_not_a_json_object_are_refused() {
    for text in ["", "   ", "hello", "{", "{\"a\": NaN}", "{'a': 1}", "{\"a\": 1e999}", "\u{0}"] {
        assert_eq!(from_json(text).expect_err("refused").code(), "not-json", "{text:?}");
    }
    for (text, found) in [
        ("[1, 2]", JsonKind::Array),
        ("42", JsonKind::Number),
        ("null", JsonKind::Null),
        ("\"llama\"", JsonKind::String),
        ("true", JsonKind::Boolean),
    ] {
        assert_eq!(from_json(text), Err(ImportError::NotAnObject { found }));
    }
    assert_eq!(from_bytes(&[0xff, 0xfe, 0x7b, 0x00]), Err(ImportError::NotUtf8 { position: 0 }));
    let deep = "[".repeat(200_000);
    assert_eq!(from_json(&deep).expect_err("refused").code(), "not-json");
}

#[test]
fn a_huge_file_is_refused_before_it_is_parsed_and_a_byte_order_mark_is_skipped() {
    let huge = vec![b'{'; 100_000_000];
    let error = ImportError::TooLarge { bytes: 100_000_000, limit: MAX_BYTES };
    assert_eq!(from_bytes(&huge), Err(error));
    let marked = format!("\u{feff}{LLAMA}");
    assert_eq!(from_bytes(marked.as_bytes()), from_json(LLAMA));
}

/// Any JSON value, favouring what breaks readers.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_u64..100_000).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,12}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Paths of all fields of `value`, nested ones too.
fn paths(value: &Value, prefix: &[String], found: &mut Vec<Vec<String>>) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        let mut path = prefix.to_vec();
        path.push(name.clone());
        paths(inner, &path, found);
        found.push(path);
    }
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |place, name| &mut place[name.as_str()])
}

#[test]
fn a_wrong_type_at_any_number_of_any_dialect_is_ignored_or_names_that_number() {
    let wrong = [
        json!("NaN"),
        json!(true),
        json!({"a": 1}),
        json!(["x"]),
        json!(-7),
        json!(1e300),
        json!(2.5),
        json!(u64::MAX),
    ];
    for (name, file, _) in published::files() {
        let mut all = Vec::new();
        paths(&file, &[], &mut all);
        for path in all {
            let mut changed = file.clone();
            if !at(&mut changed, &path).is_number() {
                continue;
            }
            for value in &wrong {
                *at(&mut changed, &path) = value.clone();
                if let Err(error) = from_value(&changed) {
                    let field = error.field().unwrap_or_default();
                    let expected = path.join(".");
                    assert!(field.starts_with(&expected), "{name}: {expected} = {value}: {error}");
                }
            }
        }
    }
}

#[test]
fn an_empty_or_missing_field_never_panics_and_a_refusal_names_a_field() {
    for (name, file, _) in published::files() {
        let mut all = Vec::new();
        paths(&file, &[], &mut all);
        for path in all {
            for value in [Value::Null, json!([]), json!({}), json!(""), json!(0), json!(1)] {
                let mut changed = file.clone();
                *at(&mut changed, &path) = value;
                match from_value(&changed) {
                    Ok(import) => assert_eq!(limits::violations(&import.shape), [], "{name}"),
                    Err(error) => assert!(error.field().is_some(), "{name}: {error}"),
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        let _ = from_bytes(&bytes);
    }

    #[test]
    fn no_json_value_panics(value in any_json()) {
        prop_assert!(from_value(&value).is_err() || value.is_object());
    }

    #[test]
    fn no_mutation_of_a_fixture_panics_and_what_is_accepted_is_within_the_limits(
        fixture in 0..FIXTURES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any_json()), 1..4),
    ) {
        let mut value: Value = serde_json::from_str(FIXTURES[fixture].1).expect("a fixture");
        let fields = value.as_object_mut().expect("an object");
        let names: Vec<String> = fields.keys().cloned().collect();
        for (at, change) in changes {
            fields.insert(at.get(&names).clone(), change);
        }
        match from_value(&value) {
            Ok(import) => {
                prop_assert!(limits::violations(&import.shape).is_empty());
                prop_assert!(import.shape.total_params().checked_mul(16).is_some());
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn no_mutation_of_any_dialect_panics(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any_json()), 1..5),
    ) {
        let files = published::files();
        let mut value = files[file.index(files.len())].1.clone();
        for (place, change) in changes {
            let mut all = Vec::new();
            paths(&value, &[], &mut all);
            if let Some(path) = all.get(place.index(all.len().max(1))) {
                *at(&mut value, path) = change;
            }
        }
        if let Ok(import) = from_value(&value) {
            prop_assert!(limits::violations(&import.shape).is_empty());
            prop_assert!(import.shape.total_params().checked_mul(16).is_some());
            prop_assert!(import.shape.active_params() <= import.shape.total_params());
        }
    }

    #[test]
    fn no_cut_or_flipped_text_panics(
        fixture in 0..FIXTURES.len(),
        cut in any::<prop::sample::Index>(),
        flip in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = FIXTURES[fixture].1.as_bytes().to_vec();
        let at = flip.index(bytes.len());
        bytes[at] = byte;
        let _ = from_bytes(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        let _ = from_bytes(&bytes);
    }
}
