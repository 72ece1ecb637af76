//! The table of strategies says what a real server does.

use serde_json::json;

use super::*;
use crate::rules::access::{bool_at, list_at, opt_int_at, str_at, strings_at};

fn recorded() -> Vec<Value> {
    serde_json::from_str(include_str!("../../recorded/strategies/table.json")).expect("the recorded table")
}

/// What an apply owns: everything it sends but the name, less what a write of the subresource resets.
fn owned(strategy: &Strategy, subresource: Option<&str>, sent: &[&str]) -> Vec<String> {
    let is_reset = |field: &str| {
        let path: Vec<&str> = field.split('.').collect();
        strategy
            .reset_paths(subresource)
            .iter()
            .any(|reset| path.starts_with(reset))
    };
    sent.iter()
        .filter(|field| !is_reset(field))
        .map(|field| (*field).to_owned())
        .collect()
}

#[test]
fn the_table_says_what_the_real_server_does() {
    let rows = recorded();
    assert!(rows.len() > 50);
    for row in &rows {
        let (group, resource) = (str_at(row, &["group"]), str_at(row, &["resource"]));
        let strategy = strategy(group, resource);
        let place = format!("{group}/{resource}");
        assert_eq!(
            strategy.create_on_update,
            bool_at(row, &["create_on_update"]),
            "{place} create on update"
        );
        assert_eq!(
            strategy.unconditional_update,
            bool_at(row, &["unconditional_update"]),
            "{place} update"
        );
        assert_eq!(
            strategy.generation.at_create(),
            opt_int_at(row, &["generation"]),
            "{place} generation"
        );
        if let Some(returns) = row.get("returns_deleted") {
            assert_eq!(strategy.returns_deleted, *returns, "{place} delete");
        }
        let orphans = strategy.default_propagation == Propagation::Orphan;
        assert_eq!(orphans, bool_at(row, &["orphans"]), "{place} orphans");
        let old = json!({"metadata": {"generation": 1}});
        for field in ["labels", "annotations"] {
            let new = json!({"metadata": {"generation": 1, field: {"x": "y"}}});
            let counts = strings_at(row, &["generation_counts"]).contains(&field);
            assert_eq!(
                strategy.generation.counts_change(&new, &old),
                counts,
                "{place} generation and {field}"
            );
        }
    }
}

#[test]
fn a_status_update_writes_the_metadata_that_the_real_server_writes() {
    for row in recorded().iter().filter(|row| row.get("status_writes").is_some()) {
        let (group, resource) = (str_at(row, &["group"]), str_at(row, &["resource"]));
        let Value::Object(mut metadata) = json!({
            "labels": {"x": "y"}, "annotations": {"x": "y"}, "finalizers": ["f"], "ownerReferences": [{}],
        }) else {
            unreachable!()
        };
        strategy(group, resource)
            .status_metadata
            .restore(&mut metadata, &json!({}));
        let written: Vec<&str> = ["labels", "annotations", "finalizers", "ownerReferences"]
            .into_iter()
            .filter(|field| metadata.contains_key(*field))
            .collect();
        assert_eq!(written, strings_at(row, &["status_writes"]), "{group}/{resource}");
    }
}

#[test]
fn each_subresource_resets_the_fields_that_the_real_server_resets() {
    for row in recorded().iter().filter(|row| row.get("applied").is_some()) {
        let (group, resource) = (str_at(row, &["group"]), str_at(row, &["resource"]));
        let strategy = strategy(group, resource);
        let expected = |field| -> Vec<String> { strings_at(row, &[field]).into_iter().map(str::to_owned).collect() };
        let sent = ["metadata.annotations", "metadata.labels", "spec", "status"];
        assert_eq!(owned(strategy, None, &sent), expected("applied"), "{group}/{resource}");
        assert_eq!(
            owned(strategy, Some("status"), &sent),
            expected("applied_status"),
            "{group}/{resource} status"
        );
        assert!(list_at(row, &["applied"]).iter().all(|field| field != "status"));
    }
}

#[test]
fn unknown_field_labels_are_refused_in_each_kinds_words() {
    for (group, resource, expected) in [
        ("", "pods", "field label not supported: foo.bar"),
        (
            "",
            "configmaps",
            "\"foo.bar\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        ("batch", "jobs", "field label \"foo.bar\" not supported for Job"),
        (
            "resource.k8s.io",
            "resourceslices",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: foo.bar",
        ),
    ] {
        assert_eq!(
            strategy(group, resource).field_text("foo.bar", &json!({})),
            Err(expected.to_owned())
        );
    }
    let cluster_scoped = strategy("", "nodes").field_text("metadata.namespace", &json!({}));
    assert_eq!(
        cluster_scoped,
        Err("field label not supported: metadata.namespace".to_owned())
    );
}

#[test]
fn selectable_fields_have_the_text_of_their_zero_value_when_unset() {
    let text = |group, resource, label, object: &Value| strategy(group, resource).field_text(label, object).unwrap();
    let empty = json!({});
    assert_eq!(text("", "pods", "spec.hostNetwork", &empty), "false");
    assert_eq!(text("", "pods", "spec.nodeName", &empty), "");
    assert_eq!(text("", "nodes", "spec.unschedulable", &empty), "false");
    assert_eq!(text("batch", "jobs", "status.successful", &empty), "0");
    assert_eq!(text("", "replicationcontrollers", "status.replicas", &empty), "0");
    assert_eq!(
        text(
            "batch",
            "jobs",
            "status.successful",
            &json!({"status": {"succeeded": 3}})
        ),
        "3"
    );
    assert_eq!(text("", "pods", "spec.host", &json!({"spec": {"nodeName": "n"}})), "n");
    let event = json!({"reportingComponent": "c"});
    assert_eq!(text("", "events", "source", &event), "c");
    let pod = json!({"status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}});
    assert_eq!(text("", "pods", "status.podIP", &pod), "10.0.0.1");
    assert_eq!(text("", "pods", "status.podIPs", &pod), "");
}

#[test]
fn the_generation_counts_what_the_kind_says() {
    let workload = strategy("apps", "replicasets").generation;
    let old = json!({"metadata": {"generation": 4}, "spec": {"replicas": 1}, "status": {"replicas": 0}});
    let with = |replicas, status| json!({"metadata": {"generation": 4, "labels": {"a": "b"}}, "spec": {"replicas": replicas}, "status": {"replicas": status}});
    assert_eq!(workload.after_update(&with(1, 1), &old), 4);
    assert_eq!(workload.after_update(&with(2, 0), &old), 5);
    let slice = strategy("discovery.k8s.io", "endpointslices").generation;
    assert!(slice.counts_change(&json!({"ports": [{"port": 1}]}), &json!({"ports": [{"port": 2}]})));
    assert!(
        !strategy("scheduling.k8s.io", "priorityclasses")
            .generation
            .counts_change(&json!({"value": 1}), &json!({}))
    );
}
