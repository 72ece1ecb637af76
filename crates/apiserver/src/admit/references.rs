//! Which other objects Pods refer to, as upstream visits their names.

use serde_json::Value;

/// Where volumes name a Secret.
const SECRETS: [&str; 10] = [
    "/azureFile/secretName",
    "/cephfs/secretRef",
    "/cinder/secretRef",
    "/csi/nodePublishSecretRef",
    "/flexVolume/secretRef",
    "/iscsi/secretRef",
    "/rbd/secretRef",
    "/scaleIO/secretRef",
    "/secret",
    "/storageos/secretRef",
];

/// Whether a Pod refers to a Secret anywhere.
pub(super) fn refers_to_secrets(pod: &Value) -> bool {
    !list(pod, "/spec/imagePullSecrets").is_empty()
        || reads(pod, "/secretRef", "/valueFrom/secretKeyRef")
        || list(pod, "/spec/volumes")
            .iter()
            .any(|volume| SECRETS.iter().any(|path| is_set(volume, path)))
        || projects(pod, "/secret")
}

/// Whether a Pod refers to a `ConfigMap` anywhere.
pub(super) fn refers_to_config_maps(pod: &Value) -> bool {
    reads(pod, "/configMapRef", "/valueFrom/configMapKeyRef")
        || list(pod, "/spec/volumes")
            .iter()
            .any(|volume| is_set(volume, "/configMap"))
        || projects(pod, "/configMap")
}

/// Whether a container takes its environment from such an object, or a variable of it.
fn reads(pod: &Value, whole: &str, part: &str) -> bool {
    let kinds = ["/spec/initContainers", "/spec/containers", "/spec/ephemeralContainers"];
    let mut containers = kinds.into_iter().flat_map(|kind| list(pod, kind));
    containers.any(|container| {
        list(container, "/envFrom").iter().any(|source| is_set(source, whole))
            || list(container, "/env").iter().any(|variable| is_set(variable, part))
    })
}

/// Whether a projected volume has such a source.
fn projects(pod: &Value, source: &str) -> bool {
    let mut sources = list(pod, "/spec/volumes")
        .iter()
        .flat_map(|volume| list(volume, "/projected/sources"));
    sources.any(|own| is_set(own, source))
}

fn is_set(value: &Value, pointer: &str) -> bool {
    let found = value.pointer(pointer);
    found.is_some_and(|found| !found.is_null() && found != "")
}

fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
