//! Two lists of facts beside each other, and what was decided about their differences.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::decisions::{Decision, decisions};
use super::flat::{self, Facts};

/// A fact that the two sides do not share.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    /// What it is about.
    pub(crate) at: String,
    /// What controller-gen says, if anything.
    pub(crate) go: Option<Value>,
    /// What we say, if anything.
    pub(crate) ours: Option<Value>,
}

/// All that differs between two lists of facts.
pub(crate) fn differences(go: &Facts, ours: &Facts) -> Vec<Difference> {
    let mut both: BTreeMap<&String, [Option<&Value>; 2]> = BTreeMap::new();
    for (at, value) in go {
        both.entry(at).or_default()[0] = Some(value);
    }
    for (at, value) in ours {
        both.entry(at).or_default()[1] = Some(value);
    }
    let differing = both.into_iter().filter(|(_, [go, ours])| go != ours);
    differing
        .map(|(at, [go, ours])| Difference {
            at: at.clone(),
            go: go.cloned(),
            ours: ours.cloned(),
        })
        .collect()
}

/// How two definitions differ, but for what was decided.
pub(crate) fn undecided_of_definitions(go: &Value, ours: &Value) -> String {
    let name = go["metadata"]["name"].as_str().unwrap_or_default();
    let (go, ours) = (flat::definition(go), flat::definition(ours));
    let mut found = differences(&go.facts, &ours.facts);
    // Words are the author's; that there are none is a loss.
    let silent = go.descriptions.iter().filter(|(at, _)| ours.facts.contains_key(*at));
    let silent = silent.filter(|(at, _)| !ours.descriptions.contains_key(*at));
    found.extend(silent.map(|(at, text)| Difference {
        at: format!("{at}: description"),
        go: Some(text.clone()),
        ours: None,
    }));
    undecided(name, &found)
}

/// Fails on a difference that nobody decided, and on a decision about something that does not differ.
pub(crate) fn assert_decided(of: &str, found: &[Difference]) {
    let complaint = undecided(of, found);
    assert!(complaint.is_empty(), "{complaint}");
}

/// What differs though nobody decided it, and what was decided though it does not differ.
fn undecided(of: &str, found: &[Difference]) -> String {
    let decided: Vec<Decision> = decisions().filter(|decision| decision.is_about(of)).collect();
    let mut complaint = String::new();
    for difference in found {
        if !decided.iter().any(|decision| decision.covers(difference)) {
            let shown = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
            let (go, ours) = (shown(&difference.go), shown(&difference.ours));
            let at = &difference.at;
            writeln!(
                complaint,
                "{of}: {at}\n    controller-gen: {go}\n    kubewright:     {ours}"
            )
            .unwrap();
        }
    }
    for decision in decided {
        if !found.iter().any(|difference| decision.covers(difference)) {
            writeln!(
                complaint,
                "{of}: {} does not differ any more: take it from the table",
                decision.at
            )
            .unwrap();
        }
    }
    complaint
}

#[test]
fn a_difference_that_nobody_decided_is_told() {
    let facts = |text: &str| -> Facts { serde_json::from_str(text).unwrap() };
    let found = differences(&facts(r#"{"a":1,"b":2,"c":3}"#), &facts(r#"{"a":1,"b":3,"d":4}"#));
    let told: Vec<&str> = found.iter().map(|difference| difference.at.as_str()).collect();
    assert_eq!(told, ["b", "c", "d"]);
    let refused = std::panic::catch_unwind(|| assert_decided("nobody.example.com", &found));
    assert!(refused.is_err());
}

#[test]
fn a_decision_about_what_does_not_differ_is_told() {
    let decision = decisions().next().unwrap();
    let refused = std::panic::catch_unwind(|| assert_decided(&decision.of.replace('*', ""), &[]));
    assert!(refused.is_err());
}

#[test]
fn every_decision_has_a_reason_and_differs() {
    for decision in decisions() {
        assert!(decision.reason.len() > 20, "{}: {:?}", decision.at, decision.reason);
        let same = decision.go == decision.ours && decision.go != "*";
        assert!(!same, "{}", decision.at);
    }
}
