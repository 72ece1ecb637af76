//! Requests that ask for another protocol: once the other server agrees, bytes are passed on as they come, both ways.

use http::{HeaderValue, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, copy, split};

use super::{ProxiedRequest, failed, headers, location, outgoing};
use crate::service::resolve::Resolved;
use crate::stream::{OutsideHttp, Upgrade};
use crate::wire::body::Body;

pub(super) async fn answer(request: ProxiedRequest<'_>, to: Resolved) -> Response<Body> {
    let ProxiedRequest {
        server, remote, head, ..
    } = request;
    let refuse = |why: &str| failed(StatusCode::SERVICE_UNAVAILABLE, why);
    let Some((_, uri)) = location(head) else {
        return refuse("error dialing backend: invalid URL");
    };
    let mut sent = headers::upgrading(&request);
    if let Ok(host) = HeaderValue::from_str(&to.authority) {
        sent.insert(header::HOST, host);
    }
    let outgoing = outgoing(head.parts, uri, sent, request.body);
    let mut connection = match remote.connect_for_upgrade(to, server.clock).await {
        Ok(connection) => connection,
        Err(why) => return refuse(&format!("error dialing backend: {why}")),
    };
    let mut response = match connection.send(outgoing).await {
        Ok(response) => response,
        Err(error) if error.why == "EOF" => return refuse("unexpected EOF"),
        Err(error) => return refuse(&error.why),
    };
    let code = response.status();
    if code != StatusCode::SWITCHING_PROTOCOLS {
        if code.as_u16() < 400 {
            return refuse(&format!("invalid upgrade response: status code {}", code.as_u16()));
        }
        return refused(response, connection);
    }
    let upgraded = match hyper::upgrade::on(&mut response).await {
        Ok(upgraded) => TokioIo::new(upgraded),
        Err(error) => return refuse(&error.to_string()),
    };
    drop(connection);
    let (parts, _) = response.into_parts();
    let mut response = Response::new(Body::upgrade(Upgrade::new(|client| pass_on(client, upgraded))));
    *response.status_mut() = code;
    OutsideHttp::verbatim(&mut response, parts.headers);
    response
}

/// The refusal of the other server, as it is.
fn refused(response: Response<hyper::body::Incoming>, connection: crate::service::Connection) -> Response<Body> {
    use http_body_util::BodyExt as _;
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(header::TRANSFER_ENCODING);
    parts
        .headers
        .insert(header::CONNECTION, HeaderValue::from_static("close"));
    // The connection lives as long as its body is read.
    let body = body.map_err(move |error| {
        let _ = &connection;
        std::io::Error::other(error.to_string())
    });
    let mut refused = Response::new(Body::proxied(body.boxed_unsync()));
    *refused.status_mut() = parts.status;
    OutsideHttp::verbatim(&mut refused, parts.headers);
    refused
}

/// Passes bytes on until one side has no more.
async fn pass_on(
    client: impl AsyncRead + AsyncWrite + Send + Unpin,
    other: impl AsyncRead + AsyncWrite + Send + Unpin,
) {
    let (mut from_client, mut to_client) = split(client);
    let (mut from_other, mut to_other) = split(other);
    tokio::select! {
        _ = copy(&mut from_client, &mut to_other) => {}
        _ = copy(&mut from_other, &mut to_client) => {}
    }
    let _ = to_client.shutdown().await;
    let _ = to_other.shutdown().await;
}
