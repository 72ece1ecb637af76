//! What Go's decoder says to JSON texts, recorded from it.

use kubewright_codec::{KEPT_DEPTH, json, strict};
use serde_json::{Value, json};

#[test]
fn syntax_errors_have_gos_words() {
    for (text, message) in [
        ("", "unexpected end of JSON input"),
        ("  ", "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("{", "unexpected end of JSON input"),
        ("{\"a\"", "unexpected end of JSON input"),
        ("{\"a\":", "unexpected end of JSON input"),
        ("{\"a\":1", "unexpected end of JSON input"),
        ("{\"a\":1,", "unexpected end of JSON input"),
        (
            "{\"a\":1,}",
            "invalid character '}' looking for beginning of object key string",
        ),
        (
            "{a:1}",
            "invalid character 'a' looking for beginning of object key string",
        ),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
        ("[", "unexpected end of JSON input"),
        ("[1", "unexpected end of JSON input"),
        ("[1,", "unexpected end of JSON input"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("[1 2]", "invalid character '2' after array element"),
        ("nul", "invalid character ' ' in literal null (expecting 'l')"),
        ("nulx", "invalid character 'x' in literal null (expecting 'l')"),
        ("tru", "invalid character ' ' in literal true (expecting 'e')"),
        ("truE", "invalid character 'E' in literal true (expecting 'e')"),
        ("fals", "invalid character ' ' in literal false (expecting 'e')"),
        ("-", "invalid character ' ' in numeric literal"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("01", "invalid character '1' after top-level value"),
        ("1.", "invalid character ' ' after decimal point in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1e", "invalid character ' ' in exponent of numeric literal"),
        ("1e+", "invalid character ' ' in exponent of numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("\"", "unexpected end of JSON input"),
        ("\"a", "unexpected end of JSON input"),
        ("\"\\", "invalid character ' ' in string escape code"),
        ("\"\\x\"", "invalid character 'x' in string escape code"),
        ("\"\\u12", "invalid character ' ' in \\u hexadecimal character escape"),
        (
            "\"\\u12g4\"",
            "invalid character 'g' in \\u hexadecimal character escape",
        ),
        ("\"\n\"", "invalid character '\\n' in string literal"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
        ("'a'", "invalid character '\\'' looking for beginning of value"),
        ("{\"a\":'b'}", "invalid character '\\'' looking for beginning of value"),
        ("[1}", "invalid character '}' after array element"),
        ("{\"a\":]", "invalid character ']' looking for beginning of value"),
        ("\x01", "invalid character '\\x01' looking for beginning of value"),
    ] {
        assert_eq!(
            json::decode(text.as_bytes()).map_err(|error| error.to_string()),
            Err(message.to_owned()),
            "{text:?}"
        );
    }
}

/// The value and the strict complaints, as a JSON list, or the error.
#[test]
fn values_are_read_as_go_reads_them() {
    for (text, expected) in [
        ("1", "[1,[]]"),
        ("-0", "[0,[]]"),
        ("1.0", "[1,[]]"),
        ("1e3", "[1000,[]]"),
        ("9223372036854775807", "[9223372036854775807,[]]"),
        ("9223372036854775808", "[9223372036854776000,[]]"),
        ("-9223372036854775808", "[-9223372036854775808,[]]"),
        ("-9223372036854775809", "[-9223372036854776000,[]]"),
        ("0.1", "[0.1,[]]"),
        ("1E-7", "[1e-7,[]]"),
        ("123456789012345678901234567890", "[1.2345678901234568e+29,[]]"),
        ("\"\\ud83d\\ude00\"", "[\"😀\",[]]"),
        ("\"\\ud83d\"", "[\"�\",[]]"),
        ("\"\\ud83dx\"", "[\"�x\",[]]"),
        ("\"\\ud83d\\u0041\"", "[\"�A\",[]]"),
        ("\"\\ude00\"", "[\"�\",[]]"),
        ("\"<>&\\u2028\"", "[\"\\u003c\\u003e\\u0026\\u2028\",[]]"),
        (
            "{\"b\":1,\"a\":2,\"b\":3}",
            "[{\"a\":2,\"b\":3},[\"duplicate field \\\"b\\\"\"]]",
        ),
        (
            "[{\"a\":1},{\"b\":{\"c\":1,\"c\":2,\"c\":3}}]",
            "[[{\"a\":1},{\"b\":{\"c\":3}}],[\"duplicate field \\\"[1].b.c\\\"\"]]",
        ),
        (
            "{\"a\":{\"b\":1},\"a\":{\"c\":1}}",
            "[{\"a\":{\"c\":1}},[\"duplicate field \\\"a\\\"\"]]",
        ),
        (
            "1e400",
            "json: cannot unmarshal number 1e400 into Go value of type float64",
        ),
    ] {
        let decoded = json::decode(text.as_bytes()).expect("the text is well-formed");
        let read = decoded.range_error().unwrap_or_else(|| {
            let complaints = strict::complaints(&decoded, &[], Some(text.as_bytes()));
            let mut out = Vec::new();
            json::write(&json!([decoded.value, complaints]), &mut out);
            String::from_utf8(out).expect("JSON is UTF-8")
        });
        assert_eq!(read, expected, "{text:?}");
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced_one_by_one() {
    let decoded = json::decode(b"[\"a\xff\xfe\", \"\xe2\x80\", \"\\n\xf0\x9f\x98\"]").map(|decoded| decoded.value);
    assert_eq!(
        decoded,
        Ok(json!([
            "a\u{fffd}\u{fffd}",
            "\u{fffd}\u{fffd}",
            "\n\u{fffd}\u{fffd}\u{fffd}"
        ]))
    );
}

#[test]
fn numbers_that_are_not_plain_integers_keep_their_text() {
    let decoded = json::decode(br#"{"spec":{"replicas":1e3,"ports":[1,2.50]},"big":18446744073709551616}"#)
        .expect("the text is well-formed");
    assert_eq!(decoded.number_at("spec.replicas"), Some("1e3"));
    assert_eq!(decoded.number_at("spec.ports[1]"), Some("2.50"));
    assert_eq!(decoded.number_at("big"), Some("18446744073709551616"));
    assert_eq!(decoded.number_at("spec.ports[0]"), None);
}

#[test]
fn a_struct_given_twice_is_written_over() {
    let text = br#"{"spec":{"a":1,"l":[{"x":1,"y":1},{"x":2}]},"spec":{"b":2,"l":[{"x":3}]}}"#;
    let decoded = json::decode_with(text, json::OnDuplicate::Merge).expect("the text is well-formed");
    assert_eq!(
        decoded.value,
        json!({"spec": {"a": 1, "b": 2, "l": [{"x": 3, "y": 1}]}})
    );
    assert_eq!(decoded.duplicates, ["spec"]);
}

#[test]
fn nesting_ends_where_gos_does() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let deepest = json::decode(nested(json::MAX_DEPTH).as_bytes()).expect("as deep as allowed");
    assert!(deepest.too_deep);
    let error = json::decode(nested(json::MAX_DEPTH + 1).as_bytes()).map_err(|error| error.to_string());
    assert_eq!(
        error.map(|_| ()),
        Err("invalid character '[' exceeded max depth".to_owned())
    );
}

#[test]
fn values_deeper_than_any_kind_are_cut_off() {
    let text = "{\"a\":".repeat(KEPT_DEPTH + 1) + "1" + &"}".repeat(KEPT_DEPTH + 1);
    let decoded = json::decode(text.as_bytes()).expect("the text is well-formed");
    let mut depth = 0;
    let mut value = &decoded.value;
    while let Value::Object(fields) = value {
        depth += 1;
        value = &fields["a"];
    }
    assert_eq!((depth, value, decoded.too_deep), (KEPT_DEPTH, &Value::Null, true));
}

#[test]
fn hostile_duplicates_are_reported_a_hundred_times_at_most() {
    let long = "k".repeat(10_000);
    let fields: Vec<String> = (0..5_000)
        .map(|index| format!("\"a{index}\":1,\"a{index}\":2"))
        .collect();
    let text = format!("{{\"{long}\":{{{}}}}}", fields.join(","));
    let decoded = json::decode(text.as_bytes()).expect("the text is well-formed");
    assert_eq!(decoded.duplicates.len(), 100);
}
