//! What Go's `yaml` makes of YAML texts, recorded from it: the JSON, and the complaint of its strict mode.

use kubewright_codec::{json, strict, yaml};
use serde_json::json;

#[test]
fn texts_are_read_as_go_reads_them() {
    for (text, expected) in [
        ("", Ok(("null", ""))),
        ("# only\n", Ok(("null", ""))),
        ("a: yes", Ok(("{\"a\":true}", ""))),
        ("a: No", Ok(("{\"a\":false}", ""))),
        ("a: on", Ok(("{\"a\":true}", ""))),
        ("a: OFF", Ok(("{\"a\":false}", ""))),
        ("a: y", Ok(("{\"a\":true}", ""))),
        ("a: n", Ok(("{\"a\":false}", ""))),
        ("a: ~", Ok(("{\"a\":null}", ""))),
        ("a:", Ok(("{\"a\":null}", ""))),
        ("a: Null", Ok(("{\"a\":null}", ""))),
        ("a: 0777", Ok(("{\"a\":511}", ""))),
        ("a: 0o17", Ok(("{\"a\":15}", ""))),
        ("a: 08", Ok(("{\"a\":8}", ""))),
        ("a: 0x1F", Ok(("{\"a\":31}", ""))),
        ("a: 0b101", Ok(("{\"a\":5}", ""))),
        ("a: 1_000", Ok(("{\"a\":1000}", ""))),
        ("a: +5", Ok(("{\"a\":5}", ""))),
        ("a: -0x10", Ok(("{\"a\":-16}", ""))),
        ("a: 1e3", Ok(("{\"a\":1000}", ""))),
        ("a: 1.0", Ok(("{\"a\":1}", ""))),
        ("a: 1.50", Ok(("{\"a\":1.5}", ""))),
        ("a: .5", Ok(("{\"a\":0.5}", ""))),
        ("a: 1e400", Ok(("{\"a\":\"1e400\"}", ""))),
        ("a: 18446744073709551615", Ok(("{\"a\":18446744073709551615}", ""))),
        ("a: 100000000000000000000", Ok(("{\"a\":100000000000000000000}", ""))),
        ("a: 12:30:45", Ok(("{\"a\":\"12:30:45\"}", ""))),
        ("a: 2020-01-01", Ok(("{\"a\":\"2020-01-01\"}", ""))),
        ("a: 2020-01-01T00:00:00Z", Ok(("{\"a\":\"2020-01-01T00:00:00Z\"}", ""))),
        ("a: \"yes\"", Ok(("{\"a\":\"yes\"}", ""))),
        ("a: 'no'", Ok(("{\"a\":\"no\"}", ""))),
        ("a: !!str yes", Ok(("{\"a\":\"yes\"}", ""))),
        ("a: !!int \"3\"", Ok(("{\"a\":3}", ""))),
        ("a: !!float 3", Ok(("{\"a\":3}", ""))),
        ("a: !!binary aGk=", Ok(("{\"a\":\"hi\"}", ""))),
        ("a: !foo bar", Ok(("{\"a\":\"bar\"}", ""))),
        ("a: 1.5.2", Ok(("{\"a\":\"1.5.2\"}", ""))),
        ("a: 0x", Ok(("{\"a\":\"0x\"}", ""))),
        ("a: --1", Ok(("{\"a\":\"--1\"}", ""))),
        ("1: a", Ok(("{\"1\":\"a\"}", ""))),
        ("1.5: a", Ok(("{\"1.5\":\"a\"}", ""))),
        ("true: a", Ok(("{\"true\":\"a\"}", ""))),
        ("yes: a", Ok(("{\"true\":\"a\"}", ""))),
        (
            "null: a",
            Err("unsupported map key of type: %!s(<nil>), key: <nil>, value: \"a\""),
        ),
        ("? [a]\n: b", Err("yaml: invalid map key: []interface {}{\"a\"}")),
        (
            "? {a: 1}\n: b",
            Err("yaml: invalid map key: map[interface {}]interface {}{\"a\":1}"),
        ),
        ("a: &x {b: 1}\nc: *x", Ok(("{\"a\":{\"b\":1},\"c\":{\"b\":1}}", ""))),
        (
            "b: &x {p: 1, q: 2}\na:\n  <<: *x\n  q: 3",
            Ok((
                "{\"a\":{\"p\":1,\"q\":3},\"b\":{\"p\":1,\"q\":2}}",
                "yaml: unmarshal errors:\n  line 4: key \"q\" already set in map",
            )),
        ),
        (
            "b: &x {p: 1}\na:\n  p: 2\n  <<: *x",
            Ok((
                "{\"a\":{\"p\":1},\"b\":{\"p\":1}}",
                "yaml: unmarshal errors:\n  line 1: key \"p\" already set in map",
            )),
        ),
        (
            "a: {<<: [{p: 1}, {p: 2, q: 3}]}",
            Ok((
                "{\"a\":{\"p\":1,\"q\":3}}",
                "yaml: unmarshal errors:\n  line 1: key \"p\" already set in map",
            )),
        ),
        (
            "a: {<<: 1}",
            Err("yaml: map merge requires map or sequence of maps as the value"),
        ),
        ("a: *x", Err("yaml: unknown anchor 'x' referenced")),
        ("a: &x [*x]", Err("yaml: anchor 'x' value contains itself")),
        (
            "a: 1\na: 2",
            Ok((
                "{\"a\":2}",
                "yaml: unmarshal errors:\n  line 2: key \"a\" already set in map",
            )),
        ),
        (
            "a: 1\na: 2\nb: {c: 1, c: 2}",
            Ok((
                "{\"a\":2,\"b\":{\"c\":2}}",
                "yaml: unmarshal errors:\n  line 2: key \"a\" already set in map\n  line 3: key \"c\" already set in map",
            )),
        ),
        (
            "1: a\n\"1\": b\n1: c",
            Ok((
                "{\"1\":\"b\"}",
                "yaml: unmarshal errors:\n  line 3: key 1 already set in map",
            )),
        ),
        ("a: |\n  x\n  y\n", Ok(("{\"a\":\"x\\ny\\n\"}", ""))),
        ("a: >\n  x\n  y\n", Ok(("{\"a\":\"x y\\n\"}", ""))),
        ("a: |-\n  x\n", Ok(("{\"a\":\"x\"}", ""))),
        ("a: |+\n  x\n\n", Ok(("{\"a\":\"x\\n\\n\"}", ""))),
        ("a: \"b\\\n  c\\u00e9\"", Ok(("{\"a\":\"bcé\"}", ""))),
        ("a: b\n---\nc: d", Ok(("{\"a\":\"b\"}", ""))),
        ("--- a\n...\nb", Ok(("\"a\"", ""))),
        ("a: .inf", Err("json: unsupported value: +Inf")),
        ("a: .nan", Err("json: unsupported value: NaN")),
        ("a: !!int x", Err("yaml: cannot decode !!str `x` as a !!int")),
        (
            "a: !!binary \"*\"",
            Err("yaml: !!binary value contains invalid base64 data"),
        ),
        ("a: b: c", Err("yaml: mapping values are not allowed in this context")),
        (
            "a:\n - b\n c: d\n",
            Err("yaml: line 2: did not find expected '-' indicator"),
        ),
        ("a: b\nc\n", Err("yaml: line 3: could not find expected ':'")),
        ("\ta: b", Err("yaml: found character that cannot start any token")),
        (
            "a:\n\tb: c",
            Err("yaml: line 2: found character that cannot start any token"),
        ),
        ("a: \"x\n", Err("yaml: line 2: found unexpected end of stream")),
        (
            "a: [1, 2\nb: 3\n",
            Err("yaml: line 1: did not find expected ',' or ']'"),
        ),
        ("a: @b", Err("yaml: found character that cannot start any token")),
        ("a: `b", Err("yaml: found character that cannot start any token")),
        ("a: \"\\q\"", Err("yaml: found unknown escape character")),
        ("- a\nb: c", Err("yaml: line 1: did not find expected '-' indicator")),
        ("a: b\n- c", Err("yaml: line 1: did not find expected key")),
        ("{a: b", Err("yaml: line 1: did not find expected ',' or '}'")),
        ("%YAML 1.2\n---\na: b\n", Err("yaml: found incompatible YAML document")),
        (
            "a: \"\\ud83d\"",
            Err("yaml: found invalid Unicode character escape code"),
        ),
        (
            "{\"a\":1,\"a\":2}",
            Ok((
                "{\"a\":2}",
                "yaml: unmarshal errors:\n  line 1: key \"a\" already set in map",
            )),
        ),
        ("{\"a\":1.0}", Ok(("{\"a\":1}", ""))),
        ("{\"a\":\"\\/\"}", Err("yaml: found unknown escape character")),
        ("a: \x07", Err("yaml: control characters are not allowed")),
        ("- - a\n  - b\n- c", Ok(("[[\"a\",\"b\"],\"c\"]", ""))),
        ("a:\n- b\n- c", Ok(("{\"a\":[\"b\",\"c\"]}", ""))),
        ("a: \"x\"  # c", Ok(("{\"a\":\"x\"}", ""))),
        ("a: x#c", Ok(("{\"a\":\"x#c\"}", ""))),
        ("a: x #c", Ok(("{\"a\":\"x\"}", ""))),
    ] {
        let read = yaml::decode(text.as_bytes());
        let read = read.map(|decoded| (decoded.value, decoded.already_set.unwrap_or_default()));
        let expected: Result<(&str, &str), &str> = expected;
        let expected = expected.map(|(value, complaint)| {
            let value = json::decode(value.as_bytes())
                .expect("Go writes well-formed JSON")
                .value;
            (value, complaint.to_owned())
        });
        assert_eq!(
            read.map_err(|error| error.to_string()),
            expected.map_err(ToOwned::to_owned),
            "{text:?}"
        );
    }
}

