//! Where webhooks of this process are: listeners behind Services, and handlers that are called without a socket.

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

/// What is registered, by its place, and Pods that are found elsewhere than at their own address.
#[derive(Clone, Default)]
pub(super) struct Places(
    Arc<RwLock<HashMap<String, Registered>>>,
    Arc<RwLock<HashMap<IpAddr, IpAddr>>>,
);

#[derive(Clone)]
enum Registered {
    Listener(SocketAddr),
    Handler(Handler),
}

impl Places {
    /// A copy that goes its own way.
    pub(super) fn fork(&self) -> Places {
        Places(
            Arc::new(RwLock::new(self.0.read().clone())),
            Arc::new(RwLock::new(self.1.read().clone())),
        )
    }

    pub(super) fn place_pod(&self, pod_ip: IpAddr, at: Option<IpAddr>) {
        let mut pods = self.1.write();
        match at {
            Some(at) => pods.insert(pod_ip, at),
            None => pods.remove(&pod_ip),
        };
    }

    /// Where a Pod with this address is found.
    pub(super) fn of_pod(&self, address: SocketAddr) -> SocketAddr {
        let at = self.1.read().get(&address.ip()).copied();
        SocketAddr::new(at.unwrap_or(address.ip()), address.port())
    }

    pub(super) fn listen(&self, place: WebhookAddress<'_>, address: SocketAddr) {
        self.0.write().insert(place.key(), Registered::Listener(address));
    }

    pub(super) fn handle(&self, place: WebhookAddress<'_>, handler: Handler) {
        self.0.write().insert(place.key(), Registered::Handler(handler));
    }

    pub(super) fn forget(&self, place: WebhookAddress<'_>) {
        self.0.write().remove(&place.key());
    }

    pub(super) fn listener(&self, namespace: &str, name: &str, port: u16) -> Option<SocketAddr> {
        let key = WebhookAddress::Service(namespace, name, port).key();
        match self.0.read().get(&key)? {
            Registered::Listener(address) => Some(*address),
            Registered::Handler(_) => None,
        }
    }

    pub(super) fn handler(&self, place: WebhookAddress<'_>) -> Option<Handler> {
        let registered = self.0.read();
        if registered.is_empty() {
            return None;
        }
        match registered.get(&place.key())? {
            Registered::Handler(handler) => Some(Arc::clone(handler)),
            Registered::Listener(_) => None,
        }
    }
}
