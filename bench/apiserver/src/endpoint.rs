//! How the benchmark reaches a server: by a TLS connection, or in this process, plainly or by `kube::Client`.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use kubewright_apiserver::ApiServer;

use crate::client::{Credentials, Failure};

/// A client that sends one request at a time.
pub(crate) enum EndpointClient {
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

/// A server under test, and how to reach it.
#[derive(Clone)]
pub(crate) enum Endpoint {
    Tls(Credentials),
    InProcess(ApiServer),
    Kube(kube::Client),
}

impl Endpoint {
    pub(crate) async fn open(&self) -> Result<EndpointClient, Failure> {
        Ok(match self {
            Endpoint::Tls(credentials) => EndpointClient::Tls(credentials.connect().await?),
            Endpoint::InProcess(server) => EndpointClient::InProcess(server.clone()),
            Endpoint::Kube(client) => EndpointClient::Kube(client.clone()),
        })
    }

    /// The value of the header `Authorization`, unless the client has a certificate.
    pub(crate) fn authorization(&self) -> Option<&str> {
        match self {
            Endpoint::Tls(credentials) => credentials.authorization.as_deref(),
            Endpoint::InProcess(_) | Endpoint::Kube(_) => None,
        }
    }
}

impl EndpointClient {
    pub(crate) async fn stream(&mut self, request: Request<Bytes>) -> Result<Response<Stream>, Failure> {
        match self {
            EndpointClient::Tls(sender) => {
                sender.ready().await?;
                Ok(sender.send_request(request.map(Full::new)).await?.map(Stream::Tls))
            }
            EndpointClient::InProcess(server) => Ok(server.handle(request).await.map(Stream::InProcess)),
            EndpointClient::Kube(client) => Ok(client
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