#[test]
fn a_key_set_twice_is_one_complaint_and_a_warning_for_each() {
    let decoded = yaml::decode(b"a: 1\na: 2\nb: {c: 1, c: 2}\n").expect("duplicates are no error");
    let complaints = strict::complaints(&decoded, &["zz".to_owned()], None);
    assert_eq!(
        complaints.join(", "),
        concat!(
            "yaml: unmarshal errors:\n  line 2: key \"a\" already set in map\n",
            "  line 3: key \"c\" already set in map, unknown field \"zz\"",
        )
    );
    assert_eq!(
        strict::warnings(complaints),
        [
            "line 2: key \"a\" already set in map",
            "line 3: key \"c\" already set in map",
            "unknown field \"zz\"",
        ]
    );
}

#[test]
fn aliases_are_bounded_as_upstream_bounds_them() {
    let mut text = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (name, of) in ["b", "c", "d", "e", "f", "g", "h"]
        .iter()
        .zip(["a", "b", "c", "d", "e", "f", "g"])
    {
        let items = vec![format!("*{of}"); 9].join(", ");
        text.push_str(&[name, ": &", name, " [", &items, "]\n"].concat());
    }
    let error = yaml::decode(text.as_bytes()).map_err(|error| error.to_string());
    assert_eq!(
        error.map(|_| ()),
        Err("yaml: document contains excessive aliasing".to_owned())
    );
}

