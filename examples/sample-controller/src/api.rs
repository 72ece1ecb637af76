//! `Foo`: a Deployment by another name. Its definition is written by hand, in `artifacts/examples`.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// What a `Foo` asks for.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "samplecontroller.k8s.io",
    version = "v1alpha1",
    kind = "Foo",
    namespaced,
    status = "FooStatus",
    derive = "PartialEq",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
pub struct FooSpec {
    /// The Deployment it makes.
    #[serde(default)]
    pub deployment_name: String,

    /// How many Pods that has. Whoever does not say leaves it to the Deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// What is observed of a `Foo`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct FooStatus {
    /// How many of its Pods are available.
    #[serde(default)]
    pub available_replicas: i32,
}
