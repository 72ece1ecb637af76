//! `pods/binding`: a scheduler assigns a pod to a node.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use serde_json::Value;

use crate::rules::access::{entries_at, is_unset, list_at, map_mut, remove, str_at};

use super::conditions;

/// Everything wrong with a Binding. Upstream answers these with a bare 500 whose message is the errors'.
pub fn validate(binding: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = PathRef::root("target");
    let kind = str_at(binding, &["target", "kind"]);
    if !matches!(kind, "" | "Node") {
        errors.push(FieldError::not_supported(
            &path.child("kind"),
            kind,
            ["Node", "<empty>"],
        ));
    }
    if str_at(binding, &["target", "name"]).is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    errors
}

/// Assigns the pod. The error is why it cannot be: the reason of a 409 on `pods/binding`.
pub fn apply(pod: &mut Value, binding: &Value, now: &str) -> Result<(), String> {
    let name = str_at(pod, &["metadata", "name"]);
    if !is_unset(pod, &["metadata", "deletionTimestamp"]) {
        return Err(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let node = str_at(pod, &["spec", "nodeName"]);
    if !node.is_empty() {
        return Err(format!("pod {name} is already assigned to node {}", quote(node)));
    }
    if !list_at(pod, &["spec", "schedulingGates"]).is_empty() {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    if let Some(spec) = map_mut(pod, &["spec"]) {
        spec.insert("nodeName".to_owned(), str_at(binding, &["target", "name"]).into());
    }
    remove(pod, &["status", "nominatedNodeName"]);
    for field in ["annotations", "labels"] {
        for (key, value) in entries_at(binding, &["metadata", field]) {
            if let Some(entries) = map_mut(pod, &["metadata", field]) {
                entries.insert(key.to_owned(), value.into());
            }
        }
    }
    conditions::set(pod, "PodScheduled", "True", "", "", now);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_binding_needs_a_node() {
        let words = |binding| validate(&binding).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(words(json!({"target": {}})), ["target.name: Required value"]);
        assert_eq!(
            words(json!({"target": {"kind": "X", "name": "n1"}})),
            [r#"target.kind: Unsupported value: "X": supported values: "Node", "<empty>""#]
        );
    }

    #[test]
    fn binding_assigns_the_node_and_says_the_pod_is_scheduled() {
        let mut pod = json!({"metadata": {"name": "p"}, "spec": {}, "status": {"phase": "Pending"}});
        let binding = json!({"metadata": {"annotations": {"a": "b"}, "labels": {"l": "m"}}, "target": {"name": "n1"}});
        apply(&mut pod, &binding, "2026-01-01T00:00:00Z").unwrap();
        let scheduled = json!([{"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        assert_eq!(
            pod,
            json!({
                "metadata": {"name": "p", "annotations": {"a": "b"}, "labels": {"l": "m"}},
                "spec": {"nodeName": "n1"},
                "status": {"phase": "Pending", "conditions": scheduled},
            })
        );
        assert_eq!(
            apply(&mut pod, &binding, "").unwrap_err(),
            r#"pod p is already assigned to node "n1""#
        );
    }

    #[test]
    fn a_gated_pod_cannot_be_assigned() {
        let mut pod = json!({"metadata": {"name": "p"}, "spec": {"schedulingGates": [{"name": "x"}]}});
        let refusal = apply(&mut pod, &json!({"target": {"name": "n"}}), "").unwrap_err();
        assert_eq!(refusal, "pod p has non-empty .spec.schedulingGates");
    }
}
