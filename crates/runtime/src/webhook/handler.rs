//! Handlers of admission requests: raw ones, and the typed ones on top of them.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::request::AdmissionRequest;
use super::response::AdmissionResponse;
use crate::client::Client;

/// Judges requests about any kind. Async functions of a request are handlers.
///
/// ```
/// use kubewright_runtime::webhook::{AdmissionRequest, AdmissionResponse, Handler};
///
/// fn not_on_fridays() -> impl Handler {
///     |request: AdmissionRequest| async move {
///         match request.user_info.username.as_str() {
///             "friday" => AdmissionResponse::denied("not on a Friday"),
///             _ => AdmissionResponse::allowed(),
///         }
///     }
/// }
/// # drop(not_on_fridays());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not answer admission requests",
    note = "write an async function `|request: AdmissionRequest| async move {{ AdmissionResponse::allowed() }}`, or implement `Handler`"
)]
pub trait Handler: Send + Sync + 'static {
    /// The answer to a request.
    fn handle(&self, request: AdmissionRequest) -> impl Future<Output = AdmissionResponse> + Send;
}

impl<F, R> Handler for F
where
    F: Fn(AdmissionRequest) -> R + Send + Sync + 'static,
    R: Future<Output = AdmissionResponse> + Send,
{
    fn handle(&self, request: AdmissionRequest) -> impl Future<Output = AdmissionResponse> + Send {
        self(request)
    }
}

/// A handler without its type.
pub(super) trait AnyHandler: Send + Sync {
    fn handle(&self, request: AdmissionRequest) -> BoxFuture<'_, AdmissionResponse>;
}

impl<H: Handler> AnyHandler for H {
    fn handle(&self, request: AdmissionRequest) -> BoxFuture<'_, AdmissionResponse> {
        Box::pin(Handler::handle(self, request))
    }
}

type Make = dyn Fn(&Client) -> Arc<dyn AnyHandler> + Send + Sync;

/// Makes a handler when it is known which cluster it is for.
#[derive(Clone)]
pub(super) enum Factory {
    Ready(Arc<dyn AnyHandler>),
    WithClient(Arc<Make>),
}

impl Factory {
    pub(super) fn ready(handler: impl Handler) -> Self {
        Factory::Ready(Arc::new(handler))
    }

    pub(super) fn with_client<H: Handler>(make: impl Fn(&Client) -> H + Send + Sync + 'static) -> Self {
        Factory::WithClient(Arc::new(move |client| Arc::new(make(client))))
    }

    /// The handler; `None` if it needs a client and there is none.
    pub(super) fn make(&self, client: Option<&Client>) -> Option<Arc<dyn AnyHandler>> {
        match self {
            Factory::Ready(handler) => Some(Arc::clone(handler)),
            Factory::WithClient(make) => client.map(|client| make(client)),
        }
    }
}
