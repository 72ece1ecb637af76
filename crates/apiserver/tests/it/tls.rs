//! The TLS transport: who gets in, both protocols, limits, and a shutdown that leaves nobody hanging.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_apiserver::{ApiServer, ListenError, ListenOptions, Listener, Options};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

const NAMESPACES: &str = "/api/v1/namespaces";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(super) async fn start() -> (ApiServer, Listener) {
    let server = ApiServer::new(Options::new());
    let listener = server.listen(ListenOptions::default()).await.unwrap();
    (server, listener)
}

/// A client that sends one request at a time.
pub(super) enum Client {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// Connects to `listener` as the administrator of `identity`, or as nobody.
pub(super) async fn connect(listener: &Listener, identity: Option<&Listener>, version: Version) -> Client {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(listener.ca_pem().as_bytes()).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match identity {
        Some(identity) => {
            let certificate = CertificateDer::from_pem_slice(identity.client_certificate_pem().as_bytes()).unwrap();
            let key = PrivateKeyDer::from_pem_slice(identity.client_key_pem().as_bytes()).unwrap();
            config.with_client_auth_cert(vec![certificate], key).unwrap()
        }
        None => config.with_no_client_auth(),
    };
    let two = version == Version::HTTP_2;
    config.alpn_protocols = vec![if two { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    let socket = TcpStream::connect(listener.local_addr()).await.unwrap();
    let name = ServerName::try_from("kubernetes.default.svc").unwrap();
    let stream = TokioIo::new(
        TlsConnector::from(Arc::new(config))
            .connect(name, socket)
            .await
            .unwrap(),
    );
    if two {
        let (client, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        Client::Two(client)
    } else {
        let (client, connection) = http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        Client::One(client)
    }
}

impl Client {
    pub(super) async fn send(&mut self, method: &str, path: &str, body: impl Into<Bytes>) -> Response<Incoming> {
        let request = Request::builder()
            .method(method)
            .header("content-type", "application/json");
        let body = Full::new(body.into());
        match self {
            Client::One(client) => {
                let request = request.header("host", "kubernetes").uri(path).body(body).unwrap();
                client.ready().await.unwrap();
                client.send_request(request).await.unwrap()
            }
            Client::Two(client) => {
                let request = request.uri(format!("https://kubernetes{path}")).body(body).unwrap();
                client.ready().await.unwrap();
                client.send_request(request).await.unwrap()
            }
        }
    }

    pub(super) async fn ask(&mut self, method: &str, path: &str, body: impl Into<Bytes>) -> (StatusCode, Value) {
        let response = self.send(method, path, body).await;
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (
            status,
            serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into_owned().into()),
        )
    }
}

const BOTH: [Version; 2] = [Version::HTTP_11, Version::HTTP_2];

#[tokio::test]
async fn a_listener_trusts_clients_of_given_authorities_beside_those_of_its_own() {
    let (server, first) = start().await;
    let (authority, _) = first.authority_pem();
    let options = ListenOptions::default().client_authorities(authority).only_tls13(true);
    let second = server.listen(options).await.unwrap();
    for (listener, identity, expected) in [
        (&second, &first, StatusCode::OK),
        (&second, &second, StatusCode::OK),
        (&first, &second, StatusCode::UNAUTHORIZED),
    ] {
        let mut client = connect(listener, Some(identity), Version::HTTP_2).await;
        assert_eq!(client.ask("GET", NAMESPACES, "").await.0, expected);
    }
}

#[tokio::test]
async fn a_stranger_learns_health_and_version_only() {
    let (_server, listener) = start().await;
    for version in BOTH {
        let mut client = connect(&listener, None, version).await;
        for path in ["/healthz", "/livez", "/readyz"] {
            assert_eq!(client.ask("GET", path, "").await, (StatusCode::OK, "ok".into()));
        }
        assert_eq!(client.ask("GET", "/version", "").await.1["minor"], "36");
        for path in [
            NAMESPACES,
            "/metrics",
            "/apis",
            "/openapi/v3",
            "/readyz/ping",
            "/nowhere",
        ] {
            let (code, status) = client.ask("GET", path, "").await;
            assert_eq!(code, StatusCode::FORBIDDEN, "{path}");
            assert_eq!(
                (&status["kind"], &status["reason"]),
                (&"Status".into(), &"Forbidden".into())
            );
        }
        assert_eq!(client.ask("POST", CONFIG_MAPS, "{}").await.0, StatusCode::FORBIDDEN);
    }
}

#[tokio::test]
async fn a_certificate_of_another_server_is_refused() {
    let (_server, ours) = start().await;
    let (_other, theirs) = start().await;
    let mut client = connect(&ours, Some(&theirs), Version::HTTP_2).await;
    for path in [NAMESPACES, "/healthz"] {
        assert_eq!(client.ask("GET", path, "").await.0, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn both_protocols_serve_the_same() {
    let (_server, listener) = start().await;
    let mut answers = Vec::new();
    for version in BOTH {
        let mut client = connect(&listener, Some(&listener), version).await;
        let response = client.send("GET", NAMESPACES, "").await;
        assert_eq!((response.version(), response.status()), (version, StatusCode::OK));
        assert_eq!(response.headers()["content-type"], "application/json");
        assert!(response.headers().contains_key("date"));
        answers.push(response.into_body().collect().await.unwrap().to_bytes());
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused_and_one_below_is_not() {
    let (_server, listener) = start().await;
    for (version, name) in BOTH.into_iter().zip(["one", "two"]) {
        let mut client = connect(&listener, Some(&listener), version).await;
        let body = format!(
            r#"{{"metadata":{{"name":"{name}"}},"data":{{"k":"{}"}}}}"#,
            "x".repeat(1_000_000)
        );
        assert_eq!(client.ask("POST", CONFIG_MAPS, body).await.0, StatusCode::CREATED);

        // The second one is still on its way when it is clear that it is too long.
        for length in [3 * 1024 * 1024 + 1, 12 * 1024 * 1024] {
            let (code, status) = client.ask("POST", CONFIG_MAPS, vec![b' '; length]).await;
            assert_eq!(code, StatusCode::PAYLOAD_TOO_LARGE);
            assert_eq!(status["reason"], "RequestEntityTooLarge");
            assert_eq!(status["message"], "Request entity too large: limit is 3145728");
        }
    }
}

#[tokio::test]
async fn shutdown_ends_watches_and_frees_the_port() {
    let (server, listener) = start().await;
    let address = listener.local_addr();
    let mut watches = Vec::new();
    let mut clients = Vec::new();
    for version in BOTH {
        let mut client = connect(&listener, Some(&listener), version).await;
        let watch = client.send("GET", &format!("{CONFIG_MAPS}?watch=true"), "").await;
        assert_eq!(watch.status(), StatusCode::OK);
        watches.push(watch.into_body());
        clients.push(client);
    }
    let request = Request::post(CONFIG_MAPS)
        .header("content-type", "application/json")
        .body(Bytes::from_static(br#"{"metadata":{"name":"seen"}}"#))
        .unwrap();
    assert_eq!(server.handle(request).await.status(), StatusCode::CREATED);
    for watch in &mut watches {
        let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
        let event: Value = serde_json::from_slice(&frame).unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["metadata"]["name"]),
            (&"ADDED".into(), &"seen".into())
        );
    }

    tokio::time::timeout(Duration::from_secs(4), listener.shutdown())
        .await
        .expect("watches held the shutdown up");
    for watch in watches {
        let rest = watch.collect().await.expect("a watch was cut off instead of ended");
        assert!(rest.to_bytes().is_empty());
    }
    assert_eq!(
        TcpStream::connect(address).await.unwrap_err().kind(),
        io::ErrorKind::ConnectionRefused
    );
    server.listen(address).await.unwrap();
}

#[tokio::test]
async fn a_silent_client_does_not_hold_the_shutdown_up() {
    let (_server, listener) = start().await;
    // It never begins its handshake.
    let _silent = TcpStream::connect(listener.local_addr()).await.unwrap();
    tokio::time::timeout(Duration::from_secs(4), listener.shutdown())
        .await
        .expect("a silent client held it up");
}

#[tokio::test]
async fn a_watcher_that_stops_reading_is_disconnected() {
    const RUNNING: &str = "scope=\"namespace\",subresource=\"\",verb=\"WATCH\",version=\"v1\"}";
    let server = ApiServer::new(Options::new());
    let patience = Duration::from_millis(100);
    let listener = server
        .listen(ListenOptions::default().write_timeout(patience))
        .await
        .unwrap();
    let mut client = connect(&listener, Some(&listener), Version::HTTP_11).await;
    let _unread = client.send("GET", &format!("{CONFIG_MAPS}?watch=true"), "").await;

    let disconnected = async {
        for number in 0.. {
            // More than any socket buffers, but not without end.
            if number < 40 {
                let data = "x".repeat(1_000_000);
                let object = format!(r#"{{"metadata":{{"name":"c{number}"}},"data":{{"k":"{data}"}}}}"#);
                let request = Request::post(CONFIG_MAPS).header("content-type", "application/json");
                let response = server.handle(request.body(object.into()).unwrap()).await;
                assert_eq!(response.status(), StatusCode::CREATED);
            }
            let metrics = server
                .handle(Request::get("/metrics").body(Bytes::new()).unwrap())
                .await;
            let metrics = metrics.into_body().collect().await.expect("a body");
            let metrics = String::from_utf8(metrics.to_bytes().to_vec()).unwrap();
            if metrics.contains(&format!("{RUNNING} 0\n")) {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), disconnected)
        .await
        .expect("the watch goes on");
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let (server, listener) = start().await;
    let error = server.listen(listener.local_addr()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("cannot listen on {}", listener.local_addr()));
    match error {
        ListenError::Bind { source, .. } => assert_eq!(source.kind(), io::ErrorKind::AddrInUse),
        ListenError::Tls(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_kubeconfig_points_at_the_listener() {
    let server = ApiServer::new(Options::new());
    let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let listener = server.listen(everywhere).await.unwrap();
    let kubeconfig = listener.kubeconfig();
    let local = format!("    server: https://127.0.0.1:{}\n", listener.local_addr().port());
    assert!(kubeconfig.contains(&local), "{kubeconfig}");
    assert!(kubeconfig.contains("current-context: kubewright\n"));
}

#[tokio::test]
async fn who_speaks_plain_http_is_told_so() {
    let (_server, listener) = start().await;
    let mut socket = TcpStream::connect(listener.local_addr()).await.unwrap();
    socket
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    let _ = socket.read_to_string(&mut answer).await;
    assert!(
        answer.ends_with("Client sent an HTTP request to an HTTPS server.\n"),
        "{answer:?}"
    );
}

/// An object as the administrator sees it, without what differs from server to server.
async fn get(server: &ApiServer, path: &str) -> Option<Value> {
    let request = Request::get(path).body(Bytes::new()).unwrap();
    let response = server.handle(request).await;
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let mut object: Value = serde_json::from_slice(&body).unwrap();
    if status == StatusCode::NOT_FOUND {
        return None;
    }
    assert_eq!(status, StatusCode::OK, "{object}");
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.retain(|name, _| !["uid", "resourceVersion", "creationTimestamp"].contains(&name.as_str()));
    for entry in metadata["managedFields"].as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("time").unwrap();
    }
    Some(object)
}

const SERVICE: &str = "/api/v1/namespaces/default/services/kubernetes";
const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints/kubernetes";
const SLICE: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";

fn advertising(address: &str) -> ListenOptions {
    ListenOptions::default().advertise(address.parse().unwrap())
}

/// Recorded from kube-apiserver 1.36.3 with `--advertise-address`.
#[tokio::test]
async fn a_server_publishes_its_address_as_kube_apiserver_does() {
    let server = ApiServer::new(Options::new());
    let listener = server.listen(advertising("192.0.2.7")).await.unwrap();
    let port = listener.local_addr().port();
    let ports = json!([{ "name": "https", "port": port, "protocol": "TCP" }]);
    let managed = |version: &str, fields: Value| {
        json!([{
            "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": "kube-apiserver",
            "operation": "Update",
        }])
    };
    let fields = json!({
        "f:metadata": { "f:labels": { ".": {}, "f:endpointslice.kubernetes.io/skip-mirror": {} } }, "f:subsets": {},
    });
    assert_eq!(
        get(&server, ENDPOINTS).await.unwrap(),
        json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {
                "name": "kubernetes", "namespace": "default",
                "labels": { "endpointslice.kubernetes.io/skip-mirror": "true" },
                "managedFields": managed("v1", fields),
            },
            "subsets": [{ "addresses": [{ "ip": "192.0.2.7" }], "ports": ports }],
        })
    );
    let fields = json!({
        "f:addressType": {}, "f:endpoints": {}, "f:ports": {},
        "f:metadata": { "f:labels": { ".": {}, "f:kubernetes.io/service-name": {} } },
    });
    assert_eq!(
        get(&server, SLICE).await.unwrap(),
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {
                "generation": 1, "name": "kubernetes", "namespace": "default",
                "labels": { "kubernetes.io/service-name": "kubernetes" },
                "managedFields": managed("discovery.k8s.io/v1", fields),
            },
            "endpoints": [{ "addresses": ["192.0.2.7"], "conditions": { "ready": true } }],
            "ports": ports,
        })
    );
    let service = get(&server, SERVICE).await.unwrap();
    assert_eq!(service["spec"]["ports"][0]["targetPort"], port);
    assert_eq!(service["metadata"]["managedFields"].as_array().unwrap().len(), 1);
    let api = server.handle(Request::get("/api").body(Bytes::new()).unwrap()).await;
    let api = api.into_body().collect().await.unwrap().to_bytes();
    let api: Value = serde_json::from_slice(&api).unwrap();
    let address = format!("192.0.2.7:{port}");
    assert_eq!(api["serverAddressByClientCIDRs"][0]["serverAddress"], address.as_str());
}

#[tokio::test]
async fn an_address_that_is_only_this_machines_is_not_published() {
    let (server, _listener) = start().await;
    // The listener's authority is written, and nothing else.
    let before = ApiServer::new(Options::new()).revision();
    assert_eq!(server.revision(), before + 1);
    for path in [ENDPOINTS, SLICE] {
        assert_eq!(get(&server, path).await, None, "{path}");
    }
}

/// A kube-apiserver does so within its ten seconds; here nothing wakes up to look.
#[tokio::test]
async fn what_is_published_is_made_again_when_it_is_deleted() {
    let server = ApiServer::new(Options::new());
    let _listener = server.listen(advertising("192.0.2.7")).await.unwrap();
    for path in [ENDPOINTS, SLICE, SERVICE] {
        let before = get(&server, path).await.unwrap();
        let delete = Request::delete(path).body(Bytes::new()).unwrap();
        assert_eq!(server.handle(delete).await.status(), StatusCode::OK);
        let again = loop {
            match get(&server, path).await {
                Some(again) => break again,
                None => tokio::task::yield_now().await,
            }
        };
        assert_eq!(again, before, "{path}");
    }
}

#[tokio::test]
async fn what_is_published_is_corrected_at_the_start() {
    let first = ApiServer::new(Options::new());
    let listener = first.listen(advertising("192.0.2.7")).await.unwrap();
    let same = ListenOptions::from(listener.local_addr().port()).advertise("192.0.2.7".parse().unwrap());
    listener.shutdown().await;
    let again = first.fork();
    let before = again.revision();
    let listener = again.listen(same).await.unwrap();
    assert_eq!(
        again.revision(),
        before + 1,
        "but for the authority, what is right is left alone"
    );
    listener.shutdown().await;

    let moved = first.fork();
    let listener = moved.listen(advertising("2001:db8::7")).await.unwrap();
    let port = listener.local_addr().port();
    let subsets = get(&moved, ENDPOINTS).await.unwrap()["subsets"].clone();
    assert_eq!(subsets[0]["addresses"], json!([{ "ip": "2001:db8::7" }]));
    assert_eq!(subsets[0]["ports"][0]["port"], port);
    let slice = get(&moved, SLICE).await.unwrap();
    assert_eq!(slice["addressType"], "IPv6");
    assert_eq!(slice["endpoints"][0]["addresses"], json!(["2001:db8::7"]));

    let moved = first.fork();
    let listener = moved.listen(advertising("192.0.2.8")).await.unwrap();
    let slice = get(&moved, SLICE).await.unwrap();
    assert_eq!(slice["endpoints"][0]["addresses"], json!(["192.0.2.8"]));
    assert_eq!(slice["ports"][0]["port"], listener.local_addr().port());
    assert_eq!(slice["metadata"]["generation"], 2);
}
