//! An API that an operator's program serves itself, behind the API server of the cluster: an aggregated API.
//!
//! This crate knows how such a server is described, gets its certificate and is run; what serves it is
//! `kubewright-extension`, which ordinary operators are not built of.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use kubewright_description::DefinitionDescription;
use tokio::net::TcpListener;
use tower::util::BoxCloneSyncService;

use crate::certificates::ServingCertificates;
use crate::clock::Clock;
use crate::manager::{RunContext, Runnable};
use crate::serve::{BindAddress, Certificates};
use crate::stop::Stop;

/// What a server of an aggregated API gets.
pub struct ExtensionContext {
    /// The API server of the cluster, which knows the clients and what they may do.
    pub kube: kube::Client,
    /// Where to listen.
    pub listener: TcpListener,
    /// The certificate to show.
    pub certificates: Certificates,
    /// When to end.
    pub stop: Stop,
}

impl fmt::Debug for ExtensionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtensionContext")
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

/// What a server of an aggregated API in the process of the API server gets.
pub struct InProcessContext {
    /// The API server, which is asked what clients may do.
    pub kube: kube::Client,
    /// What time it is.
    pub clock: Clock,
    /// Makes uids and generated names repeat themselves; they differ from run to run if `None`.
    pub seed: Option<u64>,
}

impl fmt::Debug for InProcessContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcessContext")
            .field("clock", &self.clock)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// An aggregated API as a service of this process: how the embedded API server reaches it without a socket.
pub type InProcessExtension = BoxCloneSyncService<
    Request<Incoming>,
    Response<UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>>,
    Box<dyn Error + Send + Sync>,
>;

/// The server of an aggregated API: `kubewright::extension::ExtensionServer` is one.
pub trait ApiExtension: Any + Send + Sync {
    /// One server of the kinds of both, which an operator serves at one port; `None` if the other is of another type.
    fn join(&self, other: &dyn Any) -> Option<Arc<dyn ApiExtension>>;

    /// The kinds it serves, one entry per version.
    fn definitions(&self) -> Vec<DefinitionDescription>;

    /// Serves until asked to stop. An error stops the manager.
    fn serve(
        self: Arc<Self>,
        context: ExtensionContext,
    ) -> BoxFuture<'static, Result<(), Box<dyn Error + Send + Sync>>>;

    /// The same for an API server in this process, whose `X-Remote-User` and its like are to be believed.
    fn in_process(
        self: Arc<Self>,
        context: InProcessContext,
    ) -> BoxFuture<'static, Result<InProcessExtension, Box<dyn Error + Send + Sync>>>;
}

/// An extension with what the manager has to know to run it.
pub(crate) struct ServedExtension {
    pub(crate) extension: Arc<dyn ApiExtension>,
    pub(crate) address: BindAddress,
    pub(crate) certificates: ServingCertificates,
}

impl Runnable for ServedExtension {
    async fn run(self, context: RunContext) -> Result<(), Box<dyn Error + Send + Sync>> {
        let ServedExtension {
            extension,
            address,
            certificates,
        } = self;
        let bound = address.bind().await;
        let Some(listener) = bound.map_err(|error| format!("cannot listen at {address}: {error}"))? else {
            return Ok(());
        };
        tracing::info!(address = %listener.local_addr()?, "serving an aggregated API");
        let (kube, clock) = (context.client.kube().clone(), context.client.clock());
        let serving = extension.serve(ExtensionContext {
            kube: kube.clone(),
            listener,
            certificates: certificates.certificates(),
            stop: context.stop.clone(),
        });
        let (served, ()) = tokio::join!(serving, certificates.keep(kube, clock, context.stop));
        served
    }
}
