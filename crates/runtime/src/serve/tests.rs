//! The server over real sockets: plain, with TLS, with authorization, and at its end.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use kube::client::Body;
use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::response::{HttpResponse, text};
use super::*;
use crate::metrics::{Registry, RuntimeMetrics};
use crate::stop::Stopper;

struct Running {
    address: SocketAddr,
    stopper: Stopper,
    task: JoinHandle<()>,
}

async fn start(router: Router, certificates: Option<Certificates>) -> Running {
    let mut server = HttpServer::bind(&BindAddress::loopback(), router)
        .await
        .unwrap()
        .unwrap();
    if let Some(certificates) = certificates {
        server = server.with_tls(certificates, false).unwrap();
    }
    let (stopper, stop) = Stopper::new();
    Running {
        address: server.address(),
        stopper,
        task: tokio::spawn(server.run(stop)),
    }
}

/// Asks once and reads to the end.
async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, head: &str) -> (u16, BTreeMap<String, String>, String) {
    stream
        .write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = Vec::new();
    // A peer that closes without a farewell has said everything.
    let _ = timeout(Duration::from_secs(10), stream.read_to_end(&mut answer))
        .await
        .expect("no answer");
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let mut lines = head.lines();
    let code = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.map(|line| line.split_once(": ").unwrap());
    let headers = headers
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    (code, headers, body.to_owned())
}

async fn get(address: SocketAddr, path: &str, header: &str) -> (u16, BTreeMap<String, String>, String) {
    let stream = TcpStream::connect(address).await.unwrap();
    ask(stream, &format!("GET {path} HTTP/1.1\r\nHost: localhost{header}")).await
}

#[tokio::test]
async fn metrics_and_probes_are_served_and_other_paths_are_not() {
    let registry = Registry::new();
    registry
        .counter("shop_orders_total", "Orders.", [])
        .unwrap()
        .with([])
        .inc();
    let readiness = Checks::new();
    readiness.add("cache", || async { Err("pods are missing".to_owned()) });
    let router = Router::new()
        .route("/metrics", metrics_page(registry))
        .route("/readyz", readiness.handler("/readyz"))
        .route("/readyz/", readiness.handler("/readyz"));
    let server = start(router, None).await;
    let (code, headers, body) = get(server.address, "/metrics", "").await;
    assert_eq!(
        (code, headers["content-type"].as_str()),
        (200, "text/plain; version=0.0.4; charset=utf-8")
    );
    assert!(body.ends_with("shop_orders_total 1\n"));
    let (code, headers, body) = get(server.address, "/readyz", "").await;
    assert_eq!(
        (code, body.as_str()),
        (500, "[-]cache failed: reason withheld\nhealthz check failed\n")
    );
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(
        get(server.address, "/readyz/cache", "").await.2,
        "internal server error: pods are missing\n"
    );
    assert_eq!(get(server.address, "/readyz?exclude=cache", "").await.2, "ok");
    let (code, _, body) = get(server.address, "/readyzz", "").await;
    assert_eq!((code, body.as_str()), (404, "404 page not found\n"));
    let post = "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0";
    assert_eq!(
        ask(TcpStream::connect(server.address).await.unwrap(), post).await.0,
        405
    );
}

#[tokio::test]
async fn the_debug_page_is_json_for_local_names_only() {
    let router = Router::new().route("/debug/kubewright", debug_page(|| json!({ "queues": { "shop": 3 } })));
    let server = start(router, None).await;
    let (code, headers, body) = get(server.address, "/debug/kubewright", "").await;
    assert_eq!((code, headers["content-type"].as_str()), (200, "application/json"));
    assert_eq!(
        serde_json::from_str::<Value>(&body).unwrap(),
        json!({ "queues": { "shop": 3 } })
    );
    let stream = TcpStream::connect(server.address).await.unwrap();
    let head = "GET /debug/kubewright HTTP/1.1\r\nHost: evil.example.com";
    assert_eq!(ask(stream, head).await.0, 403);
}

