//! A connection to a server behind a Service or a URL, closed when it is dropped. Errors are worded as Go's.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::http2::Http2;
use super::local_endpoints::ConnectionServer;
use super::resolve::Route;
use super::tls;

/// How many of a server's first bytes are kept, to recognize protocols other than HTTP and TLS in error messages.
const KEPT: usize = 256;

/// How many bytes a connection within this process holds before its writer waits.
const PIPE: usize = 64 * 1024;

/// The body of a request that is sent.
pub(crate) type OutgoingBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// An open connection, or a stream of one. Dropping it closes it, once it is the last of its streams.
pub(crate) struct Connection {
    protocol: Protocol,
    /// `local->remote`, for messages.
    ends: String,
}

/// What is spoken.
enum Protocol {
    Http1(Http1),
    Http2(Http2),
}

/// A connection of HTTP/1.1, which has one request at a time.
struct Http1 {
    sender: SendRequest<OutgoingBody>,
    driver: JoinHandle<()>,
    said: FirstBytes,
}

impl Drop for Http1 {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The first bytes of a stream.
#[derive(Clone, Default)]
struct FirstBytes(Arc<Mutex<Vec<u8>>>);

impl FirstBytes {
    fn starts_with(&self, text: &[u8]) -> bool {
        self.0.lock().starts_with(text)
    }

    fn first_line(&self) -> String {
        let said = self.0.lock();
        let line = said.split(|byte| *byte == b'\n').next().unwrap_or_default();
        String::from_utf8_lossy(line).trim_end_matches('\r').to_owned()
    }
}

/// The addresses of a host. The error is worded as Go's.
pub(crate) async fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    // Resolved without a lookup, which would take real time while a paused clock goes on.
    if host.eq_ignore_ascii_case("localhost") {
        let local: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        return Ok(local.map(|address| SocketAddr::new(address, port)).into());
    }
    let found: Vec<SocketAddr> = match tokio::net::lookup_host((host, port)).await {
        Ok(found) => found.collect(),
        Err(_) => Vec::new(),
    };
    if found.is_empty() {
        return Err(format!("dial tcp: lookup {host}{}: no such host", name_server()));
    }
    Ok(found)
}

/// The name server that Go names in its error.
fn name_server() -> String {
    let configured = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let server = configured
        .lines()
        .find_map(|line| line.trim().strip_prefix("nameserver"))
        .map(str::trim);
    server.map_or_else(String::new, |server| match server.parse::<IpAddr>() {
        Ok(address) => format!(" on {}", SocketAddr::new(address, 53)),
        Err(_) => String::new(),
    })
}

impl Connection {
    /// Connects to where a route leads. Within this process there is no TLS.
    pub(crate) async fn to(route: Route, secured: Option<(Arc<ClientConfig>, &str)>) -> Result<Connection, String> {
        match route.look_up().await? {
            Route::InProcess(server) => Connection::in_process(&server).await,
            Route::Addresses(addresses) => Connection::open(&addresses, secured).await,
            Route::Host(host, _) => Err(format!("dial tcp: lookup {host}: no such host")),
        }
    }

    /// Connects to a server of this process.
    async fn in_process(server: &ConnectionServer) -> Result<Connection, String> {
        let (client, connection) = tokio::io::duplex(PIPE);
        server(connection);
        let said = FirstBytes::default();
        Connection::speak(Listening::new(client, said.clone()), said, String::new()).await
    }

