//! Which Pod replaces which when both want the same port: the one of the newer revision of their Deployment.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kubewright_runtime::object::ObjectKey;

use super::Context;

/// Whether a Pod is of a newer revision of the Deployment that another is of.
pub(super) async fn is_successor(context: &Context, pod: &Pod, other: &Pod) -> bool {
    if pod.metadata.namespace != other.metadata.namespace {
        return false;
    }
    let (new, old) = (revision(context, pod).await, revision(context, other).await);
    matches!((new, old), (Some((deployment, new)), Some((same, old))) if deployment == same && new > old)
}

/// The Deployment of a Pod, by uid, and the revision it is of.
async fn revision(context: &Context, pod: &Pod) -> Option<(String, i64)> {
    let controller = |owners: &Option<Vec<OwnerReference>>| {
        let mut owners = owners.iter().flatten().cloned();
        owners.find(|owner| owner.controller == Some(true))
    };
    let owner = controller(&pod.metadata.owner_references).filter(|owner| owner.kind == "ReplicaSet")?;
    let key = ObjectKey::namespaced(pod.metadata.namespace.as_deref()?, &owner.name);
    let set = context.client.live().get_opt::<ReplicaSet>(&key).await.ok()??;
    let deployment = controller(&set.metadata.owner_references).filter(|owner| owner.kind == "Deployment")?;
    let annotations = set.metadata.annotations.as_ref()?;
    let revision = annotations.get("deployment.kubernetes.io/revision")?.parse().ok()?;
    Some((deployment.uid, revision))
}
