//! A request on its way through the pipeline: what was asked, by whom, and what has been noticed so far.

use std::sync::OnceLock;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method};
use jiff::Timestamp;
use kubewright_store::{Record, Revision};
use parking_lot::Mutex;
use serde_json::Value;

use crate::access::User;
use crate::admit::Deadline;
use crate::audit::AuditAnnotations;
use crate::custom::conversion::{ConversionCache, Unfinished, with_conversions};
use crate::object;
use crate::registry::Resource;
use crate::request::RequestBody as _;
use crate::request::route::Target;
use crate::server::Server;
use crate::service::OutgoingBody;
use crate::stream::websocket::{self, Handshake};
use crate::wire::negotiate::Output;
use crate::wire::query::Query;
use crate::wire::respond::{Reply, text_of};
use crate::wire::status::{Result, Status};

/// A routed and authenticated request.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Server,
    pub(crate) user: &'a User,
    /// Annotations that stages add to the audit event.
    pub(crate) annotations: &'a AuditAnnotations,
    pub(crate) target: &'a Target<'a>,
    pub(crate) query: &'a Query,
    pub(crate) parts: &'a Parts,
    pub(crate) headers: &'a HeaderMap,
    /// Whether one of the WebSocket protocols that the client offers is its token.
    pub(crate) token_among_protocols: bool,
    /// When the client's token expires; `None` for other credentials.
    pub(crate) expires: Option<Timestamp>,
    pub(crate) body: Bytes,
    /// The body of a request that is passed on.
    pub(crate) streamed: &'a Mutex<Option<OutgoingBody>>,
    pub(crate) output: Output,
    /// The deadline of the request, set when a webhook is called first.
    pub(crate) deadline: &'a OnceLock<Deadline>,
    /// `Warning` headers of the response.
    pub(crate) warnings: Vec<String>,
}

impl<'a> Call<'a> {
    pub(crate) fn resource(&self) -> &'a Resource {
        &self.target.resource
    }

    pub(crate) fn method(&self) -> &'a Method {
        &self.parts.method
    }

    /// The body of a request that is passed on; empty if it was taken before.
    pub(crate) fn take_body(&self) -> OutgoingBody {
        let streamed = self.streamed.lock().take();
        streamed.unwrap_or_else(|| Bytes::new().stream())
    }

    /// The store's key of the object in the path.
    pub(crate) fn key(&self) -> String {
        object::key(self.target.namespace, self.target.name)
    }

    /// The object in the path, or 404.
    pub(crate) fn existing(&self) -> Result<std::sync::Arc<Record>> {
        let resource = self.resource();
        self.server
            .store
            .get(resource.table, &self.key())
            .ok_or_else(|| Status::not_found(resource.about(), self.target.name))
    }

    /// The handshake, if the client asks for a WebSocket.
    pub(crate) fn websocket(&self) -> Option<Handshake<'a>> {
        websocket::is_requested(self.headers).then_some(Handshake {
            headers: self.headers,
            token_among_protocols: self.token_among_protocols,
        })
    }

    /// A header's text; empty when it is not there.
    pub(crate) fn header(&self, name: http::header::HeaderName) -> &'a str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// Answers with an object at rest.
    pub(crate) async fn reply_record(&self, code: http::StatusCode, record: &Record) -> Result<Reply> {
        let resource = self.resource();
        let text = with_conversions(self.server, resource, |cache| {
            record_text(resource, record, record.revision, cache)
        });
        Ok(Reply::new(code, text.await?))
    }
}

/// An object at rest as a client of this resource's version reads it.
pub(crate) fn record_text(
    resource: &Resource,
    record: &Record,
    revision: Revision,
    cache: &ConversionCache,
) -> std::result::Result<Bytes, Unfinished> {
    if resource.serves_as_stored(record) && revision == record.revision {
        return Ok(object::spliced(resource, record));
    }
    let value = record_value(resource, record, revision, cache)?;
    Ok(text_of(&value).into())
}

/// An object at rest as a value in this resource's version.
pub(crate) fn record_value(
    resource: &Resource,
    record: &Record,
    revision: Revision,
    cache: &ConversionCache,
) -> std::result::Result<Value, Unfinished> {
    let mut value = object::to_value(resource, record, revision);
    if let Some(version) = resource.custom() {
        return version.serve(value, record, cache);
    }
    resource.to_served(&mut value);
    Ok(value)
}
