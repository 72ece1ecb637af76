//! Whether a claim, a volume or a class of attributes is in use, and what becomes of the finalizer that protects it. Pure.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::support::{index, pods};

/// What is to be done with a finalizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// It stays as it is.
    Keep,
    /// The object has lost it, or never had it.
    Add,
    /// The object is being deleted, and may go unless it is in use.
    RemoveIfUnused,
}

/// What is to be done with a finalizer of an object.
pub(super) fn protection(metadata: &ObjectMeta, finalizer: &str) -> Protection {
    let has_it = metadata.finalizers.iter().flatten().any(|own| own == finalizer);
    match (metadata.deletion_timestamp.is_some(), has_it) {
        (true, true) => Protection::RemoveIfUnused,
        (false, false) => Protection::Add,
        _ => Protection::Keep,
    }
}

/// The names of the claims that a Pod mentions.
pub(crate) fn claims_of(pod: &Pod) -> Vec<String> {
    volumes(pod).filter_map(|volume| claim_name(pod, volume)).collect()
}

/// Whether a Pod uses a claim, so that it has to stay: kubelets know Pods on nodes only, and start none whose claim is going.
pub(super) fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    let name = claim.metadata.name.as_deref();
    let is_shut_down =
        pod.metadata.deletion_timestamp.is_some() && pod.metadata.deletion_grace_period_seconds == Some(0);
    let is_own = index::controller_of(claim).is_some_and(|owner| Some(&owner.uid) == pod.metadata.uid.as_ref());
    !pods::node_of(pod).is_empty()
        && volumes(pod).any(|volume| {
            claim_name(pod, volume).as_deref() == name
                && (volume.persistent_volume_claim.is_some() || (!is_shut_down && is_own))
        })
}

/// Whether a volume is bound to a claim.
pub(super) fn is_bound(volume: &PersistentVolume) -> bool {
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    phase == Some("Bound")
}

/// The classes of attributes that a claim wants, has, and is on its way to.
pub(super) fn classes_of_claim(claim: &PersistentVolumeClaim) -> Vec<&str> {
    let (spec, status) = (claim.spec.as_ref(), claim.status.as_ref());
    let wanted = spec.and_then(|spec| spec.volume_attributes_class_name.as_deref());
    let current = status.and_then(|status| status.current_volume_attributes_class_name.as_deref());
    let change = status.and_then(|status| status.modify_volume_status.as_ref());
    let target = change.and_then(|change| change.target_volume_attributes_class_name.as_deref());
    let all = [wanted, current, target].into_iter().flatten();
    all.filter(|name| !name.is_empty()).collect()
}

/// The class of attributes of a volume.
pub(super) fn class_of_volume(volume: &PersistentVolume) -> Option<&str> {
    let spec = volume.spec.as_ref()?;
    let name = spec.volume_attributes_class_name.as_deref();
    name.filter(|name| !name.is_empty())
}

fn volumes(pod: &Pod) -> impl Iterator<Item = &Volume> {
    pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten())
}

/// The claim of a volume: the one it names, or the one that is made for the Pod.
fn claim_name(pod: &Pod, volume: &Volume) -> Option<String> {
    if let Some(source) = &volume.persistent_volume_claim {
        return Some(source.claim_name.clone());
    }
    let pod = pod.metadata.name.as_deref().unwrap_or_default();
    volume.ephemeral.is_some().then(|| format!("{pod}-{}", volume.name))
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(node: &str, volume: Value, going: bool) -> Pod {
        let mut pod = json!({
            "metadata": { "name": "one", "uid": "1" },
            "spec": { "nodeName": node, "containers": [], "volumes": [volume] },
        });
        if going {
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            pod["metadata"]["deletionGracePeriodSeconds"] = 0.into();
        }
        serde_json::from_value(pod).unwrap()
    }

    fn claim(name: &str, owner: &str) -> PersistentVolumeClaim {
        let owner = json!([{ "apiVersion": "v1", "kind": "Pod", "name": "one", "uid": owner, "controller": true }]);
        serde_json::from_value(json!({ "metadata": { "name": name, "ownerReferences": owner } })).unwrap()
    }

    fn named() -> Value {
        json!({ "name": "data", "persistentVolumeClaim": { "claimName": "a" } })
    }

    #[test]
    fn a_pod_on_a_node_uses_the_claim_that_it_names_until_it_is_gone() {
        assert!(uses(&pod("node", named(), false), &claim("a", "")));
        assert!(uses(&pod("node", named(), true), &claim("a", "")));
        assert!(!uses(&pod("node", named(), false), &claim("b", "")));
        assert!(!uses(&pod("", named(), false), &claim("a", "")), "no kubelet knows it");
    }

    #[test]
    fn the_claim_that_was_made_for_a_pod_is_used_until_the_pod_has_shut_down() {
        let own = json!({ "name": "data", "ephemeral": {} });
        assert_eq!(claims_of(&pod("", own.clone(), false)), ["one-data"]);
        assert!(uses(&pod("node", own.clone(), false), &claim("one-data", "1")));
        assert!(!uses(&pod("node", own.clone(), true), &claim("one-data", "1")));
        assert!(
            !uses(&pod("node", own, false), &claim("one-data", "2")),
            "it is another's"
        );
    }

    #[test]
    fn a_finalizer_is_given_back_and_taken_only_from_what_is_being_deleted() {
        let metadata = |value: Value| serde_json::from_value::<ObjectMeta>(value).unwrap();
        let going = "2026-01-01T00:00:00Z";
        for (value, expected) in [
            (json!({}), Protection::Add),
            (json!({ "finalizers": ["x"] }), Protection::Keep),
            (json!({ "deletionTimestamp": going }), Protection::Keep),
            (
                json!({ "deletionTimestamp": going, "finalizers": ["x"] }),
                Protection::RemoveIfUnused,
            ),
        ] {
            assert_eq!(protection(&metadata(value), "x"), expected);
        }
    }

    #[test]
    fn a_claim_names_the_class_that_it_wants_the_one_it_has_and_the_one_it_gets() {
        let claim = |value: Value| serde_json::from_value::<PersistentVolumeClaim>(value).unwrap();
        let all = claim(json!({
            "metadata": {}, "spec": { "volumeAttributesClassName": "a" },
            "status": {
                "currentVolumeAttributesClassName": "b",
                "modifyVolumeStatus": { "status": "Pending", "targetVolumeAttributesClassName": "c" },
            },
        }));
        assert_eq!(classes_of_claim(&all), ["a", "b", "c"]);
        let none = claim(json!({ "metadata": {}, "spec": { "volumeAttributesClassName": "" } }));
        assert!(classes_of_claim(&none).is_empty());
    }

    #[test]
    fn only_a_bound_volume_is_in_use() {
        let volume =
            |phase: &str| serde_json::from_value(json!({ "metadata": {}, "status": { "phase": phase } })).unwrap();
        assert!(is_bound(&volume("Bound")) && !is_bound(&volume("Released")));
    }
}
