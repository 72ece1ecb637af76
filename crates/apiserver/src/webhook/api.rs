//! Registers webhooks that run in the process of the server's user.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};

use super::local_endpoints::{Handler, WebhookAddress};
use crate::server::ApiServer;

impl ApiServer {
    /// Directs calls of webhooks to a port of this Service to a listener of this machine, whether the Service exists or
    /// not. Its certificate must be for `name.namespace.svc`, as in a cluster.
    pub fn serve_service(&self, namespace: &str, name: &str, port: u16, address: SocketAddr) {
        let webhooks = &self.server.webhooks;
        webhooks
            .local_endpoints
            .listen(WebhookAddress::Service(namespace, name, port), address);
        webhooks.clients.close_all();
    }

    /// Answers calls of webhooks to a port of this Service with `handler`, without a socket and without TLS. All else is
    /// as over the network: what is sent, how long it may take, and what answers mean.
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
        let address = WebhookAddress::Service(namespace, name, port);
        self.server.webhooks.local_endpoints.handle(address, boxed(handler));
    }

    /// As [`handle_service`](ApiServer::handle_service), for webhooks whose `clientConfig` has a URL with this host and
    /// port.
    pub fn handle_host<H, F>(&self, host: &str, port: u16, handler: H)
    where
        H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Bytes>> + Send + 'static,
    {
        let address = WebhookAddress::Host(host, port);
        self.server.webhooks.local_endpoints.handle(address, boxed(handler));
    }

    /// Directs calls of webhooks to a Pod with this address to another one, such as 127.0.0.1 for a Pod whose
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
        let webhooks = &self.server.webhooks;
        webhooks.local_endpoints.redirect_pod_ip(pod_ip, to);
        webhooks.clients.close_all();
    }

    /// Removes what was registered for a port of this Service.
    pub fn forget_service(&self, namespace: &str, name: &str, port: u16) {
        let webhooks = &self.server.webhooks;
        webhooks
            .local_endpoints
            .forget(WebhookAddress::Service(namespace, name, port));
        webhooks.clients.close_all();
    }
}

fn boxed<H, F>(handler: H) -> Handler
where
    H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Bytes>> + Send + 'static,
{
    Arc::new(move |request| Box::pin(handler(request)))
}
