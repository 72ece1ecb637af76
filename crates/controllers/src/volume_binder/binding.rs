//! What is written on a volume and on a claim when they are bound, and when they are not bound any more: pure. Each function gives
//! the object as it is to be written, or nothing if it is so already.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Amount;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_quantity::Quantity;

use super::matching::{capacity, storage};

/// On claims: they were bound once.
pub(super) const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// On claims and volumes: it was not their user who chose the other one.
pub(super) const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// On volumes: the size that a claim has until its file system is made larger.
const PRE_RESIZE_CAPACITY: &str = "volume.alpha.kubernetes.io/pre-resize-capacity";

/// Whether an object has an annotation.
pub(super) fn has_annotation(metadata: &ObjectMeta, annotation: &str) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.contains_key(annotation))
}

/// Gives an object an annotation, unless it has it.
pub(super) fn annotate(metadata: &mut ObjectMeta, annotation: &str) {
    let annotations = metadata.annotations.get_or_insert_default();
    annotations
        .entry(annotation.to_owned())
        .or_insert_with(|| "yes".to_owned());
}

/// The claim that a volume names.
pub(super) fn claim_ref(volume: &PersistentVolume) -> Option<&ObjectReference> {
    volume.spec.as_ref()?.claim_ref.as_ref()
}

/// The volume that a claim names; empty if it names none.
pub(super) fn volume_name(claim: &PersistentVolumeClaim) -> &str {
    let name = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref());
    name.unwrap_or_default()
}

/// The uid of the claim that a volume names, if it names that one and none of the same name.
pub(super) fn uid_of(reference: &ObjectReference) -> Option<&str> {
    reference.uid.as_deref().filter(|uid| !uid.is_empty())
}

/// Whether a volume names a claim: also by its uid, if it names one.
pub(super) fn is_bound_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    claim_ref(volume).is_some_and(|reference| {
        reference.name == claim.metadata.name
            && reference.namespace == claim.metadata.namespace
            && uid_of(reference).is_none_or(|uid| Some(uid) == claim.metadata.uid.as_deref())
    })
}

/// A volume that names a claim.
pub(super) fn bound_volume(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<PersistentVolume> {
    let is_named = is_bound_to(volume, claim);
    let is_complete = is_named && claim_ref(volume).is_some_and(|reference| reference.uid == claim.metadata.uid);
    if is_complete {
        return None;
    }
    let mut bound = volume.clone();
    bound.spec.get_or_insert_default().claim_ref = Some(ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("PersistentVolumeClaim".to_owned()),
        namespace: claim.metadata.namespace.clone(),
        name: claim.metadata.name.clone(),
        uid: claim.metadata.uid.clone(),
        resource_version: claim.metadata.resource_version.clone(),
        field_path: None,
    });
    if !is_named {
        annotate(&mut bound.metadata, BOUND_BY_CONTROLLER);
    }
    Some(bound)
}

/// A claim that names a volume, and is bound.
pub(super) fn bound_claim(claim: &PersistentVolumeClaim, volume: &str) -> Option<PersistentVolumeClaim> {
    let is_named = volume_name(claim) == volume;
    if is_named && has_annotation(&claim.metadata, BIND_COMPLETED) {
        return None;
    }
    let mut bound = claim.clone();
    if !is_named {
        bound.spec.get_or_insert_default().volume_name = Some(volume.to_owned());
        annotate(&mut bound.metadata, BOUND_BY_CONTROLLER);
    }
    annotate(&mut bound.metadata, BIND_COMPLETED);
    Some(bound)
}

/// A volume in a phase, with the reason for it.
pub(super) fn volume_in_phase(volume: &PersistentVolume, phase: &str, message: &str) -> Option<PersistentVolume> {
    if phase_of_volume(volume) == phase {
        return None;
    }
    let mut changed = volume.clone();
    let status = changed.status.get_or_insert_default();
    status.phase = Some(phase.to_owned());
    status.message = (!message.is_empty()).then(|| message.to_owned());
    Some(changed)
}

/// The phase that a volume is in; empty if it is in none.
pub(super) fn phase_of_volume(volume: &PersistentVolume) -> &str {
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    phase.unwrap_or_default()
}

/// The phase that a claim is in; empty if it is in none.
pub(super) fn phase_of_claim(claim: &PersistentVolumeClaim) -> &str {
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    phase.unwrap_or_default()
}

/// A claim in a phase in which it has no volume.
pub(super) fn claim_without_volume(claim: &PersistentVolumeClaim, phase: &str) -> Option<PersistentVolumeClaim> {
    let mut changed = claim.clone();
    let status = changed.status.get_or_insert_default();
    status.phase = Some(phase.to_owned());
    status.access_modes = None;
    status.capacity = None;
    status.current_volume_attributes_class_name = None;
    (changed != *claim).then_some(changed)
}

