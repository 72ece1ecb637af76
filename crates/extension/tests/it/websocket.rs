//! Watches over WebSocket, which the API server of a cluster passes on to the server of an aggregated API.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use kubewright_apiserver::Options;
use kubewright_extension::{ApiServer, ExtensionServer};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::extension::{ApiExtension, ExtensionContext, InProcessContext};
use kubewright_runtime::serve::Certificates;
use kubewright_runtime::stop::Stopper;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::kinds::Book;
use crate::support::{ask, get};

const BOOKS: &str = "/apis/library.example.com/v1/namespaces/shop/books";
/// Longer than any step takes on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(1);

fn library() -> Arc<ExtensionServer> {
    Arc::new(ExtensionServer::new().stored::<Book>())
}

/// Tells the cluster of the API, and waits until it passes requests on.
async fn register(cluster: &ApiServer) {
    let service = json!({
        "metadata": { "name": "v1.library.example.com" },
        "spec": {
            "group": "library.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
            "service": { "namespace": "library", "name": "api" }, "insecureSkipTLSVerify": true,
        },
    });
    let path = "/apis/apiregistration.k8s.io/v1/apiservices";
    let (status, made) = ask(cluster, Method::POST, path, service).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    let served = async {
        while get(cluster, BOOKS).await.0 != StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, served).await.expect("the API is never served");
}

async fn create(cluster: &ApiServer, name: &str) {
    let book = json!({
        "apiVersion": "library.example.com/v1", "kind": "Book", "metadata": { "name": name }, "spec": { "pages": 1 },
    });
    let (status, made) = ask(cluster, Method::POST, BOOKS, book).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
}

async fn watch(cluster: &ApiServer) -> impl AsyncRead + AsyncWrite + Unpin + use<> {
    let request = Request::get(format!("{BOOKS}?watch=true"))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("origin", "http://localhost");
    let response = cluster.handle(request.body(Bytes::new()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    response.into_body().into_connection().expect("a connection")
}

/// The name of the object in the next event; the code of the frame and nothing if it is no event, nothing at the end.
async fn event(connection: &mut (impl AsyncRead + Unpin)) -> Option<(u8, String)> {
    let read = async {
        let opcode = connection.read_u8().await.ok()? & 0x0f;
        let length = match connection.read_u8().await.ok()? {
            126 => usize::from(connection.read_u16().await.ok()?),
            length => usize::from(length),
        };
        let mut payload = vec![0; length];
        connection.read_exact(&mut payload).await.ok()?;
        let event: Value = serde_json::from_slice(&payload).unwrap_or_default();
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
        Some((opcode, name.to_owned()))
    };
    timeout(PATIENCE, read).await.expect("a frame in time")
}

async fn it_goes_on_until_its_client_ends_it(cluster: &ApiServer) {
    create(cluster, "emma").await;
    let mut connection = watch(cluster).await;
    assert_eq!(event(&mut connection).await, Some((1, "emma".to_owned())));
    create(cluster, "persuasion").await;
    assert_eq!(event(&mut connection).await, Some((1, "persuasion".to_owned())));
    // A close of a client, which is answered with one.
    connection.write_all(&[0x88, 0x80, 0, 0, 0, 0]).await.unwrap();
    assert_eq!(event(&mut connection).await, Some((8, String::new())));
    assert_eq!(event(&mut connection).await, None);
}

#[tokio::test]
async fn a_watch_of_a_server_in_this_process_is_a_websocket_to_its_end() {
    let cluster = ApiServer::new(Options::new());
    let context = InProcessContext {
        kube: cluster.client(),
        clock: Clock::system(),
        seed: None,
    };
    let service = library().in_process(context).await.unwrap();
    cluster.serve_service_with("library", "api", 443, service);
    register(&cluster).await;
    it_goes_on_until_its_client_ends_it(&cluster).await;
}

#[tokio::test]
async fn a_watch_of_a_server_behind_tls_is_a_websocket_to_its_end() {
    let cluster = ApiServer::new(Options::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    cluster.serve_service("library", "api", 443, listener.local_addr().unwrap());
    let (_stopper, stop) = Stopper::new();
    let context = ExtensionContext {
        kube: cluster.client(),
        listener,
        certificates: Certificates::self_signed(&["localhost"]).unwrap(),
        stop,
    };
    tokio::spawn(async move { library().serve(context).await.unwrap() });
    register(&cluster).await;
    it_goes_on_until_its_client_ends_it(&cluster).await;
}
