//! The server of an aggregated API, and how an operator runs it.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Request;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use kube::CustomResourceExt;
use kubewright_apiserver::{
    ApiServer, AuthorizationMode, DefinitionError, DelegatedAccess, Options, RowSource, ServedDefinition,
};
use kubewright_manifests::definitions::{self, DefinitionOptions, WebhookService};
use kubewright_runtime::conversion::{Conversion, ConversionError, Conversions};
use kubewright_runtime::extension::{ApiExtension, ExtensionContext, InProcessContext, InProcessExtension};
use kubewright_runtime::object::{Kind, Object};
use kubewright_runtime::operator::{ConversionDescription, DefinitionDescription, Description, describe_kind};
use schemars::JsonSchema;
use tower::Service as _;
use tower::util::{BoxCloneSyncService, service_fn};

use crate::access::{Delegation, DelegationOptions};
use crate::rows::{RowStore, Rows};

/// Where the server asks itself to convert; nobody else can reach it.
const CONVERSION: &str = "extension-conversion";
const CONVERSION_NAMESPACE: &str = "kube-system";
const CONVERSION_PORT: u16 = 443;

/// Why an aggregated API cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ExtensionError {
    /// A type is not one that an API server accepts.
    #[error("the kinds cannot be served: {0}")]
    Kinds(String),
    /// The API server refuses a kind.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The conversions contradict each other.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
}

/// Serves kinds of your own as an aggregated API.
///
/// Add it to an operator with [`Operator::extension`](kubewright_runtime::operator::Operator::extension): then `kubewright
/// manifests` writes its `APIServices`, its Service and its role bindings, and the operator's program serves it.
#[derive(Clone, Default)]
pub struct ExtensionServer {
    kinds: Vec<ServedKind>,
    conversions: Vec<Conversion>,
    delegation: DelegationOptions,
}

/// One version of a kind.
#[derive(Clone)]
struct ServedKind {
    describe: fn() -> DefinitionDescription,
    /// The name of its definition.
    name: String,
    rows: Option<Arc<dyn RowSource>>,
}

impl ExtensionServer {
    /// A server without kinds.
    pub fn new() -> Self {
        Self::default()
    }

    /// A kind whose objects are kept in the memory of the server: they are gone when it ends, and one replica does not know those
    /// of another. Several versions of one kind are several calls.
    pub fn stored<K: Object + CustomResourceExt + JsonSchema>(mut self) -> Self {
        self.kinds.push(ServedKind {
            describe: describe_kind::<K>,
            name: definition_name::<K>(),
            rows: None,
        });
        self
    }

    /// A kind whose objects live elsewhere. `K` is the version that is stored, if there are several; the others are added with
    /// [`stored`](Self::stored).
    pub fn rows<K: Object + CustomResourceExt + JsonSchema, R: Rows<K>>(mut self, rows: RowStore<K, R>) -> Self {
        self.kinds.push(ServedKind {
            describe: describe_kind::<K>,
            name: definition_name::<K>(),
            rows: Some(Arc::new(rows)),
        });
        self
    }

    /// Converts a kind between its versions.
    pub fn conversion(mut self, conversion: impl Into<Conversion>) -> Self {
        self.conversions.push(conversion.into());
        self
    }

    /// How the API server of the cluster is asked about clients.
    pub fn delegation(mut self, options: DelegationOptions) -> Self {
        self.delegation = options;
        self
    }

    /// A server that lets everybody do everything, for tests of the kinds themselves: see [`ApiServer::handle`] and
    /// [`ApiServer::client`].
    pub async fn local_server(&self) -> Result<ApiServer, ExtensionError> {
        self.over(Options::new().authorization(AuthorizationMode::AlwaysAllow))
            .await
    }

    /// A server that asks another one who its clients are and what they may do.
    pub async fn server(&self, access: Arc<dyn DelegatedAccess>) -> Result<ApiServer, ExtensionError> {
        self.over(Options::new().delegated_access(access)).await
    }

