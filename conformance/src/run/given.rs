//! Finds the collection in which an object of a `given` section is created.

use serde_json::Value;

const CLUSTER_KINDS: [&str; 25] = [
    "APIService",
    "CSIDriver",
    "CSINode",
    "CertificateSigningRequest",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "FlowSchema",
    "IngressClass",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "ResourceSlice",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "VolumeAttributesClass",
    "VolumeAttachment",
];

/// The path to which an object is posted. `None` if the object has no type.
pub(super) fn collection(object: &Value, namespace: &str) -> Option<String> {
    let api_version = object["apiVersion"].as_str()?;
    let kind = object["kind"].as_str()?;
    let root = if api_version.contains('/') {
        format!("/apis/{api_version}")
    } else {
        format!("/api/{api_version}")
    };
    let plural = plural(kind);
    if CLUSTER_KINDS.contains(&kind) {
        return Some(format!("{root}/{plural}"));
    }
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or(namespace);
    Some(format!("{root}/namespaces/{namespace}/{plural}"))
}

/// The webhook of a configuration that would affect other cases on the same server. A namespace selector does not prevent that
/// where the rules cover cluster-scoped objects, which every namespace selector matches.
pub(super) fn unscoped(object: &Value) -> Option<&str> {
    let kind = object["kind"].as_str()?;
    if kind.ends_with("AdmissionPolicy") {
        return unscoped_policy(object);
    }
    if !kind.ends_with("WebhookConfiguration") {
        return None;
    }
    let selects = |webhook: &Value, by: &str| webhook[by].as_object().is_some_and(|selector| !selector.is_empty());
    let anywhere = |rule: &Value| {
        let star = |list: &str| {
            rule[list]
                .as_array()
                .into_iter()
                .flatten()
                .any(|entry| entry == "*" || entry == "*/*")
        };
        rule["scope"] != "Namespaced" && star("apiGroups")
    };
    let webhook = object["webhooks"].as_array().into_iter().flatten().find(|webhook| {
        let reaches = webhook["rules"].as_array().into_iter().flatten().any(anywhere);
        !selects(webhook, "objectSelector") && (reaches || !selects(webhook, "namespaceSelector"))
    })?;
    webhook["name"].as_str()
}

/// A policy is kept to its case by a selector, by names of resources or by groups that contain a unique text.
fn unscoped_policy(object: &Value) -> Option<&str> {
    let constraints = &object["spec"]["matchConstraints"];
    let selects = |by: &str| constraints[by].as_object().is_some_and(|selector| !selector.is_empty());
    let own = |rule: &Value| rule["resourceNames"].is_array() || rule["apiGroups"][0].as_str() > Some("");
    let rules = constraints["resourceRules"].as_array();
    let named = rules.is_some_and(|rules| rules.iter().all(own));
    (!selects("namespaceSelector") && !selects("objectSelector") && !named)
        .then(|| object["metadata"]["name"].as_str())
        .flatten()
}

fn plural(kind: &str) -> String {
    let singular = kind.to_lowercase();
    if kind == "Endpoints" {
        singular
    } else if singular.ends_with('s') {
        format!("{singular}es")
    } else if let Some(stem) = singular.strip_suffix("cy") {
        format!("{stem}cies")
    } else {
        format!("{singular}s")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn collections_follow_the_kind() {
        let path = |api: &str, kind: &str| collection(&json!({"apiVersion": api, "kind": kind}), "ns").unwrap();
        assert_eq!(path("v1", "ConfigMap"), "/api/v1/namespaces/ns/configmaps");
        assert_eq!(path("v1", "Endpoints"), "/api/v1/namespaces/ns/endpoints");
        assert_eq!(
            path("networking.k8s.io/v1", "NetworkPolicy"),
            "/apis/networking.k8s.io/v1/namespaces/ns/networkpolicies"
        );
        assert_eq!(
            path("networking.k8s.io/v1", "IngressClass"),
            "/apis/networking.k8s.io/v1/ingressclasses"
        );
    }

    #[test]
    fn a_webhook_must_leave_others_alone() {
        let configuration = |webhook: Value| json!({"kind": "MutatingWebhookConfiguration", "webhooks": [webhook]});
        let selector = json!({"matchLabels": {"a": "b"}});
        let stars = json!([{"apiGroups": ["*"]}]);
        let of_namespace = configuration(json!({"name": "w", "namespaceSelector": selector}));
        assert_eq!(unscoped(&of_namespace), None);
        let of_all = configuration(json!({"name": "w", "namespaceSelector": selector, "rules": stars}));
        assert_eq!(unscoped(&of_all), Some("w"));
        let of_objects = configuration(json!({"name": "w", "objectSelector": selector, "rules": stars}));
        assert_eq!(unscoped(&of_objects), None);
        assert_eq!(unscoped(&configuration(json!({"name": "w"}))), Some("w"));
    }
}
