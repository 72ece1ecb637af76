//! Webhooks on this machine: listeners that stand for Services, handlers that are called without a socket, and the addresses of Pods
//! whose containers are processes.

use std::collections::HashMap;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use parking_lot::RwLock;

/// A webhook in this process.
pub(super) type Handler =
    Arc<dyn Fn(Request<Bytes>) -> Pin<Box<dyn Future<Output = Response<Bytes>> + Send>> + Send + Sync>;

/// Where a call goes.
#[derive(Clone, Copy)]
pub(super) enum WebhookAddress<'a> {
    /// A Service: its namespace, name and port.
    Service(&'a str, &'a str, u16),
    /// A host and a port.
    Host(&'a str, u16),
}

impl WebhookAddress<'_> {
    fn key(self) -> String {
        match self {
            WebhookAddress::Service(namespace, name, port) => format!("{namespace}/{name}:{port}"),
            WebhookAddress::Host(host, port) => format!("{}:{port}", host.to_ascii_lowercase()),
        }
    }
}

/// Listeners and handlers by the key of their [`WebhookAddress`], and the addresses that replace those of Pods.
#[derive(Clone, Default)]
pub(super) struct LocalEndpoints(
    Arc<RwLock<HashMap<String, Registered>>>,
    Arc<RwLock<HashMap<IpAddr, IpAddr>>>,
);

#[derive(Clone)]
enum Registered {
    Listener(SocketAddr),
    Handler(Handler),
}

impl LocalEndpoints {
    /// A copy: later changes of one are not seen in the other.
    pub(super) fn fork(&self) -> LocalEndpoints {
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

    pub(super) fn listen(&self, address: WebhookAddress<'_>, listener: SocketAddr) {
        self.0.write().insert(address.key(), Registered::Listener(listener));
    }

    pub(super) fn handle(&self, address: WebhookAddress<'_>, handler: Handler) {
        self.0.write().insert(address.key(), Registered::Handler(handler));
    }

    pub(super) fn forget(&self, address: WebhookAddress<'_>) {
        self.0.write().remove(&address.key());
    }

    pub(super) fn listener(&self, namespace: &str, name: &str, port: u16) -> Option<SocketAddr> {
        let key = WebhookAddress::Service(namespace, name, port).key();
        match self.0.read().get(&key)? {
            Registered::Listener(address) => Some(*address),
            Registered::Handler(_) => None,
        }
    }

    pub(super) fn handler(&self, address: WebhookAddress<'_>) -> Option<Handler> {
        let registered = self.0.read();
        if registered.is_empty() {
            return None;
        }
        match registered.get(&address.key())? {
            Registered::Handler(handler) => Some(Arc::clone(handler)),
            Registered::Listener(_) => None,
        }
    }
}
