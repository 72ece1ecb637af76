//! Claims that a Pod uses, and volumes that are bound, stay until they are not used any more, also if somebody deletes them. The
//! admission plugin `StorageObjectInUseProtection` gives them a finalizer; here it is taken back.

mod plan;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Controller, Result, Watch};
use kubewright_runtime::object::ObjectKey;

use plan::Protection;
pub(crate) use plan::claims_of;

const CLAIM_FINALIZER: &str = "kubernetes.io/pvc-protection";
const VOLUME_FINALIZER: &str = "kubernetes.io/pv-protection";

/// The controller of claims.
pub(crate) fn claims() -> Controller {
    Controller::of::<PersistentVolumeClaim>()
        .named("persistentvolumeclaim-protection-controller")
        .watch(Watch::mapped::<Pod>(|pod| {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            let claims = plan::claims_of(pod).into_iter();
            claims
                .map(|claim| ObjectKey::namespaced(namespace, &claim).into())
                .collect()
        }))
        .reconcile_objects::<PersistentVolumeClaim, _>(move |context, claim| {
            let client = context.client();
            async move {
                let protection = plan::protection(&claim.metadata, CLAIM_FINALIZER);
                if protection == Protection::Keep
                    || (protection == Protection::RemoveIfUnused && is_used(&client, &claim).await?)
                {
                    return Ok(Action::done());
                }
                let mut changed = claim.into_owned();
                set(&mut changed.metadata, CLAIM_FINALIZER, protection);
                client.update(&changed).await?;
                Ok(Action::done())
            }
        })
}

/// The controller of volumes.
pub(crate) fn volumes() -> Controller {
    Controller::of::<PersistentVolume>()
        .named("persistentvolume-protection-controller")
        .reconcile_objects::<PersistentVolume, _>(move |context, volume| {
            let client = context.client();
            async move {
                let protection = plan::protection(&volume.metadata, VOLUME_FINALIZER);
                let is_used = || plan::is_bound(&volume);
                if protection == Protection::Keep || (protection == Protection::RemoveIfUnused && is_used()) {
                    return Ok(Action::done());
                }
                let mut changed = volume.into_owned();
                set(&mut changed.metadata, VOLUME_FINALIZER, protection);
                client.update(&changed).await?;
                Ok(Action::done())
            }
        })
}

/// Whether a Pod uses a claim. The cache may be behind, so the server is asked before a claim is let go.
async fn is_used(client: &Client, claim: &PersistentVolumeClaim) -> Result<bool> {
    let here = Query::all().in_namespace(claim.metadata.namespace.as_deref().unwrap_or_default());
    for client in [client.clone(), client.live()] {
        let pods = client.list::<Pod>(&here).await?;
        if pods.iter().any(|pod| plan::uses(pod, claim)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn set(metadata: &mut ObjectMeta, finalizer: &str, protection: Protection) {
    let finalizers = metadata.finalizers.get_or_insert_default();
    finalizers.retain(|own| own != finalizer);
    if protection == Protection::Add {
        finalizers.push(finalizer.to_owned());
    }
}
