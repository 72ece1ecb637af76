//! A node's own object, and the status of claims.

use std::collections::BTreeSet;

use kubewright_apimachinery::go::quote;
use serde_json::{Map, Value};

use super::{Operation, Write};
use crate::registry::Subresource;

/// Labels by which an administrator keeps workloads apart.
const RESTRICTED: &str = "node-restriction.kubernetes.io";
/// Labels of Kubernetes that kubelets set.
const KUBELET_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];
const KUBELET_NAMESPACES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
/// What a node may say of a claim.
const CLAIM_STATUS: [&str; 4] = [
    "capacity",
    "conditions",
    "allocatedResources",
    "allocatedResourceStatuses",
];

impl Write<'_> {
    pub(super) fn of_node(&self) -> Option<String> {
        let (node, new, old) = (quote(self.node), self.object, self.old);
        let name = self.attributes.name.as_str();
        if name != self.node {
            return Some(format!("node {node} is not allowed to modify node {}", quote(name)));
        }
        let forbidden = || {
            let labels: Vec<String> = forbidden_labels(labels(new), labels(old)).into_iter().collect();
            (!labels.is_empty()).then(|| labels.join(", "))
        };
        let source = value(new, "/spec/configSource");
        match self.attributes.operation {
            Operation::Create if source.is_some() => Some(format!(
                "node {node} is not allowed to create pods with a non-nil configSource"
            )),
            Operation::Create => {
                forbidden().map(|labels| format!("node {node} is not allowed to set the following labels: {labels}"))
            }
            Operation::Update if source.is_some() && source != value(old, "/spec/configSource") => Some(format!(
                "node {node} is not allowed to update configSource to a new non-nil configSource"
            )),
            Operation::Update if value(new, "/spec/taints") != value(old, "/spec/taints") => {
                Some(format!("node {node} is not allowed to modify taints"))
            }
            Operation::Update if value(new, "/metadata/ownerReferences") != value(old, "/metadata/ownerReferences") => {
                Some(format!("node {node} is not allowed to modify ownerReferences"))
            }
            Operation::Update => forbidden().map(|labels| format!("is not allowed to modify labels: {labels}")),
            _ => None,
        }
    }

    /// Upstream goes on with a comparison of the two claims as Go has them.
    pub(super) fn of_claim(&self) -> Option<String> {
        if self.attributes.subresource != Some(Subresource::Status) {
            return Some("may only update PVC status".to_owned());
        }
        if self.attributes.operation != Operation::Update {
            return Some(format!(
                "unexpected operation {}",
                quote(self.attributes.operation.name())
            ));
        }
        (rest_of_claim(self.object) != rest_of_claim(self.old)).then(|| {
            format!(
                "node {} is not allowed to update fields other than status.quantity and status.conditions",
                quote(self.node)
            )
        })
    }
}

/// A claim without what a node may say of it, and without what no one sends.
fn rest_of_claim(claim: &Value) -> Value {
    let mut claim = claim.clone();
    let mut remove = |part: &str, keys: &[&str]| {
        if let Some(part) = claim.get_mut(part).and_then(Value::as_object_mut) {
            for key in keys {
                part.remove(*key);
            }
        }
    };
    remove("metadata", &["resourceVersion", "managedFields"]);
    remove("status", &CLAIM_STATUS);
    without_empties(&mut claim);
    claim
}

/// Leaves out what Go does not tell from nothing.
fn without_empties(value: &mut Value) {
    if let Value::Object(members) = value {
        members.values_mut().for_each(without_empties);
        members.retain(|_, value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
            _ => true,
        });
    }
}

/// What is there, if it is more than nothing.
fn value<'v>(object: &'v Value, pointer: &str) -> Option<&'v Value> {
    object.pointer(pointer).filter(|value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    })
}

fn labels(object: &Value) -> Option<&Map<String, Value>> {
    object.pointer("/metadata/labels").and_then(Value::as_object)
}

/// The labels that differ and that a node may not change.
fn forbidden_labels(new: Option<&Map<String, Value>>, old: Option<&Map<String, Value>>) -> BTreeSet<String> {
    let keys = new.into_iter().chain(old).flat_map(Map::keys);
    let differs = |key: &&String| new.and_then(|all| all.get(*key)) != old.and_then(|all| all.get(*key));
    let forbidden = keys.filter(differs).filter(|key| is_forbidden(key));
    forbidden.cloned().collect()
}

fn is_forbidden(label: &str) -> bool {
    let namespace = label.split_once('/').map_or("", |(namespace, _)| namespace);
    let is_below = |parent: &str| {
        let rest = namespace.strip_suffix(parent);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let is_kubernetes = is_below("kubernetes.io") || is_below("k8s.io");
    let is_kubelets = KUBELET_LABELS.contains(&label) || KUBELET_NAMESPACES.into_iter().any(is_below);
    is_below(RESTRICTED) || (is_kubernetes && !is_kubelets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_sets_its_own_labels_and_those_that_kubelets_set() {
        for allowed in [
            "a",
            "example.com/a",
            "kubernetes.io/os",
            "x.node.kubernetes.io/a",
            "kubelet.kubernetes.io/a",
        ] {
            assert!(!is_forbidden(allowed), "{allowed}");
        }
        for forbidden in [
            "node-restriction.kubernetes.io/a",
            "a.node-restriction.kubernetes.io/b",
            "k8s.io/a",
            "x.kubernetes.io/a",
        ] {
            assert!(is_forbidden(forbidden), "{forbidden}");
        }
        assert!(!is_forbidden("notkubernetes.io/a"));
    }
}
