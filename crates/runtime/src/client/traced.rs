//! Requests of the client as records of a trace.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;
use tokio::time::Instant;

use super::request::Call;
use super::{Client, Error};
use crate::object::{Kind, ObjectKey, Record};
use crate::trace::{self, ApiCall, TraceEvent};

/// A request that is under way, and what is recorded of it once it is answered.
pub(super) struct TracedCall {
    kind: Kind,
    began: Instant,
    /// What the cache had when it was sent.
    before: Option<Arc<Record>>,
    recorded: ApiCall,
}

impl TracedCall {
    /// `None` if the trace is off.
    pub(super) fn begin(client: &Client, call: &Call<'_>) -> Option<Self> {
        if !client.trace.is_on() {
            return None;
        }
        let key = call.name.map(|name| ObjectKey::new(call.namespace, name));
        let before = key.and_then(|key| client.cached(call.kind, &key));
        Some(TracedCall {
            kind: call.kind.clone(),
            began: Instant::now(),
            recorded: ApiCall {
                verb: call.verb.into(),
                target: target(call),
                dry_run: client.options.dry_run,
                sent: trace::sent(call.kind, &call.body),
                code: None,
                error: None,
                cached: before.as_ref().and_then(|record| record.revision()),
                revision: None,
                changes: Vec::new(),
                took: std::time::Duration::ZERO,
            },
            before,
        })
    }

    pub(super) fn end(mut self, client: &Client, answer: &Result<(StatusCode, Bytes), Error>) {
        let recorded = &mut self.recorded;
        recorded.took = self.began.elapsed();
        match answer {
            Ok((code, body)) => {
                recorded.code = Some(code.as_u16());
                if recorded.is_write() {
                    let after = serde_json::from_slice::<Value>(body).unwrap_or_default();
                    let revision = after["metadata"]["resourceVersion"].as_str();
                    recorded.revision = revision.and_then(|text| text.parse().ok());
                    // A subresource may answer with another kind, such as a token, which is no form of the object.
                    if recorded.revision != recorded.cached
                        && after["kind"] == self.kind.kind()
                        && let Some(before) = &self.before
                        && let Ok(before) = serde_json::from_slice::<Value>(before.json())
                    {
                        recorded.changes = trace::changes(&self.kind, &before, &after);
                    }
                }
            }
            Err(Error::Api { status, .. }) => {
                recorded.code = Some(status.code);
                recorded.error = Some(status.message.clone());
            }
            Err(error) => recorded.error = Some(error.to_string()),
        }
        client.trace.record(|| TraceEvent::Called(self.recorded));
    }
}

/// What a request is about. One that creates has the name in its body alone.
fn target(call: &Call<'_>) -> String {
    #[derive(serde::Deserialize)]
    struct Named {
        metadata: Metadata,
    }
    #[derive(serde::Deserialize)]
    struct Metadata {
        name: String,
    }
    if call.verb != "create" || call.name.is_some() {
        return call.what();
    }
    let named = serde_json::from_slice::<Named>(&call.body).ok();
    call.what_of(named.as_ref().map(|named| named.metadata.name.as_str()))
}
