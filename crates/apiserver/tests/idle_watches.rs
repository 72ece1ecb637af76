//! What a watch takes while nothing happens. A program of its own, because all that it allocates is counted.
//!
//! The server has a thread of its own, and only what that thread allocates counts: the clients are on another one.

use std::sync::{Arc, mpsc};
use std::thread;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::upgrade::Upgraded;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_apiserver::{ApiServer, ListenOptions, Options};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const WATCH: &str = "/api/v1/namespaces/none/configmaps?watch=true";
/// How many watches are counted, after some that are not, so that what is made once is there, and the TLS sessions are that are kept to be
/// resumed (256, two for each connection).
const WATCHES: usize = 200;
const BEFORE: usize = 150;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Whom clients connect to, and as whom.
struct Address {
    port: std::net::SocketAddr,
    authority: String,
    certificate: String,
    key: String,
}

async fn connect(to: &Address, protocol: &[u8]) -> TokioIo<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(to.authority.as_bytes()).expect("a certificate");
    roots.add(authority).expect("an authority");
    let certificate = CertificateDer::from_pem_slice(to.certificate.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(to.key.as_bytes()).expect("a key");
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![certificate], key)
        .expect("a client's certificate");
    config.alpn_protocols = vec![protocol.to_vec()];
    let socket = TcpStream::connect(to.port).await.expect("a connection");
    let name = ServerName::try_from("kubernetes.default.svc").expect("a name");
    let connected = TlsConnector::from(Arc::new(config)).connect(name, socket).await;
    TokioIo::new(connected.expect("a handshake"))
}

/// How watches are carried.
#[derive(Clone, Copy, PartialEq)]
enum Carried {
    /// All on one connection of HTTP/2.
    Http2,
    /// Each on a connection of HTTP/1.1.
    Http1,
    /// Each on a connection that was upgraded.
    WebSocket,
}

/// What a client holds of a watch.
enum Open {
    Body(#[expect(dead_code, reason = "held, so that the watch goes on")] Incoming),
    Connection(#[expect(dead_code, reason = "held, so that the watch goes on")] Upgraded),
}

async fn open(to: &Address, carried: Carried, count: usize) -> Vec<Open> {
    let mut open = Vec::with_capacity(count);
    if carried == Carried::Http2 {
        let stream = connect(to, b"h2").await;
        let (mut client, connection) = http2::handshake(TokioExecutor::new(), stream).await.expect("HTTP/2");
        tokio::spawn(connection);
        for _ in 0..count {
            let request = Request::get(format!("https://kubernetes{WATCH}")).body(Empty::<Bytes>::new());
            let answer = client
                .send_request(request.expect("a request"))
                .await
                .expect("an answer");
            assert_eq!(answer.status(), StatusCode::OK);
            open.push(Open::Body(answer.into_body()));
        }
    } else {
        for _ in 0..count {
            let stream = connect(to, b"http/1.1").await;
            let (mut client, connection) = http1::handshake(stream).await.expect("HTTP/1.1");
            tokio::spawn(connection.with_upgrades());
            let mut request = Request::get(WATCH).header("host", "kubernetes");
            if carried == Carried::WebSocket {
                request = request
                    .header("connection", "Upgrade")
                    .header("upgrade", "websocket")
                    .header("sec-websocket-version", "13")
                    .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
                    .header("origin", "http://localhost");
            }
            let request = request.body(Empty::<Bytes>::new()).expect("a request");
            let mut answer = client.send_request(request).await.expect("an answer");
            open.push(if carried == Carried::WebSocket {
                assert_eq!(answer.status(), StatusCode::SWITCHING_PROTOCOLS);
                Open::Connection(hyper::upgrade::on(&mut answer).await.expect("an upgrade"))
            } else {
                assert_eq!(answer.status(), StatusCode::OK);
                Open::Body(answer.into_body())
            });
        }
    }
    open
}

/// How many bytes one more watch takes in the server.
fn bytes_of_a_watch(carried: Carried) -> usize {
    let server_runtime = runtime();
    let server = server_runtime.block_on(async { ApiServer::new(Options::new()) });
    let listener = server_runtime.block_on(server.listen(ListenOptions::default()));
    let listener = listener.expect("a listener");
    let address = Address {
        port: listener.local_addr(),
        authority: listener.ca_pem().to_owned(),
        certificate: listener.client_certificate_pem().to_owned(),
        key: listener.client_key_pem().to_owned(),
    };
    let (orders, ordered) = mpsc::channel::<(usize, oneshot::Sender<()>)>();
    let clients = thread::spawn(move || {
        runtime().block_on(async {
            let mut open_watches = Vec::new();
            while let Ok((count, done)) = ordered.recv() {
                open_watches.extend(open(&address, carried, count).await);
                // The server may have gone.
                let _ = done.send(());
            }
        });
    });
    let order = |count| {
        let (done, is_done) = oneshot::channel();
        orders.send((count, done)).expect("clients");
        server_runtime.block_on(is_done).expect("watches");
    };
    order(BEFORE);
    let counted = allocation_counter::measure(|| order(WATCHES));
    drop(orders);
    clients.join().expect("clients");
    usize::try_from(counted.bytes_current).expect("more is allocated than freed") / WATCHES
}

#[test]
fn an_idle_watch_on_a_shared_connection_takes_at_most_8_kilobytes() {
    let bytes = bytes_of_a_watch(Carried::Http2);
    println!("a watch on HTTP/2: {bytes} bytes");
    assert!(bytes <= 8 * 1024, "{bytes} bytes");
}

/// The connection is a part of it, with all that rustls keeps.
#[test]
fn an_idle_watch_with_a_connection_of_its_own_takes_at_most_8_kilobytes() {
    let bytes = bytes_of_a_watch(Carried::Http1);
    println!("a watch on HTTP/1.1 with its connection: {bytes} bytes");
    assert!(bytes <= 8 * 1024, "{bytes} bytes");
}

/// The same, with what a WebSocket needs.
#[test]
fn an_idle_watch_over_websocket_takes_at_most_10_kilobytes() {
    let bytes = bytes_of_a_watch(Carried::WebSocket);
    println!("a watch over WebSocket with its connection: {bytes} bytes");
    assert!(bytes <= 10 * 1024, "{bytes} bytes");
}
