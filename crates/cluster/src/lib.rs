//! A cluster as the commands use it: which one it is, and what is done to its objects.
//! [`ClusterFlags`] finds it, [`Cluster`] speaks with it; [`apply`], [`delete`] and [`inventory`] say what is written. [`embedded`] starts one
//! in this process, [`installation`] brings an operator to it, and [`progress`] shows all that on a terminal.
//!
//! ```
//! use kubewright_cluster::Reference;
//! use kubewright_cluster::embedded::Embedded;
//! use kubewright_cluster::progress::Progress;
//! use kubewright_cluster::{Cluster, runtime};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! runtime()?.block_on(async {
//!     let embedded = Embedded::start_with(0, None, None, &Progress::new()).await?;
//!     let cluster = Cluster::of(embedded.client(), "embedded");
//!     let namespace = Reference::new("v1", "Namespace", None, "default");
//!     assert!(cluster.get(&namespace).await?.is_some());
//!     embedded.shutdown().await;
//!     Ok(())
//! })
//! # }
//! ```

pub mod apply;
pub mod bundle;
mod connect;
pub mod definitions;
pub mod delete;
pub mod denials;
pub mod embedded;
mod error;
pub mod installation;
pub mod inventory;
pub mod kubeconfig;
pub mod local_extension;
mod output;
pub mod ports;
mod prepare;
pub mod progress;
mod reference;
mod text;
pub mod values;

use kube::api::{GetParams, ListParams, Patch, PatchParams};
use kube::core::Request;
use kubewright_runtime::mapper::{MapperError, RestMapper};
use kubewright_runtime::object::Kind;
use serde_json::Value;

pub use apply::ApplyOutcome;
pub use connect::{ConnectError, ServerAddress};
pub use error::{Error, describe_failure, status};
pub use kubewright_apimachinery::errors::with_sources;
pub use output::Output;
pub use prepare::is_redirected;
pub use reference::Reference;
pub use text::{objects_text, quoted};

/// Under this name everything is applied.
pub const MANAGER: &str = "kubewright";

/// More threads than this do nothing faster.
const MAX_THREADS: usize = 8;

/// Where the commands run.
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS));
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
}

/// The flags by which a cluster is chosen.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ClusterFlags {
    /// Path to a kubeconfig. Without it $KUBECONFIG counts, then the service account of the Pod this runs in, then
    /// ~/.kube/config.
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub kubeconfig: Option<std::path::PathBuf>,

    /// The context of the kubeconfig to use, in place of its current one.
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    pub context: Option<String>,
}

/// A cluster that has answered.
pub struct Cluster {
    client: kube::Client,
    mapper: RestMapper,
    /// How people know it.
    title: String,
}

impl Cluster {
    /// One that is there.
    pub fn of(client: kube::Client, title: impl Into<String>) -> Self {
        Cluster {
            mapper: RestMapper::new(client.clone()),
            client,
            title: title.into(),
        }
    }

    /// How people know it: `kind-dev (https://127.0.0.1:6443)`.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The client that speaks with it.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }

    /// The kind of an object, as the cluster has it.
    pub async fn kind(&self, reference: &Reference) -> Result<Kind, Error> {
        let (group, version) = reference.group_version();
        match self.mapper.kind(group, version, &reference.kind).await {
            Ok(kind) => Ok(kind),
            Err(MapperError::NoMatch(_)) => Err(Error::no_kind(reference)),
            Err(MapperError::Discovery(source)) => Err(Error::Request(source)),
        }
    }

    /// The kind of a name in a group, in the version the cluster prefers; `None` if there is none.
    pub(crate) async fn preferred(&self, group: &str, kind: &str) -> Result<Option<Kind>, Error> {
        match self.mapper.preferred(group, kind).await {
            Ok(kind) => Ok(Some(kind)),
            Err(MapperError::NoMatch(_)) => Ok(None),
            Err(MapperError::Discovery(source)) => Err(Error::Request(source)),
        }
    }

    /// The object, if it is there.
    pub async fn get(&self, reference: &Reference) -> Result<Option<Value>, Error> {
        let kind = self.kind(reference).await?;
        let request = self
            .requests(&kind, reference)
            .get(&reference.name, &GetParams::default());
        found(self.send(request).await)
    }

    /// The objects of a kind that a selector chooses, in one namespace or in all.
    pub async fn list(&self, kind: &Kind, namespace: Option<&str>, labels: &str) -> Result<Vec<Value>, Error> {
        let mut params = ListParams::default().limit(500);
        if !labels.is_empty() {
            params = params.labels(labels);
        }
        let requests = Request::new(kind.path(namespace));
        let mut all = Vec::new();
        loop {
            let Some(mut page) = found(self.send(requests.list(&params)).await)? else {
                return Ok(all);
            };
            let items = page["items"].take();
            if let Value::Array(items) = items {
                all.extend(items.into_iter().map(|mut item| {
                    // The items of a list do not say what they are.
                    item["apiVersion"] = kind.api_version().into();
                    item["kind"] = kind.kind().into();
                    item
                }));
            }
            match page["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(token),
                None => return Ok(all),
            }
        }
    }

    /// Applies an object under the name of this tool.
    pub async fn apply(&self, reference: &Reference, object: &Value, dry_run: bool) -> Result<Value, Error> {
        let kind = self.kind(reference).await?;
        let mut params = PatchParams::apply(MANAGER).force().validation_strict();
        params.dry_run = dry_run;
        let request = self
            .requests(&kind, reference)
            .patch(&reference.name, &params, &Patch::Apply(object));
        self.send(request).await
    }

    /// Patches an object, a list by JSON Patch and all else by JSON Merge Patch; `None` if it is not there.
    pub async fn patch(&self, reference: &Reference, patch: &Value) -> Result<Option<Value>, Error> {
        let kind = self.kind(reference).await?;
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let mut request = self
            .requests(&kind, reference)
            .patch(&reference.name, &params, &Patch::Merge(patch));
        if let (true, Ok(request)) = (patch.is_array(), &mut request) {
            let json_patch = http::HeaderValue::from_static("application/json-patch+json");
            request.headers_mut().insert(http::header::CONTENT_TYPE, json_patch);
        }
        found(self.send(request).await)
    }

    fn requests(&self, kind: &Kind, reference: &Reference) -> Request {
        Request::new(kind.path(self.namespace_of(kind, reference).as_deref()))
    }

    /// Where an object lives: objects of namespaces that name none are in that of the context.
    fn namespace_of(&self, kind: &Kind, reference: &Reference) -> Option<String> {
        let chosen = reference.namespace.clone();
        kind.is_namespaced()
            .then(|| chosen.unwrap_or_else(|| self.client.default_namespace().to_owned()))
    }

    async fn send(&self, request: Result<http::Request<Vec<u8>>, kube::core::request::Error>) -> Result<Value, Error> {
        let failed = |error| Error::Request(Box::new(error));
        let request = request.map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        self.client.request(request).await.map_err(failed)
    }
}

/// Treats a missing object as success.
fn found(answer: Result<Value, Error>) -> Result<Option<Value>, Error> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(error) if status(&error).is_some_and(|status| status.code == 404) => Ok(None),
        Err(error) => Err(error),
    }
}
