//! The indexes by which controllers find Pods and what else they own.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use kubewright_runtime::cache::IndexQuery;
use kubewright_runtime::client::{Client, Error};
use kubewright_runtime::controller::Predicate;
use kubewright_runtime::object::{Object, View};

use super::pods;

/// Objects by the uid of their controller; those without one are found by [`ORPHAN`].
pub(crate) const CONTROLLER: &str = "controller-uid";
/// What objects without a controller are found by. No uid is empty.
pub(crate) const ORPHAN: &str = "";

/// Pods by the name of their node; those without one by the empty name.
pub(crate) const NODE: &str = "node";
/// Pods that have ended, all by the same word.
pub(crate) const ENDED: &str = "ended";
/// Pods by their address.
pub(crate) const POD_IP: &str = "pod-ip";

/// What an index finds under a value. Every controller that reads by an index declares it, so that no run of theirs has the error.
#[track_caller]
pub(crate) fn by<K: Object>(client: &Client, name: &str, value: impl Into<String>) -> Result<IndexQuery<K>, Error> {
    Ok(client.cache().index(name)?.query(value))
}

/// What an index finds in the cache now, in one namespace or in all: for what wakes a controller, which waits for no write.
pub(crate) async fn listed<K: Object>(
    client: Client,
    name: &str,
    value: impl Into<String>,
    namespace: Option<&str>,
) -> Vec<View<K>> {
    let client = client.without_waiting();
    let Ok(query) = by::<K>(&client, name, value) else {
        return Vec::new();
    };
    let query = namespace.into_iter().fold(query, IndexQuery::in_namespace);
    client.list(&query).await.unwrap_or_default()
}

/// The value of [`CONTROLLER`].
pub(crate) fn controller<K: Resource>(object: &K) -> Vec<String> {
    let uid = controller_of(object).map_or(ORPHAN, |owner| &owner.uid);
    vec![uid.to_owned()]
}

/// The value of [`NODE`].
pub(crate) fn node(pod: &Pod) -> Vec<String> {
    vec![pods::node_of(pod).to_owned()]
}

/// Lets only those through that have no controller and stay. Nothing is decoded for the many others.
pub(crate) fn orphans() -> Predicate {
    Predicate::new(|event| {
        let object = event.object();
        object.controller().is_none() && !object.is_deleting()
    })
}

/// The owner that is an object's controller.
pub(crate) fn controller_of<K: Resource>(object: &K) -> Option<&OwnerReference> {
    let owners = object.meta().owner_references.iter().flatten();
    owners.into_iter().find(|owner| owner.controller == Some(true))
}
