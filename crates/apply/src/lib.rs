//! Server-side apply of what was set and nothing else: a builder for each built-in kind of Kubernetes, and for each type that they are
//! made of.
//!
//! ```
//! use kubewright_apply::apps::v1::{DeploymentApply, DeploymentSpecApply};
//! use kubewright_apply::core::v1::{ContainerApply, PodSpecApply, PodTemplateSpecApply};
//! use kubewright_apply::meta::v1::{LabelSelectorApply, ObjectMetaApply};
//! use serde_json::json;
//!
//! let web = DeploymentApply::namespaced("shop", "web").label("app", "web").spec(
//!     DeploymentSpecApply::new()
//!         .replicas(3)
//!         .selector(LabelSelectorApply::new().match_labels([("app", "web")]))
//!         .template(
//!             PodTemplateSpecApply::new()
//!                 .metadata(ObjectMetaApply::new().labels([("app", "web")]))
//!                 .spec(PodSpecApply::new().containers([ContainerApply::new().name("web").image("nginx")])),
//!         ),
//! );
//! assert_eq!(
//!     serde_json::to_value(&web).unwrap(),
//!     json!({
//!         "apiVersion": "apps/v1",
//!         "kind": "Deployment",
//!         "metadata": { "namespace": "shop", "name": "web", "labels": { "app": "web" } },
//!         "spec": {
//!             "replicas": 3,
//!             "selector": { "matchLabels": { "app": "web" } },
//!             "template": {
//!                 "metadata": { "labels": { "app": "web" } },
//!                 "spec": { "containers": [{ "name": "web", "image": "nginx" }] },
//!             },
//!         },
//!     })
//! );
//! ```
//!
//! `client.apply(&web)` of the runtime sends it. A misspelt field does not compile:
//!
//! ```compile_fail,E0599
//! use kubewright_apply::apps::v1::DeploymentSpecApply;
//!
//! let spec = DeploymentSpecApply::new().replica(3);
//! ```
//!
//! # Setting a field twice
//!
//! The second value of a field takes the place of the first. Where the server merges a list or a map, so do the setters: maps get further
//! entries, sets further values, and lists with keys (containers by `name`, ports by `containerPort` and `protocol`) further items,
//! where an item with the keys of an earlier one takes its place.
//!
//! # From objects
//!
//! [`Apply::extract`] finds what a manager owns of an object that was read. `TryFrom` makes a builder of a value of `k8s-openapi`: what
//! these types write although nobody set it (`"selector": {}`) is left out, and where that cannot be told, the conversion is refused.
//!
//! # Features
//!
//! A module for each group (`apps`, `core`, `batch` …), with its versions, behind a feature of its name; `meta` is always there. Names are
//! those of `k8s-openapi` with `Apply` behind them, and fields have the names that they have there (`type_`, `cluster_ip`). The
//! types are those of Kubernetes 1.36.
//!
//! [`Apply`] is an object in the making, [`Part`] what its fields take. `#[kubewright::resource]` and `#[kubewright::schema]` write such
//! builders for a program's own types, whose setters end here.

mod extract;
mod fields;
#[allow(unused_imports, unused_macros)]
mod generated;
mod object;
mod part;
#[cfg(test)]
mod tests;
mod typed;

pub use extract::ExtractError;
pub use fields::Fields;
pub use object::{Apply, BuiltIn, Own};
pub use part::{Part, list, map};
pub use typed::TypedError;

/// Webhooks and policies of admission.
#[cfg(feature = "admissionregistration")]
pub mod admissionregistration {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Definitions of custom resources.
#[cfg(feature = "apiextensions")]
pub mod apiextensions {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Aggregated APIs.
#[cfg(feature = "apiregistration")]
pub mod apiregistration {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Deployments, stateful sets, daemon sets and replica sets.
#[cfg(feature = "apps")]
pub mod apps {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Autoscalers of pods.
#[cfg(feature = "autoscaling")]
pub mod autoscaling {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1; /// Version v2.
    #[rustfmt::skip]
    pub mod v2;
}

/// Jobs and cron jobs.
#[cfg(feature = "batch")]
pub mod batch {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Requests for certificates.
#[cfg(feature = "certificates")]
pub mod certificates {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Leases.
#[cfg(feature = "coordination")]
pub mod coordination {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Pods, services, config maps, secrets, volumes, nodes and namespaces.
#[cfg(feature = "core")]
pub mod core {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Endpoint slices.
#[cfg(feature = "discovery")]
pub mod discovery {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Events.
#[cfg(feature = "events")]
pub mod events {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Priorities of requests.
#[cfg(feature = "flowcontrol")]
pub mod flowcontrol {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// What all kinds share: metadata, selectors, conditions.
pub mod meta {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Ingresses and network policies.
#[cfg(feature = "networking")]
pub mod networking {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Runtime classes.
#[cfg(feature = "node")]
pub mod node {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Disruption budgets.
#[cfg(feature = "policy")]
pub mod policy {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Roles and their bindings.
#[cfg(feature = "rbac")]
pub mod rbac {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Devices and claims for them.
#[cfg(feature = "resource")]
pub mod resource {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Priority classes.
#[cfg(feature = "scheduling")]
pub mod scheduling {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}

/// Storage classes and drivers.
#[cfg(feature = "storage")]
pub mod storage {
    /// Version v1.
    #[rustfmt::skip]
    pub mod v1;
}
