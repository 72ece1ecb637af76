//! Another server that answers for a group and version, and the connections to it.

use std::io;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use kubewright_system::clock::Clock;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;

use super::connections::Connections;
use super::discovery::DiscoveredVersion;
use super::front_proxy::{self, ClientCertificate};
use super::openapi::RemoteDocuments;
use crate::server::Server;
use crate::service::resolve::{self, Resolved};
use crate::service::tls::{self, Trust};
use crate::service::{Connection, EndpointAddress, OutgoingBody, connection};

/// How often a request is sent again that a server refused before it looked at it, as Go's client does.
const RETRIES: u32 = 6;

/// A port of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServicePort {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) port: u16,
}

/// An `APIService` that another server answers for.
pub(crate) struct Remote {
    /// The name of the `APIService`.
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(super) service: ServicePort,
    ca_bundle: Vec<u8>,
    insecure: bool,
    /// How it recognizes this server, if not by the certificate of this process.
    shown: Option<ClientCertificate>,
    /// What the condition `Available` says.
    pub(super) available: AtomicBool,
    /// Whether its tasks have begun: there was a runtime for them.
    pub(super) is_watched: AtomicBool,
    /// What is known of what it serves; outlives a change of the `APIService`.
    pub(super) known: Arc<Known>,
    /// Asks its tasks to look again.
    pub(super) wake: Wake,
    tls: OnceLock<Result<Handshakes, String>>,
    connections: Connections,
}

/// How a connection begins.
#[derive(Clone)]
pub(super) struct Handshakes {
    /// The server may choose HTTP/2.
    any: Arc<rustls::ClientConfig>,
    /// For a request that asks for another protocol, which is HTTP/1.1.
    http1: Arc<rustls::ClientConfig>,
}

/// What is known of what another server serves.
#[derive(Default)]
pub(super) struct Known {
    pub(super) discovery: Mutex<DiscoveredVersion>,
    pub(super) documents: Mutex<RemoteDocuments>,
}

#[derive(Default)]
pub(super) struct Wake {
    pub(super) availability: Notify,
    pub(super) discovery: Notify,
    pub(super) openapi_index: Notify,
    pub(super) openapi_swagger: Notify,
}

impl Wake {
    /// Asks for everything, since the `APIService` was written.
    pub(super) fn all(&self) {
        for task in [
            &self.availability,
            &self.discovery,
            &self.openapi_index,
            &self.openapi_swagger,
        ] {
            task.notify_one();
        }
    }
}

impl Remote {
    /// Reads an `APIService`; `None` if it is local. If nothing has changed for what there was before, that goes on.
    pub(super) fn read(
        name: &str,
        object: &Value,
        before: Option<Arc<Remote>>,
        shown: Option<&ClientCertificate>,
    ) -> Option<Arc<Remote>> {
        let spec = &object["spec"];
        let service = spec.get("service").filter(|service| !service.is_null())?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let remote = Remote {
            name: name.to_owned(),
            group: text(&spec["group"]),
            version: text(&spec["version"]),
            service: ServicePort {
                namespace: text(&service["namespace"]),
                name: text(&service["name"]),
                port: service["port"]
                    .as_u64()
                    .and_then(|port| port.try_into().ok())
                    .unwrap_or(443),
            },
            ca_bundle: BASE64_STANDARD.decode(text(&spec["caBundle"])).unwrap_or_default(),
            insecure: spec["insecureSkipTLSVerify"] == true,
            shown: shown.cloned(),
            available: AtomicBool::new(false),
            is_watched: AtomicBool::new(false),
            known: before
                .as_ref()
                .map(|before| Arc::clone(&before.known))
                .unwrap_or_default(),
            wake: Wake::default(),
            tls: OnceLock::new(),
            connections: Connections::default(),
        };
        let same = before.filter(|before| {
            before.service == remote.service
                && before.ca_bundle == remote.ca_bundle
                && before.insecure == remote.insecure
        });
        Some(same.unwrap_or_else(|| Arc::new(remote)))
    }

    /// Where its Service leads. The error is upstream's message.
    pub(super) fn resolve(&self, server: &Server) -> Result<Resolved, String> {
        resolve::service(server, &self.service.namespace, &self.service.name, self.service.port)
    }

