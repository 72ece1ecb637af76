//! Servers of aggregated APIs that offer HTTP/2 are asked over it: few connections for many requests, and hostile ones hurt nobody else.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use h2::Reason;
use h2::server::SendResponse;
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_system::certificates::{self, Leaf, Signer};
use rustls::ServerConfig;
use rustls::crypto::ring;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::support::{API_SERVICES, Answer, ROOT, api_service, ask, available, full, json_answer, resources};

const SOON: Duration = Duration::from_secs(20);

/// A server whose API `widgets.example.com` is behind a TLS listener that offers `protocols`; `serve` has each connection with its number.
async fn behind<F>(
    protocols: &[&[u8]],
    serve: impl Fn(TlsStream<TcpStream>, usize) -> F + Send + Sync + 'static,
) -> ApiServer
where
    F: Future<Output = ()> + Send + 'static,
{
    let authority = certificates::authority("widgets-ca", None).unwrap();
    let signer = Signer::new("widgets-ca", &authority.key_pem()).unwrap();
    let leaf = signer.sign(&Leaf::server("widgets", &["widgets.default.svc"])).unwrap();
    let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.certificate_der()], leaf.key_der())
        .unwrap();
    tls.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = ApiServer::new(Options::new());
    server.serve_service("default", "widgets", 443, listener.local_addr().unwrap());
    tokio::spawn(async move {
        for number in 0.. {
            let (socket, _) = listener.accept().await.unwrap();
            if let Ok(stream) = acceptor.accept(socket).await {
                tokio::spawn(serve(stream, number));
            }
        }
    });
    server
}

async fn register(server: &ApiServer) {
    let mut service = api_service("widgets.example.com");
    service["spec"]["insecureSkipTLSVerify"] = true.into();
    assert_eq!(ask(server, "POST", API_SERVICES, &service.to_string()).await.0, 201);
    available(server, "True").await;
}

/// Serves requests in either protocol, at most `streams` at once on a connection of HTTP/2.
async fn answer<F>(
    stream: TlsStream<TcpStream>,
    streams: u32,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Answer> + Send + 'static,
{
    let service = service_fn(move |request| {
        let answer = answer.clone();
        async move { Ok::<_, Infallible>(answer(request).await) }
    });
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http2().max_concurrent_streams(streams);
    let _ = http.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
}

/// What a request was: its version, its authority, its agent, and the number of its connection.
fn seen(request: &Request<Incoming>, number: usize) -> Answer {
    let text = |name: &str| {
        let value = request.headers().get(name);
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    json_answer(&json!({
        "http2": request.version() == Version::HTTP_2, "authority": request.uri().authority().map(ToString::to_string),
        "host": text("host"), "user": text("x-remote-user"), "connection": number,
    }))
}

async fn widgets(server: &ApiServer) -> (StatusCode, String) {
    ask(server, "GET", &format!("{ROOT}/widgets"), "").await
}

async fn the_rest_is_served(server: &ApiServer) {
    for path in ["/api/v1/namespaces/default", "/apis", "/readyz"] {
        assert_eq!(ask(server, "GET", path, "").await.0, 200, "{path}");
    }
}

#[tokio::test]
async fn http2_is_spoken_where_it_is_offered() {
    for (protocols, http2) in [
        (&[&b"h2"[..], b"http/1.1"][..], true),
        (&[&b"http/1.1"[..]][..], false),
        (&[][..], false),
    ] {
        let server = behind(protocols, |stream, number| {
            answer(stream, 100, move |request| async move { seen(&request, number) })
        })
        .await;
        register(&server).await;
        let (code, body) = widgets(&server).await;
        assert_eq!(code, 200, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["http2"], http2, "{body}");
        assert_eq!(
            (&body["user"], body["host"].is_null()),
            (&json!("admin"), http2),
            "{body}"
        );
        let authority = if http2 { &body["authority"] } else { &body["host"] };
        assert!(authority.as_str().unwrap().starts_with("127.0.0.1:"), "{body}");
    }
}

#[tokio::test]
async fn checks_name_the_version_of_gos_client() {
    let agents = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let noted = Arc::clone(&agents);
    let server = behind(&[b"h2"], move |stream, _| {
        let noted = Arc::clone(&noted);
        answer(stream, 100, move |request| {
            if request.uri().path() == ROOT && request.headers()["x-remote-user"] == "system:kube-aggregator" {
                noted.lock().push(request.headers().get("user-agent").cloned());
            }
            async { resources() }
        })
    })
    .await;
    register(&server).await;
    assert_eq!(agents.lock()[0].as_ref().unwrap(), "Go-http-client/2.0");
}

#[tokio::test]
async fn one_connection_after_another_request_is_the_same() {
    let server = behind(&[b"h2"], |stream, number| {
        answer(stream, 100, move |request| async move { seen(&request, number) })
    })
    .await;
    register(&server).await;
    let (_, first) = widgets(&server).await;
    for _ in 0..20 {
        assert_eq!(widgets(&server).await.1, first);
    }
}

/// Opens watches that stay open, each read up to its first event.
async fn watches(server: &ApiServer, count: usize) -> Vec<kubewright_apiserver::Body> {
    let mut open = Vec::new();
    for _ in 0..count {
        let request = Request::get(format!("{ROOT}/widgets?watch=1"))
            .body(Bytes::new())
            .unwrap();
        let mut watch = timeout(SOON, server.handle(request)).await.unwrap().into_body();
        let frame = timeout(SOON, watch.frame()).await.unwrap().unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), "{\"type\":\"ADDED\"}\n");
        open.push(watch);
    }
    open
}

