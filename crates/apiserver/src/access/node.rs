//! What the Pods of a node refer to, for the Node authorizer: found in the store when a kubelet asks.

use std::sync::OnceLock;

use kubewright_access::{Decision, NodeRelated, Rule, decide_for_node};
use serde_json::Value;

use super::{Attributes, User};
use crate::object::{self, meta_text};
use crate::registry::BuiltInId;
use crate::server::{Server, bootstrap};

const MIRROR: &str = "/metadata/annotations/kubernetes.io~1config.mirror";

/// Whether a kubelet may do what is asked.
pub(super) fn decide(server: &Server, user: &User, asked: &Attributes<'_>) -> Decision {
    static RULES: OnceLock<Vec<Rule>> = OnceLock::new();
    // Roles may be changed; these rules are the authorizer's own.
    let rules = RULES.get_or_init(|| {
        let role = bootstrap::object("ClusterRole", "system:node");
        role.map(|role| Rule::all_of(&role)).unwrap_or_default()
    });
    decide_for_node(user, asked, rules, &|node, kind, namespace, name| {
        is_related(server, node, kind, namespace, name)
    })
}

fn is_related(server: &Server, node: &str, kind: NodeRelated, namespace: &str, name: &str) -> bool {
    let of_pods = |refers: &dyn Fn(&Value) -> bool| {
        objects(server, BuiltInId::Pods, Some(namespace))
            .any(|pod| is_on(&pod, node) && pod.pointer(MIRROR).is_none() && refers(&pod))
    };
    match kind {
        NodeRelated::Pod => {
            let pod = object(server, BuiltInId::Pods, &object::key(namespace, name));
            pod.is_some_and(|pod| is_on(&pod, node))
        }
        NodeRelated::VolumeAttachment => {
            let attachment = object(server, BuiltInId::VolumeAttachments, name);
            attachment.is_some_and(|attachment| is_on(&attachment, node))
        }
        NodeRelated::ResourceSlice => {
            let slice = object(server, BuiltInId::ResourceSlices, name);
            slice.is_some_and(|slice| is_on(&slice, node))
        }
        NodeRelated::ServiceAccount => of_pods(&|pod| text(pod, "/spec/serviceAccountName") == name),
        NodeRelated::ConfigMap => of_pods(&|pod| names_of_pod(pod, &CONFIG_MAPS).contains(&name)),
        NodeRelated::PersistentVolumeClaim => mounts(server, node, namespace, name),
        NodeRelated::ResourceClaim => of_pods(&|pod| claims_devices(pod, name)),
        NodeRelated::Secret => {
            of_pods(&|pod| names_of_pod(pod, &SECRETS).contains(&name))
                || objects(server, BuiltInId::PersistentVolumes, None).any(|volume| {
                    secrets_of_volume(&volume).contains(&(namespace, name)) && is_mounted(server, node, &volume)
                })
        }
        NodeRelated::PersistentVolume => {
            let volume = object(server, BuiltInId::PersistentVolumes, name);
            volume.is_some_and(|volume| is_mounted(server, node, &volume))
        }
    }
}

fn object(server: &Server, id: BuiltInId, key: &str) -> Option<Value> {
    let resource = id.resource();
    let record = server.store.get(resource.table, key)?;
    Some(object::to_value(resource, &record, record.revision))
}

fn objects(server: &Server, id: BuiltInId, namespace: Option<&str>) -> impl Iterator<Item = Value> {
    let resource = id.resource();
    let snapshot = server.store.snapshot(resource.table);
    let found: Vec<Value> = snapshot
        .records(namespace, None)
        .map(|record| object::to_value(resource, record, record.revision))
        .collect();
    found.into_iter()
}

fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(object: &'v Value, path: &str) -> impl Iterator<Item = &'v Value> {
    object.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

fn is_on(object: &Value, node: &str) -> bool {
    text(object, "/spec/nodeName") == node
}

/// Where a Pod names objects of one kind.
struct Places {
    /// In the Pod's own list.
    pulls: bool,
    /// In `envFrom` of a container.
    source: &'static str,
    /// In a variable of a container.
    variable: &'static str,
    /// In a source of a projected volume.
    projected: &'static str,
    /// In a volume.
    volumes: &'static [&'static str],
}

const CONFIG_MAPS: Places = Places {
    pulls: false,
    source: "/configMapRef/name",
    variable: "/valueFrom/configMapKeyRef/name",
    projected: "/configMap/name",
    volumes: &["/configMap/name"],
};

const SECRETS: Places = Places {
    pulls: true,
    source: "/secretRef/name",
    variable: "/valueFrom/secretKeyRef/name",
    projected: "/secret/name",
    volumes: &[
        "/azureFile/secretName",
        "/cephfs/secretRef/name",
        "/cinder/secretRef/name",
        "/flexVolume/secretRef/name",
        "/rbd/secretRef/name",
        "/secret/secretName",
        "/scaleIO/secretRef/name",
        "/iscsi/secretRef/name",
        "/storageos/secretRef/name",
        "/csi/nodePublishSecretRef/name",
    ],
};

/// The names of the objects of one kind that a Pod refers to.
fn names_of_pod<'v>(pod: &'v Value, places: &Places) -> Vec<&'v str> {
    let mut names = Vec::new();
    if places.pulls {
        names.extend(list(pod, "/spec/imagePullSecrets").map(|secret| text(secret, "/name")));
    }
    for containers in ["/spec/initContainers", "/spec/containers", "/spec/ephemeralContainers"] {
        for container in list(pod, containers) {
            names.extend(list(container, "/envFrom").map(|source| text(source, places.source)));
            names.extend(list(container, "/env").map(|variable| text(variable, places.variable)));
        }
    }
    for volume in list(pod, "/spec/volumes") {
        names.extend(places.volumes.iter().map(|place| text(volume, place)));
        names.extend(list(volume, "/projected/sources").map(|source| text(source, places.projected)));
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Whether a Pod of the node mounts a claim.
fn mounts(server: &Server, node: &str, namespace: &str, claim: &str) -> bool {
    objects(server, BuiltInId::Pods, Some(namespace)).any(|pod| {
        is_on(&pod, node)
            && pod.pointer(MIRROR).is_none()
            && list(&pod, "/spec/volumes").any(|volume| {
                let named = text(volume, "/persistentVolumeClaim/claimName");
                if !named.is_empty() {
                    return named == claim;
                }
                // The claim of an ephemeral volume is named after the Pod and the volume.
                volume.get("ephemeral").is_some_and(|made| !made.is_null())
                    && format!("{}-{}", meta_text(&pod, "name"), text(volume, "/name")) == claim
            })
    })
}

/// Whether a Pod of the node mounts the claim that a volume is bound to.
fn is_mounted(server: &Server, node: &str, volume: &Value) -> bool {
    let claim = text(volume, "/spec/claimRef/name");
    !claim.is_empty() && mounts(server, node, text(volume, "/spec/claimRef/namespace"), claim)
}

/// The Secrets, by namespace and name, that kubelets need for a volume.
fn secrets_of_volume(volume: &Value) -> Vec<(&str, &str)> {
    let claim = text(volume, "/spec/claimRef/namespace");
    let mut found = Vec::new();
    let mut add = |source: &str, namespace: &str, name: &str, or_claim: bool| {
        let at = |part: &str| text(volume, &format!("/spec/{source}{part}"));
        let namespace = at(namespace);
        let namespace = if namespace.is_empty() && or_claim {
            claim
        } else {
            namespace
        };
        if !at(name).is_empty() {
            found.push((namespace, at(name)));
        }
    };
    add("azureFile", "/secretNamespace", "/secretName", true);
    for source in ["cephfs", "flexVolume", "rbd", "scaleIO", "iscsi"] {
        add(source, "/secretRef/namespace", "/secretRef/name", true);
    }
    for source in ["cinder", "storageos"] {
        add(source, "/secretRef/namespace", "/secretRef/name", false);
    }
    for secret in [
        "csi/nodePublishSecretRef",
        "csi/nodeStageSecretRef",
        "csi/nodeExpandSecretRef",
    ] {
        add(secret, "/namespace", "/name", false);
    }
    found
}

/// Whether a Pod uses a claim of devices.
fn claims_devices(pod: &Value, claim: &str) -> bool {
    text(pod, "/status/extendedResourceClaimStatus/resourceClaimName") == claim
        || list(pod, "/spec/resourceClaims").any(|wanted| {
            let named = text(wanted, "/resourceClaimName");
            if !named.is_empty() {
                return named == claim;
            }
            let mut made = list(pod, "/status/resourceClaimStatuses");
            made.any(|made| text(made, "/name") == text(wanted, "/name") && text(made, "/resourceClaimName") == claim)
        })
}
