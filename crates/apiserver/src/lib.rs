//! An embedded Kubernetes API server: the real API, in this process, within milliseconds.
//!
//! [`ApiServer`] is the server; its doors are [`ApiServer::client`] (in-process, for `kube`), [`ApiServer::listen`]
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
mod allocate;
mod audit;
mod bookmark;
mod bootstrap;
mod call;
mod continue_token;
mod convert;
mod custom;
mod decode;
mod delete_options;
mod discovery;
mod door;
mod go_text;
mod health;
mod list_options;
mod logs;
mod manage;
mod metrics;
mod name;
mod object;
mod openapi;
mod options;
mod place;
mod plain;
mod registry;
mod request;
mod select;
mod server;
mod status;
mod subresource;
mod table;
mod timeout;
mod tokens;
mod verbs;
mod version;
mod webhook;
mod wire;
mod write;
mod write_options;

pub use access::{Attributes, User};
pub use audit::{AuditEvent, AuditQuery, AuditVerdict};
pub use door::{InProcess, ListenError, ListenOptions, Listener};
pub use logs::LogWriter;
pub use options::{AuthorizationMode, Options};
pub use server::ApiServer;
pub use wire::body::Body;

pub use kubewright_system::clock::Clock;
