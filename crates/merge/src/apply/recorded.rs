//! Sequences of writes whose outcome was recorded from upstream's own field manager, replayed here.
//!
//! `cases.jsonl` comes from `generate.go`, which says how to run it; a longer file can be named in
//! `KUBEWRIGHT_APPLY_CASES`.

use serde_json::Value;

use crate::apply::testing::TestVersions;
use crate::apply::{ApplyError, ConflictCause, FieldManager, Versions, apply, extract, update};
use crate::managed::FieldFilter;

fn sorted_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    lines.sort();
    lines
}

fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn replay(recording: &Value) -> Result<(), String> {
    let mut stored = recording.get("live").cloned();
    for (number, step) in recording["steps"].as_array().into_iter().flatten().enumerate() {
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let exclude = texts(&step["exclude"]);
        let exclude: Vec<&str> = exclude.iter().map(String::as_str).collect();
        let filter = (!exclude.is_empty()).then(|| FieldFilter::exclude(&exclude));
        let things = TestVersions {
            filter,
            ..TestVersions::default()
        };
        // Step by step a second, as in the recording.
        let time = format!("2001-01-01T00:00:{number:02}Z");
        let author = FieldManager {
            name: text("manager"),
            api_version: text("version"),
            kind: "Thing",
            subresource: text("subresource"),
            time: &time,
        };
        let at_endpoint = stored
            .as_ref()
            .map(|live| things.convert(live, text("version")).expect("converts"));
        let at_endpoint = at_endpoint.as_ref();
        let result = if text("op") == "apply" {
            apply(
                &things,
                &author,
                at_endpoint,
                &step["object"],
                step["force"] == Value::Bool(true),
            )
        } else {
            Ok(update(&things, &author, at_endpoint, step["object"].clone()))
        };
        match (result, step.get("result")) {
            (Ok(object), Some(expected)) => {
                let mut object = things.convert(&object, "v1").expect("converts");
                object["metadata"]["uid"] = Value::from("u");
                if object != *expected {
                    return Err(format!(
                        "step {number} {step}\n   live {}\n    got {object}",
                        Value::from(stored)
                    ));
                }
                if text("op") == "apply" {
                    let of = things.topology("v1").expect("a type");
                    let extracted = extract(of, &object, text("manager"), text("subresource")).unwrap_or_default();
                    if extracted.as_ref().filter(|extracted| extracted.is_object()) != step.get("extract") {
                        return Err(format!(
                            "step {number} {step}\n   live {object}\n    got {}",
                            Value::from(extracted)
                        ));
                    }
                }
                stored = Some(object);
            }
            (Err(error), None) => {
                let mut causes = Vec::new();
                if let ApplyError::Conflict(conflicts) = &error {
                    let flatten = |cause: ConflictCause| format!("{}|{}|{}", cause.reason, cause.message, cause.field);
                    causes = conflicts.causes().into_iter().map(flatten).collect();
                    causes.sort();
                }
                if sorted_lines(&error.to_string()) != texts(&step["error"]) || causes != texts(&step["causes"]) {
                    return Err(format!(
                        "step {number} {step}\n   live {}\n    got {error}",
                        Value::from(stored)
                    ));
                }
            }
            (result, _) => {
                return Err(format!(
                    "step {number} {step}\n   live {}\n    got {result:?}",
                    Value::from(stored)
                ));
            }
        }
    }
    Ok(())
}

fn replay_all(cases: &str) {
    let mut failures = Vec::new();
    let mut count = 0;
    for (line, case) in cases.lines().enumerate() {
        let case: Value = serde_json::from_str(case).expect("a case is JSON");
        count += 1;
        if let Err(failure) = replay(&case) {
            failures.push(format!("case {line}: {failure}"));
        }
    }
    assert!(count > 0, "no cases");
    let total = failures.len();
    failures.truncate(5);
    assert!(
        failures.is_empty(),
        "{total} of {count} cases differ:\n{}",
        failures.join("\n")
    );
}

#[test]
fn recorded_writes_end_as_upstream_ended_them() {
    replay_all(include_str!("../../recorded/cases.jsonl"));
}

#[test]
fn further_recorded_writes_end_as_upstream_ended_them() {
    if let Some(path) = std::env::var_os("KUBEWRIGHT_APPLY_CASES") {
        replay_all(&std::fs::read_to_string(path).expect("the file with further cases"));
    }
}
