//! Pods of a node: mirror Pods, their status, evictions.

use kubewright_apimachinery::go::quote;
use serde_json::Value;

use super::{Operation, Write, list, not_found, text};
use crate::admit::references::{refers_to_config_maps, refers_to_secrets};
use crate::object::meta_text;
use crate::registry::BuiltInId;
use crate::wire::status::Result;

const MIRROR: &str = "kubernetes.io/config.mirror";
/// Volumes that need nothing of the API.
const VOLUMES: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];
/// Volumes that need an object, and what they need.
const REFERRING: [(&str, &str); 7] = [
    ("configMap", "configmaps (via configmap volumes)"),
    ("secret", "secrets (via secret volumes)"),
    ("csi", "csidrivers (via CSI volumes)"),
    ("glusterfs", "endpoints (via glusterFS volumes)"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
    ("azureFile", "secrets (via azureFile volumes)"),
];
/// The same of the sources of projected volumes.
const SOURCES: [(&str, &str); 5] = [
    ("configMap", "configmaps (via projected volumes)"),
    ("secret", "secrets (via projected volumes)"),
    ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
    ("clusterTrustBundle", "clustertrustbundles"),
    ("podCertificate", "podcertificates"),
];

impl Write<'_> {
    pub(super) fn of_pod(&self) -> Result<Option<String>> {
        let node = quote(self.node);
        Ok(match self.attributes.operation {
            Operation::Create => return self.of_new_pod(),
            Operation::Delete => (text(self.old, "/spec/nodeName") != self.node)
                .then(|| format!("node {node} can only delete pods with spec.nodeName set to itself")),
            other => {
                let operation = quote(other.name());
                Some(format!(
                    "unexpected operation {operation}, node {node} can only create and delete mirror pods"
                ))
            }
        })
    }

    fn of_new_pod(&self) -> Result<Option<String>> {
        let (node, pod) = (quote(self.node), self.object);
        let refused = |why: String| Ok(Some(why));
        let annotations = pod.pointer("/metadata/annotations");
        if annotations.and_then(|all| all.get(MIRROR)).is_none() {
            let mirror = quote(MIRROR);
            return refused(format!(
                "pod does not have {mirror} annotation, node {node} can only create mirror pods"
            ));
        }
        if text(pod, "/spec/nodeName") != self.node {
            return refused(format!(
                "node {node} can only create pods with spec.nodeName set to itself"
            ));
        }
        let owner = match list(pod, "/metadata/ownerReferences") {
            [owner] => owner,
            [] => {
                return refused(format!(
                    "node {node} can only create pods with an owner reference set to itself"
                ));
            }
            _ => {
                return refused(format!(
                    "node {node} can only create pods with a single owner reference set to itself"
                ));
            }
        };
        let flag = |key: &str| owner.get(key).and_then(Value::as_bool).unwrap_or(false);
        let is_node = (text(owner, "/apiVersion"), text(owner, "/kind")) == ("v1", "Node");
        if !is_node || text(owner, "/name") != self.node {
            return refused(format!(
                "node {node} can only create pods with an owner reference set to itself"
            ));
        }
        if !flag("controller") {
            return refused(format!(
                "node {node} can only create pods with a controller owner reference set to itself"
            ));
        }
        if flag("blockOwnerDeletion") {
            return refused(format!(
                "node {node} must not set blockOwnerDeletion on an owner reference"
            ));
        }
        let Some(own) = self.attributes.stored(BuiltInId::Nodes, self.node) else {
            return Err(not_found("", "node", self.node));
        };
        let (wanted, uid) = (text(owner, "/uid"), meta_text(&own, "uid"));
        if wanted != uid {
            return refused(format!("node {} UID mismatch: expected {wanted} got {uid}", self.node));
        }
        Ok(match referred(pod) {
            Ok(None) => None,
            Ok(Some(what)) => Some(format!("node {node} can not create pods that reference {what}")),
            Err(why) => Some(format!("error checking mirror pod for API references: {why}")),
        })
    }

    pub(super) fn of_pod_status(&self) -> Option<String> {
        let (node, new, old) = (quote(self.node), self.object, self.old);
        if self.attributes.operation != Operation::Update {
            return Some(format!(
                "unexpected operation {}",
                quote(self.attributes.operation.name())
            ));
        }
        if text(old, "/spec/nodeName") != self.node {
            return Some(format!(
                "node {node} can only update pod status for pods with spec.nodeName set to itself"
            ));
        }
        let labels = |pod: &Value| {
            pod.pointer("/metadata/labels")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default()
        };
        if labels(new) != labels(old) {
            return Some(format!("node {node} cannot update labels through pod status"));
        }
        let claims = "/status/resourceClaimStatuses";
        if list(new, claims) != list(old, claims) {
            return Some(format!("node {node} cannot update resource claim statues"));
        }
        let extended = |pod: &Value| {
            let status = pod.pointer("/status/extendedResourceClaimStatus");
            status.filter(|status| !status.is_null()).cloned()
        };
        (extended(new) != extended(old)).then(|| format!("node {node} cannot update extended resource claim status"))
    }

    pub(super) fn of_eviction(&self) -> Result<Option<String>> {
        let attributes = self.attributes;
        let key = format!("{}/{}", attributes.namespace, attributes.name);
        let Some(pod) = attributes.stored(BuiltInId::Pods, &key) else {
            return Err(not_found("", "pod", &attributes.name));
        };
        Ok((text(&pod, "/spec/nodeName") != self.node).then(|| {
            let node = self.node;
            format!("node {node} can only evict pods with spec.nodeName set to itself")
        }))
    }
}

