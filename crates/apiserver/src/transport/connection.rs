//! One TLS connection: handshake, identity, then requests over HTTP/1.1 or HTTP/2 until either side ends it.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use kubewright_system::listen::{self, Stalled, WriteTimeout};
use kubewright_system::stop::Stop;
use rustls::ServerConfig;
use rustls::server::danger::ClientCertVerifier;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::identity::{self, ProxyVerifier};
use super::malformed;
use super::read;
use super::stop::Stoppable;
use super::tls::TlsStream;
use super::upgraded::Upgraded;
use crate::access::Identity;
use crate::request::{ReceivedBody, RequestBody};
use crate::server::ApiServer;
use crate::service::OutgoingBody;

/// How long a client may take for the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection may be idle, and a request's head be on its way: upstream's idle timeout.
const HEAD: Duration = Duration::from_secs(90);
/// How long a request's body may be on its way: upstream's request timeout.
const BODY: Duration = Duration::from_mins(1);
/// How often an HTTP/2 peer is asked whether it is there, and how long it may take to answer; as upstream.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_WITHIN: Duration = Duration::from_secs(15);
/// Watches are streams, and clients with many of them share a connection.
const MAX_STREAMS: u32 = 1000;
/// What may be on its way to us, for one request and for all of a connection.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Upstream only limits the bytes of a head; hyper wants a number of lines, too.
const MAX_HEADERS: usize = 1000;
/// Upstream's limit for a request's head, which Go exceeds a little.
const MAX_HEAD: u32 = 1024 * 1024 + 4096;

/// The address of the client that sent a request, as an extension of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

/// A body that is still on its way.
struct Received(Incoming);

impl RequestBody for Received {
    type Error = io::Error;

    async fn whole(self) -> io::Result<ReceivedBody> {
        if self.0.is_end_stream() {
            return Ok(Ok(Bytes::new()));
        }
        timeout(BODY, read::whole(self.0)).await.map_err(io::Error::from)
    }

    fn stream(self) -> OutgoingBody {
        self.0.map_err(Into::into).boxed_unsync()
    }
}

/// What all connections of a listener share.
pub(super) struct TlsTransport {
    server: ApiServer,
    tls: Arc<ServerConfig>,
    clients: Clients,
    http: auto::Builder<TokioExecutor>,
    http1: http1::Builder,
    /// How long a write may stall.
    write_timeout: Duration,
}

/// Who decides about the certificates of clients.
pub(super) enum Clients {
    /// The authority of the listener, and that of front proxies.
    Verified(Arc<dyn ClientCertVerifier>, Option<ProxyVerifier>),
    /// Whoever decides about access in place of the server.
    Shown,
}

impl TlsTransport {
    pub(super) fn new(
        server: ApiServer,
        config: ServerConfig,
        clients: Clients,
        write_timeout: Duration,
    ) -> TlsTransport {
        let mut http = auto::Builder::new(TokioExecutor::new());
        // Go writes `Audit-Id`, and there are clients that look for it.
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD as usize)
            .title_case_headers(true);
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD as usize)
            .title_case_headers(true);
        http.http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_WITHIN)
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(MAX_HEAD);
        TlsTransport {
            server,
            tls: Arc::new(config),
            clients,
            http,
            http1,
            write_timeout,
        }
    }

    /// Serves a connection to its end. What goes wrong on it concerns only its peer, which knows.
    pub(super) async fn serve(self: Arc<Self>, socket: TcpStream, stop: Stop) {
        let address = socket.peer_addr().ok().map(|address| ClientAddress(address.ip()));
        // Boxed, so that what follows does not keep the room.
        let handshake = Box::pin(listen::handshake(self.handshake(socket), HANDSHAKE, &stop));
        let Some(Ok(stream)) = handshake.await else {
            return;
        };
        let chain = stream.state().peer_certificates().unwrap_or_default();
        let client = match &self.clients {
            Clients::Verified(verifier, proxies) => {
                let identity = identity::of(&**verifier, chain);
                match proxies {
                    Some(proxies) => proxies.of(chain, identity),
                    None => identity,
                }
            }
            Clients::Shown => Identity::Shown(chain.iter().map(|shown| shown.clone().into_owned()).collect()),
        };
        let client = (client, address);
        let connection = Connection {
            stop: stop.clone(),
            stalled: stream.socket().stalled(),
            upgraded: Upgraded::default(),
        };
        let upgraded = connection.upgraded.clone();
        let answer = |request| answer(self.server.clone(), client.clone(), request, connection.clone());
        // Who has not said which version it speaks shows it in the first bytes.
        if stream.state().alpn_protocol() == Some(b"http/1.1") {
            super::http1::serve(&self.http1, stream, answer, &stop).await;
        } else {
            let _ = Box::pin(listen::serve_http(&self.http, stream, service_fn(answer), &stop)).await;
        }
        tokio::select! {
            () = upgraded.run() => {}
            () = stop.stopped() => {}
        }
    }
}

impl TlsTransport {
    /// Does the TLS handshake. A client that speaks plain HTTP gets Go's message about it. The stream is boxed, since a future has room for
    /// it at each place where it is moved.
    async fn handshake(&self, mut socket: TcpStream) -> io::Result<Box<TlsStream<WriteTimeout<TcpStream>>>> {
        let mut first = [0; 5];
        let read = socket.peek(&mut first).await?;
        if ["GET ", "POST", "PUT ", "PATC", "DELE", "HEAD", "OPTI"]
            .iter()
            .any(|method| first[..read].starts_with(method.as_bytes()))
        {
            let refusal = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
            socket.write_all(refusal.as_bytes()).await?;
            socket.shutdown().await?;
            // Closing with something unread would reset the connection, and the answer with it.
            tokio::io::copy(&mut socket.take(MAX_HEAD.into()), &mut tokio::io::sink()).await?;
            return Err(io::ErrorKind::InvalidData.into());
        }
        let socket = WriteTimeout::new(socket, self.write_timeout);
        Ok(Box::new(TlsStream::accept(Arc::clone(&self.tls), socket).await?))
    }
}

/// What the answers of a connection share.
#[derive(Clone)]
struct Connection {
    stop: Stop,
    stalled: Stalled,
    upgraded: Upgraded,
}

async fn answer(
    server: ApiServer,
    (client, address): (Identity, Option<ClientAddress>),
    mut request: Request<Incoming>,
    connection: Connection,
) -> io::Result<Response<Stoppable>> {
    let on_upgrade = hyper::upgrade::on(&mut request);
    let (mut parts, body) = request.into_parts();
    if let Some(response) = malformed::answer(&parts) {
        return Ok(response.map(|body| Stoppable::new(body, &connection.stop, &connection.stalled)));
    }
    if let Some(address) = address {
        parts.extensions.insert(address);
    }
    let threads = Arc::clone(&server.server.threads);
    // Boxed there, so that the task of a stream does not keep the room of a request as long as it sends the answer.
    let answer = threads.run(|notice| async move {
        parts.extensions.insert(notice);
        server.serve(&client, &parts, Received(body)).await
    });
    let mut response = answer.await?;
    connection.upgraded.keep(on_upgrade, &mut response);
    Ok(response.map(|body| Stoppable::new(body, &connection.stop, &connection.stalled)))
}