#[tokio::test]
async fn a_request_under_way_is_finished_at_the_end_and_idle_connections_are_closed() {
    let slow = |_: Request<Incoming>| async {
        sleep(Duration::from_millis(300)).await;
        text(StatusCode::OK, "done")
    };
    let server = start(Router::new().route("/slow", slow), None).await;
    let mut idle = TcpStream::connect(server.address).await.unwrap();
    let asking = tokio::spawn(get(server.address, "/slow", ""));
    sleep(Duration::from_millis(100)).await;
    let start = Instant::now();
    server.stopper.stop();
    server.task.await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(asking.await.unwrap().2, "done");
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap_or(0), 0);
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn a_request_that_never_ends_does_not_hold_up_the_end_for_ever() {
    let hangs = |_: Request<Incoming>| std::future::pending::<HttpResponse>();
    let mut server = HttpServer::bind(&BindAddress::loopback(), Router::new().route("/", hangs))
        .await
        .unwrap()
        .unwrap();
    server.drain = Duration::from_millis(200);
    let address = server.address();
    let (stopper, stop) = Stopper::new();
    let task = tokio::spawn(server.run(stop));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    sleep(Duration::from_millis(100)).await;
    stopper.stop();
    timeout(Duration::from_secs(5), task).await.unwrap().unwrap();
}

/// Trusts everybody and remembers whom.
#[derive(Debug, Default)]
struct Seen(Mutex<Vec<Vec<u8>>>);

impl ServerCertVerifier for Seen {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.0.lock().push(certificate.to_vec());
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

async fn get_tls(address: SocketAddr, seen: &Arc<Seen>, path: &str, header: &str) -> (u16, String) {
    let verifier: Arc<dyn ServerCertVerifier> = Arc::clone(seen) as _;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = TcpStream::connect(address).await.unwrap();
    let stream = connector
        .connect("localhost".try_into().unwrap(), stream)
        .await
        .unwrap();
    let (code, _, body) = ask(stream, &format!("GET {path} HTTP/1.1\r\nHost: localhost{header}")).await;
    (code, body)
}

fn write_pair(folder: &std::path::Path) -> Vec<u8> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    made.cert.der().to_vec()
}

#[tokio::test]
async fn a_replaced_certificate_is_shown_without_a_restart_and_a_broken_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let first = write_pair(folder.path());
    let registry = Registry::new();
    let metrics = RuntimeMetrics::register(&registry).unwrap().certificates;
    let certificates = Certificates::from_folder(folder.path(), "tls.crt", "tls.key").unwrap();
    assert!(certificates.is_from_files());
    let certificates = certificates.with_metrics(metrics);
    let router = Router::new().route("/metrics", metrics_page(Registry::new()));
    let server = start(router, Some(certificates.clone())).await;
    let seen = Arc::new(Seen::default());
    assert_eq!(get_tls(server.address, &seen, "/metrics", "").await.0, 200);
    assert_eq!(seen.0.lock().pop(), Some(first.clone()));

    std::fs::write(folder.path().join("tls.crt"), "nonsense").unwrap();
    certificates.look().await;
    get_tls(server.address, &seen, "/metrics", "").await;
    assert_eq!(seen.0.lock().pop(), Some(first));

    let second = write_pair(folder.path());
    certificates.look().await;
    certificates.look().await;
    get_tls(server.address, &seen, "/metrics", "").await;
    assert_eq!(seen.0.lock().pop(), Some(second));
    let text = registry.render();
    // Each read counts, as with controller-runtime: the first, a broken one, a new one and the same again.
    assert!(text.contains("certwatcher_read_certificate_total 4\n"), "{text}");
    assert!(text.contains("certwatcher_read_certificate_errors_total 1\n"), "{text}");
}

/// A folder as the kubelet mounts a Secret: the files are links into a folder that is a link to one version.
#[cfg(unix)]
struct Mount {
    folder: tempfile::TempDir,
    versions: u32,
}

