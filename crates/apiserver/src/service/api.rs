//! Registers servers of webhooks and aggregated APIs that run in the process of the server's user, or on its machine.

use std::error::Error;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;

use super::local_endpoints::{EndpointAddress, Handler, LocalEndpoint};
use crate::server::{ApiServer, Server};

impl ApiServer {
    /// Directs what the API server sends to a port of this Service, as a client of webhooks and of aggregated APIs, to a
    /// listener of this machine, whether the Service exists or not. Its certificate must be for `name.namespace.svc`, as in
    /// a cluster.
    pub fn serve_service(&self, namespace: &str, name: &str, port: u16, address: SocketAddr) {
        let service = EndpointAddress::Service(namespace, name, port);
        self.server.register(service, LocalEndpoint::Listener(address));
    }

    /// Answers what the API server sends to a port of this Service with a tower service of this process, without a socket
    /// and without TLS: requests are streamed, and so are responses; `hyper::upgrade::on` gives the connection behind an
    /// upgrade. It is what an aggregated API server needs that runs in the process of a test. Only the API server reaches
    /// it, so the `X-Remote-User` of a request is true.
    ///
    /// ```
    /// use std::convert::Infallible;
    ///
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use http_body_util::Full;
    /// use kubewright_apiserver::{ApiServer, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::new(Options::new());
    /// let weather = tower::service_fn(|request: Request<hyper::body::Incoming>| async move {
    ///     let user = request.headers()["X-Remote-User"].to_str().unwrap_or_default().to_owned();
    ///     Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(format!("sunny, {user}"))))
    /// });
    /// server.serve_service_with("weather", "api", 443, weather);
    ///
    /// let api_service = r#"{"metadata": {"name": "v1.weather.example.com"}, "spec": {
    ///     "group": "weather.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10,
    ///     "service": {"namespace": "weather", "name": "api"}}}"#;
    /// let request = Request::post("/apis/apiregistration.k8s.io/v1/apiservices").header("Content-Type", "application/json");
    /// assert_eq!(server.handle(request.body(api_service.into())?).await.status(), 201);
    ///
    /// let ask = || Request::get("/apis/weather.example.com/v1/forecasts").body(Bytes::new());
    /// while server.handle(ask()?).await.status() != 200 {
    ///     tokio::time::sleep(std::time::Duration::from_millis(10)).await; // until the API server has seen that it answers
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn serve_service_with<S, B>(&self, namespace: &str, name: &str, port: u16, service: S)
    where
        S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let connections = Arc::new(move |connection| {
            let service = TowerToHyperService::new(service.clone());
            let serving = http1::Builder::new().serve_connection(TokioIo::new(connection), service);
            tokio::spawn(serving.with_upgrades());
        });
        let address = EndpointAddress::Service(namespace, name, port);
        self.server.register(address, LocalEndpoint::Connections(connections));
    }

    /// Answers calls of webhooks to a port of this Service with `handler`, without a socket and without TLS. All else is
    /// as over the network: what is sent, how long it may take, and what answers mean. For a server that streams, such as one of
    /// an aggregated API, see [`serve_service_with`](ApiServer::serve_service_with).
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use kubewright_apiserver::{ApiServer, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::new(Options::new());
    /// server.handle_service("default", "my-webhook", 443, |request: Request<Bytes>| async move {
    ///     assert_eq!(request.uri().path(), "/validate");
    ///     Response::new(Bytes::from_static(b"{}"))
    /// });
    /// server.handle_host("hooks.example.com", 443, |_: Request<Bytes>| async { Response::new(Bytes::new()) });
    ///
    /// // A webhook that listens on this machine, for as long as it does.
    /// server.serve_service("default", "other-webhook", 443, "127.0.0.1:9443".parse().unwrap());
    /// server.forget_service("default", "other-webhook", 443);
    /// # }
    /// ```
    pub fn handle_service<H, F>(&self, namespace: &str, name: &str, port: u16, handler: H)
    where
        H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Bytes>> + Send + 'static,
    {
        let service = EndpointAddress::Service(namespace, name, port);
        self.server.register(service, LocalEndpoint::Handler(boxed(handler)));
    }

    /// As [`handle_service`](ApiServer::handle_service), for webhooks whose `clientConfig` has a URL with this host and
    /// port.
    pub fn handle_host<H, F>(&self, host: &str, port: u16, handler: H)
    where
        H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Bytes>> + Send + 'static,
    {
        let host = EndpointAddress::Host(host, port);
        self.server.register(host, LocalEndpoint::Handler(boxed(handler)));
    }

    /// Directs what the API server sends to a Pod with this address to another one, such as 127.0.0.1 for a Pod whose
    /// containers are processes of this machine; with `None`, to its own again. A Pod cannot have such an address
    /// itself: no `EndpointSlice` may name it.
    ///
    /// ```
    /// # use kubewright_apiserver::{ApiServer, Options};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::new(Options::new());
    /// server.redirect_pod_ip("10.244.0.2".parse().unwrap(), Some("127.0.0.1".parse().unwrap()));
    /// # }
    /// ```
    pub fn redirect_pod_ip(&self, pod_ip: IpAddr, to: Option<IpAddr>) {
        self.server.local_endpoints.redirect_pod_ip(pod_ip, to);
        self.server.after_endpoints();
    }

    /// Removes what was registered for a port of this Service.
    pub fn forget_service(&self, namespace: &str, name: &str, port: u16) {
        let service = EndpointAddress::Service(namespace, name, port);
        self.server.local_endpoints.forget(service);
        self.server.after_endpoints();
    }
}

impl Server {
    fn register(&self, address: EndpointAddress<'_>, endpoint: LocalEndpoint) {
        self.local_endpoints.register(address, endpoint);
        self.after_endpoints();
    }

    /// Forgets connections to where Services led before, and looks at once what is behind them now.
    fn after_endpoints(&self) {
        self.webhooks.close_connections();
        self.recheck_services();
    }
}

fn boxed<H, F>(handler: H) -> Handler
where
    H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Bytes>> + Send + 'static,
{
    Arc::new(move |request| Box::pin(handler(request)))
}
