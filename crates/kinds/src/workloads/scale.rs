//! The `scale` subresource: the replicas of a workload, seen as an `autoscaling/v1` Scale.

use kubewright_apimachinery::field::{Errors, PathRef};
use kubewright_apimachinery::labels::Selector;
use serde_json::{Map, Value, json};

use crate::rules::access::{at, int_at, map_at, map_mut, remove, require_non_negative, str_at};

/// The Scale of a Deployment, `ReplicaSet`, `StatefulSet` or `ReplicationController`.
pub fn of(object: &Value) -> Value {
    from_parts(
        object,
        int_at(object, &["spec", "replicas"]),
        int_at(object, &["status", "replicas"]),
        &selector_text(object),
    )
}

/// The Scale of any object, by what it wants, what it has and what it selects.
pub fn from_parts(object: &Value, replicas: i64, observed: i64, selector: &str) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = at(object, &["metadata", field]) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut spec = Map::new();
    if replicas != 0 {
        spec.insert("replicas".to_owned(), replicas.into());
    }
    let mut status = Map::new();
    status.insert("replicas".to_owned(), observed.into());
    if !selector.is_empty() {
        status.insert("selector".to_owned(), selector.into());
    }
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    })
}

/// Everything wrong with a Scale, `ObjectMeta`'s own rules excepted.
pub fn validate(scale: &Value, errors: &mut Errors) {
    let path = PathRef::root("spec");
    require_non_negative(int_at(scale, &["spec", "replicas"]), &path.child("replicas"), errors);
}

/// Writes a Scale's replicas and resourceVersion into the workload. Its uid is a precondition like any update's, which
/// the server checks.
pub fn apply(scale: &Value, object: &mut Value) {
    if let Some(spec) = map_mut(object, &["spec"]) {
        spec.insert("replicas".to_owned(), int_at(scale, &["spec", "replicas"]).into());
    }
    let version = str_at(scale, &["metadata", "resourceVersion"]);
    if version.is_empty() {
        remove(object, &["metadata", "resourceVersion"]);
    } else if let Some(metadata) = map_mut(object, &["metadata"]) {
        metadata.insert("resourceVersion".to_owned(), version.into());
    }
}

/// The selector in the form of a query parameter.
fn selector_text(object: &Value) -> String {
    let Some(selector) = at(object, &["spec", "selector"]) else {
        return String::new();
    };
    // A ReplicationController selects by a map of labels.
    let plain = map_at(object, &["spec", "selector"]).filter(|entries| entries.values().all(Value::is_string));
    if let Some(entries) = plain {
        let pairs = entries
            .iter()
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
        return pairs.collect::<Vec<_>>().join(",");
    }
    // Validation has refused malformed selectors.
    Selector::from_label_selector(selector).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_shows_replicas_and_selector() {
        let deployment = json!({
            "metadata": {"name": "sc", "namespace": "ns", "uid": "u", "resourceVersion": "7", "labels": {"x": "y"}},
            "spec": {"replicas": 1, "selector": {
                "matchLabels": {"app": "a", "b": "c"},
                "matchExpressions": [
                    {"key": "app", "operator": "In", "values": ["z", "a"]},
                    {"key": "x", "operator": "DoesNotExist"},
                    {"key": "b", "operator": "Exists"},
                    {"key": "q", "operator": "NotIn", "values": ["1"]},
                ],
            }},
        });
        assert_eq!(
            of(&deployment),
            json!({
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": "sc", "namespace": "ns", "uid": "u", "resourceVersion": "7"},
                "spec": {"replicas": 1},
                "status": {"replicas": 0, "selector": "app=a,app in (a,z),b=c,b,q notin (1),!x"},
            })
        );
    }

    #[test]
    fn the_selector_of_a_replication_controller_is_a_map() {
        let controller =
            json!({"spec": {"replicas": 0, "selector": {"b": "c", "app": "a"}}, "status": {"replicas": 2}});
        let scale = of(&controller);
        assert_eq!(scale["spec"], json!({}));
        assert_eq!(scale["status"], json!({"replicas": 2, "selector": "app=a,b=c"}));
    }

    #[test]
    fn applying_a_scale_sets_replicas_and_the_version_to_compare_with() {
        let mut object = json!({"metadata": {"resourceVersion": "9"}, "spec": {"replicas": 1}});
        apply(
            &json!({"metadata": {"resourceVersion": "7"}, "spec": {"replicas": 3}}),
            &mut object,
        );
        assert_eq!(
            object,
            json!({"metadata": {"resourceVersion": "7"}, "spec": {"replicas": 3}})
        );
        apply(&json!({"spec": {}}), &mut object);
        assert_eq!(object, json!({"metadata": {}, "spec": {"replicas": 0}}));
    }

    #[test]
    fn replicas_are_not_negative() {
        let mut errors = Errors::new();
        validate(&json!({"spec": {"replicas": -1}}), &mut errors);
        assert_eq!(
            errors[0].to_string(),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        );
    }
}
