//! Reference kinds as users of kube write them: its derive and `schemars`, nothing of ours.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// MarkdownViewSpec is what is to be shown and how.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(
    group = "view.zoetrope.github.io",
    version = "v1",
    kind = "MarkdownView",
    namespaced,
    doc = "MarkdownView shows documents.",
    status = "MarkdownViewStatus",
    printcolumn(name = "REPLICAS", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(
        name = "AVAILABLE",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Available")].status"#
    )
)]
#[serde(rename_all = "camelCase")]
pub struct MarkdownViewSpec {
    /// Markdowns are the documents, by the name of their file.
    #[schemars(extend("minProperties" = 1))]
    pub markdowns: BTreeMap<String, String>,
    /// Replicas is how many viewers there are.
    #[serde(default = "one")]
    pub replicas: i32,
    /// ViewerImage is what the viewers run.
    pub viewer_image: Option<String>,
}

fn one() -> i32 {
    1
}

/// MarkdownViewStatus is what is known of the viewers.
#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MarkdownViewStatus {
    /// Conditions are what is known.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// FooSpec is the Deployment that is asked for.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(
    group = "samplecontroller.k8s.io",
    version = "v1alpha1",
    kind = "Foo",
    namespaced,
    doc = "Foo asks for a Deployment.",
    status = "FooStatus",
    annotation("api-approved.kubernetes.io", "unapproved, experimental-only")
)]
#[serde(rename_all = "camelCase")]
pub struct FooSpec {
    /// DeploymentName is its name.
    pub deployment_name: Option<String>,
    /// Replicas is how many Pods it has.
    #[schemars(range(min = 1, max = 10))]
    pub replicas: Option<i32>,
}

/// FooStatus is what is known of the Deployment.
#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FooStatus {
    /// AvailableReplicas is how many Pods are there.
    pub available_replicas: Option<i32>,
}