/// A server of watches that allows `streams` on a connection, and how many connections have a watch.
async fn watched(streams: u32) -> (ApiServer, Arc<AtomicUsize>) {
    let used = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&used);
    let server = behind(&[b"h2"], move |stream, _| {
        let (counted, watches) = (Arc::clone(&counted), Arc::new(AtomicUsize::new(0)));
        answer(stream, streams, move |request: Request<Incoming>| {
            let is_watch = request.uri().query() == Some("watch=1");
            if is_watch && watches.fetch_add(1, Ordering::SeqCst) == 0 {
                counted.fetch_add(1, Ordering::SeqCst);
            }
            async move {
                if !is_watch {
                    return resources();
                }
                let first = Ok(Frame::data(Bytes::from_static(b"{\"type\":\"ADDED\"}\n")));
                let frames = futures_util::StreamExt::chain(stream::iter([first]), stream::pending());
                Response::new(StreamBody::new(frames).boxed_unsync())
            }
        })
    })
    .await;
    register(&server).await;
    (server, used)
}

#[tokio::test]
async fn many_watches_share_a_connection() {
    let (server, used) = watched(1000).await;
    let open = watches(&server, 90).await;
    assert_eq!(used.load(Ordering::SeqCst), 1);
    // Beyond a hundred there is another connection.
    let more = watches(&server, 30).await;
    assert_eq!(used.load(Ordering::SeqCst), 2);
    drop((open, more));
    assert_eq!(widgets(&server).await.0, 200);
}

#[tokio::test]
async fn a_server_that_allows_few_streams_gets_more_connections() {
    let (server, used) = watched(10).await;
    let open = watches(&server, 35).await;
    assert!((4..=6).contains(&used.load(Ordering::SeqCst)), "{used:?}");
    assert_eq!(widgets(&server).await.0, 200);
    drop(open);
}

#[tokio::test]
async fn a_request_for_another_protocol_is_http1() {
    let server = behind(&[b"h2", b"http/1.1"], |stream, number| {
        answer(stream, 100, move |request| async move {
            if request.version() == Version::HTTP_2 {
                return seen(&request, number);
            }
            let mut response = Response::new(full(String::new()));
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            let headers = response.headers_mut();
            headers.insert("connection", "Upgrade".parse().unwrap());
            headers.insert("upgrade", "echo".parse().unwrap());
            response
        })
    })
    .await;
    register(&server).await;
    let request = Request::get(format!("{ROOT}/widgets/a/talk"))
        .header("Connection", "Upgrade")
        .header("Upgrade", "echo");
    let response = server.handle(request.body(Bytes::new()).unwrap()).await;
    assert_eq!(response.status(), 101);
    assert_eq!(widgets(&server).await.0, 200);
}

