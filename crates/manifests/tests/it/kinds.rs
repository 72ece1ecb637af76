//! Kinds as users of kube have them.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Documents in Markdown, shown by a viewer.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
#[kube(
    group = "view.zoetrope.github.io",
    version = "v1",
    kind = "MarkdownView",
    namespaced,
    status = "MarkdownViewStatus",
    doc = "MarkdownView shows documents.",
    shortname = "mdv",
    printcolumn = r#"{"name":"Replicas","type":"integer","jsonPath":".spec.replicas"}"#
)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MarkdownViewSpec {
    /// The documents, by file name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) markdowns: BTreeMap<String, String>,
    /// How many viewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<i32>,
    /// The viewer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) viewer_image: String,
}

/// Whether it is shown.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
pub(crate) struct MarkdownViewStatus {
    /// What is known of it.
    #[serde(default)]
    pub(crate) conditions: Vec<Condition>,
}

/// One of everything that a field may be.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "example.com",
    version = "v1alpha1",
    kind = "Gallery",
    plural = "galleries",
    status = "GalleryStatus",
    category = "all",
    annotation("example.com/owner", "curators"),
    label("team", "art"),
    selectable = ".spec.name",
    deprecated = "use v1 instead",
    scale(
        spec_replicas_path = ".spec.count",
        status_replicas_path = ".status.count",
        label_selector_path = ".status.selector"
    ),
    validation = Rule::new("self.metadata.name != 'none'")
)]
#[x_kube(validation = Rule::new("self.count >= 0").message("no negative pictures"))]
#[serde(rename_all = "camelCase")]
pub(crate) struct GallerySpec {
    /// Its name.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z]+$"))]
    pub(crate) name: String,
    pub(crate) count: u32,
    #[serde(default = "visitors")]
    pub(crate) visitors: u16,
    pub(crate) opens: Option<Time>,
    pub(crate) limit: Option<Quantity>,
    pub(crate) door: Option<IntOrString>,
    pub(crate) tags: BTreeSet<String>,
    pub(crate) rooms: Vec<Option<Room>>,
    /// Which pictures.
    pub(crate) pictures: Option<LabelSelector>,
    pub(crate) extra: Option<RawExtension>,
    pub(crate) meta: Option<ObjectMeta>,
    pub(crate) initial: char,
    pub(crate) large: u128,
    pub(crate) nothing_less: std::num::NonZeroI32,
    pub(crate) address: std::net::IpAddr,
    #[serde(default)]
    pub(crate) style: Style,
    #[serde(default)]
    pub(crate) frame: Frame,
    #[serde(flatten)]
    pub(crate) lender: Option<Lender>,
}

fn visitors() -> u16 {
    100
}

/// A room.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Room {
    #[schemars(range(min = 1))]
    pub(crate) size: i64,
    /// Whatever else there is to say.
    #[serde(flatten)]
    pub(crate) rest: BTreeMap<String, serde_json::Value>,
}

/// How it looks.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
pub(crate) enum Style {
    /// White walls.
    #[default]
    Modern,
    Classic,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
pub(crate) struct Frame {
    pub(crate) color: Option<String>,
    pub(crate) width: Option<i8>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Lender {
    Museum { city: String },
    Person(String),
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub(crate) struct GalleryStatus {
    pub(crate) count: i32,
    pub(crate) selector: Option<String>,
}

/// Something with a template.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Workload", namespaced)]
pub(crate) struct WorkloadSpec {
    pub(crate) template: PodTemplateSpec,
}

pub(crate) mod v1 {
    use super::*;

    /// What a tree is to be.
    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "example.com",
        version = "v1",
        kind = "Tree",
        namespaced,
        shortname = "tr",
        label("team", "wood"),
        printcolumn = r#"{"name":"Height","type":"integer","jsonPath":".spec.height"}"#
    )]
    pub(crate) struct TreeSpec {
        pub(crate) height: i32,
    }
}

pub(crate) mod v2 {
    use super::*;

    /// What a tree is to be.
    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "example.com",
        version = "v2",
        kind = "Tree",
        namespaced,
        annotation("example.com/since", "2026"),
        printcolumn = r#"{"name":"Kind","type":"string","jsonPath":".spec.kind"}"#
    )]
    pub(crate) struct TreeSpec {
        pub(crate) height: i32,
        pub(crate) kind: String,
    }
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Odd", namespaced)]
pub(crate) struct OddSpec {
    pub(crate) pair: (i32, String),
    pub(crate) tree: Branch,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) branches: Vec<Branch>,
}

/// A kind whose schema kube's derive cannot write.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Untold", namespaced)]
pub(crate) struct UntoldSpec {
    pub(crate) season: Season,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "type")]
pub(crate) enum Season {
    Spring { blossoms: u32 },
    Autumn { leaves: u32 },
}

/// A kind that only a server finds fault with.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Mistaken", namespaced)]
pub(crate) struct MistakenSpec {
    #[schemars(range(max = 3), extend("default" = 7))]
    pub(crate) size: i32,
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["missing"]))]
    pub(crate) names: Vec<Name>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Name {
    pub(crate) first: String,
}

/// A kind with a rule that compares a number with a text.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Misruled", namespaced)]
pub(crate) struct MisruledSpec {
    #[schemars(inner(range(max = 3)), extend("x-kubernetes-validations" = [{ "rule": "self > 'a'" }]))]
    pub(crate) sizes: Vec<i32>,
}
