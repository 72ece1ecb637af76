//! Requests that are passed on to ports of Pods.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{ApiServer, Options, User};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tower::Service as _;

use crate::kubectl::Kubectl;

/// Longer than any step takes on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(1);
const PODS: &str = "/api/v1/namespaces/default/pods";
const WEB: &str = "/api/v1/namespaces/default/pods/web";

async fn create(server: &ApiServer, path: &str, object: Value) {
    let request = Request::post(path).header("content-type", "application/json");
    let response = server.handle(request.body(object.to_string().into()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::CREATED);
}

async fn create_pod(server: &ApiServer, name: &str, ip: &str) {
    let pod = json!({
        "metadata": { "name": name, "labels": { "app": "web" } },
        "spec": { "nodeName": "n", "containers": [{ "name": "app", "image": "i", "ports": [{ "containerPort": 80 }] }] },
    });
    create(server, PODS, pod).await;
    let status = json!({ "status": { "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }] } });
    let request =
        Request::patch(format!("{PODS}/{name}/status")).header("content-type", "application/merge-patch+json");
    let response = server.handle(request.body(status.to_string().into()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::OK);
}

/// A web site that tells what it was asked.
async fn site(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let mut response = Response::builder();
    let text = match parts.uri.path() {
        "/page" => {
            response = response.header("content-type", "text/html; charset=utf-8");
            r#"<a href="/other">other</a>"#.to_owned()
        }
        "/zipped" => {
            response = response
                .header("content-type", "text/html")
                .header("content-encoding", "gzip");
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(br#"<img src="/a.png">"#).unwrap();
            return Ok(response.body(Full::new(encoder.finish().unwrap().into())).unwrap());
        }
        "/moved" => {
            response = response.status(302).header("location", "/elsewhere?a=b");
            String::new()
        }
        _ => {
            let body = body.collect().await?.to_bytes();
            let header = |name: &str| {
                parts
                    .headers
                    .get(name)
                    .map(|value| value.to_str().unwrap_or_default().to_owned())
            };
            let told = json!({
                "method": parts.method.as_str(),
                "uri": parts.uri.to_string(),
                "length": body.len(),
                "authorization": header("authorization"),
                "forwarded": header("x-forwarded-uri"),
                "host": header("host"),
            });
            response = response
                .header("content-type", "application/json")
                .header("access-control-allow-origin", "*")
                .header("cache-control", "max-age=60");
            told.to_string()
        }
    };
    Ok(response.body(Full::new(text.into())).unwrap())
}

/// A server with a Pod whose port 80 is a web site, and whose port 7 sends back what it receives once it was asked for that.
async fn server() -> ApiServer {
    let server = ApiServer::new(Options::new().token("secret", User::admin()));
    let node = json!({
        "metadata": { "name": "n" },
        "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }] },
    });
    create(&server, "/api/v1/nodes", node).await;
    create_pod(&server, "web", "10.244.0.9").await;
    server.on_connect("default", "web", 80, |connection| async move {
        let http =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(connection), service_fn(site));
        let _ = http.await;
    });
    server.on_connect("default", "web", 7, |mut connection| async move {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let Ok(byte) = connection.read_u8().await else { return };
            head.push(byte);
        }
        let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
        let _ = connection.write_all(answer.as_bytes()).await;
        let (mut reading, mut writing) = tokio::io::split(connection);
        let _ = tokio::io::copy(&mut reading, &mut writing).await;
    });
    server
}

async fn ask(server: &ApiServer, method: &str, path: &str) -> (u16, http::HeaderMap, Vec<u8>) {
    let request = Request::builder().method(method).uri(path).header("host", "kubernetes");
    let response = server.handle(request.body(Bytes::new()).unwrap()).await;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (parts.status.as_u16(), parts.headers, body.to_vec())
}

async fn told(server: &ApiServer, method: &str, path: &str) -> Value {
    let (status, _, body) = ask(server, method, path).await;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    serde_json::from_slice(&body).unwrap()
}

async fn refusal(server: &ApiServer, path: &str) -> (u16, String) {
    let (status, _, body) = ask(server, "GET", path).await;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    (status, body["message"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn requests_are_passed_on_with_method_path_and_query() {
    let server = server().await;
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let path = format!("{WEB}:80/proxy/a%20b//../c/?q=1&r=%20");
        let told = told(&server, method, &path).await;
        assert_eq!(told["method"], method);
        assert_eq!(told["uri"], "/c/?q=1&r=%20");
        assert_eq!(told["forwarded"], format!("{WEB}:80/proxy/c/"));
        assert_eq!(told["host"], "kubernetes");
    }
    // Without a port, that of the first container; a Pod may be named with its scheme.
    assert_eq!(told(&server, "GET", &format!("{WEB}/proxy/")).await["uri"], "/");
    let named = format!("{PODS}/http:web:80/proxy/x");
    assert_eq!(told(&server, "GET", &named).await["uri"], "/x");
    let (status, headers, body) = ask(&server, "HEAD", &format!("{WEB}/proxy/x")).await;
    assert_eq!((status, body.len()), (200, 0));
    assert_eq!(headers["content-type"], "application/json");
    let cached: Vec<_> = headers.get_all("cache-control").iter().collect();
    assert_eq!(cached, ["no-cache, private", "max-age=60"]);
    assert!(!headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn a_pod_never_sees_the_credentials_of_a_client() {
    let server = server().await;
    let request = Request::get(format!("{WEB}/proxy/")).header("authorization", "Bearer secret");
    let response = server.handle_as(None, request.body(Bytes::new()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let told: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(told["authorization"], Value::Null);
    // And who may not get the proxy gets nothing.
    let nobody = User::service_account("default", "robot");
    let request = Request::get(format!("{WEB}/proxy/")).body(Bytes::new()).unwrap();
    assert_eq!(
        server.handle_as(Some(&nobody), request).await.status(),
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn links_and_redirects_lead_back_through_the_proxy() {
    let server = server().await;
    let (_, headers, body) = ask(&server, "GET", &format!("{WEB}/proxy/page")).await;
    let expected = format!(r#"<a href="{WEB}/proxy/other">other</a>"#);
    assert_eq!(String::from_utf8(body).unwrap(), expected);
    assert_eq!(headers["content-length"], expected.len().to_string().as_str());
    let (_, headers, body) = ask(&server, "GET", &format!("{WEB}/proxy/zipped")).await;
    assert_eq!(headers["content-encoding"], "gzip");
    let mut page = String::new();
    GzDecoder::new(&body[..]).read_to_string(&mut page).unwrap();
    assert_eq!(page, format!(r#"<img src="{WEB}/proxy/a.png">"#));
    let (status, headers, _) = ask(&server, "GET", &format!("{WEB}/proxy/moved")).await;
    assert_eq!(status, 302);
    assert_eq!(headers["location"], format!("{WEB}/proxy/elsewhere?a=b").as_str());
    let (status, headers, _) = ask(&server, "GET", &format!("{WEB}/proxy?a=b")).await;
    assert_eq!(status, 301);
    assert_eq!(headers["location"], format!("{WEB}/proxy/?a=b").as_str());
}

#[tokio::test]
async fn bodies_of_any_size_are_streamed() {
    let server = server().await;
    // More than any request that the server itself reads may have.
    let pieces = (0..10_u8).map(|piece| Ok::<_, std::io::Error>(Frame::data(Bytes::from(vec![piece; 1 << 20]))));
    let body = StreamBody::new(futures_util::stream::iter(pieces));
    let request = Request::post(format!("{WEB}/proxy/upload")).body(body).unwrap();
    let response = server.service().call(request).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let told: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(told["length"], 10 << 20);
}

#[tokio::test]
async fn a_service_leads_to_one_of_its_pods() {
    let server = server().await;
    let service = json!({
        "metadata": { "name": "site" },
        "spec": { "selector": { "app": "web" }, "ports": [{ "name": "http", "port": 8080, "targetPort": 80 }] },
    });
    create(&server, "/api/v1/namespaces/default/services", service).await;
    let site = "/api/v1/namespaces/default/services/site";
    let (status, message) = refusal(&server, &format!("{site}:8080/proxy/")).await;
    assert_eq!((status, message.as_str()), (404, "services \"site\" not found"));
    let slice = json!({
        "metadata": { "name": "site-1", "labels": { "kubernetes.io/service-name": "site" } },
        "addressType": "IPv4",
        "ports": [{ "name": "http", "port": 80 }],
        "endpoints": [
            // An address that is no Pod's is never reached.
            { "addresses": ["10.244.0.77"] },
            { "addresses": ["10.244.0.78"], "targetRef": { "kind": "Pod", "namespace": "default", "name": "web" } },
            { "addresses": ["10.244.0.9"], "targetRef": { "kind": "Pod", "namespace": "default", "name": "web" } },
        ],
    });
    create(
        &server,
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        slice,
    )
    .await;
    for name in ["site:8080", "site:http", "http:site:8080"] {
        let path = format!("/api/v1/namespaces/default/services/{name}/proxy/x");
        assert_eq!(told(&server, "GET", &path).await["uri"], "/x", "{name}");
    }
    let (status, message) = refusal(&server, &format!("{site}:9/proxy/")).await;
    assert_eq!(
        (status, message.as_str()),
        (503, "no service port 9 found for service \"site\"")
    );
    let (status, message) = refusal(&server, &format!("{site}:other/proxy/")).await;
    assert_eq!(
        (status, message.as_str()),
        (503, "no endpoints available for service \"site:other\"")
    );
}

#[tokio::test]
async fn what_cannot_be_reached_is_told_in_words() {
    let server = server().await;
    create_pod(&server, "simulated", "10.244.0.10").await;
    create_pod(&server, "local", "127.0.0.1").await;
    for (path, code, expected) in [
        (
            format!("{WEB}:81/proxy/"),
            503,
            "error trying to reach service: dial tcp 10.244.0.9:81: connect: connection refused",
        ),
        (
            format!("{WEB}:http/proxy/"),
            503,
            "error trying to reach service: dial tcp: lookup tcp/http: unknown port",
        ),
        (format!("{PODS}/none/proxy/"), 404, "pods \"none\" not found"),
        (
            format!("{PODS}/ftp:web:80/proxy/"),
            400,
            "invalid pod request \"ftp:web:80\"",
        ),
        (format!("{PODS}/local/proxy/"), 400, "address not allowed"),
        (
            format!("{PODS}/simulated/proxy/"),
            503,
            "the containers of Pod \"simulated\" are simulated",
        ),
        (
            "/api/v1/nodes/n/proxy/".to_owned(),
            503,
            "error trying to reach service: dial tcp 10.0.0.1:10250: connect: connection refused",
        ),
        ("/api/v1/nodes/none/proxy/".to_owned(), 404, "nodes \"none\" not found"),
    ] {
        let (status, message) = refusal(&server, &path).await;
        assert_eq!(status, code, "{path}: {message}");
        assert!(message.contains(expected), "{path}: {message}");
    }
}

#[tokio::test]
async fn upgrades_are_passed_on_and_end_with_the_pod() {
    let server = server().await;
    let request = Request::get(format!("{WEB}:7/proxy/"))
        .header("connection", "Upgrade")
        .header("upgrade", "echo");
    let response = server.handle(request.body(Bytes::new()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    assert_eq!(response.headers()["upgrade"], "echo");
    let mut connection = response.into_body().into_connection().expect("a connection");
    connection.write_all(b"hello").await.unwrap();
    let mut echoed = [0; 5];
    connection.read_exact(&mut echoed).await.unwrap();
    assert_eq!(&echoed, b"hello");
    let deletion = Request::delete(format!("{WEB}?gracePeriodSeconds=0"))
        .body(Bytes::new())
        .unwrap();
    assert_eq!(server.handle(deletion).await.status(), StatusCode::OK);
    let mut rest = Vec::new();
    timeout(PATIENCE, connection.read_to_end(&mut rest))
        .await
        .expect("an end")
        .unwrap();
    assert_eq!(rest, b"");
}

#[tokio::test]
async fn an_answer_that_goes_on_ends_with_its_pod() {
    let server = server().await;
    server.on_connect("default", "web", 90, |mut connection| async move {
        let _ = connection.read(&mut [0; 1024]).await;
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\n\r\nfirst").await;
        std::future::pending::<()>().await;
    });
    let request = Request::get(format!("{WEB}:90/proxy/")).body(Bytes::new()).unwrap();
    let mut body = server.handle(request).await.into_body();
    let first = body.frame().await.expect("a frame").unwrap().into_data().unwrap();
    assert_eq!(first, "first");
    let deletion = Request::delete(format!("{WEB}?gracePeriodSeconds=0"))
        .body(Bytes::new())
        .unwrap();
    assert_eq!(server.handle(deletion).await.status(), StatusCode::OK);
    let end = timeout(PATIENCE, body.frame()).await.expect("an end in time");
    assert!(end.expect("an error").is_err());
}

/// Nobody can check the certificate of a Pod; any will do, as upstream.
#[tokio::test]
async fn a_port_may_speak_tls() {
    let server = server().await;
    let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(["web".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    server.on_connect("default", "web", 443, move |connection| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(connection) = acceptor.accept(connection).await else {
                return;
            };
            let connection = TokioIo::new(connection);
            let http = hyper::server::conn::http1::Builder::new();
            let _ = http.serve_connection(connection, service_fn(site)).await;
        }
    });
    let path = format!("{PODS}/https:web:443/proxy/secret");
    assert_eq!(told(&server, "GET", &path).await["uri"], "/secret");
    let (status, message) = refusal(&server, &format!("{PODS}/https:web:80/proxy/")).await;
    assert_eq!(status, 503, "{message}");
}

#[tokio::test]
async fn kubectl_reaches_a_pod_through_the_proxy() {
    let Some(kubectl) = Kubectl::of(&server().await).await else {
        return;
    };
    let (code, stdout, stderr) = kubectl
        .run(&["get", "--raw", &format!("{WEB}:80/proxy/x?q=1")], "")
        .await;
    assert_eq!(code, Some(0), "{stderr}");
    let told: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&told["uri"], &told["authorization"]), (&json!("/x?q=1"), &Value::Null));
    let (code, _, stderr) = kubectl.run(&["get", "--raw", &format!("{WEB}:81/proxy/")], "").await;
    assert_eq!(code, Some(1));
    assert!(stderr.contains("error trying to reach service"), "{stderr}");
}