    async fn over(&self, options: Options) -> Result<ApiServer, ExtensionError> {
        let mut conversions = Conversions::new();
        for conversion in &self.conversions {
            conversions.add(conversion.clone())?;
        }
        let definitions = definitions::render(&self.describe(), &self.definition_options())
            .map_err(|problems| ExtensionError::Kinds(problems.to_string()))?;
        let kinds = definitions.into_iter().map(|definition| {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default();
            let mut named = self.kinds.iter().filter(|kind| kind.name == name);
            let rows = named.find_map(|kind| kind.rows.clone());
            ServedDefinition { definition, rows }
        });
        // The audit trail is for tests of the embedded server.
        let server = ApiServer::of_definitions(options.audit_events(0), kinds).await?;
        if !conversions.is_empty() {
            server.handle_service(CONVERSION_NAMESPACE, CONVERSION, CONVERSION_PORT, move |request| {
                let conversions = conversions.clone();
                async move {
                    let (parts, body) = conversions.answer(request.body()).into_parts();
                    // A whole body is never an error.
                    let body = body.collect().await.map(http_body_util::Collected::to_bytes);
                    http::Response::from_parts(parts, body.unwrap_or_default())
                }
            });
        }
        Ok(server)
    }

    /// The server as tools see it.
    fn describe(&self) -> Description {
        Description {
            definitions: self.definitions(),
            conversions: self.conversions.iter().map(describe_conversion).collect(),
            ..Description::new("extension")
        }
    }

    fn definition_options(&self) -> DefinitionOptions {
        let conversion = (!self.conversions.is_empty()).then(|| WebhookService {
            namespace: CONVERSION_NAMESPACE.to_owned(),
            name: CONVERSION.to_owned(),
        });
        DefinitionOptions {
            conversion,
            version_annotation: false,
            ..DefinitionOptions::default()
        }
    }
}

fn definition_name<K: Object>() -> String {
    let kind = Kind::of::<K>();
    format!("{}.{}", kind.plural(), kind.group())
}

fn describe_conversion(conversion: &Conversion) -> ConversionDescription {
    let kind = conversion.kind();
    ConversionDescription {
        definition: format!("{}.{}", kind.plural(), kind.group()),
        hub: kind.api_version(),
        kind: kind.kind().to_owned(),
        versions: conversion.versions().map(str::to_owned).collect(),
    }
}

impl ApiExtension for ExtensionServer {
    fn join(&self, other: &dyn Any) -> Option<Arc<dyn ApiExtension>> {
        let other = other.downcast_ref::<ExtensionServer>()?;
        let mut joined = self.clone();
        joined.kinds.extend(other.kinds.iter().cloned());
        joined.conversions.extend(other.conversions.iter().cloned());
        if other.delegation != DelegationOptions::default() {
            joined.delegation = other.delegation.clone();
        }
        Some(Arc::new(joined))
    }

    fn definitions(&self) -> Vec<DefinitionDescription> {
        self.kinds.iter().map(|kind| (kind.describe)()).collect()
    }

    fn serve(
        self: Arc<Self>,
        context: ExtensionContext,
    ) -> BoxFuture<'static, Result<(), Box<dyn Error + Send + Sync>>> {
        Box::pin(async move {
            let ExtensionContext {
                kube,
                listener,
                certificates,
                stop,
            } = context;
            let delegation = Arc::new(Delegation::new(kube, self.delegation.clone()));
            let server = self.server(Arc::clone(&delegation) as Arc<dyn DelegatedAccess>).await?;
            let following = delegation.follow(stop.clone());
            let serving = server.serve_tls(listener, certificates.resolver(), stop);
            let (ended, ()) = tokio::join!(serving, following);
            Ok(ended?)
        })
    }

    fn in_process(
        self: Arc<Self>,
        context: InProcessContext,
    ) -> BoxFuture<'static, Result<InProcessExtension, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move {
            let delegation = Delegation::new(context.kube, self.delegation.clone()).believing_headers();
            let mut options = Options::new()
                .delegated_access(Arc::new(delegation))
                .epoch(context.clock.now());
            if let Some(seed) = context.seed {
                options = options.seed(seed);
            }
            let server = self.over(options).await?;
            let service = server.service_by_headers();
            Ok(BoxCloneSyncService::new(service_fn(
                move |request: Request<Incoming>| {
                    let mut service = service.clone();
                    async move {
                        let response = service.call(request).await?;
                        Ok::<_, Box<dyn Error + Send + Sync>>(
                            response.map(|body| body.map_err(Into::into).boxed_unsync()),
                        )
                    }
                },
            )))
        })
    }
}

impl fmt::Debug for ExtensionServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.name.as_str()).collect();
        f.debug_struct("ExtensionServer")
            .field("kinds", &kinds)
            .field("conversions", &self.conversions.len())
            .finish_non_exhaustive()
    }
}
