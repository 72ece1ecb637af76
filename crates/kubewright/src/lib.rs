#![doc = include_str!("../README.md")]

/// A controller-runtime for Rust: the crate behind this one.
#[doc(inline)]
pub use kubewright_runtime::{
    cache, certificates, chance, client, clock, controller, events, flags, informer, lease, manager, mapper, metrics,
    object, operator, queue, reflector, serve, stop, webhook,
};

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
pub mod prelude;
pub mod testing;
