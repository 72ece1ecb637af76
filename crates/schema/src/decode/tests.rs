//! What the decoder does to values, one sentence at a time; the answers were read from the real server.

use serde_json::{Value, json};

use super::decode;
use crate::Types;

fn decoded(group: &str, version: &str, kind: &str, value: Value) -> Value {
    let ty = Types::builtin().kind(group, version, kind).unwrap();
    decode(ty, value, None).unwrap().value
}

fn core(kind: &str, value: Value) -> Value {
    decoded("", "v1", kind, value)
}

#[test]
fn a_field_that_is_always_written_appears_with_its_zero_value() {
    assert_eq!(
        core(
            "Event",
            json!({"metadata": {"name": "x"}, "involvedObject": {"kind": "Pod"}})
        ),
        json!({
            "metadata": {"name": "x"}, "involvedObject": {"kind": "Pod"}, "source": {}, "firstTimestamp": null,
            "lastTimestamp": null, "eventTime": null, "reportingComponent": "", "reportingInstance": ""
        })
    );
    assert_eq!(
        decoded("coordination.k8s.io", "v1", "Lease", json!({"metadata": {"name": "x"}})),
        json!({"metadata": {"name": "x"}, "spec": {}})
    );
    assert_eq!(
        decoded("rbac.authorization.k8s.io", "v1", "Role", json!({}))["rules"],
        Value::Null
    );
}

#[test]
fn a_field_that_may_be_left_out_is_left_out_when_it_is_empty() {
    let empty = json!({
        "metadata": {"name": "x", "labels": {}, "annotations": null, "finalizers": [], "namespace": "", "generation": 0,
                     "creationTimestamp": null, "deletionTimestamp": null},
        "data": {}, "binaryData": null, "immutable": null
    });
    assert_eq!(core("ConfigMap", empty), json!({"metadata": {"name": "x"}}));
}

#[test]
fn a_zero_behind_a_pointer_stays() {
    let pod = core(
        "Pod",
        json!({"spec": {"containers": [], "terminationGracePeriodSeconds": 0, "hostUsers": false}}),
    );
    assert_eq!(pod["spec"]["terminationGracePeriodSeconds"], 0);
    assert_eq!(pod["spec"]["hostUsers"], false);
    let set = decoded(
        "apps",
        "v1",
        "StatefulSet",
        json!({"spec": {"replicas": 0, "podManagementPolicy": ""}}),
    );
    assert_eq!(set["spec"]["replicas"], 0);
    assert_eq!(set["spec"].get("podManagementPolicy"), None);
}

#[test]
fn null_is_the_zero_value_where_there_is_no_nil() {
    assert_eq!(
        core("ConfigMap", json!({"data": {"a": null}}))["data"],
        json!({"a": ""})
    );
    let pod = core("Pod", json!({"spec": {"containers": [null]}}));
    assert_eq!(pod["spec"]["containers"], json!([{"name": "", "resources": {}}]));
    let service = core(
        "Service",
        json!({"spec": {"ports": [{"port": null, "targetPort": null}]}}),
    );
    assert_eq!(service["spec"]["ports"], json!([{"port": 0, "targetPort": 0}]));
    assert_eq!(
        core("Secret", json!({"data": {"a": null, "b": ""}}))["data"],
        json!({"a": "", "b": ""})
    );
}

#[test]
fn an_empty_list_that_is_always_written_comes_back_as_null_from_protobuf() {
    let role = decoded("rbac.authorization.k8s.io", "v1", "Role", json!({"rules": []}));
    assert_eq!(role["rules"], Value::Null);
    let definition = decoded(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        json!({"status": {"conditions": [], "storedVersions": ["v1"]}}),
    );
    assert_eq!(definition["status"]["conditions"], json!([]));
}

#[test]
fn a_map_has_empty_values_but_no_nil_ones() {
    let review = json!({"spec": {"extra": {"a": null, "b": [], "c": ["x"]}}});
    let review = decoded("authorization.k8s.io", "v1", "SubjectAccessReview", review);
    assert_eq!(review["spec"]["extra"], json!({"a": [], "b": [], "c": ["x"]}));
}

