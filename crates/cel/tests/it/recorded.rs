//! Replays what a kube-apiserver said about rules and objects, word for word.

use kubewright_cel::Limits;
use kubewright_cel::rules::{SchemaIssue, Validator, check_schema};
use serde_json::{Value, json};

const SCHEMA_PATH: &str = "spec.validation.openAPIV3Schema";

fn read(name: &str) -> Value {
    let path = format!("{}/tests/recorded/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("the recording exists")).expect("it is JSON")
}

fn rule_of(recorded: &Value) -> Value {
    if recorded.is_string() {
        json!({"rule": recorded})
    } else {
        recorded.clone()
    }
}

fn schema_with(spec: &Value, rule: &Value) -> Value {
    let mut spec = spec.clone();
    spec["x-kubernetes-validations"] = json!([rule]);
    json!({"type": "object", "properties": {"spec": spec}})
}

/// The number in the name of the type of `self` changes with every write.
fn normalize(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("selfType") {
        out.push_str(&rest[..at]);
        out.push_str("selfType#");
        rest = rest[at + "selfType".len()..].trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}

fn causes(recorded: &Value) -> Vec<(String, String)> {
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    let causes = recorded["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
    causes
        .iter()
        .map(|cause| (text(cause, "field"), normalize(&text(cause, "message"))))
        .collect()
}

/// Whether an issue is what the server said; the value it shows of an invalid rule is not part of the issue.
fn says(issue: &SchemaIssue, (field, message): &(String, String)) -> bool {
    issue.path == *field
        && message.starts_with(&issue.kind.to_string())
        && message.ends_with(&format!(": {}", normalize(&issue.detail)))
}

/// Shows what differs and fails if it is anything.
fn assert_all_as_recorded(total: usize, failures: &[String]) {
    for failure in failures {
        println!("{failure}\n");
    }
    println!("{} of {total} as recorded", total - failures.len());
    assert!(failures.is_empty(), "{} answers differ", failures.len());
}

#[test]
fn rules_are_accepted_or_refused_with_the_words_of_the_server() {
    let recording = read("rules");
    let recorded = recording["rules"].as_array().expect("a list");
    let mut failures = Vec::new();
    for entry in recorded {
        let schema = match entry.get("schema") {
            Some(schema) => schema.clone(),
            None => schema_with(&recording["spec"], &rule_of(&entry["rule"])),
        };
        let expected = causes(entry);
        let found = check_schema(&schema, SCHEMA_PATH);
        let matches = expected.len() == found.len()
            && found
                .iter()
                .all(|issue| expected.iter().any(|cause| says(issue, cause)));
        if !matches {
            let shown = entry.get("schema").unwrap_or(&entry["rule"]);
            failures.push(format!("RULE {shown}\n  server: {expected:#?}\n  here: {found:#?}"));
        }
    }
    assert_all_as_recorded(recorded.len(), &failures);
}

#[test]
fn objects_pass_or_fail_with_the_words_of_the_server() {
    let recording = read("evaluations");
    let recorded = recording["evaluations"].as_array().expect("a list");
    let mut failures = Vec::new();
    for entry in recorded {
        let mut spec = recording["spec"].clone();
        spec["x-kubernetes-validations"] = json!([rule_of(&entry["rule"])]);
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        let wrap = |value: &Value| json!({"spec": value});
        let (object, old) = match entry.get("object").and_then(Value::as_u64) {
            Some(number) => (wrap(&recording["objects"][number as usize]), None),
            None => (wrap(&entry["new"]), Some(wrap(&entry["old"]))),
        };
        let expected = causes(entry);
        let validator = Validator::new(&schema).expect("the schema has a rule");
        let found: Vec<(String, String)> = validator
            .validate(&object, old.as_ref(), Limits::default())
            .iter()
            .map(|violation| {
                let path = violation.field.strip_prefix("spec").unwrap_or(&violation.field);
                (path.trim_start_matches('.').to_owned(), violation.body())
            })
            .collect();
        if expected != found {
            let which = entry.get("object").unwrap_or(&entry["new"]);
            failures.push(format!(
                "RULE {} ON {which}\n  server: {expected:?}\n  here:   {found:?}",
                entry["rule"]
            ));
        }
    }
    assert_all_as_recorded(recorded.len(), &failures);
}

#[test]
fn rules_deep_in_the_schema_run_where_the_server_runs_them() {
    let recording = read("places");
    let recorded = recording.as_array().expect("a list");
    let mut failures = Vec::new();
    for entry in recorded {
        let wrap = |value: &Value| json!({"spec": value});
        let old = Some(&entry["old"]).filter(|old| !old.is_null()).map(wrap);
        let validator = Validator::new(&entry["schema"]).expect("the schema has a rule");
        let expected = causes(entry);
        if expected.iter().any(|(field, _)| field == "?") {
            continue;
        }
        let found: Vec<(String, String)> = validator
            .validate(&wrap(&entry["new"]), old.as_ref(), Limits::default())
            .iter()
            .map(|violation| (violation.field.clone(), violation.body()))
            .collect();
        if expected != found {
            failures.push(format!(
                "{} AFTER {}\n  server: {expected:?}\n  here:   {found:?}",
                entry["new"], entry["old"]
            ));
        }
    }
    assert_all_as_recorded(recorded.len(), &failures);
}

#[test]
fn an_update_is_tolerated_where_the_server_tolerates_it() {
    let recording = read("ratchets");
    let recorded = recording.as_array().expect("a list");
    let mut failures = Vec::new();
    for (number, entry) in recorded.iter().enumerate() {
        let expected = causes(entry);
        let warned: Vec<String> = entry["warnings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|warning| warning.as_str().map(str::to_owned))
            .collect();
        let result = Validator::new(&entry["schema"])
            .map(|validator| validator.validate_with_warnings(&entry["new"], Some(&entry["old"]), Limits::default()))
            .unwrap_or_default();
        let found: Vec<(String, String)> = result
            .violations
            .iter()
            .map(|violation| (violation.field.clone(), violation.body()))
            .collect();
        let warnings: Vec<String> = result.warnings.iter().map(ToString::to_string).collect();
        if (&expected, &warned) != (&found, &warnings) {
            failures.push(format!(
                "{number}: {} AFTER {}\n  server: {expected:?} {warned:?}\n  here:   {found:?} {warnings:?}",
                entry["new"], entry["old"]
            ));
        }
    }
    assert_all_as_recorded(recorded.len(), &failures);
}
