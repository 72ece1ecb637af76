//! Requests of a test that reach the server changed: an object is created in another form than the test's own.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Request;
use http_body_util::BodyExt as _;
use kube::client::{Body, ClientBuilder};
use kubewright_apiserver::ApiServer;
use serde_json::Value;
use tower::{BoxError, Service};

use super::journal::IntoHttpResponse as _;
use super::layer::HttpResponse;
use super::request::ApiRequest;

/// Changes the object of a write before the server sees it. Called for creations and applies, with what they ask for.
pub(crate) type Rewrite = Arc<dyn Fn(&ApiRequest, &mut Value) + Send + Sync>;

/// A client of the administrator whose writes are changed.
pub(crate) fn rewriting_client(server: &ApiServer, rewrite: Rewrite) -> kube::Client {
    let service = RewritingService {
        inner: server.service(),
        rewrite,
    };
    ClientBuilder::new(service, "default").build()
}

#[derive(Clone)]
struct RewritingService {
    inner: kubewright_apiserver::InProcess,
    rewrite: Rewrite,
}

impl Service<Request<Body>> for RewritingService {
    type Response = HttpResponse;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Service::<Request<Body>>::poll_ready(&mut self.inner, context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let clone = self.inner.clone();
        // `poll_ready` was called on this one, so it is the one to call.
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let rewrite = Arc::clone(&self.rewrite);
        Box::pin(async move {
            let api_request = ApiRequest::of(request.method(), request.uri());
            let is_whole = matches!(api_request.verb.as_str(), "create" | "patch") && api_request.is_write();
            let request = if is_whole {
                let (parts, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let body = match serde_json::from_slice::<Value>(&body) {
                    // Other patches are no objects.
                    Ok(mut object) if object["kind"].is_string() => {
                        rewrite(&api_request, &mut object);
                        serde_json::to_vec(&object)?
                    }
                    _ => body.to_vec(),
                };
                Request::from_parts(parts, Body::from(body))
            } else {
                request
            };
            let answer = inner.call(request).await?;
            Ok(answer.into_http_response())
        })
    }
}
