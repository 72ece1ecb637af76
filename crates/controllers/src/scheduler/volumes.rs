//! Claims that wait for their first Pod: once that has a node, they get a volume that the node reaches, or are marked so that one is made
//! there. Whoever binds claims does the rest. A Pod does not wait for it.

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{Client, Error};
use kubewright_runtime::object::{ObjectKey, View};

use super::fit;
use crate::volume_binder::{self, NO_PROVISIONER, SELECTED_NODE};
use crate::volume_protection::claims_of;

/// Binds volumes for the claims of a Pod that wait for it. Most Pods have none, and those that have are asked of the server: what is
/// bound by mistake is not easily unbound.
pub(super) async fn bind(client: &Client, pod: &View<Pod>, node: &str) -> Result<(), Error> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    for name in claims_of(pod) {
        let live = client.live();
        let claim = live
            .get_opt::<PersistentVolumeClaim>(&ObjectKey::namespaced(namespace, &name))
            .await?;
        if let Some(claim) = claim {
            bind_claim(&live, &claim, node).await?;
        }
    }
    Ok(())
}

async fn bind_claim(client: &Client, claim: &PersistentVolumeClaim, node: &str) -> Result<(), Error> {
    let Some(class) = volume_binder::class_of_unbound(claim) else {
        return Ok(());
    };
    let class = client.get_opt::<StorageClass>(&ObjectKey::cluster(class)).await?;
    let Some(class) = class.filter(|class| volume_binder::waits_for_a_pod(class)) else {
        return Ok(());
    };
    let found = client.get_opt::<Node>(&ObjectKey::cluster(node)).await?;
    let volumes = client.list::<PersistentVolume>(&Query::all()).await?;
    let reached = volumes.iter().map(|volume| &**volume).filter(|volume| {
        let found = found.as_ref();
        found.is_some_and(|found| reaches(found, volume))
    });
    if let Some(bound) = volume_binder::bound_for_pod(claim, reached) {
        client.update(&bound).await?;
    } else if class.provisioner != NO_PROVISIONER {
        let mut marked = claim.clone();
        let annotations = marked.metadata.annotations.get_or_insert_default();
        if annotations.insert(SELECTED_NODE.to_owned(), node.to_owned()).is_none() {
            client.update(&marked).await?;
        }
    }
    Ok(())
}

/// Whether a volume can be reached from a node.
fn reaches(node: &Node, volume: &PersistentVolume) -> bool {
    let affinity = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required.as_ref());
    let labels = node.metadata.labels.as_ref();
    required.is_none_or(|required| {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        fit::selects(required, name, |key| labels?.get(key).map(String::as_str))
    })
}
