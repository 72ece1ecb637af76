//! Which volume fits a claim: pure.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Amount;
use kubewright_quantity::Quantity;
use kubewright_runtime::object::Selector;

use super::binding::is_bound_to;
use crate::support::labels;

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The best volume for a claim: of those with the fewest modes of access that suffice, the one that names the claim, or else the
/// smallest that is available. A claim that waits for a Pod gets no volume but one that names it.
pub(super) fn best<'a>(
    claim: &PersistentVolumeClaim,
    volumes: impl IntoIterator<Item = &'a PersistentVolume>,
    waits: bool,
) -> Option<&'a PersistentVolume> {
    let wanted = modes(claim.spec.as_ref().and_then(|spec| spec.access_modes.as_deref()));
    let mut by_modes: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for volume in volumes {
        let modes = modes(volume.spec.as_ref().and_then(|spec| spec.access_modes.as_deref()));
        if wanted.is_subset(&modes) {
            by_modes.entry((modes.len(), modes)).or_default().push(volume);
        }
    }
    let mut groups = by_modes.into_values();
    groups.find_map(|group| best_of(claim, &group, waits))
}

/// The best of volumes with the same modes of access.
fn best_of<'a>(
    claim: &PersistentVolumeClaim,
    volumes: &[&'a PersistentVolume],
    waits: bool,
) -> Option<&'a PersistentVolume> {
    let selector = claim.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let selector = selector.map(Selector::try_from);
    let is_selected = |volume: &PersistentVolume| match &selector {
        None => true,
        Some(Ok(selector)) => labels::matches(selector, volume.metadata.labels.as_ref()),
        Some(Err(_)) => false,
    };
    let mut smallest: Option<(&PersistentVolume, Quantity)> = None;
    for volume in volumes {
        let is_claimed = volume.spec.as_ref().is_some_and(|spec| spec.claim_ref.is_some());
        let is_own = is_bound_to(volume, claim);
        let size = capacity(volume);
        if (is_claimed && !is_own)
            || size < requested(claim)
            || mode_of_volume(volume) != mode_of_claim(claim)
            || attributes_class_of_volume(volume) != attributes_class_of_claim(claim)
            || volume.metadata.deletion_timestamp.is_some()
        {
            continue;
        }
        if is_own {
            return Some(volume);
        }
        let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
        let fits =
            phase == Some("Available") && is_selected(volume) && class_of_volume(volume) == class_of_claim(claim);
        if !waits && fits && smallest.as_ref().is_none_or(|(_, least)| size < *least) {
            smallest = Some((volume, size));
        }
    }
    smallest.map(|(volume, _)| volume)
}

/// Why a volume that a claim names does not fit it, if it does not.
pub(super) fn mismatch(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<String> {
    let modes_of_volume = modes(volume.spec.as_ref().and_then(|spec| spec.access_modes.as_deref()));
    let modes_of_claim = modes(claim.spec.as_ref().and_then(|spec| spec.access_modes.as_deref()));
    let why = if volume.metadata.deletion_timestamp.is_some() {
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        return Some(format!("the volume is marked for deletion {name:?}"));
    } else if capacity(volume).value() < requested(claim).value() {
        "requested PV is too small"
    } else if class_of_volume(volume) != class_of_claim(claim) {
        "storageClassName does not match"
    } else if attributes_class_of_volume(volume) != attributes_class_of_claim(claim) {
        "volumeAttributesClassName does not match"
    } else if mode_of_volume(volume) != mode_of_claim(claim) {
        "incompatible volumeMode"
    } else if !modes_of_claim.is_subset(&modes_of_volume) {
        "incompatible accessMode"
    } else {
        return None;
    };
    Some(why.to_owned())
}

/// Whether a claim wants files and the volume has blocks, or the other way round.
pub(super) fn is_of_another_mode(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    mode_of_volume(volume) != mode_of_claim(claim)
}

/// The class that a claim asks for; empty if it wants a volume without one.
pub(super) fn class_of_claim(claim: &PersistentVolumeClaim) -> &str {
    let annotated = claim.metadata.annotations.as_ref().and_then(|all| all.get(BETA_CLASS));
    let own = || claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
    annotated.map(String::as_str).or_else(own).unwrap_or_default()
}

/// Whether a claim says of which class its volume is to be, and be it of none.
pub(super) fn has_class(claim: &PersistentVolumeClaim) -> bool {
    let annotations = claim.metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.contains_key(BETA_CLASS))
        || claim
            .spec
            .as_ref()
            .is_some_and(|spec| spec.storage_class_name.is_some())
}

fn class_of_volume(volume: &PersistentVolume) -> &str {
    let annotated = volume.metadata.annotations.as_ref().and_then(|all| all.get(BETA_CLASS));
    let own = || volume.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
    annotated.map(String::as_str).or_else(own).unwrap_or_default()
}

fn attributes_class_of_claim(claim: &PersistentVolumeClaim) -> &str {
    let spec = claim.spec.as_ref();
    spec.and_then(|spec| spec.volume_attributes_class_name.as_deref())
        .unwrap_or_default()
}

fn attributes_class_of_volume(volume: &PersistentVolume) -> &str {
    let spec = volume.spec.as_ref();
    spec.and_then(|spec| spec.volume_attributes_class_name.as_deref())
        .unwrap_or_default()
}

fn mode_of_claim(claim: &PersistentVolumeClaim) -> &str {
    let mode = claim.spec.as_ref().and_then(|spec| spec.volume_mode.as_deref());
    mode.unwrap_or("Filesystem")
}

fn mode_of_volume(volume: &PersistentVolume) -> &str {
    let mode = volume.spec.as_ref().and_then(|spec| spec.volume_mode.as_deref());
    mode.unwrap_or("Filesystem")
}

