use serde_json::{Value, json};

use super::*;

fn first(path: &str, object: &Value) -> Option<String> {
    let path = JsonPath::parse(&format!("{{{path}}}")).expect("a path");
    path.first(object).map(|found| found.print().into_owned())
}

fn object() -> Value {
    json!({
        "name": "n",
        "a.b": "dotted",
        "nothing": null,
        "numbers": [1, 2, 3, 4],
        "conditions": [
            {"type": "Ready", "status": "True", "weight": 3},
            {"type": "Synced", "status": "False", "weight": 5.5},
        ],
        "nested": {"deep": {"name": "d"}, "list": [[1], [2, 3]]},
    })
}

#[test]
fn paths_lead_through_maps_lists_and_filters() {
    let object = object();
    let cases = [
        (".name", "n"),
        (".a\\.b", "dotted"),
        ("['a\\.b']", "dotted"),
        (".numbers[0]", "1"),
        (".numbers[-1]", "4"),
        (".numbers[1:3]", "2"),
        (".numbers[1:]", "2"),
        (".numbers[::2]", "1"),
        (".numbers[*]", "1"),
        (".numbers[3,0]", "4"),
        (".conditions[?(@.type==\"Synced\")].status", "False"),
        (".conditions[?(@.type=='Ready')].status", "True"),
        (".conditions[?(@.status!='True')].type", "Synced"),
        (".conditions[?(@.weight)].type", "Ready"),
        (".conditions[0]", r#"{"status":"True","type":"Ready","weight":3}"#),
        (".nested.list[1]", "[2,3]"),
        (".nested.list[1][1:]", "3"),
        ("..name", "n"),
        (".nested..name", "d"),
        (".nothing", "<no value>"),
        (".name 'text'", "text"),
        (".name[*]", ""),
        ("$.name", "n"),
    ];
    for (path, expected) in cases {
        let expected = Some(expected.to_owned()).filter(|expected| !expected.is_empty());
        assert_eq!(first(path, &object), expected, "{path}");
    }
}

#[test]
fn what_does_not_fit_finds_nothing() {
    let object = object();
    for path in [
        ".nested.list[*][1:]",
        ".missing",
        ".name.more",
        ".numbers[9]",
        ".numbers[2:1]",
        ".numbers[0:2:0]",
        ".name[0]",
        ".conditions[?(@.weight>4)].type",
        ".conditions[?(@.type<1)].type",
        ".name[?(@.x)]",
        ".nothing.deeper",
        ".",
        "unknown",
    ] {
        assert_eq!(first(path, &object), None, "{path}");
    }
}

#[test]
fn templates_that_cannot_be_parsed_are_refused() {
    for path in [
        ".a[",
        ".a[x]",
        ".a[1:2:3:4]",
        ".a[?(@.b",
        ".a[?(@.b)",
        ".a['b",
        ".a 'b",
        "....a",
        "..*",
        ".a #",
        ".a\n",
        "-",
        ".a 'x\\q'",
    ] {
        assert!(JsonPath::parse(&format!("{{{path}}}")).is_err(), "{path}");
    }
    assert!(JsonPath::parse("{.a").is_err());
}

#[test]
fn only_the_first_part_of_a_template_counts_but_all_must_fit() {
    let object = object();
    assert_eq!(first(".name} and {.numbers[0]", &object).as_deref(), Some("n"));
    assert_eq!(first(".name} and {.numbers[9]", &object), None);
    assert_eq!(first(".name}{range .numbers[*]}{@}{end", &object).as_deref(), Some("n"));
    assert_eq!(first(".name}{end", &object), None);
    let path = JsonPath::parse("{range .numbers[*]}{@}-{end}!").expect("a path");
    let printed: Vec<String> = path
        .find(&object)
        .expect("fits")
        .iter()
        .flatten()
        .map(|found| found.print().into_owned())
        .collect();
    assert_eq!(printed.concat(), "1-2-3-4-!");
}

#[test]
fn recursion_takes_bounded_work() {
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep, [1, 2]]);
    }
    let path = JsonPath::parse(&format!("{{.deep{}}}", "..[*]".repeat(12))).expect("a path");
    let object = json!({"deep": deep});
    assert!(path.find(&object).is_none());
}
