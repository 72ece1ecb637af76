//! What is to be done about a claim: pure.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kubewright_runtime::events::EventNote;

use super::binding::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, claim_ref, has_annotation, is_bound_to, phase_of_claim, uid_of, volume_name,
};
use super::matching::{best, class_of_claim, has_class, mismatch};
use super::provisioning::{Provisioning, provisioning};
use super::{SELECTED_NODE, waits_for_a_pod};

/// On classes: claims that ask for none get this one. The second one is older.
const DEFAULT_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// What a claim is looked at together with.
pub(super) struct Surroundings<'a> {
    /// All volumes of the cluster.
    pub(super) volumes: &'a [&'a PersistentVolume],
    /// All classes of the cluster.
    pub(super) classes: &'a [&'a StorageClass],
}

impl<'a> Surroundings<'a> {
    fn volume(&self, name: &str) -> Option<&'a PersistentVolume> {
        let volumes = self.volumes.iter().copied();
        volumes
            .into_iter()
            .find(|volume| volume.metadata.name.as_deref() == Some(name))
    }

    fn class(&self, name: &str) -> Option<&'a StorageClass> {
        let classes = self.classes.iter().copied();
        classes
            .into_iter()
            .find(|class| class.metadata.name.as_deref() == Some(name))
    }

    /// The class of claims that ask for none: the youngest of those that are said to be, and of two of an age the first by name.
    fn default_class(&self) -> Option<&'a StorageClass> {
        let is_default = |class: &&StorageClass| {
            let annotations = class.metadata.annotations.as_ref();
            let mut values = DEFAULT_CLASS.iter().filter_map(|name| annotations?.get(*name));
            values.any(|value| value == "true")
        };
        let defaults = self.classes.iter().copied().filter(is_default);
        defaults.max_by(|one, other| {
            let (one, other) = (&one.metadata, &other.metadata);
            let by_age = one.creation_timestamp.cmp(&other.creation_timestamp);
            by_age.then_with(|| other.name.cmp(&one.name))
        })
    }
}

/// What is to be done about a claim.
#[derive(Debug, PartialEq)]
pub(super) enum ClaimPlan {
    /// It and the volume of this name are to be bound to each other, or are and may lack some of it.
    Bind(String),
    /// It has no volume yet; this is told.
    Wait(Option<EventNote>),
    /// It has no volume until a Pod uses it; [`awaited`] says what is told.
    WaitForPod,
    /// It had a volume once and has none any more; this is told once.
    Lose(EventNote),
    /// It is to be of this class.
    SetClass(String),
    /// Somebody has to make a volume for it.
    Provision(Provisioning),
    /// Nothing but to tell this.
    Tell(EventNote),
    /// Nothing.
    Nothing,
}

/// What is to be done about a claim.
pub(super) fn plan(claim: &PersistentVolumeClaim, around: &Surroundings) -> ClaimPlan {
    if has_annotation(&claim.metadata, BIND_COMPLETED) {
        plan_bound(claim, around)
    } else if volume_name(claim).is_empty() {
        plan_unbound(claim, around)
    } else {
        plan_chosen(claim, around)
    }
}

/// A claim that was bound once.
fn plan_bound(claim: &PersistentVolumeClaim, around: &Surroundings) -> ClaimPlan {
    let name = volume_name(claim);
    let volume = around.volume(name);
    let lost = |reason: &str, text: &str| match phase_of_claim(claim) {
        "Lost" => ClaimPlan::Nothing,
        _ => ClaimPlan::Lose(EventNote::warning(reason, "Bind", text)),
    };
    match volume.map(claim_ref) {
        _ if name.is_empty() => lost(
            "ClaimLost",
            "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
        ),
        None => lost(
            "ClaimLost",
            "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
        ),
        Some(Some(reference)) if uid_of(reference) != claim.metadata.uid.as_deref() => lost(
            "ClaimMisbound",
            "Two claims are bound to the same volume, this one is bound incorrectly",
        ),
        Some(_) => ClaimPlan::Bind(name.to_owned()),
    }
}

