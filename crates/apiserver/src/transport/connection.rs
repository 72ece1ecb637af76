//! One TLS connection: handshake, identity, then requests over HTTP/1.1 or HTTP/2 until either side ends it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use kubewright_system::listen::{self, WriteTimeout};
use kubewright_system::stop::Stop;
use rustls::server::danger::ClientCertVerifier;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::certificates::{Certificates, Error};
use super::identity;
use super::read;
use super::stop::Stoppable;
use super::upgraded::Upgraded;
use crate::access::Identity;
use crate::server::ApiServer;

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
/// Upstream's limit for a request's head.
const MAX_HEAD: u32 = 1024 * 1024;

/// What all connections of a listener share.
pub(super) struct TlsTransport {
    server: ApiServer,
    acceptor: TlsAcceptor,
    verifier: Arc<dyn ClientCertVerifier>,
    http: auto::Builder<TokioExecutor>,
    /// How long a write may stall.
    write_timeout: Duration,
}

impl TlsTransport {
    pub(super) fn new(
        server: ApiServer,
        certificates: &Certificates,
        write_timeout: Duration,
    ) -> Result<TlsTransport, Error> {
        let verifier = certificates.verifier()?;
        let config = certificates.server_config(verifier.clone())?;
        let mut http = auto::Builder::new(TokioExecutor::new());
        // Go writes `Audit-Id`, and there are clients that look for it.
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_headers(MAX_HEADERS)
            .title_case_headers(true);
        http.http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_WITHIN)
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(MAX_HEAD);
        Ok(TlsTransport {
            server,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            verifier,
            http,
            write_timeout,
        })
    }

    /// Serves a connection to its end. What goes wrong on it concerns only its peer, which knows.
    pub(super) async fn serve(self: Arc<Self>, socket: TcpStream, stop: Stop) {
        let Some(Ok(stream)) = listen::handshake(self.handshake(socket), HANDSHAKE, &stop).await else {
            return;
        };
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let client = identity::of(&*self.verifier, chain);
        let upgraded = Upgraded::default();
        let service = service_fn(|request| {
            let connection = (stop.clone(), upgraded.clone());
            answer(self.server.clone(), client.clone(), request, connection)
        });
        let _ = listen::serve_http(&self.http, stream, service, &stop).await;
        tokio::select! {
            () = upgraded.run() => {}
            () = stop.stopped() => {}
        }
    }
}

impl TlsTransport {
    /// Does the TLS handshake. A client that speaks plain HTTP gets Go's message about it.
    async fn handshake(&self, mut socket: TcpStream) -> io::Result<TlsStream<WriteTimeout<TcpStream>>> {
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
        self.acceptor
            .accept(WriteTimeout::new(socket, self.write_timeout))
            .await
    }
}

async fn answer(
    server: ApiServer,
    client: Identity,
    mut request: Request<Incoming>,
    (stop, upgraded): (Stop, Upgraded),
) -> io::Result<Response<Stoppable>> {
    let on_upgrade = hyper::upgrade::on(&mut request);
    let (parts, body) = request.into_parts();
    let body = async {
        if body.is_end_stream() {
            return Ok(Ok(Bytes::new()));
        }
        timeout(BODY, read::whole(body)).await.map_err(io::Error::from)
    };
    let mut response = server.serve(&client, &parts, body).await?;
    upgraded.keep(on_upgrade, &mut response);
    Ok(response.map(|body| Stoppable::new(body, &stop)))
}
