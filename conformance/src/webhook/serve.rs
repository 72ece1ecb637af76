//! The webhook process' listeners: one request per connection, answered as its script says.

use std::future::pending;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_system::listen::{self, Limits};
use kubewright_system::stop::Stopper;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::server::Acceptor;
use serde_json::{Map, Value, json};
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::State;
use crate::extension::{self, AnswerBody};

/// The headers of a call that are recorded; others depend on the connection.
const NOTED_HEADERS: [&str; 3] = ["accept", "content-type", "user-agent"];

/// Serves all listeners until the program ends.
pub(super) fn forever(listeners: Vec<(TcpListener, ServerConfig)>, state: &Arc<State>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return;
    };
    runtime.block_on(async {
        let (_stopper, stop) = Stopper::new();
        for (listener, config) in listeners {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                continue;
            };
            let (handshakes, state) = (Handshakes::new(config), Arc::clone(state));
            let limits = Limits {
                connections: None,
                drain: Duration::ZERO,
            };
            tokio::spawn(listen::accept(listener, limits, stop.clone(), move |socket, _| {
                connection(socket, handshakes.clone(), Arc::clone(&state))
            }));
        }
        pending::<()>().await;
    });
}

/// How connections begin: HTTP/2 is offered in the name of an extension that has it.
#[derive(Clone)]
struct Handshakes {
    usual: Arc<ServerConfig>,
    http2: Arc<ServerConfig>,
}

impl Handshakes {
    fn new(usual: ServerConfig) -> Self {
        let mut http2 = usual.clone();
        http2.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Handshakes {
            usual: Arc::new(usual),
            http2: Arc::new(http2),
        }
    }

    async fn accept(self, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let begun = LazyConfigAcceptor::new(Acceptor::default(), socket).await?;
        let name = begun.client_hello().server_name().unwrap_or_default().to_owned();
        let config = if extension::offers_http2(&name) {
            self.http2
        } else {
            self.usual
        };
        begun.into_stream(config).await
    }
}

/// Serves a connection. Errors are ignored here, since the API server at the other end reports them.
async fn connection(socket: TcpStream, handshakes: Handshakes, state: Arc<State>) {
    let Ok(stream) = handshakes.accept(socket).await else {
        return;
    };
    let session = stream.get_ref().1;
    let extension = session.server_name().and_then(|name| state.extensions.named(name));
    let certificate = session.peer_certificates().and_then(<[_]>::first).and_then(common_name);
    let is_http2 = session.alpn_protocol() == Some(b"h2");
    let shared = Arc::new((state, extension, certificate));
    let answer = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move {
            let (state, extension, certificate) = &*shared;
            match extension {
                Some(key) => extension::answer(request, &state.extensions, key, certificate.as_deref()).await,
                None => answer(request, state).await.map(|response| response.map(boxed)),
            }
        }
    });
    if is_http2 {
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), answer)
            .await;
        return;
    }
    // Without keep-alive, no call uses a connection that the webhook has closed, which would be another error than the recorded one.
    let _ = hyper::server::conn::http1::Builder::new()
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades()
        .await;
}

fn boxed(body: Full<Bytes>) -> AnswerBody {
    body.map_err(|never| match never {}).boxed_unsync()
}

/// The common name in a certificate.
fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    let subject = kubewright_x509::subject(certificate)?;
    let name = subject
        .into_iter()
        .find(|part| part.kind == kubewright_x509::COMMON_NAME)?;
    Some(name.text)
}

async fn answer(request: Request<Incoming>, state: &State) -> io::Result<Response<Full<Bytes>>> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut segments = parts.uri.path().splitn(4, '/').skip(1);
    let (case, webhook) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
    let place = parts.uri.to_string();
    let place = place.strip_prefix(&format!("/{case}")).unwrap_or(&place);
    let note = json!({
        "call": format!("{} {place}", parts.method),
        "headers": noted(&parts.headers),
        "body": review,
    });
    let Some(reply) = state.called(case, webhook, note) else {
        let mut unknown = Response::new(Full::from("no such webhook"));
        *unknown.status_mut() = StatusCode::NOT_FOUND;
        return Ok(unknown);
    };
    if reply.hang {
        pending::<()>().await;
    }
    if reply.close {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    let mut response = Response::builder().status(reply.status.unwrap_or(200));
    if !reply.headers.contains_key("Content-Type") {
        response = response.header("Content-Type", "application/json");
    }
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    response.body(Full::from(reply.body(&review))).map_err(io::Error::other)
}

fn noted(headers: &HeaderMap) -> Value {
    let mut noted = Map::new();
    for name in NOTED_HEADERS {
        if let Some(value) = headers.get(name) {
            noted.insert(name.to_owned(), json!(String::from_utf8_lossy(value.as_bytes())));
        }
    }
    Value::Object(noted)
}
