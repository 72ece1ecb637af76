//! The empty object that a bookmark carries (V6).

use serde_json::{Value, json};

use crate::registry::Resource;
use crate::wire::negotiate::View;

/// An object of the watched kind in which nothing is set but what upstream always writes.
pub(crate) fn empty(resource: &Resource, view: View) -> Value {
    if let View::Metadata { version } = view {
        return json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": format!("meta.k8s.io/{version}"),
            "metadata": {},
        });
    }
    let mut object = resource.zero().clone();
    // Upstream's conversion of an empty workload makes its unset replicas a zero.
    if matches!(
        &*resource.plural,
        "deployments" | "replicasets" | "statefulsets" | "replicationcontrollers"
    ) {
        object["spec"]["replicas"] = 0.into();
    }
    object["kind"] = (*resource.kind).into();
    object["apiVersion"] = resource.api_version.as_str().into();
    object
}
