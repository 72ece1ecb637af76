//! Delegated authentication and authorization over TLS: the embedded API server is the cluster, and certificates are as a
//! kube-apiserver's.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use kubewright_apiserver::{ApiServer, Options, User};
use kubewright_extension::{Delegation, DelegationOptions, ExtensionServer};
use kubewright_runtime::extension::{ApiExtension, ExtensionContext};
use kubewright_runtime::serve::Certificates;
use kubewright_runtime::stop::Stopper;
use kubewright_system::certificates::{KeyedCertificate, Leaf, Signer, authority};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::kinds::Book;

const BOOKS: &str = "/apis/library.example.com/v1/namespaces/shop/books";

/// A cluster, and the server of an aggregated API beside it.
struct Cluster {
    main: ApiServer,
    address: std::net::SocketAddr,
    proxies: Signer,
    clients: Signer,
    _stopper: Stopper,
}

struct Ca {
    pem: String,
    signer: Signer,
}

fn ca(name: &str) -> Ca {
    let made = authority(name, None).unwrap();
    Ca {
        pem: made.certificate_pem(),
        signer: Signer::new(name, &made.key_pem()).unwrap(),
    }
}

async fn post(server: &ApiServer, path: &str, object: Value) {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .body(object.to_string().into())
        .unwrap();
    let response = server.handle(request).await;
    assert!(response.status().is_success(), "{path}: {}", response.status());
}

fn published(proxies: &str, clients: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "extension-apiserver-authentication", "namespace": "kube-system" },
        "data": {
            "client-ca-file": clients,
            "requestheader-client-ca-file": proxies,
            "requestheader-allowed-names": "[\"front-proxy-client\"]",
            "requestheader-username-headers": "[\"X-Remote-User\"]",
            "requestheader-group-headers": "[\"X-Remote-Group\"]",
            "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
        },
    })
}

impl Cluster {
    async fn start() -> Cluster {
        let main = ApiServer::new(Options::new().token("open-sesame", User::new("robot", ["robots"])));
        let (proxies, clients) = (ca("proxies"), ca("clients"));
        let maps: Api<ConfigMap> = Api::namespaced(main.client(), "kube-system");
        let map = published(&proxies.pem, &clients.pem);
        maps.patch(
            "extension-apiserver-authentication",
            &PatchParams::apply("test").force(),
            &Patch::Apply(map),
        )
        .await
        .unwrap();
        let role = json!({
            "metadata": { "name": "readers" },
            "rules": [{ "apiGroups": ["library.example.com"], "resources": ["books"], "verbs": ["get", "list"] }],
        });
        post(&main, "/apis/rbac.authorization.k8s.io/v1/clusterroles", role).await;
        let subject =
            |kind: &str, name: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name });
        let binding = json!({
            "metadata": { "name": "readers" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "readers" },
            "subjects": [subject("User", "jane"), subject("Group", "robots"), subject("Group", "staff")],
        });
        post(&main, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).await;

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stopper, stop) = Stopper::new();
        let extension = Arc::new(ExtensionServer::new().stored::<Book>());
        let context = ExtensionContext {
            kube: main.client(),
            listener,
            certificates: Certificates::self_signed(&["localhost"]).unwrap(),
            stop,
        };
        tokio::spawn(async move { extension.serve(context).await.unwrap() });
        let cluster = Cluster {
            main,
            address,
            proxies: proxies.signer,
            clients: clients.signer,
            _stopper: stopper,
        };
        let proxy = cluster.proxy("front-proxy-client");
        // Until the ConfigMap is read, no certificate is trusted.
        for _ in 0..200 {
            let master = [("x-remote-user", "admin"), ("x-remote-group", "system:masters")];
            if cluster.get("/apis", Some(&proxy), &master).await.0 == StatusCode::OK {
                return cluster;
            }
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
        panic!("the ConfigMap is never read");
    }

    fn proxy(&self, name: &str) -> KeyedCertificate {
        self.proxies.sign(&Leaf::client(name, &[] as &[&str])).unwrap()
    }

    async fn get(&self, path: &str, shown: Option<&KeyedCertificate>, headers: &[(&str, &str)]) -> (StatusCode, Value) {
        self.send(Method::GET, path, shown, headers, Value::Null).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        shown: Option<&KeyedCertificate>,
        headers: &[(&str, &str)],
        body: Value,
    ) -> (StatusCode, Value) {
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(trusting::Anybody));
        let config = match shown {
            Some(shown) => config
                .with_client_auth_cert(vec![shown.certificate_der()], shown.key_der())
                .unwrap(),
            None => config.with_no_client_auth(),
        };
        let socket = TcpStream::connect(self.address).await.unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let name = ServerName::try_from("localhost").unwrap();
        let stream = connector.connect(name, socket).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
        if !body.is_null() && !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() {
            Bytes::new()
        } else {
            body.to_string().into()
        };
        let response = sender
            .send_request(request.body(Full::new(body)).unwrap())
            .await
            .unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let value = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        (status, value)
    }
}