    /// Connects to the first address that accepts.
    pub(crate) async fn open(
        addresses: &[SocketAddr],
        secured: Option<(Arc<ClientConfig>, &str)>,
    ) -> Result<Connection, String> {
        let mut first_error = None;
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    let _ = stream.set_nodelay(true);
                    let ends = match stream.local_addr() {
                        Ok(local) => format!("{local}->{address}"),
                        Err(_) => format!("->{address}"),
                    };
                    return Connection::secure(stream, ends, secured).await;
                }
                Err(error) => {
                    first_error.get_or_insert_with(|| format!("dial tcp {address}: connect: {}", os_text(&error)));
                }
            }
        }
        Err(first_error.unwrap_or_else(|| "dial tcp: missing address".into()))
    }

    async fn secure(
        stream: TcpStream,
        ends: String,
        secured: Option<(Arc<ClientConfig>, &str)>,
    ) -> Result<Connection, String> {
        let raw = FirstBytes::default();
        let stream = Listening::new(stream, raw.clone());
        let Some((config, name)) = secured else {
            return Connection::speak(stream, raw, ends).await;
        };
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| format!("tls: failed to verify certificate: x509: invalid host name {name}"))?;
        let stream = TlsConnector::from(config)
            .connect(name, stream)
            .await
            .map_err(|error| handshake_text(&error, &raw, &ends))?;
        if stream.get_ref().1.alpn_protocol() == Some(tls::HTTP2) {
            let protocol = Protocol::Http2(Box::pin(Http2::speak(stream)).await?);
            return Ok(Connection { protocol, ends });
        }
        let said = FirstBytes::default();
        Connection::speak(Listening::new(stream, said.clone()), said, ends).await
    }

    async fn speak<S>(stream: S, said: FirstBytes, ends: String) -> Result<Connection, String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, driver) = http1::Builder::new()
            .title_case_headers(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        let driver = tokio::spawn(async move {
            // An error of the connection reaches the caller through the pending response.
            let _ = driver.with_upgrades().await;
        });
        let protocol = Protocol::Http1(Http1 { sender, driver, said });
        Ok(Connection { protocol, ends })
    }

    /// Whether another request may be sent over it.
    pub(crate) fn is_usable(&self) -> bool {
        match &self.protocol {
            Protocol::Http1(http) => !http.sender.is_closed() && !http.driver.is_finished(),
            Protocol::Http2(http) => http.is_usable(),
        }
    }

    /// Whether its requests are streams, of which it has many at once.
    pub(crate) fn has_streams(&self) -> bool {
        matches!(self.protocol, Protocol::Http2(_))
    }

    /// Since when it has no streams; `None` while it has some, and for a connection without streams.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        match &self.protocol {
            Protocol::Http1(_) => None,
            Protocol::Http2(http) => http.idle_since(),
        }
    }

    /// One more stream; `None` if there are as many as there may be, and for a connection without streams.
    pub(crate) fn stream(&self) -> Option<Connection> {
        match &self.protocol {
            Protocol::Http1(_) => None,
            Protocol::Http2(http) => Some(Connection {
                protocol: Protocol::Http2(http.stream()?),
                ends: self.ends.clone(),
            }),
        }
    }

    pub(crate) async fn send(&mut self, mut request: Request<OutgoingBody>) -> Result<Response<Incoming>, SendError> {
        let go = request.extensions_mut().remove::<GoClient>().is_some();
        let http2 = self.has_streams();
        if go {
            let agent = if http2 {
                "Go-http-client/2.0"
            } else {
                "Go-http-client/1.1"
            };
            let agent = HeaderValue::from_static(agent);
            request.headers_mut().insert(header::USER_AGENT, agent);
        }
        match &mut self.protocol {
            Protocol::Http1(http) => http.send(request, &self.ends).await,
            Protocol::Http2(http) => Box::pin(http.send(request, &self.ends)).await,
        }
    }
}

/// In the extensions of a request: it names Go's HTTP client as its agent, by the version that is spoken.
#[derive(Clone, Copy)]
pub(crate) struct GoClient;

impl Http1 {
    async fn send(&mut self, request: Request<OutgoingBody>, ends: &str) -> Result<Response<Incoming>, SendError> {
        if self.sender.ready().await.is_err() {
            return Err(SendError {
                unsent: Some(request),
                stale: true,
                why: "EOF".into(),
            });
        }
        self.sender.try_send_request(request).await.map_err(|mut error| {
            let unsent = error.take_message();
            let error = error.into_error();
            SendError {
                stale: unsent.is_some() || error.is_canceled() || error.is_closed() || error.is_incomplete_message(),
                why: self.exchange_text(&error, ends),
                unsent,
            }
        })
    }

    fn exchange_text(&self, error: &hyper::Error, ends: &str) -> String {
        if let Some(why) = source_text(error, ends) {
            return why;
        }
        if error.is_parse() {
            let line = kubewright_apimachinery::go::quote(&self.said.first_line());
            return format!("net/http: HTTP/1.x transport connection broken: malformed HTTP response {line}");
        }
        "EOF".into()
    }
}

/// A request that got no response.
pub(crate) struct SendError {
    /// The request, if nothing of it was sent.
    pub(crate) unsent: Option<Request<OutgoingBody>>,
    /// The connection was already closed.
    pub(crate) stale: bool,
    /// Go's message.
    pub(crate) why: String,
}

/// Go's message about a body that ended early.
pub(crate) fn body_text(error: &hyper::Error) -> String {
    source_text(error, "").unwrap_or_else(|| "unexpected EOF".into())
}

/// The cause of an error of hyper, worded as Go's; `None` if the connection just ended.
fn source_text(error: &hyper::Error, ends: &str) -> Option<String> {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(error) = cause.downcast_ref::<rustls::Error>() {
            return Some(tls::worded(error));
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            return io_text(error, ends);
        }
        source = cause.source();
    }
    None
}

/// Go's words for an error of a connection; `None` if it just ended.
pub(super) fn io_text(error: &io::Error, ends: &str) -> Option<String> {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return Some(tls::worded(error));
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => None,
        io::ErrorKind::BrokenPipe => Some(format!("write tcp {ends}: write: broken pipe")),
        _ => Some(format!("read tcp {ends}: read: {}", os_text(error))),
    }
}

fn handshake_text(error: &io::Error, raw: &FirstBytes, ends: &str) -> String {
    if raw.starts_with(b"HTTP/") {
        return "http: server gave HTTP response to HTTPS client".into();
    }
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return tls::worded(error);
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "EOF".into(),
        _ => format!("read tcp {ends}: read: {}", os_text(error)),
    }
}

/// The message of the operating system without the error number.
fn os_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// A stream whose first bytes are kept.
struct Listening<S> {
    stream: S,
    said: FirstBytes,
    heard: usize,
}

impl<S> Listening<S> {
    fn new(stream: S, said: FirstBytes) -> Self {
        Listening { stream, said, heard: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Listening<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, into);
        if self.heard < KEPT {
            let new = &into.filled()[before..];
            let kept = &new[..new.len().min(KEPT - self.heard)];
            self.said.0.lock().extend_from_slice(kept);
            self.heard += kept.len();
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Listening<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