    /// Whether something is registered for its Service, which then need not exist.
    pub(super) fn is_registered(&self, server: &Server) -> bool {
        let ServicePort { namespace, name, port } = &self.service;
        let address = EndpointAddress::Service(namespace, name, *port);
        server.local_endpoints.get(address).is_some()
    }

    /// How it is recognized. The error is upstream's message about a bundle without certificates.
    pub(super) fn tls(&self, clock: Clock) -> Result<Handshakes, String> {
        let made = self.tls.get_or_init(|| {
            let trust = if self.insecure {
                Trust::Anybody
            } else {
                Trust::Bundle(&self.ca_bundle)
            };
            let own = || {
                let proxy = front_proxy::front_proxy()?;
                Some((vec![proxy.client.certificate_der()], proxy.client.key_der()))
            };
            let identity = self.shown.as_ref().map(ClientCertificate::identity).or_else(own);
            let http1 = tls::config(trust, identity, clock)?;
            Ok(Handshakes {
                any: tls::with_http2(&http1),
                http1,
            })
        });
        made.clone()
    }

    /// The name that its certificate must be for.
    fn server_name(&self) -> String {
        format!("{}.{}.svc", self.service.name, self.service.namespace)
    }

    /// A new connection of HTTP/1.1, for a request that asks for another protocol. The error is worded as Go's.
    pub(super) async fn connect_for_upgrade(&self, to: Resolved, clock: Clock) -> Result<Connection, String> {
        let tls = self.tls(clock)?;
        Connection::to(to.route, Some((tls.http1, &self.server_name()))).await
    }

    /// A connection that is there, or a new one, and whether it was there. The error is worded as Go's.
    async fn connection(&self, to: &Resolved, clock: Clock) -> Result<(Connection, bool), String> {
        if let Some(connection) = self.connections.reuse(&to.authority) {
            return Ok((connection, true));
        }
        let tls = self.tls(clock)?;
        let opened = Connection::to(to.route.clone(), Some((tls.any, &self.server_name()))).await?;
        Ok((self.connections.share(opened, &to.authority), false))
    }

    /// Sends a request over a connection that is there, or a new one. The error is worded as Go's.
    pub(super) async fn send(
        self: &Arc<Self>,
        to: Resolved,
        mut request: Request<OutgoingBody>,
        clock: Clock,
    ) -> Result<Response<RemoteBody>, String> {
        let mut refusals = 0;
        loop {
            let (mut connection, was_there) = self.connection(&to, clock).await?;
            let has_streams = connection.has_streams();
            let error = match connection.send(request).await {
                Ok(response) => return Ok(self.receiving(response, connection, to.authority)),
                Err(error) => error,
            };
            drop(connection);
            match error.unsent {
                // The server closed the connection while it was idle: once more over a new one.
                Some(unsent) if was_there && !has_streams => request = unsent,
                Some(unsent) if has_streams && refusals < RETRIES => {
                    if refusals > 0 {
                        tokio::time::sleep(Duration::from_secs(1 << (refusals - 1))).await;
                    }
                    refusals += 1;
                    request = unsent;
                }
                _ => return Err(error.why),
            }
        }
    }

    fn receiving(
        self: &Arc<Self>,
        response: Response<Incoming>,
        connection: Connection,
        authority: String,
    ) -> Response<RemoteBody> {
        response.map(|body| RemoteBody {
            body,
            connection: Some(connection),
            authority,
            remote: Arc::clone(self),
        })
    }

    /// Forgets every idle connection.
    pub(super) fn close_connections(&self) {
        self.connections.close();
    }
}

/// The body of a response, which keeps its connection until it ends. Dropping it before closes the connection, or the stream of it.
pub(super) struct RemoteBody {
    body: Incoming,
    connection: Option<Connection>,
    authority: String,
    remote: Arc<Remote>,
}

impl RemoteBody {
    fn ended(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.remote
                .connections
                .keep(connection, std::mem::take(&mut self.authority));
        }
    }
}

impl http_body::Body for RemoteBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                if self.body.is_end_stream() {
                    self.ended();
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                self.connection = None;
                Some(Err(io::Error::other(connection::body_text(&error))))
            }
            None => {
                self.ended();
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