mod trusting {
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{DigitallySignedStruct, Error, SignatureScheme};

    /// Takes any certificate: these tests are about who the client is.
    #[derive(Debug)]
    pub(crate) struct Anybody;

    impl ServerCertVerifier for Anybody {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn verify_tls13_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            rustls::crypto::ring::default_provider()
                .signature_verification_algorithms
                .supported_schemes()
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_front_proxy_says_who_asks_and_the_cluster_what_they_may_do() {
    let cluster = Cluster::start().await;
    let proxy = cluster.proxy("front-proxy-client");
    let (status, list) = cluster.get(BOOKS, Some(&proxy), &[("x-remote-user", "jane")]).await;
    assert_eq!(status, StatusCode::OK, "{list}");
    let by_group = [("x-remote-user", "ann"), ("x-remote-group", "staff")];
    assert_eq!(cluster.get(BOOKS, Some(&proxy), &by_group).await.0, StatusCode::OK);
    let (status, refused) = cluster.get(BOOKS, Some(&proxy), &[("x-remote-user", "eve")]).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(
        refused["message"],
        "books.library.example.com is forbidden: User \"eve\" cannot list resource \"books\" in API group \
         \"library.example.com\" in the namespace \"shop\""
    );
    let book = json!({
        "apiVersion": "library.example.com/v1", "kind": "Book", "metadata": { "name": "emma" }, "spec": { "pages": 1 },
    });
    let jane = [("x-remote-user", "jane")];
    let (status, _) = cluster
        .send(Method::POST, BOOKS, Some(&proxy), &jane, book.clone())
        .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let master = [("x-remote-user", "root"), ("x-remote-group", "system:masters")];
    let (status, made) = cluster.send(Method::POST, BOOKS, Some(&proxy), &master, book).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_anybody_else_are_not_believed() {
    let cluster = Cluster::start().await;
    let master = [("x-remote-user", "root"), ("x-remote-group", "system:masters")];
    // Without a certificate they are an anonymous client's words,
    let (status, refused) = cluster.get(BOOKS, None, &master).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(
        refused["message"].as_str().unwrap().contains("system:anonymous"),
        "{refused}"
    );
    // with a certificate of another name or authority nothing is answered at all,
    let strangers = [
        cluster.proxy("somebody"),
        ca("strangers")
            .signer
            .sign(&Leaf::client("front-proxy-client", &[] as &[&str]))
            .unwrap(),
    ];
    for stranger in &strangers {
        assert_eq!(
            cluster.get(BOOKS, Some(stranger), &master).await.0,
            StatusCode::UNAUTHORIZED
        );
    }
    // and with one for clients they are of whom that says.
    let jane = cluster.clients.sign(&Leaf::client("jane", &["readers"])).unwrap();
    assert_eq!(cluster.get(BOOKS, Some(&jane), &master).await.0, StatusCode::OK);
    let eve = cluster.clients.sign(&Leaf::client("eve", &["nobodies"])).unwrap();
    let (status, refused) = cluster.get(BOOKS, Some(&eve), &master).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(
        refused["message"].as_str().unwrap().contains("User \"eve\""),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bearer_tokens_are_reviewed_by_the_cluster() {
    let cluster = Cluster::start().await;
    let robot = [("authorization", "Bearer open-sesame")];
    assert_eq!(cluster.get(BOOKS, None, &robot).await.0, StatusCode::OK);
    assert_eq!(
        cluster.get(BOOKS, None, &[("authorization", "Bearer wrong")]).await.0,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_for_everybody_and_nothing_else_is() {
    let cluster = Cluster::start().await;
    for path in ["/healthz", "/readyz", "/livez"] {
        assert_eq!(
            cluster.get(path, None, &[]).await,
            (StatusCode::OK, "ok".into()),
            "{path}"
        );
    }
    assert_eq!(cluster.get("/metrics", None, &[]).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_patch_may_not_thereby_create() {
    let cluster = Cluster::start().await;
    let role = json!({
        "metadata": { "name": "patchers" },
        "rules": [{ "apiGroups": ["library.example.com"], "resources": ["books"], "verbs": ["patch"] }],
    });
    post(&cluster.main, "/apis/rbac.authorization.k8s.io/v1/clusterroles", role).await;
    let binding = json!({
        "metadata": { "name": "patchers" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "patchers" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "pat" }],
    });
    post(
        &cluster.main,
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        binding,
    )
    .await;
    let proxy = cluster.proxy("front-proxy-client");
    let book = json!({
        "apiVersion": "library.example.com/v1", "kind": "Book", "metadata": { "name": "emma" }, "spec": { "pages": 1 },
    });
    let path = format!("{BOOKS}/emma?fieldManager=me");
    let headers = [
        ("x-remote-user", "pat"),
        ("content-type", "application/apply-patch+yaml"),
    ];
    let (status, refused) = cluster
        .send(Method::PATCH, &path, Some(&proxy), &headers, book.clone())
        .await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{refused}");
    assert!(
        refused["message"].as_str().unwrap().contains("cannot create resource"),
        "{refused}"
    );
    let root = [
        ("x-remote-user", "root"),
        ("x-remote-group", "system:masters"),
        ("content-type", "application/apply-patch+yaml"),
    ];
    let (status, _) = cluster
        .send(Method::PATCH, &path, Some(&proxy), &root, book.clone())
        .await;
    assert_eq!(status, StatusCode::CREATED);
    let (status, patched) = cluster.send(Method::PATCH, &path, Some(&proxy), &headers, book).await;
    assert_eq!(status, StatusCode::OK, "{patched}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_act_as_another_is_for_the_cluster_to_say() {
    let cluster = Cluster::start().await;
    let proxy = cluster.proxy("front-proxy-client");
    let as_jane = [("x-remote-user", "eve"), ("impersonate-user", "jane")];
    let (status, refused) = cluster.get(BOOKS, Some(&proxy), &as_jane).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("User \"eve\" cannot impersonate"),
        "{refused}"
    );
    let root = [
        ("x-remote-user", "root"),
        ("x-remote-group", "system:masters"),
        ("impersonate-user", "eve"),
    ];
    let (status, refused) = cluster.get(BOOKS, Some(&proxy), &root).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("User \"eve\" cannot list"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_is_read_again_when_it_changes() {
    let cluster = Cluster::start().await;
    let other = ca("other-proxies");
    let newcomer = other
        .signer
        .sign(&Leaf::client("front-proxy-client", &[] as &[&str]))
        .unwrap();
    let master = [("x-remote-user", "root"), ("x-remote-group", "system:masters")];
    assert_eq!(
        cluster.get("/apis", Some(&newcomer), &master).await.0,
        StatusCode::UNAUTHORIZED
    );
    let maps: Api<ConfigMap> = Api::namespaced(cluster.main.client(), "kube-system");
    let patch = json!({ "data": { "requestheader-client-ca-file": other.pem } });
    let name = "extension-apiserver-authentication";
    maps.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    let old = cluster.proxy("front-proxy-client");
    for _ in 0..200 {
        if cluster.get("/apis", Some(&newcomer), &master).await.0 == StatusCode::OK {
            assert_eq!(
                cluster.get("/apis", Some(&old), &master).await.0,
                StatusCode::UNAUTHORIZED
            );
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the change was never seen");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_the_cluster_count_for_a_while() {
    let main = ApiServer::new(
        Options::new()
            .token("open-sesame", User::new("robot", ["robots"]))
            .audit_events(100),
    );
    let delegation = Delegation::new(main.client(), DelegationOptions::default());
    let server = ExtensionServer::new()
        .stored::<Book>()
        .server(Arc::new(delegation))
        .await
        .unwrap();
    for _ in 0..5 {
        let request = Request::get(BOOKS)
            .header("authorization", "Bearer open-sesame")
            .body(Bytes::new())
            .unwrap();
        assert_eq!(server.handle_as(None, request).await.status(), StatusCode::FORBIDDEN);
    }
    let asked = |plural: &str| {
        let events = main.audit().events();
        events.iter().filter(|event| event.uri.contains(plural)).count()
    };
    assert_eq!((asked("tokenreviews"), asked("subjectaccessreviews")), (1, 1));
}