fn modes(modes: Option<&[String]>) -> BTreeSet<&str> {
    modes.unwrap_or_default().iter().map(String::as_str).collect()
}

fn requested(claim: &PersistentVolumeClaim) -> Quantity {
    let resources = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    storage(resources.and_then(|resources| resources.requests.as_ref()))
}

/// How large a volume is.
pub(super) fn capacity(volume: &PersistentVolume) -> Quantity {
    storage(volume.spec.as_ref().and_then(|spec| spec.capacity.as_ref()))
}

/// How much storage there is in a list of resources.
pub(super) fn storage(resources: Option<&BTreeMap<String, Amount>>) -> Quantity {
    let amount = resources.and_then(|resources| resources.get("storage"));
    amount
        .and_then(|amount| Quantity::parse(&amount.0).ok())
        .unwrap_or_else(|| Quantity::from_int(0))
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn volume(name: &str, size: &str, spec: Value) -> PersistentVolume {
        let mut volume = json!({
            "metadata": { "name": name, "labels": { "name": name } }, "status": { "phase": "Available" },
            "spec": { "capacity": { "storage": size }, "accessModes": ["ReadWriteOnce"], "storageClassName": "manual" },
        });
        for (key, value) in spec.as_object().unwrap() {
            volume["spec"][key] = value.clone();
        }
        serde_json::from_value(volume).unwrap()
    }

    fn claim(size: &str, spec: Value) -> PersistentVolumeClaim {
        let mut claim = json!({
            "metadata": { "name": "claim", "namespace": "here", "uid": "1" },
            "spec": {
                "resources": { "requests": { "storage": size } }, "accessModes": ["ReadWriteOnce"],
                "storageClassName": "manual",
            },
        });
        for (key, value) in spec.as_object().unwrap() {
            claim["spec"][key] = value.clone();
        }
        serde_json::from_value(claim).unwrap()
    }

    fn found(claim: &PersistentVolumeClaim, volumes: &[PersistentVolume]) -> Option<String> {
        best(claim, volumes, false).and_then(|volume| volume.metadata.name.clone())
    }

    #[test]
    fn the_smallest_volume_that_suffices_is_the_best() {
        let volumes = [
            volume("large", "10Gi", json!({})),
            volume("small", "1Gi", json!({})),
            volume("fitting", "5Gi", json!({})),
        ];
        assert_eq!(found(&claim("2Gi", json!({})), &volumes).as_deref(), Some("fitting"));
        assert_eq!(found(&claim("5120Mi", json!({})), &volumes).as_deref(), Some("fitting"));
        assert_eq!(found(&claim("11Gi", json!({})), &volumes), None);
    }

    #[test]
    fn fewer_modes_of_access_are_better_than_less_space() {
        let volumes = [
            volume(
                "all",
                "1Gi",
                json!({ "accessModes": ["ReadWriteOnce", "ReadWriteMany"] }),
            ),
            volume("one", "10Gi", json!({})),
        ];
        assert_eq!(found(&claim("1Gi", json!({})), &volumes).as_deref(), Some("one"));
        let many = claim("1Gi", json!({ "accessModes": ["ReadWriteMany"] }));
        assert_eq!(found(&many, &volumes).as_deref(), Some("all"));
    }

    #[test]
    fn a_volume_that_names_the_claim_is_found_whatever_its_class_and_one_of_others_never() {
        let own = json!({ "storageClassName": "other", "claimRef": { "namespace": "here", "name": "claim" } });
        let of_another = json!({ "claimRef": { "namespace": "here", "name": "claim", "uid": "2" } });
        let volumes = [
            volume("any", "1Gi", json!({})),
            volume("own", "5Gi", own),
            volume("others", "1Gi", of_another),
        ];
        assert_eq!(found(&claim("1Gi", json!({})), &volumes).as_deref(), Some("own"));
        assert_eq!(found(&claim("1Gi", json!({})), &volumes[2..]), None);
        let waiting = best(&claim("1Gi", json!({})), &volumes[..1], true);
        assert!(waiting.is_none(), "a Pod comes first");
        assert!(best(&claim("1Gi", json!({})), &volumes, true).is_some());
    }

    #[test]
    fn labels_class_mode_and_phase_have_to_fit() {
        let volumes = [volume("one", "1Gi", json!({}))];
        let selects = |name: &str| claim("1Gi", json!({ "selector": { "matchLabels": { "name": name } } }));
        assert!(found(&selects("one"), &volumes).is_some() && found(&selects("two"), &volumes).is_none());
        for other in [
            json!({ "storageClassName": "other" }),
            json!({ "volumeMode": "Block" }),
            json!({ "volumeAttributesClassName": "gold" }),
        ] {
            assert_eq!(found(&claim("1Gi", other.clone()), &volumes), None, "{other}");
        }
        let mut released = volumes[0].clone();
        released.status.as_mut().unwrap().phase = Some("Released".to_owned());
        assert_eq!(found(&claim("1Gi", json!({})), &[released]), None);
    }

    #[test]
    fn why_a_volume_does_not_fit_is_said() {
        let small = volume("one", "1Gi", json!({}));
        assert_eq!(mismatch(&small, &claim("1Gi", json!({}))), None);
        for (change, why) in [
            (
                json!({ "storageClassName": "other" }),
                "storageClassName does not match",
            ),
            (json!({ "volumeMode": "Block" }), "incompatible volumeMode"),
            (json!({ "accessModes": ["ReadOnlyMany"] }), "incompatible accessMode"),
        ] {
            assert_eq!(mismatch(&small, &claim("1Gi", change)).as_deref(), Some(why));
        }
        let large = claim("2Gi", json!({}));
        assert_eq!(mismatch(&small, &large).as_deref(), Some("requested PV is too small"));
    }
}
