//! What is to be done about a volume: pure.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kubewright_runtime::events::EventNote;

use super::binding::{claim_ref, has_annotation, phase_of_volume, uid_of, volume_name};
use super::matching::is_of_another_mode;

/// On volumes: who made them.
pub(super) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// What is to be done about a volume.
#[derive(Debug, PartialEq)]
pub(super) enum VolumePlan {
    /// It is in this phase.
    Phase(&'static str),
    /// Its claim is gone: it is released, and then what its policy says.
    Reclaim,
    /// Its claim has another volume: it is free again.
    Unbind,
    /// It names a claim that does not name it. Whoever binds claims does the rest.
    LeaveToClaim,
    /// It can never be bound to the claim that it names: this is told of the volume and of the claim.
    Mismatch(Box<(EventNote, EventNote)>),
}

/// What is to be done about a volume. The claim is the one with the uid that the volume names, if that is still there.
pub(super) fn plan(volume: &PersistentVolume, claim: Option<&PersistentVolumeClaim>) -> VolumePlan {
    if claim_ref(volume).and_then(uid_of).is_none() {
        return VolumePlan::Phase("Available");
    }
    let name = volume.metadata.name.as_deref().unwrap_or_default();
    let Some(claim) = claim else {
        return VolumePlan::Reclaim;
    };
    if volume_name(claim).is_empty() {
        if is_of_another_mode(volume, claim) {
            return mismatch(name, claim.metadata.name.as_deref().unwrap_or_default());
        }
        return VolumePlan::LeaveToClaim;
    }
    let policy = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    if volume_name(claim) == name {
        VolumePlan::Phase("Bound")
    } else if has_annotation(&volume.metadata, PROVISIONED_BY) && policy == Some("Delete") {
        VolumePlan::Reclaim
    } else {
        VolumePlan::Unbind
    }
}

/// Whether a volume that is to be reclaimed becomes released first: one that could not be reclaimed keeps saying so.
pub(super) fn is_to_be_released(volume: &PersistentVolume) -> bool {
    !matches!(phase_of_volume(volume), "Released" | "Failed")
}

fn mismatch(volume: &str, claim: &str) -> VolumePlan {
    let of_volume = format!(
        "Cannot bind PersistentVolume to requested PersistentVolumeClaim {claim:?} due to incompatible volumeMode."
    );
    let of_claim = format!(
        "Cannot bind PersistentVolume {volume:?} to requested PersistentVolumeClaim due to incompatible volumeMode."
    );
    VolumePlan::Mismatch(Box::new((
        EventNote::warning("VolumeMismatch", "Bind", of_volume),
        EventNote::warning("VolumeMismatch", "Bind", of_claim),
    )))
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn volume(claim_ref: Value) -> PersistentVolume {
        let spec = json!({ "claimRef": claim_ref, "persistentVolumeReclaimPolicy": "Delete" });
        serde_json::from_value(json!({ "metadata": { "name": "volume" }, "spec": spec })).unwrap()
    }

    fn claim(spec: Value) -> PersistentVolumeClaim {
        let metadata = json!({ "name": "claim", "namespace": "here", "uid": "1" });
        serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap()
    }

    #[test]
    fn a_volume_is_available_until_it_names_a_claim_by_its_uid() {
        assert_eq!(plan(&volume(Value::Null), None), VolumePlan::Phase("Available"));
        let reserved = json!({ "namespace": "here", "name": "claim" });
        assert_eq!(plan(&volume(reserved), None), VolumePlan::Phase("Available"));
    }

    #[test]
    fn what_the_claim_says_decides_about_a_volume_that_names_it() {
        let own = volume(json!({ "namespace": "here", "name": "claim", "uid": "1" }));
        assert_eq!(plan(&own, None), VolumePlan::Reclaim);
        assert_eq!(plan(&own, Some(&claim(json!({})))), VolumePlan::LeaveToClaim);
        let bound = claim(json!({ "volumeName": "volume" }));
        assert_eq!(plan(&own, Some(&bound)), VolumePlan::Phase("Bound"));
        let elsewhere = claim(json!({ "volumeName": "other" }));
        assert_eq!(plan(&own, Some(&elsewhere)), VolumePlan::Unbind);
        let mut made = own.clone();
        super::super::binding::annotate(&mut made.metadata, PROVISIONED_BY);
        assert_eq!(
            plan(&made, Some(&elsewhere)),
            VolumePlan::Reclaim,
            "it was made for nobody else"
        );
        let blocks = claim(json!({ "volumeMode": "Block" }));
        assert!(matches!(plan(&own, Some(&blocks)), VolumePlan::Mismatch(..)));
    }
}
