//! Connections that stop being HTTP: a request asks for another protocol, its answer is 101, and what the handler gave to
//! [`Upgrade`] goes on with the bytes of the connection. A handler does not know its transport: the transport finds the upgrade in
//! the body of the answer and runs it.

pub(crate) mod containers;
pub(crate) mod exec;
mod idle;
pub(crate) mod node;
mod pieces;
pub(crate) mod port_forward;
pub(crate) mod remote_command;
pub(crate) mod spdy;
pub(crate) mod websocket;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use http::{HeaderMap, Response, header};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::wire::body::Body;

/// A connection: bytes in both directions, each of which may end before the other.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// How long a client may take for its side of the end.
const CLOSING: Duration = Duration::from_secs(10);

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What goes on over a connection once it stops being HTTP.
pub(crate) struct Upgrade(Box<dyn FnOnce(Box<dyn Connection>) -> Running + Send>);

impl Upgrade {
    pub(crate) fn new<F, Fut>(run: F) -> Self
    where
        F: FnOnce(Box<dyn Connection>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Upgrade(Box::new(|connection| Box::pin(run(connection))))
    }

    /// Goes on until either side ends the connection.
    pub(crate) async fn run(self, connection: impl Connection + 'static) {
        (self.0)(Box::new(connection)).await;
    }
}

/// Marks a response that upstream writes to the connection itself, past everything that adds headers to an answer.
#[derive(Clone, Debug)]
pub(crate) enum OutsideHttp {
    /// A handshake, with the headers that are part of one.
    Handshake,
    /// What another server answered, with that server's headers.
    Verbatim(HeaderMap),
}

impl OutsideHttp {
    /// Gives a response these headers and no others.
    pub(crate) fn verbatim(response: &mut Response<Body>, headers: HeaderMap) {
        *response.headers_mut() = headers.clone();
        response.extensions_mut().insert(OutsideHttp::Verbatim(headers));
    }

    /// Takes away the headers that upstream does not send with a response of this kind.
    pub(crate) fn strip(response: &mut Response<Body>) {
        match response.extensions_mut().remove::<OutsideHttp>() {
            None => return,
            Some(OutsideHttp::Verbatim(headers)) => {
                *response.headers_mut() = headers;
                return;
            }
            Some(OutsideHttp::Handshake) => {}
        }
        let kept = [
            header::CONNECTION,
            header::UPGRADE,
            header::SEC_WEBSOCKET_ACCEPT,
            header::SEC_WEBSOCKET_PROTOCOL,
            header::SEC_WEBSOCKET_VERSION,
            spdy::handshake::PROTOCOL_VERSION,
        ];
        let headers = std::mem::take(response.headers_mut());
        let headers = headers.iter().filter(|(name, _)| kept.contains(name));
        *response.headers_mut() = headers.map(|(name, value)| (name.clone(), value.clone())).collect();
    }
}

/// Whether the headers ask for another protocol, as upstream reads them.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    let mut connections = headers.get_all(header::CONNECTION).iter();
    connections.any(|value| {
        value
            .as_bytes()
            .to_ascii_lowercase()
            .windows(7)
            .any(|part| part == b"upgrade")
    })
}

/// Whether the headers ask for this protocol.
fn asks_for(headers: &HeaderMap, protocol: &str) -> bool {
    let wanted = headers.get(header::UPGRADE);
    wanted.is_some_and(|wanted| wanted.as_bytes().eq_ignore_ascii_case(protocol.as_bytes())) && is_upgrade(headers)
}

/// Whether the headers ask for SPDY/3.1, as upstream reads them: the name may stand anywhere in the header.
pub(crate) fn asks_for_spdy(headers: &HeaderMap) -> bool {
    let wanted = headers.get(header::UPGRADE);
    let wanted = wanted.map(|wanted| wanted.as_bytes().to_ascii_lowercase());
    wanted.is_some_and(|wanted| wanted.windows(8).any(|part| part == b"spdy/3.1")) && is_upgrade(headers)
}

/// Reads what a client still sends, for a while: closing a socket with something unread would take back what was written last.
pub(crate) async fn drain(mut reading: impl AsyncRead + Unpin) {
    let mut nowhere = tokio::io::sink();
    let rest = tokio::io::copy(&mut reading, &mut nowhere);
    let _ = tokio::time::timeout(CLOSING, rest).await;
}