#[test]
fn quantities_take_their_canonical_form() {
    let limits = json!({"cpu": "0.5", "memory": "1024Mi", "a.b/c": 1, "a.b/d": 1.5, "a.b/e": " 2 ", "a.b/f": null});
    let pod = core(
        "Pod",
        json!({"spec": {"containers": [{"resources": {"limits": limits}}]}}),
    );
    assert_eq!(
        pod["spec"]["containers"][0]["resources"]["limits"],
        json!({"cpu": "500m", "memory": "1Gi", "a.b/c": "1", "a.b/d": "1500m", "a.b/e": "2", "a.b/f": "0"})
    );
}

#[test]
fn times_are_written_in_utc_without_more_than_their_precision() {
    for (given, written) in [
        (json!("2024-01-02T03:04:05Z"), json!("2024-01-02T03:04:05Z")),
        (json!("2024-01-02T03:04:05.999+02:00"), json!("2024-01-02T01:04:05Z")),
        (json!("2024-01-02T3:04:05,5-00:30"), json!("2024-01-02T03:34:05Z")),
        (json!("2024-02-29T23:59:59-24:00"), json!("2024-03-01T23:59:59Z")),
        (json!("1900-03-01T00:00:00+00:01"), json!("1900-02-28T23:59:00Z")),
        (json!("0001-01-01T00:00:00Z"), Value::Null),
        (Value::Null, Value::Null),
    ] {
        let event = core("Event", json!({"firstTimestamp": given}));
        assert_eq!(event["firstTimestamp"], written);
    }
    let lease = json!({"spec": {"renewTime": "2024-01-02T03:04:05.123456+02:00"}});
    let lease = decoded("coordination.k8s.io", "v1", "Lease", lease);
    assert_eq!(lease["spec"]["renewTime"], "2024-01-02T01:04:05.123456Z");
    let zero = json!({"metadata": {"creationTimestamp": "0001-01-01T00:00:00Z"}});
    assert_eq!(core("ConfigMap", zero), json!({"metadata": {}}));
}

#[test]
fn base64_is_written_as_go_writes_it() {
    for (given, written) in [
        (json!("YQ=="), "YQ=="),
        (json!("Y\nQ\r\n=\n=\n"), "YQ=="),
        (json!("YR=="), "YQ=="),
        (json!("aGVsbG8="), "aGVsbG8="),
        (json!("aGVsbG9="), "aGVsbG8="),
        (json!([104, 105]), "aGk="),
        (json!([1, 2, 3, 255]), "AQID/w=="),
    ] {
        assert_eq!(core("Secret", json!({"data": {"k": given}}))["data"]["k"], written);
    }
}

#[test]
fn untyped_parts_stay_as_they_are() {
    let data = json!({"z": [1, null, {}], "a": "", "n": null});
    let revision = decoded("apps", "v1", "ControllerRevision", json!({"data": data, "revision": 1}));
    assert_eq!(revision["data"], data);
    let managed = json!([{"manager": "m", "fieldsV1": {"f:data": {".": {}, "f:a": {}}}}]);
    assert_eq!(
        core("ConfigMap", json!({"metadata": {"managedFields": managed}}))["metadata"]["managedFields"],
        managed
    );
}

#[test]
fn a_custom_resource_definition_keeps_its_schemas_and_their_numbers_as_go_writes_them() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "string"}, "maximum": 1000.0, "minimum": 0.5, "enum": [1.0, null]},
            "b": {"additionalProperties": true, "default": null},
            "c": {"additionalProperties": {"x-kubernetes-int-or-string": true, "unknown": 1}}
        }
    });
    let versions = json!([{"name": "v1", "schema": {"openAPIV3Schema": schema}}]);
    let definition = json!({"spec": {"group": "g", "versions": versions}});
    let definition = decoded("apiextensions.k8s.io", "v1", "CustomResourceDefinition", definition);
    assert_eq!(
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"],
        json!({
            "a": {"type": "array", "items": {"type": "string"}, "maximum": 1000, "minimum": 0.5, "enum": [1, null]},
            "b": {"additionalProperties": true},
            "c": {"additionalProperties": {"x-kubernetes-int-or-string": true}}
        })
    );
}

#[test]
fn field_names_are_case_sensitive() {
    let ty = Types::builtin().kind("", "v1", "ConfigMap").unwrap();
    let decoded = decode(ty, json!({"Data": {"a": "b"}, "metadata": {"Name": "x"}}), None).unwrap();
    assert_eq!(decoded.value, json!({"metadata": {}}));
    assert_eq!(decoded.unknown, ["Data", "metadata.Name"]);
}
