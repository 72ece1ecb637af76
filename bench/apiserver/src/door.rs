//! What a client talks through: a TLS connection of its own, or the server in this process, plain or by `kube::Client`.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use kubewright_apiserver::ApiServer;

use crate::client::{Credentials, Failure};

/// A way to send requests, one at a time.
pub(crate) enum Door {
    Tls(SendRequest<Full<Bytes>>),
    InProcess(ApiServer),
    Kube(kube::Client),
}

/// A response whose body is read piece by piece.
pub(crate) enum Stream {
    Tls(Incoming),
    InProcess(kubewright_apiserver::Body),
    Kube(kube::client::Body),
}

impl Stream {
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            let frame = match self {
                Stream::Tls(body) => body.frame().await.transpose()?,
                Stream::InProcess(body) => body.frame().await.transpose()?,
                Stream::Kube(body) => body.frame().await.transpose()?,
            };
            match frame.map(hyper::body::Frame::into_data) {
                None => return Ok(None),
                Some(Ok(bytes)) => return Ok(Some(bytes)),
                Some(Err(_)) => {}
            }
        }
    }
}

/// Where doors come from.
#[derive(Clone)]
pub(crate) enum Doors {
    Tls(Credentials),
    InProcess(ApiServer),
    Kube(kube::Client),
}

impl Doors {
    pub(crate) async fn open(&self) -> Result<Door, Failure> {
        Ok(match self {
            Doors::Tls(credentials) => Door::Tls(credentials.connect().await?),
            Doors::InProcess(server) => Door::InProcess(server.clone()),
            Doors::Kube(client) => Door::Kube(client.clone()),
        })
    }

    /// The header that says who asks, where a certificate does not.
    pub(crate) fn authorization(&self) -> Option<&str> {
        match self {
            Doors::Tls(credentials) => credentials.authorization.as_deref(),
            Doors::InProcess(_) | Doors::Kube(_) => None,
        }
    }
}

impl Door {
    pub(crate) async fn stream(&mut self, request: Request<Bytes>) -> Result<Response<Stream>, Failure> {
        match self {
            Door::Tls(sender) => {
                sender.ready().await?;
                Ok(sender.send_request(request.map(Full::new)).await?.map(Stream::Tls))
            }
            Door::InProcess(server) => Ok(server.handle(request).await.map(Stream::InProcess)),
            Door::Kube(client) => Ok(client
                .send(request.map(kube::client::Body::from))
                .await?
                .map(Stream::Kube)),
        }
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn send(&mut self, request: Request<Bytes>) -> Result<usize, Failure> {
        let (parts, mut body) = self.stream(request).await?.into_parts();
        let mut bytes = 0;
        let mut text = Vec::new();
        while let Some(chunk) = body.next().await? {
            bytes += chunk.len();
            if !parts.status.is_success() {
                text.extend_from_slice(&chunk);
            }
        }
        if parts.status.is_success() {
            Ok(bytes)
        } else {
            Err(format!("{}: {}", parts.status, String::from_utf8_lossy(&text)).into())
        }
    }
}
