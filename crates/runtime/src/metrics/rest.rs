//! Counts the requests of a client: a layer for `kube`'s client builder.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tokio::time::Instant;
use tower::{Layer, Service};

use super::runtime::RestMetrics;

impl RestMetrics {
    /// A layer that counts the requests to `host` (with its port), for `kube::client::ClientBuilder::with_layer`.
    pub fn layer(&self, host: &str) -> CountRequestsLayer {
        CountRequestsLayer {
            metrics: self.clone(),
            host: host.into(),
        }
    }

    /// A client that sends through `client` and counts.
    pub(crate) fn count(&self, client: kube::Client, host: &str) -> kube::Client {
        let namespace = client.default_namespace().to_owned();
        let send = tower::service_fn(move |request: Request<kube::client::Body>| {
            let client = client.clone();
            async move { client.send(request).await }
        });
        kube::Client::new(self.layer(host).layer(send), namespace)
    }
}

/// Makes [`CountRequests`].
#[derive(Clone, Debug)]
pub struct CountRequestsLayer {
    metrics: RestMetrics,
    host: Arc<str>,
}

impl<S> Layer<S> for CountRequestsLayer {
    type Service = CountRequests<S>;

    fn layer(&self, inner: S) -> CountRequests<S> {
        CountRequests {
            inner,
            count: self.clone(),
        }
    }
}

/// A client whose requests are counted.
#[derive(Clone, Debug)]
pub struct CountRequests<S> {
    inner: S,
    count: CountRequestsLayer,
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
        let CountRequestsLayer { metrics, host } = self.count.clone();
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
