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
    ///
    /// ```
    /// use kubewright_runtime::metrics::{Registry, RuntimeMetrics};
    /// use tower::{Layer, ServiceExt};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let registry = Registry::new();
    /// let metrics = RuntimeMetrics::register(&registry).unwrap();
    /// let server = tower::service_fn(|_| async { Ok::<_, std::io::Error>(http::Response::new(())) });
    /// let client = metrics.rest.layer("10.96.0.1:443").layer(server);
    /// client.oneshot(http::Request::new(())).await.unwrap();
    /// let line = "rest_client_requests_total{code=\"200\",host=\"10.96.0.1:443\",method=\"GET\"} 1\n";
    /// assert!(registry.render().contains(line));
    /// # }
    /// ```
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
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let kube = server.client();
/// use kubewright_runtime::metrics::{Registry, RuntimeMetrics};
/// use tower::Layer as _;
///
/// let metrics = RuntimeMetrics::register(&Registry::new())?;
/// let layer = metrics.rest.layer("10.96.0.1:443");
/// let counted = layer.layer(tower::service_fn(move |request: http::Request<kube::client::Body>| {
///     let kube = kube.clone();
///     async move { kube.send(request).await }
/// }));
/// let client = kube::Client::new(counted, "default");
/// client.apiserver_version().await?;
/// assert!(metrics.registry().render().contains("rest_client_requests_total{code=\"200\""));
/// # Ok(())
/// # }
/// ```
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
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright_runtime::metrics::{CountRequests, Registry, RuntimeMetrics};
/// use tower::{Layer as _, ServiceExt as _};
///
/// let metrics = RuntimeMetrics::register(&Registry::new())?;
/// let broken = tower::service_fn(|_: http::Request<()>| async { Err::<http::Response<()>, _>(std::io::Error::other("no")) });
/// let client: CountRequests<_> = metrics.rest.layer("10.96.0.1:443").layer(broken);
/// client.oneshot(http::Request::new(())).await.unwrap_err();
/// assert!(metrics.registry().render().contains("code=\"<error>\""));
/// # Ok(())
/// # }
/// ```
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
