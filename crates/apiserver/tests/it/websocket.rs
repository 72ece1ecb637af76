//! Watches and logs over WebSocket, without a socket and over TLS.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{ApiServer, ListenOptions, Listener, Options, User};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Longer than any step takes on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(1);

fn asking(path: &str) -> http::request::Builder {
    Request::get(path)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("origin", "http://localhost")
}

/// A frame of the server: its kind and what it carries; `None` at the end of the connection.
async fn frame(connection: &mut (impl AsyncRead + Unpin)) -> Option<(u8, Vec<u8>)> {
    let read = async {
        let first = connection.read_u8().await.ok()?;
        let length = match connection.read_u8().await.ok()? {
            126 => u64::from(connection.read_u16().await.ok()?),
            127 => connection.read_u64().await.ok()?,
            length => u64::from(length),
        };
        let mut payload = vec![0; usize::try_from(length).ok()?];
        connection.read_exact(&mut payload).await.ok()?;
        Some((first & 0x0f, payload))
    };
    timeout(PATIENCE, read).await.expect("a frame in time")
}

async fn event(connection: &mut (impl AsyncRead + Unpin)) -> (String, String) {
    let (opcode, payload) = frame(connection).await.expect("an event");
    assert_eq!(opcode, 1, "{}", String::from_utf8_lossy(&payload));
    let event: Value = serde_json::from_slice(&payload).unwrap();
    let text = |pointer| {
        event
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    (text("/type"), text("/object/metadata/name"))
}

fn client_frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x80 | opcode, 0x80 | u8::try_from(payload.len()).unwrap(), 0, 0, 0, 0];
    frame.extend_from_slice(payload);
    frame
}

