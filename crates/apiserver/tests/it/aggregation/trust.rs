//! How an aggregated API server and this one know each other: certificates over TLS, and the `ConfigMap` that says whose.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_system::certificates::{self, Leaf, Signer};
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::support::{API_SERVICES, ROOT, api_service, ask, available};

const CONFIG: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

async fn config(server: &ApiServer) -> Value {
    let (code, body) = ask(server, "GET", CONFIG, "").await;
    assert_eq!(code, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// A TLS server that demands the certificate of the published front proxy, and says who asked. Returns its authority's bundle.
async fn listen(server: &ApiServer, name: &str) -> String {
    let trusted = config(server).await["data"]["requestheader-client-ca-file"]
        .as_str()
        .unwrap()
        .to_owned();
    listen_trusting(server, name, &trusted).await
}

/// A TLS server that demands a certificate of an authority, and says who asked. Returns its own authority's bundle.
async fn listen_trusting(server: &ApiServer, name: &str, trusted: &str) -> String {
    let mut roots = RootCertStore::empty();
    for block in kubewright_x509::pem::blocks(trusted.as_bytes()) {
        roots.add(block.bytes.into()).unwrap();
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .unwrap();
    let authority = certificates::authority("widgets-ca", None).unwrap();
    let signer = Signer::new("widgets-ca", &authority.key_pem()).unwrap();
    let serving = signer.sign(&Leaf::server("widgets", &[name])).unwrap();
    let tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![serving.certificate_der()], serving.key_der())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    server.serve_service("default", "widgets", 443, listener.local_addr().unwrap());
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(socket).await else {
                    return;
                };
                let service = service_fn(|request: Request<hyper::body::Incoming>| async move {
                    let user = request.headers()["x-remote-user"].to_str().unwrap().to_owned();
                    Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from(user)))
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    STANDARD.encode(authority.certificate_pem())
}

#[tokio::test]
async fn a_server_knows_this_one_by_the_certificate_of_the_front_proxy() {
    let server = ApiServer::new(Options::new());
    let bundle = listen(&server, "widgets.default.svc").await;
    let mut service = api_service("widgets.example.com");
    service["spec"]["caBundle"] = bundle.into();
    assert_eq!(ask(&server, "POST", API_SERVICES, &service.to_string()).await.0, 201);
    available(&server, "True").await;
    let (code, user) = ask(&server, "GET", &format!("{ROOT}/widgets"), "").await;
    assert_eq!((code.as_u16(), user.as_str()), (200, "admin"));
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused_unless_any_will_do() {
    let server = ApiServer::new(Options::new());
    let bundle = listen(&server, "elsewhere.default.svc").await;
    let mut service = api_service("widgets.example.com");
    service["spec"]["caBundle"] = bundle.into();
    assert_eq!(ask(&server, "POST", API_SERVICES, &service.to_string()).await.0, 201);
    let condition = available(&server, "False").await;
    assert_eq!(condition["reason"], "FailedDiscoveryCheck");
    let message = condition["message"].as_str().unwrap();
    assert!(
        message.ends_with("x509: certificate is valid for elsewhere.default.svc, not widgets.default.svc"),
        "{message}"
    );

    let patch = json!([
        {"op": "remove", "path": "/spec/caBundle"},
        {"op": "add", "path": "/spec/insecureSkipTLSVerify", "value": true},
    ]);
    let request = Request::patch(format!("{API_SERVICES}/v1.widgets.example.com"))
        .header("Content-Type", "application/json-patch+json")
        .body(Bytes::from(patch.to_string()))
        .unwrap();
    assert_eq!(server.handle(request).await.status(), 200);
    available(&server, "True").await;
}

#[tokio::test]
async fn a_server_may_trust_the_given_front_proxy_alone() {
    let authority = certificates::authority("aggregator-ca", None).unwrap();
    let signer = Signer::new("aggregator-ca", &authority.key_pem()).unwrap();
    let client = signer.sign(&Leaf::client("aggregator", &[] as &[&str])).unwrap();
    let options = Options::new().front_proxy_certificate(&client.certificate_pem(), &client.key_pem());
    let server = ApiServer::new(options.unwrap());
    let data = &config(&server).await["data"];
    assert_eq!(data.get("requestheader-client-ca-file"), None, "{data}");
    let bundle = listen_trusting(&server, "widgets.default.svc", &authority.certificate_pem()).await;
    let mut service = api_service("widgets.example.com");
    service["spec"]["caBundle"] = bundle.into();
    assert_eq!(ask(&server, "POST", API_SERVICES, &service.to_string()).await.0, 201);
    available(&server, "True").await;
    for server in [&server, &server.fork()] {
        available(server, "True").await;
        let (code, user) = ask(server, "GET", &format!("{ROOT}/widgets"), "").await;
        assert_eq!((code.as_u16(), user.as_str()), (200, "admin"));
    }
    // A server that shows what it has by itself is not let in.
    let other = ApiServer::new(Options::new());
    service["spec"]["caBundle"] = listen_trusting(&other, "widgets.default.svc", &authority.certificate_pem())
        .await
        .into();
    assert_eq!(ask(&other, "POST", API_SERVICES, &service.to_string()).await.0, 201);
    assert_eq!(available(&other, "False").await["reason"], "FailedDiscoveryCheck");
}

#[test]
fn a_certificate_without_its_key_is_no_front_proxy() {
    let authority = certificates::authority("aggregator-ca", None).unwrap();
    let other = certificates::authority("other-ca", None).unwrap();
    let (certificate, key) = (authority.certificate_pem(), authority.key_pem());
    let why = |certificate: &str, key: &str| {
        let options = Options::new().front_proxy_certificate(certificate, key);
        options.err().map(|error| error.to_string())
    };
    assert_eq!(why(&certificate, &key), None);
    let of_another = why(&certificate, &other.key_pem()).unwrap();
    assert!(of_another.ends_with("cannot be used with its key"), "{of_another}");
    assert!(why(&key, &key).unwrap().ends_with("has no certificate"));
    assert!(why(&certificate, "").unwrap().contains("no private key"));
}

#[tokio::test]
async fn the_trust_of_other_servers_is_published() {
    let server = ApiServer::new(Options::new());
    let data = config(&server).await["data"].clone();
    assert_eq!(data["requestheader-allowed-names"], r#"["front-proxy-client"]"#);
    assert_eq!(data["requestheader-username-headers"], r#"["X-Remote-User"]"#);
    assert_eq!(data["requestheader-uid-headers"], r#"["X-Remote-Uid"]"#);
    assert_eq!(data["requestheader-group-headers"], r#"["X-Remote-Group"]"#);
    assert_eq!(data["requestheader-extra-headers-prefix"], r#"["X-Remote-Extra-"]"#);
    assert_eq!(data.get("client-ca-file"), None);
    let listener = server.listen(0).await.unwrap();
    let authority = config(&server).await["data"]["client-ca-file"]
        .as_str()
        .unwrap()
        .to_owned();
    let of = |pem: &str| kubewright_x509::pem::blocks(pem.as_bytes()).next().unwrap().bytes;
    assert_eq!(of(&authority), of(listener.ca_pem()));
}

#[tokio::test(start_paused = true)]
async fn it_is_restored_at_once_when_deleted_and_within_a_minute_when_changed() {
    let server = ApiServer::new(Options::new());
    let before = config(&server).await["data"].clone();
    assert_eq!(ask(&server, "DELETE", CONFIG, "").await.0, 200);
    assert_eq!(config(&server).await["data"], before);
    let mut changed = config(&server).await;
    changed["data"] = json!({"requestheader-allowed-names": r#"["other"]"#, "own": "gone"});
    assert_eq!(ask(&server, "PUT", CONFIG, &changed.to_string()).await.0, 200);
    assert_eq!(config(&server).await["data"]["own"], "gone");
    tokio::time::sleep(Duration::from_secs(61)).await;
    let after = config(&server).await["data"].clone();
    assert_eq!(
        after["requestheader-allowed-names"],
        r#"["other","front-proxy-client"]"#
    );
    assert_eq!(
        after["requestheader-client-ca-file"],
        before["requestheader-client-ca-file"]
    );
    assert_eq!(after.get("own"), None);
}
