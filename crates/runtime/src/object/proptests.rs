//! The scanner against `serde_json`: it accepts what serde accepts, and cuts out managedFields and nothing else.

use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::compact::{ManagedFields, MetadataSpans};
use super::list::{Frame, Page};
use super::scan::ScanError;

const OPEN: &str = r#"{"apiVersion":"v1","kind":"Thing""#;

fn compact(text: &[u8], open: &str) -> Result<(Vec<u8>, MetadataSpans), ScanError> {
    super::compact::compact(text, open, ManagedFields::Cut)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // Quarters are exact, so that what differs is not serde's rounding.
        any::<i32>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
        any::<String>().prop_map(Value::from),
        "[a-z\"\\\\/\n\t ]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Keys that mean something to the scanner, and others.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("metadata".to_owned()),
        Just("managedFields".to_owned()),
        Just("kind".to_owned()),
        Just("apiVersion".to_owned()),
        Just("labels".to_owned()),
        Just("name".to_owned()),
        any::<String>(),
    ]
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    let metadata = prop::collection::vec((key(), value()), 0..6);
    let rest = prop::collection::vec((key(), value()), 0..4);
    (metadata, rest).prop_map(|(metadata, rest)| {
        let mut object: Map<String, Value> = rest.into_iter().collect();
        object.insert("metadata".to_owned(), Value::Object(metadata.into_iter().collect()));
        object
    })
}

/// What the cache should hold, the slow way.
fn expected(mut object: Map<String, Value>) -> Value {
    object.insert("apiVersion".to_owned(), "v1".into());
    object.insert("kind".to_owned(), "Thing".into());
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    Value::Object(object)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_plain_beginning_of_a_string_is_found_by_eights_as_by_ones(
        text in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'"'), Just(b'\\'), Just(0x1f), Just(b'a')], 0..40)
    ) {
        let by_ones = text.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'));
        prop_assert_eq!(super::scan::plain(&text), by_ones.unwrap_or(text.len()));
    }

    #[test]
    fn compacting_removes_managed_fields_and_whitespace_and_nothing_else(object in object(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_vec_pretty(&object) } else { serde_json::to_vec(&object) }.unwrap();
        let (compacted, _) = compact(&text, OPEN).unwrap();
        let parsed: Value = serde_json::from_slice(&compacted).unwrap();
        let expected = expected(object);
        prop_assert_eq!(&parsed, &expected);
        prop_assert_eq!(compacted.len(), serde_json::to_vec(&expected).unwrap().len());
        prop_assert!(compacted.starts_with(OPEN.as_bytes()));
    }

    #[test]
    fn the_places_are_those_of_the_values(object in object()) {
        let text = serde_json::to_vec_pretty(&object).unwrap();
        let (compacted, places) = compact(&text, OPEN).unwrap();
        let metadata = &object["metadata"];
        for (span, name) in [(places.name, "name"), (places.labels, "labels"), (places.uid, "uid")] {
            let found = span.of(&compacted).map(|text| serde_json::from_slice::<Value>(text).unwrap());
            prop_assert_eq!(found, metadata.get(name).filter(|value| !value.is_null()).cloned());
        }
    }

    #[test]
    fn damaged_text_is_accepted_exactly_where_serde_accepts_it(
        object in object(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut text = serde_json::to_vec_pretty(&object).unwrap();
        let at = at.index(text.len());
        if cut {
            text.truncate(at);
        } else {
            text[at] = byte;
        }
        // serde lets bytes that are not UTF-8 pass in what it ignores; no server sends them, and we do not.
        let serde_accepts = std::str::from_utf8(&text).is_ok()
            && serde_json::from_slice::<IgnoredAny>(&text).is_ok()
            && text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        prop_assert_eq!(compact(&text, OPEN).is_ok(), serde_accepts, "{}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = compact(&text, OPEN);
        let _ = Page::parse(&text, OPEN);
        let _ = Frame::parse(&text, OPEN, &mut Vec::new());
    }

    #[test]
    fn a_page_holds_its_items_in_order(items in prop::collection::vec(object(), 0..6)) {
        let named: Vec<_> = items
            .into_iter()
            .enumerate()
            .map(|(at, mut item)| {
                item["metadata"]["name"] = format!("item-{at}").into();
                item["metadata"]["namespace"] = Value::Null;
                item
            })
            .collect();
        let text = serde_json::to_vec(&serde_json::json!({ "items": named })).unwrap();
        let page = Page::parse(&text, OPEN).unwrap();
        prop_assert_eq!(page.items.len(), named.len());
        for (record, item) in page.items.iter().zip(named) {
            prop_assert_eq!(record.decode::<Value>().unwrap(), expected(item));
        }
    }
}

#[test]
fn brackets_of_both_kinds_are_matched_at_any_depth() {
    // Objects and arrays in an order that no period of 64 hides.
    for depth in [1, 2, 63, 64, 65, 127, 128, 129, 200, 1000] {
        let kinds: Vec<bool> = (0..depth).map(|level| level % 3 == 0 || level % 7 == 2).collect();
        let mut text = String::new();
        for is_object in &kinds {
            text.push_str(if *is_object { r#"{"a":"# } else { "[" });
        }
        text.push('1');
        for is_object in kinds.iter().rev() {
            text.push(if *is_object { '}' } else { ']' });
        }
        let (good, bad) = (
            text.clone(),
            text.replacen(
                if kinds[depth - 1] { '}' } else { ']' },
                if kinds[depth - 1] { "]" } else { "}" },
                1,
            ),
        );
        assert!(
            compact(format!(r#"{{"x":{good}}}"#).as_bytes(), OPEN).is_ok(),
            "{depth}"
        );
        assert!(
            compact(format!(r#"{{"x":{bad}}}"#).as_bytes(), OPEN).is_err(),
            "{depth}"
        );
    }
}

#[test]
fn deep_text_is_refused_without_recursion() {
    let deep = |depth: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert!(compact(deep(9_999).as_bytes(), OPEN).is_ok());
    assert!(compact(deep(200_000).as_bytes(), OPEN).is_err());
}

#[test]
fn escaped_keys_are_read_as_what_they_stand_for() {
    let text = br#"{"\u006detadata":{"managed\u0046ields":[1],"na\u006de":"x","labels":null}}"#;
    let (compacted, places) = compact(text, OPEN).unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&compacted).unwrap(),
        serde_json::json!({ "apiVersion": "v1", "kind": "Thing", "metadata": { "name": "x", "labels": null } })
    );
    assert_eq!(places.name.of(&compacted), Some(&br#""x""#[..]));
    assert_eq!(places.labels.of(&compacted), None);
}
