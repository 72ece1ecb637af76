//! Webhooks that misbehave over the wire: the server answers as the real one does, goes on and keeps nothing of them.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{ApiServer, Options};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::certificates::{at, authority, trusted, why};
use super::support::{Cluster, allow, answer_to, webhook};

type Served = Pin<Box<dyn Future<Output = ()> + Send>>;
type Serve = Arc<dyn Fn(TcpStream) -> Served + Send + Sync>;

/// Something that listens on this machine until it is dropped.
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    /// How many connections it has had.
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) async fn listen(serve: Serve) -> Listening {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    Listening {
        address: listener.local_addr().unwrap(),
        connections,
        task: tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(socket));
            }
        }),
    }
}

/// Answers reviews with this response, request by request.
pub(crate) fn answer_reviews(acceptor: TlsAcceptor, response: Value) -> Serve {
    Arc::new(move |socket| {
        let (acceptor, response) = (acceptor.clone(), response.clone());
        Box::pin(async move {
            let Ok(stream) = acceptor.accept(socket).await else {
                return;
            };
            let service = service_fn(move |request: Request<Incoming>| {
                let response = response.clone();
                async move {
                    let body = request.into_body().collect().await?.to_bytes();
                    let review: Value = serde_json::from_slice(&body).unwrap();
                    Ok::<_, hyper::Error>(Response::new(Full::new(answer_to(&review, response))))
                }
            });
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        })
    })
}

/// Reads a request and answers these bytes, then hangs up.
fn answer_bytes(acceptor: TlsAcceptor, bytes: Vec<u8>) -> Serve {
    Arc::new(move |socket| {
        let (acceptor, bytes) = (acceptor.clone(), bytes.clone());
        Box::pin(async move {
            let Ok(mut stream) = acceptor.accept(socket).await else {
                return;
            };
            let mut request = vec![0; 64 << 10];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        })
    })
}

