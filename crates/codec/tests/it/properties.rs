//! Whatever is written can be read, and nothing that can be sent does harm.

use kubewright_codec::{json, strict, yaml};
use proptest::prelude::*;
use serde_json::{Map, Value};

/// Strings in which the characters that mean something to JSON and YAML are likely.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z0-9]{1,6}",
        1 => Just("yes".to_owned()),
        1 => Just("1e3".to_owned()),
        1 => Just("---".to_owned()),
        1 => Just("\n".to_owned()),
        4 => "[ :#'\"\\\\,\\[\\]{}&*!|>%@`?~.+-]{1,3}",
        1 => "[\t\r\u{e9}\u{a0}\u{fffd}\u{1f600}<>&]{1,2}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Values without nulls at odd places: any JSON with integers, halves and strings.
fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // Whole floats turn into integers on the way through YAML, as they do upstream.
        (-1_000_000i32..1_000_000).prop_map(|half| Value::from(f64::from(half) + 0.5)),
        text().prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::btree_map(text(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Bytes that often look like JSON or YAML.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        8 => prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud83d", "'", "- ", "? ", ": ", "\n", "\n  ", "\t", "&a ",
            "*a", "<<: ", "|\n", ">-\n", "#", "---\n", "...\n", "!!int ", "!x ", "%YAML 1.1\n", "1e", "0x", "-", "1", "a",
            "true", "nul", "~", "\u{feff}", "\u{85}", "\u{2028}",
        ]).prop_map(|token| token.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

fn written(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    json::write(value, &mut out);
    out
}

fn has_merge_key(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| name == "<<" || has_merge_key(value)),
        Value::Array(items) => items.iter().any(has_merge_key),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn json_that_was_written_reads_the_same(value in value()) {
        let decoded = json::decode(&written(&value));
        prop_assert_eq!(decoded.map(|decoded| decoded.value), Ok(value));
    }

    #[test]
    fn json_reads_the_same_however_it_is_indented(value in value()) {
        let mut indented = Vec::new();
        json::indent(&written(&value), &mut indented);
        prop_assert_eq!(json::decode(&indented).map(|decoded| decoded.value), Ok(value));
    }

    #[test]
    fn json_is_read_as_serde_reads_it(value in value()) {
        let other: Result<Value, String> = serde_json::from_slice(&written(&value)).map_err(|error| error.to_string());
        prop_assert_eq!(other, Ok(value));
    }

    /// Upstream writes the key `<<` without quotes, and so cannot read it back either.
    #[test]
    fn yaml_that_was_written_reads_the_same(value in value().prop_filter("merge key", |value| !has_merge_key(value))) {
        let encoded = yaml::encode(&value);
        prop_assert_eq!(yaml::decode(encoded.as_bytes()).map(|decoded| decoded.value), Ok(value), "{}", encoded);
    }

    #[test]
    fn json_is_yaml(value in value()) {
        let decoded = yaml::decode(&written(&value));
        prop_assert_eq!(decoded.map(|decoded| decoded.value), Ok(value));
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in noise()) {
        if let Ok(decoded) = json::decode(&bytes) {
            strict::complaints(&decoded, &["a".to_owned()], Some(&bytes));
            let mut out = Vec::new();
            json::indent(&bytes, &mut out);
        }
        if let Ok(decoded) = yaml::decode(&bytes) {
            yaml::encode(&decoded.value);
        }
    }

    #[test]
    fn every_prefix_of_a_document_is_an_error_or_a_value(value in value(), cut in 0.0..1.0f64) {
        let text = written(&value);
        let prefix = &text[..(text.len() as f64 * cut) as usize];
        if let Err(error) = json::decode(prefix) {
            prop_assert!(error.offset <= prefix.len());
        }
    }
}
