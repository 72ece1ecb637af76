//! What is served where.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Request;
use hyper::body::Incoming;

use super::response::{HttpResponse, not_found};

/// Answers requests. Functions are handlers.
pub trait Handler: Send + Sync + 'static {
    /// The answer to a request.
    fn call(&self, request: Request<Incoming>) -> BoxFuture<'static, HttpResponse>;
}

impl<F, R> Handler for F
where
    F: Fn(Request<Incoming>) -> R + Send + Sync + 'static,
    R: Future<Output = HttpResponse> + Send + 'static,
{
    fn call(&self, request: Request<Incoming>) -> BoxFuture<'static, HttpResponse> {
        Box::pin(self(request))
    }
}

/// What is served where. A path that ends with `/` stands for all paths below it; the longest one wins, as in Go.
///
/// ```
/// use kubewright_runtime::serve::{Checks, Router};
///
/// let readiness = Checks::new();
/// readiness.add("ping", || async { Ok(()) });
/// let router = Router::new()
///     .route("/readyz", readiness.handler("/readyz"))
///     .route("/readyz/", readiness.handler("/readyz"));
/// # drop(router);
/// ```
#[derive(Clone, Default)]
pub struct Router {
    routes: BTreeMap<String, Arc<dyn Handler>>,
}

impl Router {
    /// Nothing is served.
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves a path. The last handler of a path wins.
    pub fn route(mut self, path: impl Into<String>, handler: impl Handler) -> Self {
        self.routes.insert(path.into(), Arc::new(handler));
        self
    }

    /// The paths that are served.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.routes.keys().map(String::as_str)
    }

    /// Wraps every handler.
    pub(super) fn map(mut self, wrap: impl Fn(Arc<dyn Handler>) -> Arc<dyn Handler>) -> Self {
        self.routes = self
            .routes
            .into_iter()
            .map(|(path, handler)| (path, wrap(handler)))
            .collect();
        self
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> HttpResponse {
        let handler = self.find(request.uri().path()).map(Arc::clone);
        match handler {
            Some(handler) => handler.call(request).await,
            None => not_found(),
        }
    }

    fn find(&self, path: &str) -> Option<&Arc<dyn Handler>> {
        self.routes.get(path).or_else(|| {
            let below = self
                .routes
                .iter()
                .filter(|(route, _)| route.ends_with('/') && path.starts_with(route.as_str()));
            below.max_by_key(|(route, _)| route.len()).map(|(_, handler)| handler)
        })
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.routes.keys()).finish()
    }
}
