//! Claims that a Pod uses, volumes that are bound, and classes of attributes that a claim or a volume names stay until they are not used
//! any more, also if somebody deletes them. The admission plugin `StorageObjectInUseProtection` gives them a finalizer; here it is taken
//! back.

mod plan;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::VolumeAttributesClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Controller, Request, Result, Watch};
use kubewright_runtime::object::ObjectKey;

use plan::Protection;
pub(crate) use plan::claims_of;

const CLAIM_FINALIZER: &str = "kubernetes.io/pvc-protection";
const VOLUME_FINALIZER: &str = "kubernetes.io/pv-protection";
const ATTRIBUTES_FINALIZER: &str = "kubernetes.io/vac-protection";

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

/// The controller of classes of attributes.
pub(crate) fn attributes_classes() -> Controller {
    let classes = |names: Vec<&str>| -> Vec<Request> {
        let names = names.into_iter();
        names.map(|name| ObjectKey::cluster(name).into()).collect()
    };
    Controller::of::<VolumeAttributesClass>()
        .named("volumeattributesclass-protection-controller")
        .watch(Watch::mapped::<PersistentVolumeClaim>(move |claim| {
            classes(plan::classes_of_claim(claim))
        }))
        .watch(Watch::mapped::<PersistentVolume>(move |volume| {
            classes(plan::class_of_volume(volume).into_iter().collect())
        }))
        .reconcile_objects::<VolumeAttributesClass, _>(move |context, class| {
            let client = context.client();
            async move {
                let protection = plan::protection(&class.metadata, ATTRIBUTES_FINALIZER);
                if protection == Protection::Keep
                    || (protection == Protection::RemoveIfUnused && is_named(&client, &class).await?)
                {
                    return Ok(Action::done());
                }
                let mut changed = class.into_owned();
                set(&mut changed.metadata, ATTRIBUTES_FINALIZER, protection);
                client.update(&changed).await?;
                Ok(Action::done())
            }
        })
}

/// Whether a claim or a volume names a class. The cache may be behind, so the server is asked before a class is let go.
async fn is_named(client: &Client, class: &VolumeAttributesClass) -> Result<bool> {
    let name = class.metadata.name.as_deref().unwrap_or_default();
    for client in [client.clone(), client.live()] {
        let volumes = client.list::<PersistentVolume>(&Query::all()).await?;
        let claims = client.list::<PersistentVolumeClaim>(&Query::all()).await?;
        let of_volume = |volume: &PersistentVolume| plan::class_of_volume(volume) == Some(name);
        let of_claim = |claim: &PersistentVolumeClaim| plan::classes_of_claim(claim).contains(&name);
        if volumes.iter().any(|volume| of_volume(volume)) || claims.iter().any(|claim| of_claim(claim)) {
            return Ok(true);
        }
    }
    Ok(false)
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
