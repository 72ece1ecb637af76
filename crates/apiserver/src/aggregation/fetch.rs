//! Documents of another server that the aggregator itself reads, of bounded size and within bounded time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty};
use tokio::time::timeout;

use super::proxy::headers::put_user;
use super::remote::Remote;
use crate::access::User;
use crate::server::Server;

/// What is asked for.
pub(super) struct Fetch<'a> {
    pub(super) path: &'a str,
    pub(super) user: User,
    pub(super) headers: &'a [(HeaderName, String)],
    /// The largest document.
    pub(super) limit: usize,
    pub(super) within: Duration,
    /// Whether a server is asked that is not available.
    pub(super) although_unavailable: bool,
}

/// What came back.
pub(super) struct Fetched {
    pub(super) code: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Fetched {
    fn refused(code: StatusCode) -> Fetched {
        Fetched {
            code,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// A header's text; empty if it is not there.
    pub(super) fn header(&self, name: HeaderName) -> &str {
        let value = self.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    }
}

impl Fetch<'_> {
    /// Asks. Whatever goes wrong on the way is 503, as the proxy would answer.
    pub(super) async fn from(&self, server: &Server, remote: &Arc<Remote>) -> Fetched {
        if !self.although_unavailable && !remote.available.load(Ordering::Acquire) {
            return Fetched::refused(StatusCode::SERVICE_UNAVAILABLE);
        }
        match timeout(self.within, self.attempt(server, remote)).await {
            Ok(Some(fetched)) => fetched,
            Ok(None) | Err(_) => Fetched::refused(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    async fn attempt(&self, server: &Server, remote: &Arc<Remote>) -> Option<Fetched> {
        let to = remote.resolve(server).ok()?;
        let mut request = Request::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = self.path.parse().ok()?;
        let headers = request.headers_mut();
        headers.insert(header::HOST, HeaderValue::from_str(&to.authority).ok()?);
        for (name, value) in self.headers {
            headers.insert(name.clone(), HeaderValue::from_str(value).ok()?);
        }
        put_user(headers, &self.user);
        let response = remote.send(to, request, server.clock).await.ok()?;
        let (parts, mut body) = response.into_parts();
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let data = frame.ok()?.into_data().unwrap_or_default();
            if whole.len() + data.len() > self.limit {
                return None;
            }
            whole.extend_from_slice(&data);
        }
        Some(Fetched {
            code: parts.status,
            headers: parts.headers,
            body: whole.freeze(),
        })
    }
}