/// A claim whose user has chosen a volume.
fn plan_chosen(claim: &PersistentVolumeClaim, around: &Surroundings) -> ClaimPlan {
    let name = volume_name(claim);
    let Some(volume) = around.volume(name) else {
        return ClaimPlan::Wait(None);
    };
    if is_bound_to(volume, claim) {
        return ClaimPlan::Bind(name.to_owned());
    }
    if claim_ref(volume).is_none() {
        return match mismatch(volume, claim) {
            None => ClaimPlan::Bind(name.to_owned()),
            Some(why) => {
                let text = format!("Cannot bind to requested volume {name:?}: {why}");
                ClaimPlan::Wait(Some(EventNote::warning("VolumeMismatch", "Bind", text)))
            }
        };
    }
    let text = format!("volume {name:?} already bound to a different claim.");
    let note = EventNote::warning("FailedBinding", "Bind", text);
    if has_annotation(&claim.metadata, BOUND_BY_CONTROLLER) {
        ClaimPlan::Tell(note)
    } else {
        ClaimPlan::Wait(Some(note))
    }
}

/// A claim that takes any volume that fits.
fn plan_unbound(claim: &PersistentVolumeClaim, around: &Surroundings) -> ClaimPlan {
    let class = around.class(class_of_claim(claim));
    let waits = class.is_some_and(waits_for_a_pod);
    if let Some(volume) = best(claim, around.volumes.iter().copied(), waits) {
        return ClaimPlan::Bind(volume.metadata.name.clone().unwrap_or_default());
    }
    if !has_class(claim)
        && let Some(class) = around.default_class()
    {
        return ClaimPlan::SetClass(class.metadata.name.clone().unwrap_or_default());
    }
    if waits && !has_annotation(&claim.metadata, SELECTED_NODE) {
        return ClaimPlan::WaitForPod;
    }
    match class_of_claim(claim) {
        "" => {
            let text = "no persistent volumes available for this claim and no storage class is set";
            ClaimPlan::Wait(Some(EventNote::normal("FailedBinding", "Bind", text)))
        }
        name => ClaimPlan::Provision(provisioning(name, class)),
    }
}