/// A claim that is bound to a volume: what it has of it is in its status. Its size is written only when it becomes bound, since a
/// file system may rightly be smaller than the volume that it is on.
pub(super) fn claim_with_volume(
    claim: &PersistentVolumeClaim,
    volume: &PersistentVolume,
) -> Option<PersistentVolumeClaim> {
    let (before, spec) = (phase_of_claim(claim), volume.spec.as_ref()?);
    let mut changed = claim.clone();
    let status = changed.status.get_or_insert_default();
    status.phase = Some("Bound".to_owned());
    status.access_modes.clone_from(&spec.access_modes);
    if before != "Bound" {
        let annotations = volume.metadata.annotations.as_ref();
        if let Some(size) = annotations.and_then(|all| all.get(PRE_RESIZE_CAPACITY)) {
            let parsed = Quantity::parse(size).unwrap_or_else(|_| capacity(volume));
            let sizes = status.capacity.get_or_insert_default();
            sizes.insert("storage".to_owned(), Amount(parsed.to_string()));
        } else if !has_storage(status.capacity.as_ref()) || storage(status.capacity.as_ref()) != capacity(volume) {
            status.capacity.clone_from(&spec.capacity);
        }
    }
    if before == "Pending" {
        let class = &spec.volume_attributes_class_name;
        status.current_volume_attributes_class_name.clone_from(class);
    }
    (changed != *claim).then_some(changed)
}

fn has_storage(resources: Option<&BTreeMap<String, Amount>>) -> bool {
    resources.is_some_and(|resources| resources.contains_key("storage"))
}

/// A volume whose claim has another one. What its user wrote stays: who the claim is that it is for.
pub(super) fn unbound_volume(volume: &PersistentVolume) -> PersistentVolume {
    let mut free = volume.clone();
    if has_annotation(&volume.metadata, BOUND_BY_CONTROLLER) {
        if let Some(annotations) = &mut free.metadata.annotations {
            annotations.remove(BOUND_BY_CONTROLLER);
        }
        free.spec.get_or_insert_default().claim_ref = None;
    } else if let Some(reference) = free.spec.get_or_insert_default().claim_ref.as_mut() {
        reference.uid = None;
    }
    free
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn volume() -> PersistentVolume {
        serde_json::from_value(json!({
            "metadata": { "name": "volume" }, "status": { "phase": "Available" },
            "spec": { "capacity": { "storage": "5Gi" }, "accessModes": ["ReadWriteOnce"] },
        }))
        .unwrap()
    }

    fn claim() -> PersistentVolumeClaim {
        serde_json::from_value(json!({
            "metadata": { "name": "claim", "namespace": "here", "uid": "1" }, "status": { "phase": "Pending" }, "spec": {},
        }))
        .unwrap()
    }

    #[test]
    fn both_name_each_other_and_once_only() {
        let volume = bound_volume(&volume(), &claim()).unwrap();
        assert!(is_bound_to(&volume, &claim()) && has_annotation(&volume.metadata, BOUND_BY_CONTROLLER));
        assert_eq!(bound_volume(&volume, &claim()), None);
        let claim = bound_claim(&claim(), "volume").unwrap();
        assert!(
            has_annotation(&claim.metadata, BOUND_BY_CONTROLLER) && has_annotation(&claim.metadata, BIND_COMPLETED)
        );
        assert_eq!(bound_claim(&claim, "volume"), None);
    }

    #[test]
    fn whoever_chose_the_other_is_not_said_to_be_the_controller() {
        let mut chosen = volume();
        chosen.spec.as_mut().unwrap().claim_ref = Some(ObjectReference {
            namespace: Some("here".to_owned()),
            name: Some("claim".to_owned()),
            ..ObjectReference::default()
        });
        let bound = bound_volume(&chosen, &claim()).unwrap();
        assert_eq!(claim_ref(&bound).and_then(uid_of), Some("1"));
        assert!(!has_annotation(&bound.metadata, BOUND_BY_CONTROLLER));
        let free = unbound_volume(&bound);
        assert!(claim_ref(&free).is_some_and(|reference| uid_of(reference).is_none()));
        let by_controller = bound_volume(&volume(), &claim()).unwrap();
        assert_eq!(claim_ref(&unbound_volume(&by_controller)), None);
    }

    #[test]
    fn a_claim_says_what_it_has_of_its_volume_until_it_has_none() {
        let bound = claim_with_volume(&claim(), &volume()).unwrap();
        let status = bound.status.clone().unwrap();
        assert_eq!(status.capacity.unwrap()["storage"].0, "5Gi");
        assert_eq!(claim_with_volume(&bound, &volume()), None);
        let mut larger = volume();
        let size = Amount("9Gi".to_owned());
        larger
            .spec
            .as_mut()
            .unwrap()
            .capacity
            .as_mut()
            .unwrap()
            .insert("storage".to_owned(), size);
        assert_eq!(
            claim_with_volume(&bound, &larger),
            None,
            "its file system is not larger"
        );
        let lost = claim_without_volume(&bound, "Lost").unwrap();
        assert_eq!(phase_of_claim(&lost), "Lost");
        assert!(lost.status.as_ref().unwrap().capacity.is_none());
        assert_eq!(claim_without_volume(&lost, "Lost"), None);
    }
}
