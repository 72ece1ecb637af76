//! What selectors promise.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parsed(text: &str) -> Selector {
    text.parse().expect(text)
}

#[test]
fn every_operator_selects() {
    let labels = [("app", "web"), ("tier", "front"), ("n", "5"), ("empty", "")];
    for selector in [
        "",
        "app",
        "app=web",
        "app == web, tier!=back",
        "app in (web, db)",
        "app notin (db)",
        "!gone",
        "n>4,n<6",
        "x!=y",
        "x notin (y)",
        "empty=",
    ] {
        assert!(parsed(selector).matches(&labels[..]), "{selector}");
    }
    for selector in [
        "app=db",
        "app!=web",
        "app in (db)",
        "app notin (web)",
        "gone",
        "!app",
        "n>5",
        "app>1",
        "in in (in)",
        "app,gone",
    ] {
        assert!(!parsed(selector).matches(&labels[..]), "{selector}");
    }
}

#[test]
fn mistakes_are_told_in_the_words_of_kubernetes() {
    for (selector, error) in [
        ("a=b,", "found '', expected: identifier after ','"),
        (
            "a b",
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        ),
        ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
    ] {
        assert_eq!(selector.parse::<Selector>().unwrap_err().to_string(), error);
    }
    let error = "a=b/c".parse::<Selector>().unwrap_err().to_string();
    assert!(
        error.starts_with(r#"unable to parse requirement: values[0][a]: Invalid value: "b/c": a valid label must be"#),
        "{error}"
    );
    let error = "-a".parse::<Selector>().unwrap_err().to_string();
    assert!(
        error.starts_with(r#"unable to parse requirement: <nil>: Invalid value: "-a": name part must consist"#),
        "{error}"
    );
}

#[test]
fn a_selector_prints_sorted_by_key_with_sorted_values() {
    for (text, printed) in [
        ("b=1, a notin (y,x,y), !c", "a notin (x,y),b=1,!c"),
        ("b in (1), a == 2", "a==2,b in (1)"),
        ("z>1,z<3,y!=", "y!=,z>1,z<3"),
    ] {
        assert_eq!(parsed(text).to_string(), printed);
    }
    let built = Selector::default()
        .with(Requirement::unchecked("tier", Operator::Exists, Vec::new()))
        .with(Requirement::unchecked("app", Operator::Equals, vec!["web".to_owned()]))
        .with(Requirement::unchecked(
            "app",
            Operator::NotEquals,
            vec!["db".to_owned()],
        ));
    assert_eq!(built.to_string(), "app=web,app!=db,tier");
}

#[test]
fn a_label_selector_object_is_compiled_and_prints() {
    let selector = json!({
        "matchLabels": {"b": "1", "z": ""},
        "matchExpressions": [
            {"key": "c", "operator": "NotIn", "values": ["y", "x"]},
            {"key": "a", "operator": "Exists"},
            {"key": "b", "operator": "DoesNotExist"},
        ],
    });
    let selector = Selector::from_label_selector(&selector).unwrap();
    assert_eq!(selector.to_string(), "a,b=1,!b,c notin (x,y),z=");
    for everything in [json!({}), json!(null)] {
        assert!(Selector::from_label_selector(&everything).unwrap().is_everything());
    }
}

#[test]
fn what_is_no_label_selector_is_an_error() {
    for broken in [
        json!({"matchLabels": {"not a key": "v"}}),
        json!({"matchLabels": {"k": "-v"}}),
        json!({"matchExpressions": [{"key": "k", "operator": "In"}]}),
        json!({"matchExpressions": [{"key": "k", "operator": "Exists", "values": ["v"]}]}),
        json!({"matchExpressions": [{"key": "k", "operator": "Gt", "values": ["1"]}]}),
        json!({"matchExpressions": [{"key": "k", "operator": "Like", "values": ["v"]}]}),
    ] {
        assert!(Selector::from_label_selector(&broken).is_err(), "{broken}");
    }
}

#[test]
fn an_object_that_is_asked_once_answers_as_the_compiled_one() {
    let labels = json!({"a": "1"});
    let labels = labels.as_object();
    for (operator, key, values, wanted) in [
        ("In", "a", json!(["1", "2"]), true),
        ("In", "a", json!(["2"]), false),
        ("In", "b", json!(["1"]), false),
        ("NotIn", "a", json!(["1"]), false),
        ("NotIn", "b", json!(["1"]), true),
        ("Exists", "a", json!(null), true),
        ("Exists", "b", json!(null), false),
        ("DoesNotExist", "a", json!(null), false),
        ("DoesNotExist", "b", json!(null), true),
    ] {
        let selector = json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        let compiled = Selector::from_label_selector(&selector).unwrap();
        assert_eq!(compiled.matches(&labels), wanted, "{selector}");
        assert_eq!(selects(&selector, &labels), wanted, "{selector}");
    }
    assert!(selects(&json!({"matchLabels": {"a": "1"}}), &labels));
    assert!(!selects(&json!({"matchLabels": {"a": "2"}}), &labels));
    assert!(!selects(
        &json!({"matchExpressions": [{"key": "a", "operator": "Near"}]}),
        &labels
    ));
}

proptest! {
    #[test]
    fn no_selector_panics(text in ".*", list in "[a-c=!()<>, in]*") {
        let _ = text.parse::<Selector>();
        let _ = list.parse::<Selector>();
    }

    #[test]
    fn what_a_selector_prints_reads_as_the_same_selector(text in "[a-c](=|!=|>1|<2| in \\([ab],c\\)| notin \\(a\\))?(,!?[d-f])?") {
        if let Ok(selector) = text.parse::<Selector>() {
            prop_assert_eq!(selector.to_string().parse::<Selector>(), Ok(selector));
        }
    }

    #[test]
    fn an_object_matches_either_a_requirement_or_its_negation(key in "[a-z]{1,5}", value in "[a-z]{0,5}", other in "[a-z]{0,5}") {
        let labels = [(key.as_str(), other.as_str())];
        let chosen = parsed(&format!("{key} in ({value})")).matches(&labels[..]);
        prop_assert_eq!(chosen, value == other);
        prop_assert_ne!(chosen, parsed(&format!("{key} notin ({value})")).matches(&labels[..]));
        prop_assert_eq!(chosen, parsed(&format!("{key}={value}")).matches(&labels[..]));
    }
}