/// What a claim waits for that is to be bound for its first Pod, by the Pods that use it, have not ended and are on no node.
pub(super) fn awaited(pods: &[String]) -> EventNote {
    let (reason, text) = match pods {
        [] => (
            "WaitForFirstConsumer",
            "waiting for first consumer to be created before binding".to_owned(),
        ),
        [pod] => ("WaitForPodScheduled", format!("waiting for pod {pod} to be scheduled")),
        pods => (
            "WaitForPodScheduled",
            format!("waiting for pods {} to be scheduled", pods.join(",")),
        ),
    };
    EventNote::normal(reason, "Bind", text)
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn volume(claim_ref: Value) -> PersistentVolume {
        serde_json::from_value(json!({
            "metadata": { "name": "volume" }, "status": { "phase": "Available" },
            "spec": {
                "capacity": { "storage": "5Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": "manual",
                "claimRef": claim_ref,
            },
        }))
        .unwrap()
    }

    fn claim(spec: Value, bound: bool) -> PersistentVolumeClaim {
        let mut claim = json!({
            "metadata": { "name": "claim", "namespace": "here", "uid": "1" }, "status": { "phase": "Pending" },
            "spec": {
                "resources": { "requests": { "storage": "1Gi" } }, "accessModes": ["ReadWriteOnce"],
                "storageClassName": "manual",
            },
        });
        for (key, value) in spec.as_object().unwrap() {
            claim["spec"][key] = value.clone();
        }
        if bound {
            claim["metadata"]["annotations"] = json!({ BIND_COMPLETED: "yes" });
        }
        serde_json::from_value(claim).unwrap()
    }

    fn class(name: &str, mode: &str, age: &str, default: bool) -> StorageClass {
        serde_json::from_value(json!({
            "metadata": {
                "name": name, "creationTimestamp": age,
                "annotations": { DEFAULT_CLASS[0]: default.to_string() },
            },
            "provisioner": "example.com/disks", "volumeBindingMode": mode,
        }))
        .unwrap()
    }

    fn planned(claim: &PersistentVolumeClaim, volumes: &[PersistentVolume], classes: &[StorageClass]) -> ClaimPlan {
        let volumes: Vec<_> = volumes.iter().collect();
        let classes: Vec<_> = classes.iter().collect();
        let around = Surroundings {
            volumes: &volumes,
            classes: &classes,
        };
        plan(claim, &around)
    }

    fn reason(plan: ClaimPlan) -> String {
        match plan {
            ClaimPlan::Wait(Some(note)) | ClaimPlan::Lose(note) | ClaimPlan::Tell(note) => note.reason,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_claim_is_bound_to_what_fits_and_to_what_it_names() {
        let bind = ClaimPlan::Bind("volume".to_owned());
        assert_eq!(planned(&claim(json!({}), false), &[volume(Value::Null)], &[]), bind);
        let names = claim(json!({ "volumeName": "volume" }), false);
        assert_eq!(planned(&names, &[volume(Value::Null)], &[]), bind);
        assert_eq!(planned(&names, &[], &[]), ClaimPlan::Wait(None));
        let large = json!({ "volumeName": "volume", "resources": { "requests": { "storage": "9Gi" } } });
        let mismatch = planned(&claim(large, false), &[volume(Value::Null)], &[]);
        assert_eq!(reason(mismatch), "VolumeMismatch");
        let others = volume(json!({ "namespace": "here", "name": "other" }));
        assert_eq!(reason(planned(&names, &[others], &[])), "FailedBinding");
    }

    #[test]
    fn a_claim_that_was_bound_is_lost_without_its_volume() {
        let bound = claim(json!({ "volumeName": "volume" }), true);
        assert_eq!(reason(planned(&bound, &[], &[])), "ClaimLost");
        assert_eq!(reason(planned(&claim(json!({}), true), &[], &[])), "ClaimLost");
        let others = volume(json!({ "namespace": "here", "name": "claim", "uid": "2" }));
        assert_eq!(reason(planned(&bound, &[others], &[])), "ClaimMisbound");
        let bind = ClaimPlan::Bind("volume".to_owned());
        assert_eq!(planned(&bound, &[volume(Value::Null)], &[]), bind);
        let mut lost = bound;
        lost.status.as_mut().unwrap().phase = Some("Lost".to_owned());
        assert_eq!(planned(&lost, &[], &[]), ClaimPlan::Nothing, "it is told once");
    }

    #[test]
    fn a_claim_that_waits_for_a_pod_is_told_for_which() {
        let classes = [class("manual", "WaitForFirstConsumer", "2026-01-01T00:00:00Z", false)];
        let waiting = planned(&claim(json!({}), false), &[volume(Value::Null)], &classes);
        assert_eq!(waiting, ClaimPlan::WaitForPod);
        assert_eq!(awaited(&[]).reason, "WaitForFirstConsumer");
        assert_eq!(awaited(&["one".to_owned()]).text, "waiting for pod one to be scheduled");
        let two = awaited(&["one".to_owned(), "two".to_owned()]);
        assert_eq!(two.text, "waiting for pods one,two to be scheduled");
    }

    #[test]
    fn a_claim_of_no_class_gets_the_youngest_default_unless_a_volume_fits() {
        let none = claim(json!({ "storageClassName": null }), false);
        let classes = [
            class("old", "Immediate", "2026-01-01T00:00:00Z", true),
            class("b", "Immediate", "2026-01-02T00:00:00Z", true),
            class("a", "Immediate", "2026-01-02T00:00:00Z", true),
            class("no", "Immediate", "2026-01-03T00:00:00Z", false),
        ];
        assert_eq!(planned(&none, &[], &classes), ClaimPlan::SetClass("a".to_owned()));
        assert_eq!(reason(planned(&none, &[], &classes[3..])), "FailedBinding");
        let wants_none = claim(json!({ "storageClassName": "" }), false);
        assert_eq!(reason(planned(&wants_none, &[], &classes)), "FailedBinding");
    }
}