/// What other objects a Pod needs; an error if that is not known.
fn referred(pod: &Value) -> std::result::Result<Option<&'static str>, String> {
    if !text(pod, "/spec/serviceAccountName").is_empty() {
        return Ok(Some("serviceaccounts"));
    }
    if refers_to_secrets(pod) {
        return Ok(Some("secrets"));
    }
    if refers_to_config_maps(pod) {
        return Ok(Some("configmaps"));
    }
    if !list(pod, "/spec/resourceClaims").is_empty() {
        return Ok(Some("resourceclaims"));
    }
    list(pod, "/spec/volumes")
        .iter()
        .find_map(|volume| referred_by(volume).transpose())
        .transpose()
}

fn referred_by(volume: &Value) -> std::result::Result<Option<&'static str>, String> {
    let has = |key: &str| volume.get(key).is_some_and(|value| !value.is_null());
    if VOLUMES.into_iter().any(has) {
        return Ok(None);
    }
    if let Some((_, what)) = REFERRING.into_iter().find(|(key, _)| has(key)) {
        return Ok(Some(what));
    }
    let name = || quote(text(volume, "/name"));
    if !has("projected") {
        return Err(format!("unknown volume type for volume  {}", name()));
    }
    for source in list(volume, "/projected/sources") {
        let has = |key: &str| source.get(key).is_some_and(|value| !value.is_null());
        match SOURCES.into_iter().find(|(key, _)| has(key)) {
            Some((_, what)) => return Ok(Some(what)),
            None if has("downwardAPI") => {}
            None => return Err(format!("unknown source for projected volume {}", name())),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_pod_refers_to_is_found() {
        let pod = |spec: Value| json!({ "spec": spec });
        let of = |spec: Value| referred(&pod(spec));
        assert_eq!(
            of(json!({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]})),
            Ok(None)
        );
        assert_eq!(of(json!({"imagePullSecrets": [{"name": "a"}]})), Ok(Some("secrets")));
        assert_eq!(
            of(json!({"containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "a"}}}]}]})),
            Ok(Some("configmaps"))
        );
        assert_eq!(
            of(
                json!({"volumes": [{"name": "a", "projected": {"sources": [{"downwardAPI": {}}, {"podCertificate": {}}]}}]})
            ),
            Ok(Some("podcertificates"))
        );
        assert_eq!(
            of(json!({"volumes": [{"name": "a"}]})),
            Err(r#"unknown volume type for volume  "a""#.into())
        );
    }
}