/// Does this to a connection as it comes.
fn raw<F>(serve: impl Fn(TcpStream) -> F + Send + Sync + 'static) -> Serve
where
    F: Future<Output = ()> + Send + 'static,
{
    Arc::new(move |socket| Box::pin(serve(socket)))
}

/// What a server says of a webhook that serves like this, without all that is always said.
async fn complaint(serve: Serve, bundle: &str) -> String {
    let listening = listen(serve).await;
    let cluster = Cluster::new(|_, _| allow());
    let mut hook = at("127.0.0.1", listening.address, bundle);
    hook["timeoutSeconds"] = 10.into();
    cluster.configure("Validating", "c", &[hook]).await;
    let answer = cluster.create("x").await;
    assert_eq!(answer.code, 500, "{answer:?}");
    assert!(cluster.create_elsewhere().await, "the server goes on");
    let prefix = "Internal error occurred: failed calling webhook \"h.a.example.com\": ";
    let rest = answer.message().strip_prefix(prefix).unwrap();
    why(rest.strip_prefix("failed to call webhook: ").unwrap_or(rest))
}

impl Cluster {
    /// Whether requests that the webhook does not concern are still answered.
    async fn create_elsewhere(&self) -> bool {
        let secret = json!({ "metadata": { "generateName": "s-" } });
        self.send("POST", "/api/v1/namespaces/default/secrets", secret)
            .await
            .code
            == 201
    }
}

/// A listener's TLS, and what to trust.
fn secured() -> (TlsAcceptor, String) {
    let authority = authority("test-ca");
    let parameters = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.signed_by(&key, &authority).unwrap();
    let private = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    let acceptor = super::certificates::acceptor(vec![certificate.der().clone()], private.into());
    (acceptor, authority.pem())
}

#[tokio::test]
async fn connections_that_come_to_nothing_are_told_in_the_words_of_go() {
    let bundle = authority("test-ca").pem();
    let closes = raw(|socket| async move { drop(socket) });
    let found = complaint(closes, &bundle).await;
    // Who hangs up with bytes unread resets the connection.
    assert!(
        found == "EOF" || found.ends_with("read: connection reset by peer"),
        "{found}"
    );
    let banner = raw(|mut socket| async move {
        let _ = socket.write_all(b"SSH-2.0-OpenSSH\r\n").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    });
    assert_eq!(
        complaint(banner, &bundle).await,
        "tls: first record does not look like a TLS handshake"
    );
    let plain = raw(|mut socket| async move {
        let mut request = [0; 1024];
        let _ = socket.read(&mut request).await;
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    });
    assert_eq!(
        complaint(plain, &bundle).await,
        "http: server gave HTTP response to HTTPS client"
    );
    let refused = {
        let listening = listen(raw(|_| async {})).await;
        listening.address
    };
    tokio::task::yield_now().await;
    let cluster = Cluster::new(|_, _| allow());
    cluster
        .configure("Validating", "c", &[at("127.0.0.1", refused, &bundle)])
        .await;
    assert_eq!(
        why(cluster.create("x").await.message()),
        format!("dial tcp {refused}: connect: connection refused")
    );
}

#[tokio::test]
async fn responses_that_are_none_are_told_in_the_words_of_upstreams_client() {
    let json = "Content-Type: application/json\r\nConnection: close\r\n";
    let of = |head: &str, body: &str| format!("HTTP/1.1 {head}\r\n{json}Content-Length: {}\r\n\r\n{body}", body.len());
    for (response, sentence) in [
        (String::new(), "EOF"),
        (
            "SSH-2.0-hello\r\n\r\n".to_owned(),
            "net/http: HTTP/1.x transport connection broken: malformed HTTP response \"SSH-2.0-hello\"",
        ),
        (
            format!("HTTP/1.1 200 OK\r\n{json}Content-Length: 1000\r\n\r\n{{\"a\":"),
            "unexpected error when reading response body. Please retry. Original error: unexpected EOF",
        ),
        (
            of("200 OK", ""),
            "0-length response with status code: 200 and content type: application/json",
        ),
        (
            of("200 OK", "hello"),
            "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { \
             APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
        ),
        (
            of("200 OK", "{}"),
            "received invalid webhook response: webhook response was absent",
        ),
        (
            of("404 Not Found", "no"),
            "the server could not find the requested resource",
        ),
        (
            of("500 Internal Server Error", "{}"),
            "an error on the server (\"unknown\") has prevented the request from succeeding",
        ),
        (
            of("503 Service Unavailable\r\nRetry-After: 0", "{}"),
            "the server is currently unable to handle the request",
        ),
        (
            of(
                "200 OK",
                r#"{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}"#,
            ),
            "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
    ] {
        let (acceptor, bundle) = secured();
        let found = complaint(answer_bytes(acceptor, response.into_bytes()), &bundle).await;
        assert_eq!(found, sentence);
    }
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let (acceptor, bundle) = secured();
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let endless = raw(move |socket| {
        let (acceptor, count) = (acceptor.clone(), Arc::clone(&count));
        async move {
            let Ok(mut stream) = acceptor.accept(socket).await else {
                return;
            };
            let mut request = vec![0; 64 << 10];
            let _ = stream.read(&mut request).await;
            let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
            let _ = stream.write_all(head).await;
            let spaces = vec![b' '; 1 << 20];
            while stream.write_all(&spaces).await.is_ok() {
                count.fetch_add(spaces.len(), Ordering::Relaxed);
            }
        }
    });
    assert_eq!(
        complaint(endless, &bundle).await,
        "unexpected error when reading response body. Please retry. Original error: http: response body too large"
    );
    assert!(sent.load(Ordering::Relaxed) < 128 << 20);
}

#[tokio::test]
async fn a_redirect_is_followed_and_a_circle_is_not() {
    let (there, bundle) = trusted(&["127.0.0.1"]).await;
    let redirect = |location: String| {
        format!(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: {location}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )
    };
    // The webhook that redirects is trusted by another authority than the one it redirects to.
    let (acceptor, own) = secured();
    let away = redirect(format!("https://{}/x", there.address));
    let listening = listen(answer_bytes(acceptor, away.into_bytes())).await;
    let cluster = Cluster::new(|_, _| allow());
    cluster
        .configure(
            "Validating",
            "c",
            &[at("127.0.0.1", listening.address, &format!("{own}{bundle}"))],
        )
        .await;
    assert_eq!(cluster.create("x").await.code, 201);
    let (acceptor, own) = secured();
    let circle = answer_bytes(acceptor, redirect("/again".to_owned()).into_bytes());
    assert_eq!(
        complaint(circle, &own).await,
        "Post \"/again\": stopped after 10 redirects"
    );
}

#[tokio::test]
async fn a_connection_is_used_again_and_replaced_when_it_was_closed() {
    let (listening, bundle) = trusted(&["127.0.0.1"]).await;
    let cluster = Cluster::new(|_, _| allow());
    cluster
        .configure("Validating", "c", &[at("127.0.0.1", listening.address, &bundle)])
        .await;
    for at in 0..5 {
        assert_eq!(cluster.create(&format!("x{at}")).await.code, 201);
    }
    assert_eq!(listening.connections.load(Ordering::Relaxed), 1);

    let (acceptor, bundle) = secured();
    let once: Serve = Arc::new(move |socket| {
        let acceptor = acceptor.clone();
        Box::pin(async move {
            let Ok(mut stream) = acceptor.accept(socket).await else {
                return;
            };
            let mut request = vec![0; 64 << 10];
            let mut length = 0;
            let body = loop {
                length += stream.read(&mut request[length..]).await.unwrap();
                let text = String::from_utf8_lossy(&request[..length]).into_owned();
                if let Some((_, body)) = text.split_once("\r\n\r\n")
                    && serde_json::from_str::<Value>(body).is_ok()
                {
                    break body.to_owned();
                }
            };
            let answer = answer_to(&serde_json::from_str(&body).unwrap(), allow());
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", answer.len());
            let _ = stream.write_all(&[head.as_bytes(), &answer].concat()).await;
            // It does not say so, but it is done.
            let _ = stream.shutdown().await;
        })
    });
    let listening = listen(once).await;
    cluster
        .configure("Validating", "c", &[at("127.0.0.1", listening.address, &bundle)])
        .await;
    for at in 0..3 {
        let answer = cluster.create(&format!("y{at}")).await;
        assert_eq!(answer.code, 201, "{answer:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(listening.connections.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn webhooks_that_hang_leave_no_task_behind() {
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let open = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&open);
    let hangs = raw(move |mut socket| {
        let count = Arc::clone(&count);
        async move {
            count.fetch_add(1, Ordering::Relaxed);
            // Reads until the other end hangs up, and answers nothing.
            let mut sink = [0; 4096];
            while socket.read(&mut sink).await.is_ok_and(|read| read > 0) {}
            count.fetch_sub(1, Ordering::Relaxed);
        }
    });
    let listening = listen(hangs).await;
    let cluster = Arc::new(Cluster::new(|_, _| allow()));
    let mut hook = at("127.0.0.1", listening.address, &authority("test-ca").pem());
    hook["timeoutSeconds"] = 1.into();
    hook["failurePolicy"] = "Ignore".into();
    cluster.configure("Validating", "c", &[hook]).await;
    let before = alive();
    let requests: Vec<_> = (0..20)
        .map(|at| {
            let cluster = Arc::clone(&cluster);
            tokio::spawn(async move { cluster.create(&format!("x{at}")).await.code })
        })
        .collect();
    for request in requests {
        assert_eq!(request.await.unwrap(), 201);
    }
    for _ in 0..100 {
        if open.load(Ordering::Relaxed) == 0 && alive() <= before {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!(
        "{} connections and {} tasks are left",
        open.load(Ordering::Relaxed),
        alive() - before
    );
}

#[tokio::test]
async fn dropping_the_server_closes_what_it_kept_open() {
    let (listening, bundle) = trusted(&["127.0.0.1"]).await;
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = alive();
    {
        let cluster = Cluster::new(|_, _| allow());
        cluster
            .configure("Validating", "c", &[at("127.0.0.1", listening.address, &bundle)])
            .await;
        assert_eq!(cluster.create("x").await.code, 201);
        assert!(alive() > before);
    }
    for _ in 0..100 {
        if alive() <= before {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{} tasks are left", alive() - before);
}

/// Two thousand answers, each a valid one that was tampered with, or noise.
#[tokio::test]
async fn no_answer_makes_the_server_panic_or_let_a_denied_request_pass() {
    let answers = Arc::new(parking_lot::Mutex::new(Bytes::new()));
    let next = Arc::clone(&answers);
    let server = ApiServer::new(Options::new().seed(1));
    server.handle_host("hooks.test", 443, move |request: Request<Bytes>| {
        let template = next.lock().clone();
        async move {
            let review: Value = serde_json::from_slice(request.body()).unwrap();
            let uid = review["request"]["uid"].as_str().unwrap();
            let text = String::from_utf8_lossy(&template).replace("UID", uid);
            Response::new(Bytes::from(text))
        }
    });
    let cluster = Cluster::over_hooked(server);
    cluster.configure("Mutating", "m", &[webhook("m.a", Value::Null)]).await;
    let valid = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {
        "uid": "UID", "allowed": false, "patchType": "JSONPatch", "patch": "W10=", "warnings": ["w"],
        "auditAnnotations": { "a": "b" },
        "status": { "code": 403, "message": "no", "details": { "causes": [{ "field": "f" }] } } } });
    let valid = valid.to_string().into_bytes();
    let mut runner = TestRunner::deterministic();
    let spots = (0..valid.len(), proptest::arbitrary::any::<u8>(), 0_u8..4);
    let mut passed = 0;
    for at in 0..2000 {
        let (spot, byte, how) = spots.new_tree(&mut runner).unwrap().current();
        let mut bytes = valid.clone();
        match how {
            0 => bytes[spot] = byte,
            1 => bytes.truncate(spot),
            2 => drop(bytes.splice(spot..spot, [byte, byte])),
            _ => drop(bytes.remove(spot)),
        }
        *answers.lock() = bytes.into();
        let answer = cluster.create(&format!("x{at}")).await;
        assert!(matches!(answer.code, 201 | 400..=599 | 600..=999), "{answer:?}");
        assert!(!answer.message().contains("panic"), "{answer:?}");
        passed += usize::from(answer.code == 201);
    }
    // Only an answer that says `true` lets a request pass, and none of these does.
    assert_eq!(passed, 0);
    assert!(cluster.create_elsewhere().await);
}
