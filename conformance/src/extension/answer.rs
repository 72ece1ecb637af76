//! Answers as a case scripts them.

use std::future::pending;
use std::io;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::json;

use super::{Extensions, Reply};

/// The body of an answer.
pub type AnswerBody = UnsyncBoxBody<Bytes, io::Error>;

/// Answers a request to the extension API server `key`.
pub(crate) async fn answer(
    mut request: Request<Incoming>,
    extensions: &Extensions,
    key: &(String, String),
    certificate: Option<&str>,
) -> io::Result<Response<AnswerBody>> {
    let connection = hyper::upgrade::on(&mut request);
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let reply = extensions.asked(key, &parts, certificate, &body);
    if reply.hang {
        pending::<()>().await;
    }
    if reply.close {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    let mut response = Response::builder().status(reply.status.unwrap_or(200));
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    if let Some(protocol) = &reply.upgrade {
        tokio::spawn(async move {
            if let Ok(connection) = connection.await {
                let (mut from, mut to) = tokio::io::split(TokioIo::new(connection));
                let _ = tokio::io::copy(&mut from, &mut to).await;
            }
        });
        let response = response
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, protocol);
        return response.body(full(Bytes::new())).map_err(io::Error::other);
    }
    let is_json = reply.body.is_some() || reply.frames.is_some() || reply.echo;
    if is_json && !reply.headers.contains_key("Content-Type") {
        response = response.header(header::CONTENT_TYPE, "application/json");
    }
    let asked = json!({
        "method": parts.method.as_str(),
        "path": parts.uri.to_string(),
        "body": String::from_utf8_lossy(&body),
    });
    response
        .body(written(&reply, &asked.to_string()))
        .map_err(io::Error::other)
}

fn written(reply: &Reply, asked: &str) -> AnswerBody {
    if let Some(frames) = &reply.frames {
        let lines: Vec<io::Result<Frame<Bytes>>> = frames
            .iter()
            .map(|frame| Ok(Frame::data(Bytes::from(format!("{frame}\n")))))
            .collect();
        let lines = stream::iter(lines);
        return if reply.ends {
            StreamBody::new(lines).boxed_unsync()
        } else {
            StreamBody::new(futures_util::StreamExt::chain(lines, stream::pending())).boxed_unsync()
        };
    }
    let text = match (&reply.body, &reply.text) {
        _ if reply.echo => asked.to_owned(),
        (Some(body), _) => body.to_string(),
        (None, text) => text.clone().unwrap_or_default(),
    };
    let text = text.repeat(reply.times.unwrap_or(1));
    if reply.cut {
        let pieces = [
            Ok(Frame::data(Bytes::from(text))),
            Err(io::Error::from(io::ErrorKind::ConnectionAborted)),
        ];
        return StreamBody::new(stream::iter(pieces)).boxed_unsync();
    }
    full(text.into())
}

fn full(bytes: Bytes) -> AnswerBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}