async fn create(server: &ApiServer, name: &str) {
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let request = Request::post(CONFIG_MAPS).header("content-type", "application/json");
    let response = server.handle(request.body(body.to_string().into()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::CREATED);
}

#[tokio::test]
async fn a_watch_without_a_socket_is_a_websocket_too() {
    let server = ApiServer::new(Options::new());
    create(&server, "a").await;
    let request = asking(&format!("{CONFIG_MAPS}?watch=1")).body(Bytes::new()).unwrap();
    let response = server.handle(request).await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut connection = response.into_body().into_connection().expect("a connection");
    assert_eq!(event(&mut connection).await, ("ADDED".to_owned(), "a".to_owned()));
    create(&server, "b").await;
    create(&server, "c").await;
    assert_eq!(event(&mut connection).await.1, "b");
    assert_eq!(event(&mut connection).await.1, "c");
    drop(connection);

    let plain = server.handle(Request::get("/readyz").body(Bytes::new()).unwrap()).await;
    assert!(plain.into_body().into_connection().is_none());
}

#[tokio::test]
async fn a_watch_in_protobuf_has_one_binary_message_for_each_event() {
    let server = ApiServer::new(Options::new());
    create(&server, "a").await;
    create(&server, "b").await;
    let request = asking(&format!("{CONFIG_MAPS}?watch=1")).header("accept", "application/vnd.kubernetes.protobuf");
    let response = server.handle(request.body(Bytes::new()).unwrap()).await;
    let mut connection = response.into_body().into_connection().expect("a connection");
    for _ in 0..2 {
        let (opcode, payload) = frame(&mut connection).await.expect("an event");
        assert_eq!(opcode, 2);
        // A `WatchEvent`: the type in field 1, and in field 2 the object behind the magic number of the encoding.
        assert_eq!(payload[..7], *b"\x0a\x05ADDED");
        assert!(payload.windows(4).any(|bytes| bytes == b"k8s\0"));
    }
}

#[tokio::test]
async fn a_log_is_sent_behind_an_empty_message() {
    let server = ApiServer::new(Options::new());
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "app", "image": "i" }] },
    });
    let pods = "/api/v1/namespaces/default/pods";
    let request = Request::post(pods).header("content-type", "application/json");
    let response = server.handle(request.body(pod.to_string().into()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::CREATED);
    let mut writer = server.pod_log("default", "web", "app");
    writeln!(writer, "{}", "x".repeat(3000)).unwrap();
    for (protocol, opcode) in [("", 2), ("binary.k8s.io", 2), ("base64.binary.k8s.io", 1)] {
        let mut request = asking(&format!("{pods}/web/log?follow=true"));
        if !protocol.is_empty() {
            request = request.header("sec-websocket-protocol", protocol);
        }
        let response = server.handle(request.body(Bytes::new()).unwrap()).await;
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        let mut connection = response.into_body().into_connection().expect("a connection");
        assert_eq!(frame(&mut connection).await, Some((opcode, Vec::new())));
        let first = frame(&mut connection).await.expect("the first part of the line");
        let second = frame(&mut connection).await.expect("the rest of the line");
        let lengths = (first.1.len(), second.1.len());
        assert_eq!(lengths, if opcode == 2 { (2048, 953) } else { (2732, 1272) });
    }
    let request = asking(&format!("{pods}/web/log")).header("sec-websocket-protocol", "chat");
    let response = server.handle(request.body(Bytes::new()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_token_that_is_offered_as_a_protocol_authenticates_and_is_not_shown() {
    let server = ApiServer::new(Options::new().token("secret", User::admin()));
    let path = format!("{CONFIG_MAPS}?watch=1");
    // "secret" and "other", as browsers may write them.
    for (token, status) in [
        ("c2VjcmV0", StatusCode::SWITCHING_PROTOCOLS),
        ("b3RoZXI", StatusCode::UNAUTHORIZED),
    ] {
        let protocols = format!("base64url.bearer.authorization.k8s.io.{token}, chat");
        let request = asking(&path).header("sec-websocket-protocol", protocols);
        let response = server.handle_as(None, request.body(Bytes::new()).unwrap()).await;
        assert_eq!(response.status(), status);
        let chosen = response.headers().get("sec-websocket-protocol");
        assert_eq!(
            chosen.is_some_and(|chosen| chosen == "chat"),
            status == StatusCode::SWITCHING_PROTOCOLS
        );
    }
}

/// A WebSocket of the administrator, over TLS.
pub(crate) async fn connect(listener: &Listener, path: &str) -> impl AsyncRead + AsyncWrite + Unpin + use<> {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(listener.ca_pem().as_bytes()).unwrap();
    roots.add(authority).unwrap();
    let certificate = CertificateDer::from_pem_slice(listener.client_certificate_pem().as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(listener.client_key_pem().as_bytes()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let socket = TcpStream::connect(listener.local_addr()).await.unwrap();
    let name = ServerName::try_from("kubernetes.default.svc").unwrap();
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, socket)
        .await
        .unwrap();
    let (mut client, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection.with_upgrades());
    let request = asking(path)
        .header("host", "kubernetes")
        .body(Empty::<Bytes>::new())
        .unwrap();
    let mut response = client.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    TokioIo::new(hyper::upgrade::on(&mut response).await.unwrap())
}

#[tokio::test]
async fn a_watch_over_tls_answers_pings_and_ends_with_either_side() {
    let server = ApiServer::new(Options::new());
    let listener = server.listen(ListenOptions::default()).await.unwrap();
    let path = format!("{CONFIG_MAPS}?watch=1&labelSelector=colour!=none");
    let mut ended_by_client = connect(&listener, &path).await;
    let mut ended_by_server = connect(&listener, &path).await;
    create(&server, "a").await;
    for connection in [&mut ended_by_client, &mut ended_by_server] {
        assert_eq!(event(connection).await, ("ADDED".to_owned(), "a".to_owned()));
    }
    ended_by_client.write_all(&client_frame(9, b"there?")).await.unwrap();
    assert_eq!(frame(&mut ended_by_client).await, Some((10, b"there?".to_vec())));
    ended_by_client.write_all(&client_frame(8, b"")).await.unwrap();
    assert_eq!(
        frame(&mut ended_by_client).await,
        Some((8, 1000_u16.to_be_bytes().to_vec()))
    );
    assert_eq!(frame(&mut ended_by_client).await, None);

    timeout(PATIENCE, listener.shutdown())
        .await
        .expect("no watch keeps the listener");
    assert_eq!(frame(&mut ended_by_server).await, None);
}

/// As fabric8 does it: many watches, each on a connection of its own.
#[tokio::test]
async fn many_idle_watches_are_served_beside_each_other() {
    let server = ApiServer::new(Options::new());
    let mut connections = Vec::new();
    for _ in 0..2_000 {
        let request = asking(&format!("{CONFIG_MAPS}?watch=1")).body(Bytes::new()).unwrap();
        let response = server.handle(request).await;
        connections.push(response.into_body().into_connection().expect("a connection"));
    }
    create(&server, "a").await;
    for connection in &mut connections {
        assert_eq!(event(connection).await.1, "a");
    }
}
