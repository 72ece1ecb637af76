//! What `meta` promises, and what a real server says about the metadata of each resource.

use serde_json::json;

use super::*;
use crate::strategy::strategy;

fn sentences(errors: &Errors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn created(metadata: &Value) -> Vec<String> {
    let mut errors = Errors::new();
    validate_create(metadata, true, strategy("", "secrets"), &mut errors);
    sentences(&errors)
}

fn updated(new: &Value, old: &Value) -> Vec<String> {
    let mut errors = Errors::new();
    validate_update(new, old, true, strategy("", "configmaps"), None, &mut errors);
    sentences(&errors)
}

const LABEL_KEY: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

#[test]
fn a_bad_create_is_told_everything_in_upstreams_order() {
    let metadata = json!({
        "generateName": "A_", "name": "A_kvvgd", "namespace": "eng-a", "labels": {"a b": "-"},
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "u", "controller": true},
            {"apiVersion": "v1", "kind": "B", "name": "x", "uid": "u", "controller": true},
        ],
        "finalizers": ["x", "orphan", "foregroundDeletion"],
    });
    assert_eq!(
        created(&metadata),
        [
            format!("metadata.generateName: Invalid value: \"A_\": {SUBDOMAIN}"),
            format!("metadata.name: Invalid value: \"A_kvvgd\": {SUBDOMAIN}"),
            format!("metadata.labels: Invalid value: \"a b\": {LABEL_KEY}"),
            "metadata.labels: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')".to_owned(),
            r#"metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"x","uid":"u","controller":true}: /v1, Kind=Event is disallowed from being an owner"#.to_owned(),
            r#"metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Event","name":"x","uid":"u","controller":true},{"apiVersion":"v1","kind":"B","name":"x","uid":"u","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for Event/x and B/x"#.to_owned(),
            r#"metadata.finalizers: Invalid value: ["x","orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set"#.to_owned(),
            r#"metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified"#.to_owned(),
        ]
    );
}

