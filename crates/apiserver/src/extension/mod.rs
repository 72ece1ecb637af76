//! A server of nothing but kinds that somebody defined, as an aggregated API is served: the whole pipeline without the kinds
//! of Kubernetes itself, under the access of another server, and over rows that may live elsewhere.
//!
//! [`ApiServer::of_definitions`] makes such a server; [`DelegatedAccess`] decides who its clients are and what they may do;
//! a [`RowSource`] stands for the storage of a kind.

mod access;
mod mirror;
mod order;
mod rows;

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kubewright_store::{Revision, Store};
use serde_json::Value;

pub use access::{DelegatedAccess, InvalidCertificate};
pub(crate) use mirror::{Following, Mirror};
pub use rows::{RowError, RowSource, RowVerbs};

use crate::server::ApiServer;
use crate::server::options::Options;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Why a definition cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("{name} cannot be served: {message}")]
pub struct DefinitionError {
    /// The name of the definition.
    pub name: String,
    /// What the server says of it.
    pub message: String,
}

/// A kind to be served: its `CustomResourceDefinition`, and where its objects are if not in the memory of the server.
#[derive(Clone)]
pub struct ServedDefinition {
    /// The definition.
    pub definition: Value,
    /// Where the objects come from; the server keeps them in memory without one.
    pub rows: Option<Arc<dyn RowSource>>,
}

impl std::fmt::Debug for ServedDefinition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServedDefinition")
            .field("name", &self.definition["metadata"]["name"])
            .field("rows", &self.rows.as_ref().map(|rows| rows.verbs()))
            .finish()
    }
}

impl ApiServer {
    /// A server of these kinds and no others: nothing of Kubernetes itself is routed to, discovered or published, objects may be
    /// in any namespace, and nobody but [`Options::delegated_access`] is asked about a client.
    ///
    /// What is kept in memory is gone when the server is. Its resource versions begin where the clock is, so that those of a
    /// server that ran before are older: clients that know them are told to list anew.
    pub async fn of_definitions(
        options: Options,
        definitions: impl IntoIterator<Item = ServedDefinition>,
    ) -> Result<ApiServer, DefinitionError> {
        let clock = options.clock();
        let first = u64::try_from(clock.now().as_microsecond()).unwrap_or(1);
        let store = Store::starting_at(options.limits(), Revision(first));
        let server = ApiServer::over(&store, &options);
        let mut mirrors = BTreeMap::new();
        for ServedDefinition { definition, rows } in definitions {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if let Some(rows) = rows {
                server.server.definitions.limit_verbs(&name, rows.verbs().names());
                mirrors.insert(name.clone(), Arc::new(Mirror::new(rows)));
            }
            let refused = |message: String| DefinitionError {
                name: name.clone(),
                message,
            };
            let request = Request::post(DEFINITIONS)
                .header(header::CONTENT_TYPE, "application/json")
                .body(definition.to_string().into())
                .map_err(|error| refused(error.to_string()))?;
            let response = server.handle(request).await;
            if response.status() != StatusCode::CREATED {
                let body = response.into_body().collect().await;
                let text = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
                let status: Value = serde_json::from_slice(&text).unwrap_or_default();
                let message = status["message"].as_str().unwrap_or("it is not a definition");
                return Err(refused(message.to_owned()));
            }
        }
        server.server.definitions.hide_built_ins();
        // Nothing reads them before: the server is not shared yet.
        let _ = server.server.mirrors.set(mirrors);
        Ok(server)
    }
}
