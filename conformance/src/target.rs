//! The servers that cases are played against.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::kubelet::{RunningPod, ServePort};

/// An error below HTTP, such as a failed connection or a broken stream.
pub type TransportError = Box<dyn Error + Send + Sync>;

/// A response body read frame by frame, so that a watch can stay open while later steps write.
pub type StreamingBody = UnsyncBoxBody<Bytes, TransportError>;

/// The response to a request, once its head has arrived.
pub type ResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Response<StreamingBody>, TransportError>> + Send + 'a>>;

/// The bytes of a connection that was upgraded.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// The answer to a request to upgrade its connection, and the connection if that was granted.
pub type Upgraded = (Response<StreamingBody>, Option<Box<dyn Connection>>);

/// The answer to one request to upgrade its connection.
pub type UpgradeFuture<'a> = Pin<Box<dyn Future<Output = Result<Upgraded, TransportError>> + Send + 'a>>;

/// A Pod on its way to answering.
pub type RunPodFuture<'a> = Pin<Box<dyn Future<Output = Result<RunningPod, TransportError>> + Send + 'a>>;

/// The end of a compaction.
pub type Compaction<'a> = Pin<Box<dyn Future<Output = Result<(), TransportError>> + Send + 'a>>;

/// The annotations of an audit event.
pub type AuditAnnotations<'a> =
    Pin<Box<dyn Future<Output = Result<BTreeMap<String, String>, TransportError>> + Send + 'a>>;

/// An extension of a request to which the target adds no credentials, because the request has its own or is anonymous.
#[derive(Clone, Copy, Debug)]
pub struct OwnCredentials;

/// A server that cases are played against: the real one, or the embedded one.
pub trait Target: Send + Sync {
    /// Sends one request as a cluster administrator, unless it has [`OwnCredentials`]. The path is absolute (`/api/v1/…`).
    fn send(&self, request: Request<Bytes>) -> ResponseFuture<'_>;

    /// As [`Target::send`], for a request that asks to upgrade its connection.
    fn upgrade(&self, request: Request<Bytes>) -> UpgradeFuture<'_>;

    /// Has the containers of a Pod answer, which is created later, and these ports of it by their names.
    fn run_pod<'a>(&'a self, namespace: &'a str, pod: &'a str, ports: Vec<(String, ServePort)>) -> RunPodFuture<'a>;

    /// Drops all history up to now, so that older versions and tokens expire.
    fn compact(&self) -> Compaction<'_>;

    /// The annotations of the audit event with this id.
    fn audit_annotations<'a>(&'a self, id: &'a str) -> AuditAnnotations<'a>;

    /// How long a written webhook configuration, role or definition may take until it is in effect.
    fn takes_effect_within(&self) -> Duration {
        Duration::ZERO
    }
}