#[test]
fn an_owner_needs_version_kind_name_and_uid() {
    let metadata = json!({"namespace": "eng-a", "generation": -1, "ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]});
    assert_eq!(
        created(&metadata),
        [
            "metadata.name: Required value: name or generateName is required",
            "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
            "metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be empty",
            "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty",
            "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
            "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
        ]
    );
}

#[test]
fn annotation_keys_ignore_case_and_their_total_size_is_limited() {
    let metadata =
        json!({"name": "c", "namespace": "n", "annotations": {"A/b": "x", "a b": "c", "z": "y".repeat(263_000)}});
    assert_eq!(
        created(&metadata),
        [
            format!("metadata.annotations: Invalid value: \"a b\": {LABEL_KEY}"),
            "metadata.annotations: Too long: may not be more than 262144 bytes".to_owned(),
        ]
    );
}

#[test]
fn a_finalizer_is_a_qualified_name_and_has_a_domain() {
    let metadata = json!({"name": "c", "namespace": "n", "finalizers": ["a b", "kubernetes", "/x", "x/", "a/b/c"]});
    assert_eq!(
        created(&metadata),
        [
            format!("metadata.finalizers: Invalid value: \"a b\": {LABEL_KEY}"),
            "metadata.finalizers: Invalid value: \"/x\": prefix part must be non-empty".to_owned(),
            "metadata.finalizers: Invalid value: \"x/\": name part must be non-empty".to_owned(),
            format!("metadata.finalizers: Invalid value: \"x/\": {LABEL_KEY}"),
            format!(
                "metadata.finalizers: Invalid value: \"a/b/c\": a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                LABEL_KEY.trim_start_matches("name part ")
            ),
            "metadata.finalizers[0]: Invalid value: \"a b\": name is neither a standard finalizer name nor is it fully qualified".to_owned(),
        ]
    );
}

#[test]
fn an_update_cannot_start_a_deletion_and_names_each_cause_as_often_as_upstream() {
    let old = json!({"name": "c1", "namespace": "n", "uid": "u", "resourceVersion": "1"});
    let new = json!({
        "name": "c1", "namespace": "n", "uid": "u", "resourceVersion": "1",
        "deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5, "finalizers": ["a"],
    });
    let time = "metadata.deletionTimestamp: Invalid value: \"2020-01-01T00:00:00Z\": field is immutable";
    let grace = "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable";
    let finalizer = "metadata.finalizers[0]: Invalid value: \"a\": name is neither a standard finalizer name nor is it fully qualified";
    assert_eq!(updated(&new, &old), [time, grace, time, grace, finalizer, finalizer]);
}

#[test]
fn an_object_being_deleted_gets_no_new_finalizers() {
    let old = json!({
        "name": "c1", "namespace": "n", "resourceVersion": "1", "finalizers": ["example.com/a"],
        "deletionTimestamp": "2026-11-16T02:37:55Z",
    });
    let mut new = old.clone();
    new["finalizers"] = json!([
        "example.com/a",
        "example.com/b",
        "example.com/aa",
        "orphan",
        "foregroundDeletion"
    ]);
    let both = r#"metadata.finalizers: Invalid value: ["example.com/a","example.com/b","example.com/aa","orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set"#;
    let fresh = r#"metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/aa", "example.com/b", "foregroundDeletion", "orphan"}"#;
    assert_eq!(updated(&new, &old), [both, fresh, fresh, both]);
}

#[test]
fn an_update_needs_the_resource_version_it_replaces() {
    let old = json!({"name": "c1", "namespace": "n", "resourceVersion": "1"});
    let new = json!({"name": "c1", "namespace": "n"});
    assert_eq!(
        updated(&new, &old),
        ["metadata.resourceVersion: Invalid value: \"\": must be specified for an update"; 2]
    );
}

#[test]
fn a_kind_without_metadata_rules_still_needs_a_path_segment() {
    let metadata = json!({"name": "a%b", "namespace": "n", "finalizers": ["x"]});
    let mut errors = Errors::new();
    validate_create(&metadata, true, strategy("policy", "poddisruptionbudgets"), &mut errors);
    assert_eq!(sentences(&errors), Vec::<String>::new());
    validate_create_generic(&metadata, true, &mut errors);
    assert_eq!(
        sentences(&errors),
        ["metadata.name: Invalid value: \"a%b\": may not contain '%'"]
    );
}

#[test]
fn what_only_the_server_sets_is_kept_on_update() {
    let old = json!({
        "uid": "u", "creationTimestamp": "t", "deletionTimestamp": "d", "deletionGracePeriodSeconds": 0, "generation": 3
    });
    let Value::Object(mut new) = json!({"creationTimestamp": "other", "generation": 9}) else {
        unreachable!()
    };
    keep_generation(&mut new, &old);
    keep_system_fields(&mut new, &old);
    assert_eq!(Value::Object(new), old);
}

/// The kinds whose names follow from their spec.
const NAMED_BY_SPEC: [&str; 2] = ["apiservices", "customresourcedefinitions"];

fn without_names(sentences: Vec<String>) -> Vec<String> {
    let about_names = ["metadata.name:", "metadata.generateName:"];
    sentences
        .into_iter()
        .filter(|sentence| !about_names.iter().any(|start| sentence.starts_with(start)))
        .collect()
}

#[test]
fn every_kind_refuses_metadata_in_the_words_and_as_often_as_upstream() {
    let rows: Vec<Value> = serde_json::from_str(include_str!("../recorded/strategies/table.json")).expect("a table");
    assert!(rows.len() > 50);
    let bad = |mut metadata: Value| {
        metadata["labels"] = json!({"a b": "c"});
        metadata["finalizers"] = json!(["x"]);
        metadata
    };
    for row in &rows {
        let (group, resource) = (str_at(row, &["group"]), str_at(row, &["resource"]));
        let strategy = strategy(group, resource);
        let recorded = |field| {
            strings_at(row, &[field])
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<String>>()
        };
        let namespaced = false;
        let place = format!("{group}/{resource}");

        let mut errors = Errors::new();
        let metadata = bad(json!({"name": "A_b%", "generateName": "A_-"}));
        validate_create(&metadata, namespaced, strategy, &mut errors);
        if errors.is_empty() {
            validate_create_generic(&metadata, namespaced, &mut errors);
        }
        let (mut ours, mut upstreams) = (sentences(&errors), recorded("refused_create"));
        if NAMED_BY_SPEC.contains(&resource) {
            (ours, upstreams) = (without_names(ours), without_names(upstreams));
        }
        assert_eq!(ours, upstreams, "{place} create");

        let old = json!({"name": "10.0.0.1", "resourceVersion": "1"});
        for (field, subresource) in [("refused_update", None), ("refused_status", Some("status"))] {
            if row.get(field).is_none() {
                continue;
            }
            let mut new = bad(old.clone());
            if let (Some(_), Some(metadata)) = (subresource, new.as_object_mut()) {
                strategy.status_metadata.restore(metadata, &old);
            }
            let mut errors = Errors::new();
            validate_update(&new, &old, namespaced, strategy, subresource, &mut errors);
            assert_eq!(sentences(&errors), recorded(field), "{place} {field}");
        }
    }
}