#[cfg(unix)]
impl Mount {
    fn new() -> (Self, Vec<u8>) {
        let mut mount = Mount {
            folder: tempfile::tempdir().unwrap(),
            versions: 0,
        };
        let first = mount.replace();
        for file in ["tls.crt", "tls.key"] {
            let link = std::path::Path::new("..data").join(file);
            std::os::unix::fs::symlink(link, mount.folder.path().join(file)).unwrap();
        }
        (mount, first)
    }

    /// Writes a new version, turns the link, and removes the old version, as the kubelet does.
    fn replace(&mut self) -> Vec<u8> {
        let path = self.folder.path();
        let old = path.join(format!("..version-{}", self.versions));
        self.versions += 1;
        let name = format!("..version-{}", self.versions);
        std::fs::create_dir(path.join(&name)).unwrap();
        let made = write_pair(&path.join(&name));
        std::os::unix::fs::symlink(&name, path.join("..data_tmp")).unwrap();
        std::fs::rename(path.join("..data_tmp"), path.join("..data")).unwrap();
        let _ = std::fs::remove_dir_all(old);
        made
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_mounted_secret_is_followed_through_its_links() {
    let (mut mount, first) = Mount::new();
    let path = mount.folder.path().to_owned();
    let certificates = Certificates::from_files(path.join("tls.crt"), path.join("tls.key")).unwrap();
    let server = start(Router::new(), Some(certificates.clone())).await;
    let seen = Arc::new(Seen::default());
    get_tls(server.address, &seen, "/", "").await;
    assert_eq!(seen.0.lock().pop(), Some(first));
    let second = mount.replace();
    assert!(certificates.look().await);
    get_tls(server.address, &seen, "/", "").await;
    assert_eq!(seen.0.lock().pop(), Some(second));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mount_that_changes_all_the_time_is_never_read_half_old_and_half_new() {
    let (mut mount, _) = Mount::new();
    let path = mount.folder.path().to_owned();
    let certificates = Certificates::from_files(path.join("tls.crt"), path.join("tls.key")).unwrap();
    let turning = tokio::task::spawn_blocking(move || {
        for _ in 0..300 {
            mount.replace();
        }
        mount
    });
    let (mut good, mut looks) = (0, 0);
    while !turning.is_finished() {
        good += u32::from(certificates.look().await);
        looks += 1;
    }
    let _mount = turning.await.unwrap();
    assert!(certificates.look().await);
    // The reader reads again when the link was turned meanwhile, and only gives up when that happens thrice.
    assert!(good * 10 >= looks * 9, "{good} of {looks}");
}

#[tokio::test(start_paused = true)]
async fn a_pair_that_is_half_written_is_looked_at_again_soon() {
    let folder = tempfile::tempdir().unwrap();
    write_pair(folder.path());
    let registry = Registry::new();
    let metrics = RuntimeMetrics::register(&registry).unwrap().certificates;
    let certificates = Certificates::from_folder(folder.path(), "tls.crt", "tls.key").unwrap();
    let certificates = certificates.with_metrics(metrics.clone());
    let (stopper, stop) = Stopper::new();
    let watching = tokio::spawn({
        let certificates = certificates.clone();
        async move { certificates.watch(stop).await }
    });
    // The certificate of one pair, the key of another.
    let key = std::fs::read(folder.path().join("tls.key")).unwrap();
    write_pair(folder.path());
    let new_key = std::fs::read(folder.path().join("tls.key")).unwrap();
    std::fs::write(folder.path().join("tls.key"), key).unwrap();
    sleep(Duration::from_secs(16)).await;
    let errors = metrics.errors.with([]).get();
    assert!(errors >= 4.0, "{errors}");
    std::fs::write(folder.path().join("tls.key"), new_key).unwrap();
    sleep(Duration::from_secs(3)).await;
    assert!((metrics.errors.with([]).get() - errors).abs() <= 1.0);
    stopper.stop();
    watching.await.unwrap();
}

#[tokio::test]
async fn who_does_not_speak_tls_gets_nothing() {
    let router = Router::new().route("/metrics", metrics_page(Registry::new()));
    let server = start(router, Some(Certificates::self_signed(&["localhost"]).unwrap())).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(10), stream.read_to_end(&mut answer))
        .await
        .unwrap();
    assert!(!answer.starts_with(b"HTTP"));
}

/// An API server that knows two tokens and lets one of them read `/metrics`.
fn reviewer(reviews: &Arc<AtomicUsize>) -> kube::Client {
    let reviews = Arc::clone(reviews);
    let service = tower::service_fn(move |request: Request<Body>| {
        let reviews = Arc::clone(&reviews);
        async move {
            reviews.fetch_add(1, Ordering::Relaxed);
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let mut review: Value = serde_json::from_slice(&body).unwrap();
            let spec = review["spec"].clone();
            review["status"] = match path.as_str() {
                "/apis/authentication.k8s.io/v1/tokenreviews" => match spec["token"].as_str().unwrap() {
                    token @ ("prometheus" | "stranger") => json!({
                        "authenticated": true,
                        "user": { "username": token, "uid": "7", "groups": ["g"], "extra": { "k": ["v"] } },
                    }),
                    _ => json!({ "error": "invalid bearer token" }),
                },
                "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
                    assert_eq!(
                        (&spec["uid"], &spec["groups"], &spec["extra"]),
                        (&json!("7"), &json!(["g"]), &json!({ "k": ["v"] }))
                    );
                    let wanted = ["/metrics", "/debug/kubewright"].map(|path| json!({ "path": path, "verb": "get" }));
                    let is_wanted = wanted.contains(&spec["nonResourceAttributes"]);
                    json!({ "allowed": spec["user"] == json!("prometheus") && is_wanted })
                }
                other => panic!("{other}"),
            };
            let body = Full::new(Bytes::from(review.to_string()));
            Ok::<_, std::convert::Infallible>(Response::builder().status(201).body(body).unwrap())
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test]
async fn only_who_may_read_metrics_reads_them_and_answers_are_remembered() {
    let reviews = Arc::new(AtomicUsize::new(0));
    let router = Router::new().route("/metrics", metrics_page(Registry::new()));
    let router = Authorizer::new(reviewer(&reviews)).protect(router);
    let server = start(router, Some(Certificates::self_signed(&["localhost"]).unwrap())).await;
    let seen = Arc::new(Seen::default());
    let ask = async |token: &str| {
        let header = if token.is_empty() {
            String::new()
        } else {
            format!("\r\nAuthorization: Bearer {token}")
        };
        get_tls(server.address, &seen, "/metrics", &header).await
    };
    assert_eq!(ask("").await, (401, "Unauthorized\n".to_owned()));
    assert_eq!(reviews.load(Ordering::Relaxed), 0);
    assert_eq!(ask("nonsense").await, (500, "Authentication failed\n".to_owned()));
    assert_eq!(
        ask("stranger").await,
        (403, "Authorization denied for user stranger\n".to_owned())
    );
    assert_eq!(ask("prometheus").await.0, 200);
    let asked = reviews.load(Ordering::Relaxed);
    assert_eq!(asked, 5);
    for token in ["nonsense", "stranger", "prometheus"] {
        ask(token).await;
    }
    assert_eq!(reviews.load(Ordering::Relaxed), asked);
}

#[tokio::test]
async fn a_protected_debug_page_is_for_those_who_may_read_it_under_any_name() {
    let router = Router::new().route("/debug/kubewright", debug_page(|| json!({ "queues": 3 })));
    let router = Authorizer::new(reviewer(&Arc::default())).protect(router);
    let server = start(router, Some(Certificates::self_signed(&["localhost"]).unwrap())).await;
    let seen = Arc::new(Seen::default());
    // Behind the name `localhost`, so that it is another.
    let ask = async |token: &str| {
        let header = format!(".shop.svc\r\nAuthorization: Bearer {token}");
        get_tls(server.address, &seen, "/debug/kubewright", &header).await
    };
    assert_eq!(ask("stranger").await.0, 403);
    let (code, page) = ask("prometheus").await;
    assert!(code == 200 && page.contains("queues"), "{code} {page}");
}
