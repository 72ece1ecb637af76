//! What the reclaim policy of a volume means for where it is kept, and the Pod that empties a volume: pure.

use k8s_openapi::api::core::v1::{Container, PersistentVolume, Pod, PodSpec, Volume, VolumeMount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::binding::has_annotation;
use super::matching::capacity;
use super::provisioning::MIGRATED_TO;
use super::volume_plan::PROVISIONED_BY;

/// Where the Pods are that empty volumes.
pub(super) const NAMESPACE: &str = "default";
const PREFIX: &str = "recycler-for-";
const GIBIBYTE: i64 = 1 << 30;

/// What is to be done with a volume that is released.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reclaim {
    /// It stays, for its administrator or for a driver.
    Keep,
    /// It is deleted.
    Delete,
    /// A Pod empties it, and it may be claimed again.
    Empty,
    /// Nobody can: reason and text.
    Fail(&'static str, String),
}

/// What is to be done with a volume that is released.
pub(super) fn reclaim(volume: &PersistentVolume) -> Reclaim {
    let Some(spec) = &volume.spec else {
        return Reclaim::Keep;
    };
    if has_annotation(&volume.metadata, MIGRATED_TO) {
        return Reclaim::Keep;
    }
    match spec.persistent_volume_reclaim_policy.as_deref() {
        Some("Recycle") if spec.host_path.is_some() || spec.nfs.is_some() => Reclaim::Empty,
        Some("Recycle") => Reclaim::Fail(
            "VolumeFailedRecycle",
            "No recycler plugin found for the volume!".to_owned(),
        ),
        Some("Delete") => delete(volume),
        _ => Reclaim::Keep,
    }
}

/// Only directories below `/tmp` of a node are deleted by Kubernetes itself; everything else is for drivers.
fn delete(volume: &PersistentVolume) -> Reclaim {
    let made_by = volume
        .metadata
        .annotations
        .as_ref()
        .and_then(|all| all.get(PROVISIONED_BY));
    let is_others = made_by.is_some_and(|name| !name.is_empty() && !name.starts_with("kubernetes.io/"));
    let spec = volume.spec.as_ref();
    if is_others || spec.is_some_and(|spec| spec.csi.is_some()) {
        return Reclaim::Keep;
    }
    let name = volume.metadata.name.as_deref().unwrap_or_default();
    let failed = |text: String| Reclaim::Fail("VolumeFailedDelete", text);
    match spec.and_then(|spec| spec.host_path.as_ref()) {
        None => failed(format!(
            "error getting deleter volume plugin for volume {name:?}: no deletable volume plugin matched"
        )),
        Some(source) if is_temporary(&source.path) => Reclaim::Delete,
        Some(source) => failed(format!(
            "host_path deleter only supports /tmp/.+ but received provided {}",
            source.path
        )),
    }
}

fn is_temporary(path: &str) -> bool {
    path.split_once("/tmp/").is_some_and(|(_, rest)| !rest.is_empty())
}

/// The name of the Pod that empties a volume.
pub(super) fn name_of_pod(volume: &str) -> String {
    format!("{PREFIX}{volume}")
}

/// The volume that a Pod empties, if it does.
pub(super) fn emptied_by(pod: &Pod) -> Option<&str> {
    let is_here = pod.metadata.namespace.as_deref() == Some(NAMESPACE);
    pod.metadata.name.as_deref()?.strip_prefix(PREFIX).filter(|_| is_here)
}

/// The Pod that empties a volume. On a simulated node it has nothing to do, and ends at once.
pub(super) fn pod(volume: &PersistentVolume) -> Pod {
    let spec = volume.spec.clone().unwrap_or_default();
    let least = if spec.nfs.is_some() { 300 } else { 60 };
    let for_size = capacity(volume).value() / GIBIBYTE * 30;
    Pod {
        metadata: ObjectMeta {
            name: Some(name_of_pod(volume.metadata.name.as_deref().unwrap_or_default())),
            namespace: Some(NAMESPACE.to_owned()),
            annotations: Some([("kubewright.dev/run-time".to_owned(), "0s".to_owned())].into()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            restart_policy: Some("Never".to_owned()),
            active_deadline_seconds: Some(for_size.max(least)),
            volumes: Some(vec![Volume {
                name: "volume".to_owned(),
                host_path: spec.host_path,
                nfs: spec.nfs,
                ..Volume::default()
            }]),
            containers: vec![Container {
                name: "recycler".to_owned(),
                image: Some("busybox".to_owned()),
                command: Some(
                    ["find", "/volume", "-mindepth", "1", "-delete"]
                        .map(str::to_owned)
                        .to_vec(),
                ),
                volume_mounts: Some(vec![VolumeMount {
                    name: "volume".to_owned(),
                    mount_path: "/volume".to_owned(),
                    ..VolumeMount::default()
                }]),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
        ..Pod::default()
    }
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn volume(policy: &str, source: Value) -> PersistentVolume {
        let mut spec = source;
        spec["persistentVolumeReclaimPolicy"] = policy.into();
        spec["capacity"] = json!({ "storage": "10Gi" });
        serde_json::from_value(json!({ "metadata": { "name": "volume" }, "spec": spec })).unwrap()
    }

    #[test]
    fn a_policy_means_what_the_source_allows() {
        let (csi, data) = (
            json!({ "csi": { "driver": "d", "volumeHandle": "1" } }),
            json!({ "hostPath": { "path": "/data" } }),
        );
        let temporary = json!({ "hostPath": { "path": "/tmp/data" } });
        let nfs = json!({ "nfs": { "server": "s", "path": "/" } });
        for source in [&csi, &data, &temporary, &nfs] {
            assert_eq!(reclaim(&volume("Retain", source.clone())), Reclaim::Keep);
        }
        assert_eq!(reclaim(&volume("Delete", csi.clone())), Reclaim::Keep);
        assert_eq!(reclaim(&volume("Delete", temporary)), Reclaim::Delete);
        assert!(matches!(
            reclaim(&volume("Delete", data.clone())),
            Reclaim::Fail("VolumeFailedDelete", _)
        ));
        assert!(matches!(
            reclaim(&volume("Delete", nfs.clone())),
            Reclaim::Fail("VolumeFailedDelete", _)
        ));
        assert_eq!(reclaim(&volume("Recycle", nfs)), Reclaim::Empty);
        assert_eq!(reclaim(&volume("Recycle", data)), Reclaim::Empty);
        assert!(matches!(
            reclaim(&volume("Recycle", csi)),
            Reclaim::Fail("VolumeFailedRecycle", _)
        ));
    }

    #[test]
    fn a_pod_that_empties_a_volume_is_known_by_its_name_and_has_time_by_its_size() {
        let made = pod(&volume("Recycle", json!({ "hostPath": { "path": "/data" } })));
        assert_eq!(emptied_by(&made), Some("volume"));
        assert_eq!(made.spec.unwrap().active_deadline_seconds, Some(300));
    }
}
