//! Passes a request on, and its answer back: both streamed, but for pages, whose links are rewritten.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Request, Response, Uri};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use kubewright_apimachinery::url::escape_path;
use tokio::task::JoinSet;

use super::location::Location;
use super::{address, host, tls, unreachable, without_credentials};
use crate::request::call::Call;
use crate::service::OutgoingBody;
use crate::service::headers::remove_hop_by_hop;
use crate::service::pages::{self, Links, joined};
use crate::stream::Connection;
use crate::subresource::life::ConnectionLife;
use crate::wire::body::Body;
use crate::wire::status::{Result, Status};

pub(super) async fn answer(call: &Call<'_>, location: Location, path: &str) -> Result<Response<Body>> {
    let source = address(&location);
    let asked = crate::wire::query::percent_decode(call.parts.uri.path());
    let links = Links {
        source: source.clone(),
        requested: host(call),
        prefix: asked.strip_suffix(path).unwrap_or(&asked).to_owned(),
        origin: None,
    };
    let mut headers = without_credentials(call);
    let takes_trailers = headers.get_all(header::TE).iter();
    let takes_trailers = takes_trailers
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("trailers"));
    remove_hop_by_hop(&mut headers);
    if takes_trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    let forwarded = escape_path(&joined(&links.prefix, path));
    if let Ok(value) = HeaderValue::from_str(&forwarded) {
        headers.insert(HeaderName::from_static("x-forwarded-uri"), value);
    }
    let query = call
        .parts
        .uri
        .query()
        .map_or_else(String::new, |query| format!("?{query}"));
    let uri = format!("{}{query}", escape_path(path)).parse::<Uri>();
    let uri = uri.map_err(|error| unreachable(&error.to_string()))?;
    let connection = connect(call, &location).await?;
    let mut request = Request::new(call.take_body());
    *request.method_mut() = call.method().clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    let (response, driver) = send(connection, request).await.map_err(|why| unreachable(&why))?;
    let (mut parts, body) = response.into_parts();
    remove_hop_by_hop(&mut parts.headers);
    remove_cors(&mut parts.headers);
    let body = ProxiedBody {
        body,
        _driver: driver,
        end: end_of(location.life),
    };
    let body = match parts.headers.get(header::LOCATION).cloned() {
        Some(redirect) => {
            let redirect = String::from_utf8_lossy(redirect.as_bytes()).into_owned();
            let rewritten = links.rewrite(&redirect);
            let rewritten =
                rewritten.map_err(|why| Status::internal(&format!("error trying to parse Location header: {why}")))?;
            if let Some(value) = rewritten.and_then(|rewritten| HeaderValue::from_str(&rewritten).ok()) {
                parts.headers.insert(header::LOCATION, value);
            }
            Body::proxied(body.boxed_unsync())
        }
        None if pages::is_page(&parts.headers) && !body.is_end_stream() => {
            let page = pages::rewritten(body.boxed_unsync(), &mut parts.headers, &links).await;
            page.map_err(|error| unreachable(&error.to_string()))?
        }
        None => Body::proxied(body.boxed_unsync()),
    };
    // Upstream has set its own before it asks, and adds those of the other server.
    let cached: Vec<HeaderValue> = parts.headers.get_all(header::CACHE_CONTROL).iter().cloned().collect();
    let own = HeaderValue::from_static("no-cache, private");
    parts.headers.insert(header::CACHE_CONTROL, own);
    for value in cached {
        parts.headers.append(header::CACHE_CONTROL, value);
    }
    let mut response = Response::from_parts(parts, body);
    *response.version_mut() = http::Version::HTTP_11;
    Ok(response)
}

/// Connects to the port, over TLS where the scheme wants it.
pub(super) async fn connect(call: &Call<'_>, location: &Location) -> Result<Box<dyn Connection>> {
    let address = address(location);
    let connected = location.containers.connect(location.port).await;
    let connected = connected.map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
            _ => error.to_string(),
        };
        unreachable(&format!("dial tcp {address}: {why}"))
    })?;
    if !location.is_https {
        return Ok(connected);
    }
    tls::connect(connected, location.ip, call.server.clock)
        .await
        .map_err(|error| unreachable(&error.to_string()))
}

/// Sends a request; what drives the connection goes on until it is dropped.
pub(super) async fn send(
    connection: Box<dyn Connection>,
    request: Request<OutgoingBody>,
) -> std::result::Result<(Response<Incoming>, JoinSet<()>), String> {
    let (mut sender, connection) = http1::Builder::new()
        .handshake(TokioIo::new(connection))
        .await
        .map_err(|error| error.to_string())?;
    let mut driver = JoinSet::new();
    driver.spawn(async {
        // What goes wrong on the connection is told by the response or its body.
        let _ = connection.with_upgrades().await;
    });
    let response = sender.send_request(request).await.map_err(|error| match error {
        error if error.is_incomplete_message() => "EOF".to_owned(),
        error => error.to_string(),
    })?;
    Ok((response, driver))
}

/// Browsers are told by this server alone whom it talks to.
fn remove_cors(headers: &mut HeaderMap) {
    for name in [
        header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        header::ACCESS_CONTROL_ALLOW_METHODS,
        header::ACCESS_CONTROL_ALLOW_ORIGIN,
    ] {
        headers.remove(name);
    }
}

type End = Pin<Box<dyn Future<Output = &'static str> + Send>>;

fn end_of(life: ConnectionLife) -> End {
    Box::pin(life.end())
}

/// The body of an answer, which breaks off when the Pod ends.
struct ProxiedBody {
    body: Incoming,
    _driver: JoinSet<()>,
    end: End,
}

impl http_body::Body for ProxiedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, io::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending()
            && let Poll::Ready(why) = self.end.as_mut().poll(context)
        {
            return Poll::Ready(Some(Err(io::Error::other(why))));
        }
        frame.map_err(io::Error::other)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
