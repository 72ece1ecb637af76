//! Ports of Pods, forwarded to clients.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, ListenOptions, Options, User};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::kubectl::Kubectl;
use crate::websocket::connect;

/// Longer than any step takes on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(1);
const POD: &str = "/api/v1/namespaces/default/pods/web";

async fn create(server: &ApiServer, path: &str, object: Value) {
    let request = Request::post(path).header("content-type", "application/json");
    let response = server.handle(request.body(object.to_string().into()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::CREATED);
}

/// A server with a Pod on a node, which answers on port 80 what it has been sent once that has ended.
async fn server() -> ApiServer {
    let server = ApiServer::new(Options::new());
    create(&server, "/api/v1/nodes", json!({ "metadata": { "name": "n" } })).await;
    let pod = json!({
        "metadata": { "name": "web" },
        "spec": { "nodeName": "n", "containers": [{ "name": "app", "image": "i" }] },
    });
    create(&server, "/api/v1/namespaces/default/pods", pod).await;
    let running = Request::patch(format!("{POD}/status")).header("content-type", "application/merge-patch+json");
    let running = running.body(r#"{"status":{"phase":"Running"}}"#.into()).unwrap();
    assert_eq!(server.handle(running).await.status(), StatusCode::OK);
    server.on_connect("default", "web", 80, |mut connection| async move {
        let mut asked = Vec::new();
        let _ = connection.read_to_end(&mut asked).await;
        let _ = connection
            .write_all(format!("{} bytes: ", asked.len()).as_bytes())
            .await;
        let _ = connection.write_all(&asked).await;
    });
    server
}

async fn exchange(port: u16, sent: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let answer = async {
        let (mut reading, mut writing) = socket.split();
        let mut answer = Vec::new();
        let upload = async {
            writing.write_all(sent).await.unwrap();
            writing.shutdown().await.unwrap();
        };
        let ((), received) = tokio::join!(upload, reading.read_to_end(&mut answer));
        received.unwrap();
        answer
    };
    timeout(PATIENCE, answer).await.expect("an answer in time")
}

/// The port of this machine that a line of kubectl names, as `Forwarding from 127.0.0.1:41234 -> 80`.
async fn local_port(lines: &mut (impl AsyncRead + Unpin)) -> u16 {
    let mut line = String::new();
    let mut lines = BufReader::with_capacity(1, lines);
    timeout(PATIENCE, lines.read_line(&mut line))
        .await
        .expect("a line in time")
        .unwrap();
    let address = line.split_whitespace().nth(2).unwrap_or_else(|| panic!("{line}"));
    address.rsplit(':').next().unwrap().parse().unwrap()
}

async fn forward_with(kubectl: &Kubectl) {
    let mut child = kubectl.command(&["port-forward", "web", ":80"]).spawn().unwrap();
    let port = local_port(child.stdout.as_mut().unwrap()).await;
    assert_eq!(exchange(port, b"hello").await, b"5 bytes: hello");
    let large: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let (first, second) = tokio::join!(exchange(port, &large), exchange(port, b"beside it"));
    assert_eq!(first.len(), large.len() + "4000000 bytes: ".len());
    assert!(first.ends_with(&large));
    assert_eq!(second, b"9 bytes: beside it");
}

#[tokio::test]
async fn kubectl_forwards_ports() {
    let Some(kubectl) = Kubectl::of(&server().await).await else {
        return;
    };
    forward_with(&kubectl).await;
    forward_with(&kubectl.over_spdy()).await;
    // Nothing listens there.
    let mut child = kubectl.command(&["port-forward", "web", ":81"]).spawn().unwrap();
    let port = local_port(child.stdout.as_mut().unwrap()).await;
    assert_eq!(exchange(port, b"").await, b"");
    let output = timeout(PATIENCE, child.wait_with_output())
        .await
        .expect("it ends")
        .unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        complaint.contains("error forwarding port 81 to pod web, uid "),
        "{complaint}"
    );
}

#[tokio::test]
async fn an_old_kubectl_forwards_ports() {
    let Some(old) = std::env::var_os("KUBECTL_SPDY") else {
        kubewright_test_support::skip("KUBECTL_SPDY names no kubectl before 1.31");
        return;
    };
    forward_with(&Kubectl::named(old.into(), &server().await).await).await;
}

fn asking(ports: &str, protocol: &str) -> Request<Bytes> {
    let request = Request::get(format!("{POD}/portforward?{ports}"))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", protocol);
    request.body(Bytes::new()).unwrap()
}

async fn message(connection: &mut (impl AsyncRead + Unpin)) -> (u8, Vec<u8>) {
    let read = async {
        let opcode = connection.read_u8().await.unwrap() & 0x0f;
        let length = match connection.read_u8().await.unwrap() {
            126 => u64::from(connection.read_u16().await.unwrap()),
            length => u64::from(length),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        connection.read_exact(&mut payload).await.unwrap();
        match opcode {
            8 => (255, payload),
            _ => (payload.remove(0), payload),
        }
    };
    timeout(PATIENCE, read).await.expect("a message in time")
}

/// As `kube::Api::portforward` forwards them.
#[tokio::test]
async fn ports_are_forwarded_over_the_channels_of_a_websocket() {
    let server = server().await;
    server.on_connect("default", "web", 82, |mut connection| async move {
        let mut asked = [0; 5];
        let _ = connection.read_exact(&mut asked).await;
        let _ = connection.write_all(b"got ").await;
        let _ = connection.write_all(&asked).await;
    });
    let response = server.handle(asking("ports=82,83", "v4.channel.k8s.io")).await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut connection = response.into_body().into_connection().expect("a connection");
    let mut frame = vec![0x82, 0x86, 0, 0, 0, 0, 0];
    frame.extend_from_slice(b"hello");
    connection.write_all(&frame).await.unwrap();
    let mut channels = [const { Vec::new() }; 4];
    loop {
        match message(&mut connection).await {
            (255, code) => {
                assert_eq!(code, 1000_u16.to_be_bytes());
                break;
            }
            (channel, text) => channels[usize::from(channel)].extend(text),
        }
    }
    // Each begins with its port, the low byte first.
    assert_eq!(channels[0], b"\x52\0got hello");
    assert_eq!(channels[1], b"\x52\0");
    assert_eq!(channels[2], b"\x53\0");
    let complaint = String::from_utf8_lossy(&channels[3]);
    assert!(complaint.contains("error forwarding port 83 to pod web"), "{complaint}");

    for (ports, status) in [("", 400), ("ports=0", 400), ("ports=x", 400), ("ports=80,70000", 400)] {
        let response = server.handle(asking(ports, "v4.channel.k8s.io")).await;
        assert_eq!(response.status().as_u16(), status, "{ports}");
    }
    let response = server.handle(asking("ports=80", "chat")).await;
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_pod_without_processes_says_so() {
    let server = ApiServer::new(Options::new());
    create(&server, "/api/v1/nodes", json!({ "metadata": { "name": "n" } })).await;
    let pod = json!({
        "metadata": { "name": "web" },
        "spec": { "nodeName": "n", "containers": [{ "name": "app", "image": "i" }] },
    });
    create(&server, "/api/v1/namespaces/default/pods", pod).await;
    let response = server.handle(asking("ports=80", "v4.channel.k8s.io")).await;
    assert_eq!(response.status(), StatusCode::NOT_IMPLEMENTED);
}

/// The requests that forward port 82, one for each way of doing it.
fn all_ways() -> [Request<Bytes>; 3] {
    let spdy = Request::post(format!("{POD}/portforward"))
        .header("connection", "Upgrade")
        .header("upgrade", "SPDY/3.1")
        .header("x-stream-protocol-version", "portforward.k8s.io");
    [
        asking("ports=82", "v4.channel.k8s.io"),
        asking("", "SPDY/3.1+portforward.k8s.io"),
        spdy.body(Bytes::new()).unwrap(),
    ]
}

/// Has port 82 of the Pod keep its connections for as long as it can, and returns what ends when it has none any more.
fn keep_connections(server: &ApiServer) -> mpsc::Receiver<()> {
    let (held, ended) = mpsc::channel(1);
    server.on_connect("default", "web", 82, move |mut connection| {
        let held = held.clone();
        async move {
            let mut rest = Vec::new();
            let _ = connection.read_to_end(&mut rest).await;
            drop(held);
        }
    });
    ended
}

/// Waits until nobody holds a connection to port 82 any more.
async fn all_closed(server: &ApiServer, mut ended: mpsc::Receiver<()>) {
    server.on_connect("default", "web", 82, |_| async {});
    assert_eq!(timeout(PATIENCE, ended.recv()).await.expect("it is closed"), None);
}

async fn delete_pod(server: &ApiServer) {
    let deletion = Request::delete(format!("{POD}?gracePeriodSeconds=0"));
    let response = server.handle(deletion.body(Bytes::new()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn forwarded_ports_end_with_their_pod() {
    let server = server().await;
    let ended = keep_connections(&server);
    let mut connections = Vec::new();
    for request in all_ways() {
        let response = server.handle(request).await;
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        connections.push(response.into_body().into_connection().expect("a connection"));
    }
    // The one that names its ports at once has a connection to the Pod.
    assert_eq!(message(&mut connections[0]).await, (0, vec![82, 0]));
    delete_pod(&server).await;
    for mut connection in connections {
        let mut rest = Vec::new();
        let closed = timeout(PATIENCE, connection.read_to_end(&mut rest)).await;
        closed.expect("an end").unwrap();
    }
    all_closed(&server, ended).await;
}

#[tokio::test(start_paused = true)]
async fn forwarded_ports_end_when_the_token_of_their_client_expires() {
    let server = server().await;
    let ended = keep_connections(&server);
    let token = token(&server, 600).await;
    let begun = tokio::time::Instant::now();
    let mut connections = Vec::new();
    for mut request in all_ways() {
        let bearer = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
        let response = server.handle_as(None, request).await;
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        connections.push(response.into_body().into_connection().expect("a connection"));
    }
    for mut connection in connections {
        let mut rest = Vec::new();
        connection.read_to_end(&mut rest).await.unwrap();
    }
    // Of virtual time; tokens count whole seconds.
    let took = begun.elapsed().as_secs();
    assert!((599..=610).contains(&took), "{took} s");
    all_closed(&server, ended).await;
}

/// A token of a service account that may do everything.
async fn token(server: &ApiServer, seconds: u32) -> String {
    let account = json!({ "metadata": { "name": "robot" } });
    create(server, "/api/v1/namespaces/default/serviceaccounts", account).await;
    let binding = json!({
        "metadata": { "name": "robot" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "namespace": "default", "name": "robot" }],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    create(server, bindings, binding).await;
    let asked = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": seconds },
    });
    let request = Request::post("/api/v1/namespaces/default/serviceaccounts/robot/token")
        .header("content-type", "application/json");
    let response = server.handle(request.body(asked.to_string().into()).unwrap()).await;
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let granted: Value = serde_json::from_slice(&body).unwrap();
    granted["status"]["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn forwarded_ports_end_with_their_listener() {
    let server = server().await;
    let ended = keep_connections(&server);
    let listener = server.listen(ListenOptions::default()).await.unwrap();
    let mut connection = connect(&listener, &format!("{POD}/portforward?ports=82")).await;
    assert_eq!(message(&mut connection).await, (0, vec![82, 0]));
    timeout(PATIENCE, listener.shutdown())
        .await
        .expect("no forwarded port keeps the listener");
    all_closed(&server, ended).await;
}

#[tokio::test]
async fn a_get_takes_the_right_to_create_for_forwarded_ports_too() {
    let server = server().await;
    let role = json!({
        "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get"] }],
    });
    create(&server, "/apis/rbac.authorization.k8s.io/v1/clusterroles", role).await;
    let binding = json!({
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader" },
        "subjects": [{ "kind": "ServiceAccount", "namespace": "default", "name": "robot" }],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    create(&server, bindings, binding).await;
    let robot = User::service_account("default", "robot");
    let response = server
        .handle_as(Some(&robot), asking("ports=80", "v4.channel.k8s.io"))
        .await;
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}