#[tokio::test]
async fn responses_that_nobody_reads_leave_the_others_theirs() {
    static PIECE: &[u8] = &[b' '; 16 * 1024];
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let server = behind(&[b"h2"], move |stream, number| {
        let counted = Arc::clone(&counted);
        answer(stream, 200, move |request| {
            let counted = Arc::clone(&counted);
            async move {
                if !request.uri().path().ends_with("/endless") {
                    return seen(&request, number);
                }
                let pieces = stream::repeat_with(move || {
                    counted.fetch_add(PIECE.len(), Ordering::Relaxed);
                    Ok::<_, io::Error>(Frame::data(Bytes::from_static(PIECE)))
                });
                let response = Response::builder().header("content-type", "application/json");
                response.body(StreamBody::new(pieces).boxed_unsync()).unwrap()
            }
        })
    })
    .await;
    register(&server).await;
    let (_, before) = widgets(&server).await;
    let mut unread = Vec::new();
    for _ in 0..60 {
        let request = Request::get(format!("{ROOT}/endless?watch=1"))
            .body(Bytes::new())
            .unwrap();
        unread.push(timeout(SOON, server.handle(request)).await.unwrap());
    }
    // Each may have as much on its way as one stream has; more is not taken, however long one waits.
    for _ in 0..20 {
        assert_eq!(
            timeout(SOON, widgets(&server)).await.unwrap().1,
            before,
            "over the same connection"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let taken = taken.load(Ordering::Relaxed);
    assert!(
        taken < 60 * 2 * 1024 * 1024,
        "{taken} bytes were taken for 60 clients that do not read"
    );
    drop(unread);
    the_rest_is_served(&server).await;
}

/// A server whose streams are answered one by one: `reply` has each request that is no check, with the number of its connection and stream.
async fn raw(
    builder: h2::server::Builder,
    reply: impl Fn(Request<h2::RecvStream>, SendResponse<Bytes>, &mut RawConnection, (usize, usize))
    + Clone
    + Send
    + Sync
    + 'static,
) -> ApiServer {
    behind(&[b"h2"], move |stream, number| {
        let (builder, reply) = (builder.clone(), reply.clone());
        async move {
            let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else {
                return;
            };
            let mut asked = 0;
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let user = request.headers().get("x-remote-user");
                if user.is_some_and(|user| user.to_str().unwrap().starts_with("system:")) {
                    let response = Response::builder().header("content-type", "application/json");
                    let mut sender = respond.send_response(response.body(()).unwrap(), false).unwrap();
                    let body = resources().into_body().collect().await.unwrap().to_bytes();
                    let _ = sender.send_data(body, true);
                } else {
                    reply(request, respond, &mut connection, (number, asked));
                    asked += 1;
                }
            }
        }
    })
    .await
}

type RawConnection = h2::server::Connection<TlsStream<TcpStream>, Bytes>;

fn answered(mut respond: SendResponse<Bytes>) {
    let response = Response::builder()
        .header("content-type", "text/plain")
        .body(())
        .unwrap();
    let mut sender = respond.send_response(response, false).unwrap();
    sender.send_data(Bytes::from_static(b"hello"), true).unwrap();
}

#[tokio::test]
async fn streams_that_are_reset_fail_alone() {
    let server = raw(h2::server::Builder::new(), |request, mut respond, _, _| {
        if request.uri().path().ends_with("/reset") {
            respond.send_reset(Reason::INTERNAL_ERROR);
        } else {
            answered(respond);
        }
    })
    .await;
    register(&server).await;
    for _ in 0..50 {
        let (code, body) = ask(&server, "GET", &format!("{ROOT}/widgets/reset"), "").await;
        assert_eq!(code, 503);
        assert!(
            body.starts_with("error trying to reach service: stream error: stream ID ")
                && body.ends_with("; INTERNAL_ERROR; received from peer\n"),
            "{body}"
        );
        assert_eq!(widgets(&server).await, (StatusCode::OK, "hello".into()));
    }
    the_rest_is_served(&server).await;
}

#[tokio::test]
async fn what_a_server_refused_unseen_is_sent_again() {
    let refused = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&refused);
    let server = raw(h2::server::Builder::new(), move |_, mut respond, _, _| {
        if counted.fetch_add(1, Ordering::SeqCst) == 0 {
            respond.send_reset(Reason::REFUSED_STREAM);
        } else {
            answered(respond);
        }
    })
    .await;
    register(&server).await;
    assert_eq!(widgets(&server).await, (StatusCode::OK, "hello".into()));
    assert_eq!(refused.load(Ordering::SeqCst), 2);
    // A body that was sent is gone.
    refused.store(0, Ordering::SeqCst);
    let (code, body) = ask(&server, "POST", &format!("{ROOT}/widgets"), "{}").await;
    assert_eq!((code.as_u16(), refused.load(Ordering::SeqCst)), (503, 1), "{body}");
}

