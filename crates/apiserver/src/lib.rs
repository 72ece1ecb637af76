//! An embedded Kubernetes API server: the real API, in this process, within milliseconds.
//!
//! [`ApiServer`] is the server; its transports are [`ApiServer::client`] (in-process, for `kube`), [`ApiServer::listen`]
//! (TLS, for kubectl and everything else) and [`ApiServer::handle`] (one HTTP request at a time).
//! All of them lead into one entry, and a request goes parse → authenticate → authorize → route → negotiate → dispatch →
//! respond; a write, in between, decode → default → merge → admit (mutating) → prepare → validate → admit (validating) →
//! store → effects.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::{Api, Patch, PatchParams};
//! use kubewright_apiserver::{ApiServer, Options};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), kube::Error> {
//! let server = ApiServer::new(Options::new());
//! let configs: Api<ConfigMap> = Api::default_namespaced(server.client());
//! let wanted = serde_json::json!({
//!     "apiVersion": "v1", "kind": "ConfigMap",
//!     "metadata": { "name": "app" }, "data": { "colour": "blue" },
//! });
//! let applied = configs.patch("app", &PatchParams::apply("me"), &Patch::Apply(&wanted)).await?;
//! assert_eq!(applied.data.unwrap()["colour"], "blue");
//!
//! let experiment = server.fork(); // a copy of the whole cluster, at once
//! assert_eq!(experiment.revision(), server.revision());
//! # Ok(())
//! # }
//! ```

mod access;
mod admit;
mod aggregation;
mod audit;
mod custom;
mod extension;
mod logs;
mod non_resource;
mod object;
mod policy;
mod registry;
mod request;
mod server;
mod service;
mod stream;
mod subresource;
mod transport;
mod verbs;
mod webhook;
mod wire;
mod write;

pub use access::front_proxy::FrontProxyHeaders;
pub use access::tokens::{ServiceAccountTokens, TokenKeyError};
pub use access::{Attributes, User};
pub use access::{AuthorizationWebhook, KubeconfigError};
pub use admit::{AdmissionConfigurationError, AdmissionPlugin};
pub use aggregation::FrontProxyError;
pub use audit::{AuditDecision, AuditEvent, AuditLogFormat, AuditPolicy, AuditQuery};
pub use extension::{
    DefinitionError, DelegatedAccess, InvalidCertificate, RowError, RowSource, RowVerbs, ServedDefinition,
};
pub use logs::LogWriter;
pub use server::options::{AuthorizationMode, Options};
pub use server::{ApiServer, RevisionError, StoredChange, StoredObject};
pub use stream::Connection;
pub use stream::containers::{AttachTarget, ContainerBackend, PodBackend, PodIdentity, PortFuture};
pub use stream::exec::{ExecCommand, ExecEnd, ExecFuture, ExecStreams, TerminalSize, TerminalSizes};
pub use transport::{InProcess, ListenError, ListenOptions, Listener, user_of_certificate};
pub use wire::body::Body;

pub use kubewright_access::Decision;
pub use kubewright_system::clock::Clock;
