//! Counts the requests of a client.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tokio::time::Instant;
use tower::Service;

use super::runtime::RestMetrics;

impl RestMetrics {
    /// A client that sends through `client` and counts its requests to `host` (with its port).
    pub(crate) fn count(&self, client: kube::Client, host: &str) -> kube::Client {
        let namespace = client.default_namespace().to_owned();
        let send = tower::service_fn(move |request: Request<kube::client::Body>| {
            let client = client.clone();
            async move { client.send(request).await }
        });
        let counting = CountRequests {
            inner: send,
            metrics: self.clone(),
            host: host.into(),
        };
        kube::Client::new(counting, namespace)
    }
}

/// A client whose requests are counted.
#[derive(Clone, Debug)]
struct CountRequests<S> {
    inner: S,
    metrics: RestMetrics,
    host: Arc<str>,
}

impl<S, B, R> Service<Request<B>> for CountRequests<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (metrics, host) = (self.metrics.clone(), Arc::clone(&self.host));
        let method = request.method().clone();
        let began = Instant::now();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = match &answer {
                Ok(response) => response.status().as_str().to_owned(),
                // client-go's name for a request without an answer.
                Err(_) => "<error>".to_owned(),
            };
            metrics.requests.with([&code, method.as_str(), &host]).inc();
            metrics
                .duration
                .with([method.as_str(), &host])
                .observe_duration(began.elapsed());
            answer
        })
    }
}