#[tokio::test]
async fn a_connection_that_goes_away_is_replaced_and_its_watches_go_on() {
    let server = raw(
        h2::server::Builder::new(),
        |request, mut respond, connection, (number, _)| {
            if request.uri().query() != Some("watch=1") {
                let response = Response::builder()
                    .header("content-type", "text/plain")
                    .body(())
                    .unwrap();
                let mut sender = respond.send_response(response, false).unwrap();
                sender.send_data(number.to_string().into(), true).unwrap();
                connection.graceful_shutdown();
                return;
            }
            let mut sender = respond.send_response(Response::new(()), false).unwrap();
            tokio::spawn(async move {
                loop {
                    if sender.send_data(Bytes::from_static(b"{}\n"), false).is_err() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            });
        },
    )
    .await;
    register(&server).await;
    let request = Request::get(format!("{ROOT}/widgets?watch=1"))
        .body(Bytes::new())
        .unwrap();
    let mut watch = server.handle(request).await.into_body();
    watch.frame().await.unwrap().unwrap();
    let mut connections = Vec::new();
    for _ in 0..5 {
        let (code, body) = widgets(&server).await;
        assert_eq!(code, 200, "{body}");
        connections.push(body);
        // Until the frame that says so has come.
        tokio::time::sleep(Duration::from_millis(100)).await;
        watch.frame().await.unwrap().unwrap();
    }
    connections.dedup();
    assert!(connections.len() > 1, "{connections:?}");
}

#[tokio::test]
async fn a_connection_that_is_torn_down_fails_its_requests_and_no_other() {
    let server = raw(h2::server::Builder::new(), |request, respond, connection, _| {
        if request.uri().path().ends_with("/gone") {
            connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
        } else {
            answered(respond);
        }
    })
    .await;
    register(&server).await;
    for _ in 0..5 {
        let (code, body) = timeout(SOON, ask(&server, "POST", &format!("{ROOT}/widgets/gone"), "{}"))
            .await
            .unwrap();
        assert_eq!(code, 503, "{body}");
        assert!(body.starts_with("error trying to reach service: "), "{body}");
        assert_eq!(timeout(SOON, widgets(&server)).await.unwrap().0, 200);
    }
    the_rest_is_served(&server).await;
}

#[tokio::test]
async fn a_server_that_takes_no_body_holds_nothing_for_long() {
    let ended = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ended);
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(0);
    let server = raw(builder, move |request, respond, _, _| {
        if request.method() == http::Method::GET {
            return answered(respond);
        }
        // Neither read nor answered: it is noted when the other side gives up.
        let counted = Arc::clone(&counted);
        tokio::spawn(async move {
            let mut body = request.into_body();
            while let Some(Ok(_)) = body.data().await {}
            counted.fetch_add(1, Ordering::SeqCst);
            drop(respond);
        });
    })
    .await;
    register(&server).await;
    let text = format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20));
    for _ in 0..5 {
        let (code, _) = ask(&server, "POST", &format!("{ROOT}/widgets?timeout=200ms"), &text).await;
        assert_eq!(code, 504);
        assert_eq!(timeout(SOON, widgets(&server)).await.unwrap().0, 200);
    }
    for _ in 0..1000 {
        if ended.load(Ordering::SeqCst) == 5 {
            return the_rest_is_served(&server).await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{ended:?} of 5 streams ended");
}

#[tokio::test]
async fn heads_that_are_too_large_are_refused() {
    let server = raw(h2::server::Builder::new(), |request, mut respond, _, _| {
        if !request.uri().path().ends_with("/large") {
            return answered(respond);
        }
        let mut response = Response::new(());
        for number in 0..64 {
            let name: http::HeaderName = format!("x-large-{number}").parse().unwrap();
            response
                .headers_mut()
                .insert(name, "y".repeat(64 * 1024).parse().unwrap());
        }
        let _ = respond.send_response(response, true);
    })
    .await;
    register(&server).await;
    for _ in 0..5 {
        let (code, body) = timeout(SOON, ask(&server, "GET", &format!("{ROOT}/widgets/large"), ""))
            .await
            .unwrap();
        assert_eq!(code, 503, "{body}");
        assert_eq!(timeout(SOON, widgets(&server)).await.unwrap().0, 200);
    }
    the_rest_is_served(&server).await;
}
