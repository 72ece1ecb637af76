#![doc = include_str!("../README.md")]

/// Builders for server-side apply, for the built-in kinds and for your own.
#[doc(inline)]
pub use kubewright_apply as apply;
/// A controller-runtime for Rust: the crate behind this one.
#[doc(inline)]
pub use kubewright_runtime::{
    cache, certificates, client, clock, controller, cron, events, flags, informer, lease, manager, mapper, metrics,
    object, operator, policy, queue, random, reflector, serve, stop, strict, trace, webhook,
};

#[cfg(feature = "otlp")]
#[doc(inline)]
pub use kubewright_runtime::otlp;

/// Aggregated APIs: kinds that a program serves itself, behind the API server of a cluster.
#[cfg(feature = "extension")]
#[doc(inline)]
pub use kubewright_extension as extension;
#[cfg(feature = "testing")]
#[doc(inline)]
pub use kubewright_macros::test;
#[doc(inline)]
pub use kubewright_macros::{rbac, resource, schema};

/// The types of Kubernetes' own kinds.
pub use k8s_openapi;
/// The client below, its configuration and `#[derive(CustomResource)]`.
pub use kube;

/// Timestamps, as the types of `k8s-openapi` hold them.
pub use jiff;
/// Schemas of Rust types, from which a `CustomResourceDefinition` is made.
pub use schemars;
/// Objects from and to bytes.
pub use serde;
/// JSON as a value.
pub use serde_json;
/// Tasks and time.
pub use tokio;
/// Spans and log lines.
pub use tracing;

pub mod conversion;
pub mod optional;
#[doc = include_str!("markers.md")]
pub mod markers {}
pub mod prelude;
#[doc(hidden)]
pub mod support;
pub mod testing;
