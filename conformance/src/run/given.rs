//! Where an object of a `given` section is created: its kind's collection.

use serde_json::Value;

const CLUSTER_KINDS: [&str; 18] = [
    "APIService",
    "CSIDriver",
    "CSINode",
    "CertificateSigningRequest",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "FlowSchema",
    "IngressClass",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "VolumeAttachment",
];

/// The path that an object is posted to, or nothing if it has no type.
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
}
