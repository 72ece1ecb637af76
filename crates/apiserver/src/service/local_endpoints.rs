//! Servers on this machine: listeners that stand for Services, what answers without a socket, and the addresses of Pods whose
//! containers are processes.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::RwLock;
use tokio::io::DuplexStream;

/// The longest body that is read for a handler of whole requests.
const MAX_WHOLE_BODY: usize = 64 << 20;

/// What answers whole requests in this process.
pub(crate) type Handler =
    Arc<dyn Fn(Request<Bytes>) -> Pin<Box<dyn Future<Output = Response<Bytes>> + Send>> + Send + Sync>;

/// Serves one connection of HTTP/1.1 in this process, until either side ends it.
pub(crate) type ConnectionServer = Arc<dyn Fn(DuplexStream) + Send + Sync>;

/// What something is registered for.
#[derive(Clone, Copy)]
pub(crate) enum EndpointAddress<'a> {
    /// A Service: its namespace, name and port.
    Service(&'a str, &'a str, u16),
    /// A host and a port.
    Host(&'a str, u16),
}

impl EndpointAddress<'_> {
    fn key(self) -> String {
        match self {
            EndpointAddress::Service(namespace, name, port) => format!("{namespace}/{name}:{port}"),
            EndpointAddress::Host(host, port) => format!("{}:{port}", host.to_ascii_lowercase()),
        }
    }
}

/// What is registered, by the key of its [`EndpointAddress`], and the addresses that replace those of Pods.
#[derive(Clone, Default)]
pub(crate) struct LocalEndpoints(
    Arc<RwLock<HashMap<String, LocalEndpoint>>>,
    Arc<RwLock<HashMap<IpAddr, IpAddr>>>,
);

/// What answers for a Service on this machine.
#[derive(Clone)]
pub(crate) enum LocalEndpoint {
    /// A socket, which speaks TLS.
    Listener(SocketAddr),
    /// A function of whole requests.
    Handler(Handler),
    /// A server of connections, without TLS.
    Connections(ConnectionServer),
}

impl LocalEndpoint {
    /// What serves connections in this process; `None` for a socket.
    pub(crate) fn connections(self) -> Option<ConnectionServer> {
        match self {
            LocalEndpoint::Listener(_) => None,
            LocalEndpoint::Handler(handler) => Some(serving_handler(handler)),
            LocalEndpoint::Connections(server) => Some(server),
        }
    }
}

/// Serves connections with a function of whole requests.
fn serving_handler(handler: Handler) -> ConnectionServer {
    Arc::new(move |connection| {
        let handler = Arc::clone(&handler);
        let service = service_fn(move |request: Request<Incoming>| {
            let handler = Arc::clone(&handler);
            async move {
                let (parts, body) = request.into_parts();
                let whole = Limited::new(body, MAX_WHOLE_BODY).collect().await;
                Ok::<_, Infallible>(match whole {
                    Ok(body) => handler(Request::from_parts(parts, body.to_bytes()))
                        .await
                        .map(Full::new),
                    Err(error) => {
                        let mut response = Response::new(Full::from(error.to_string()));
                        *response.status_mut() = http::StatusCode::BAD_REQUEST;
                        response
                    }
                })
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(connection), service));
    })
}

impl LocalEndpoints {
    /// A copy: later changes of one are not seen in the other.
    pub(crate) fn fork(&self) -> LocalEndpoints {
        LocalEndpoints(
            Arc::new(RwLock::new(self.0.read().clone())),
            Arc::new(RwLock::new(self.1.read().clone())),
        )
    }

    pub(super) fn redirect_pod_ip(&self, pod_ip: IpAddr, to: Option<IpAddr>) {
        let mut pods = self.1.write();
        match to {
            Some(to) => pods.insert(pod_ip, to),
            None => pods.remove(&pod_ip),
        };
    }

    /// The address to connect to for a Pod with this address.
    pub(super) fn of_pod(&self, address: SocketAddr) -> SocketAddr {
        let at = self.1.read().get(&address.ip()).copied();
        SocketAddr::new(at.unwrap_or(address.ip()), address.port())
    }

    pub(super) fn register(&self, address: EndpointAddress<'_>, endpoint: LocalEndpoint) {
        self.0.write().insert(address.key(), endpoint);
    }

    pub(super) fn forget(&self, address: EndpointAddress<'_>) {
        self.0.write().remove(&address.key());
    }

    /// What is registered for an address.
    pub(crate) fn get(&self, address: EndpointAddress<'_>) -> Option<LocalEndpoint> {
        let registered = self.0.read();
        if registered.is_empty() {
            return None;
        }
        registered.get(&address.key()).cloned()
    }
}