#[test]
fn aliases_of_long_strings_are_bounded_too() {
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 100].join(", "));
    let error = yaml::decode(text.as_bytes()).map_err(|error| error.to_string());
    assert_eq!(
        error.map(|_| ()),
        Err("yaml: document contains excessive aliasing".to_owned())
    );
}

#[test]
fn deep_nesting_is_cut_off_or_refused() {
    let block = (0..500).fold(String::new(), |text, depth| text + &" ".repeat(depth) + "a:\n");
    let decoded = yaml::decode(block.as_bytes()).expect("as deep as allowed");
    assert!(decoded.too_deep);
    assert!(yaml::decode("[".repeat(20_000).as_bytes()).is_err());
    assert!(yaml::decode("- ".repeat(20_000).as_bytes()).is_err());
}

#[test]
fn quoted_text_need_not_be_indented() {
    let text = b"a:\n    b: \"one\ntwo \\\n  \\\"three\n\nfour\"\n    c: 'it''s\nfive'\nd: \"*\"\n";
    let decoded = yaml::decode(text).map(|decoded| decoded.value);
    assert_eq!(
        decoded,
        Ok(json!({"a": {"b": "one two \"three\nfour", "c": "it's five"}, "d": "*"}))
    );
}

#[test]
fn json_in_yaml_is_read_as_yaml() {
    let decoded = yaml::decode(br#"{"a": 1.0, "b": "x"}"#).map(|decoded| decoded.value);
    assert_eq!(decoded, Ok(json!({"a": 1, "b": "x"})));
    let decoded = yaml::decode(b"{\n\t\"a\": [1, 2],\n\t\"b\": null\n}\n").map(|decoded| decoded.value);
    assert_eq!(decoded, Ok(json!({"a": [1, 2], "b": null})));
}
