// SPDX-License-Identifier: Apache-2.0

//! `Bar`: a Deployment by another name.

/// What a Bar asks for.
#[kubewright::resource(
    group = "samplecontroller.ginoh.github.io",
    version = "v1alpha1",
    kind = "Bar",
    namespaced,
    status = "BarStatus",
    printcolumn(name = "Deployment", type = "string", json_path = ".spec.deploymentName"),
    printcolumn(name = "Replicas", type = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Available", type = "integer", json_path = ".status.availableReplicas"),
    printcolumn(name = "Age", type = "date", json_path = ".metadata.creationTimestamp")
)]
#[derive(Default)]
pub struct BarSpec {
    /// The Deployment it makes.
    #[schema(min_length = 1)]
    pub deployment_name: String,

    /// How many Pods that has; one, if it is not said.
    #[schema(minimum = 1, maximum = 10)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// What is observed of a Bar.
#[kubewright::schema]
#[derive(Default)]
pub struct BarStatus {
    /// How many of its Pods are available.
    #[schema(optional)]
    pub available_replicas: i32,
}
