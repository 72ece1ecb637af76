// SPDX-License-Identifier: Apache-2.0

//! The other side of `HttpBroker`: a broker in memory behind HTTP, for tests and for playing.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kubewright::serde_json;
use tokio::net::TcpListener;

use super::{Broker as _, BrokerError, MemoryBroker, Topic};

const LONGEST_REQUEST: usize = 4096;

/// Serves a broker until dropped.
pub async fn serve(listener: TcpListener, broker: MemoryBroker) {
    loop {
        // A connection that fails is the client's affair.
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let broker = broker.clone();
        let service = service_fn(move |request| {
            let broker = broker.clone();
            async move { Ok::<_, Infallible>(answer(&broker, request).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}

async fn answer(broker: &MemoryBroker, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let Some(name) = parts
        .uri
        .path()
        .strip_prefix("/topics/")
        .filter(|name| !name.is_empty())
    else {
        return says(StatusCode::NOT_FOUND, "there is /topics/NAME");
    };
    let done = match parts.method {
        Method::PUT => {
            let Ok(body) = Limited::new(body, LONGEST_REQUEST).collect().await else {
                return says(StatusCode::PAYLOAD_TOO_LARGE, "a topic is described in 4 KiB");
            };
            match serde_json::from_slice::<Topic>(&body.to_bytes()) {
                Err(error) => return says(StatusCode::BAD_REQUEST, &error.to_string()),
                Ok(topic) => broker.ensure(name, &topic).await,
            }
        }
        Method::DELETE => {
            let query = parts.uri.query().unwrap_or_default();
            match query.strip_prefix("owner=") {
                None => return says(StatusCode::BAD_REQUEST, "say whose it is: ?owner=UID"),
                Some(owner) => broker.remove(name, owner).await,
            }
        }
        Method::GET => match broker.topic(name).map(|topic| serde_json::to_string(&topic)) {
            Some(Ok(topic)) => return says(StatusCode::OK, &topic),
            _ => return says(StatusCode::NOT_FOUND, "there is no such topic"),
        },
        _ => return says(StatusCode::METHOD_NOT_ALLOWED, "PUT, DELETE or GET"),
    };
    match done {
        Ok(()) => says(StatusCode::NO_CONTENT, ""),
        Err(error @ BrokerError::Taken(_)) => says(StatusCode::CONFLICT, &error.to_string()),
        Err(BrokerError::Refused(text)) => says(StatusCode::UNPROCESSABLE_ENTITY, &text),
        Err(BrokerError::Unavailable(text)) => says(StatusCode::SERVICE_UNAVAILABLE, &text),
    }
}

fn says(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text.to_owned())));
    *response.status_mut() = status;
    response
}
