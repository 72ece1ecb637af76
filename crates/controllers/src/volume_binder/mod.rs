//! Binds claims to volumes that are there, and says what becomes of a volume when its claim is gone: [`claims`] and [`volumes`] carry
//! out what the pure [`claim_plan`] and [`volume_plan`] decide; [`matching`] finds the volume that fits a claim, [`binding`] is what is
//! written on both, and [`reclaim`] what a reclaim policy means for a source.
//!
//! Volumes are not made: a claim that needs a provisioner is marked for it, as upstream marks it for those outside of the cluster.

mod binding;
mod claim_plan;
mod claims;
mod matching;
mod provisioning;
mod reclaim;
mod volume_plan;
mod volumes;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kubewright_runtime::operator::Operator;

use crate::support::Settings;

/// Who says so in events, and the name of both controllers.
const COMPONENT: &str = "persistentvolume-controller";

/// The provisioner of classes whose volumes somebody makes by hand.
pub(crate) const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
/// On claims: the scheduler wants a volume made that this node reaches.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The class of a claim that was never bound and names no volume.
pub(crate) fn class_of_unbound(claim: &PersistentVolumeClaim) -> Option<&str> {
    let is_unbound =
        !binding::has_annotation(&claim.metadata, binding::BIND_COMPLETED) && binding::volume_name(claim).is_empty();
    let class = matching::class_of_claim(claim);
    (is_unbound && !class.is_empty()).then_some(class)
}

/// Whether claims of a class are bound only when a Pod uses them.
pub(crate) fn waits_for_a_pod(class: &StorageClass) -> bool {
    class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
}

/// The best of these volumes for a claim whose Pod has a node, as it is to be written.
pub(crate) fn bound_for_pod<'v>(
    claim: &PersistentVolumeClaim,
    volumes: impl IntoIterator<Item = &'v PersistentVolume>,
) -> Option<PersistentVolume> {
    binding::bound_volume(matching::best(claim, volumes, false)?, claim)
}

/// Adds the controller of claims and that of volumes.
pub(crate) fn add_to(operator: Operator, settings: &Settings) -> Operator {
    operator
        .controller(claims::controller(settings))
        .controller(volumes::controller(settings))
}
