//! Requests of the client as records of a trace.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use tokio::time::Instant;

use super::request::Call;
use super::{Client, Error};
use crate::object::{ObjectKey, Record};
use crate::trace::{self, CallTarget, CalledObjects, REDACTED, RawCall, RawEvent, WriteAnswer};

/// A request that is under way, and what is recorded of it once it is answered.
pub(super) struct TracedCall {
    began: Instant,
    /// What the cache had when it was sent.
    before: Option<Arc<Record>>,
    recorded: RawCall,
}

impl TracedCall {
    /// `None` if the trace is off.
    pub(super) fn begin(client: &Client, call: &Call<'_>) -> Option<Self> {
        if !client.trace().is_on() {
            return None;
        }
        let informer = client.shared.cache.informer(call.kind);
        let store = informer.as_ref().map(|informer| informer.store());
        let before = store.and_then(|store| store.get(call.key?.as_str()));
        let kind = store.map_or_else(|| Arc::new(call.kind.clone()), |store| Arc::clone(store.shared_kind()));
        Some(TracedCall {
            began: Instant::now(),
            recorded: RawCall {
                verb: call.verb.into(),
                target: CallTarget::Of {
                    kind,
                    subresource: call.subresource.map(Into::into),
                    objects: objects(call),
                },
                dry_run: client.options.dry_run,
                sent: trace::sent(call.kind, &call.body),
                code: None,
                error: None,
                cached: before.as_ref().and_then(|record| record.revision()),
                answer: WriteAnswer::None,
                took: Duration::ZERO,
            },
            before,
        })
    }

    pub(super) fn end(self, client: &Client, answer: &Result<(StatusCode, Bytes), Error>) {
        client
            .trace()
            .record_timed(|now| RawEvent::Called(Arc::new(self.answered(client, answer, now))));
    }

    fn answered(self, client: &Client, answer: &Result<(StatusCode, Bytes), Error>, now: Instant) -> RawCall {
        let mut recorded = self.recorded;
        recorded.took = now.duration_since(self.began);
        match answer {
            Ok((code, body)) => {
                recorded.code = Some(code.as_u16());
                if recorded.is_write() {
                    let has_room = |bytes| client.trace().has_room_for(bytes);
                    recorded.answer = WriteAnswer::of(&recorded.target, self.before, body, has_room);
                }
            }
            Err(error @ Error::Api { status, .. }) => {
                recorded.code = Some(status.code);
                recorded.error = Some(match error.redacted() {
                    Some(_) => format!("{} {REDACTED}", status.reason),
                    None => status.message.clone(),
                });
            }
            Err(error) => recorded.error = Some(error.to_string()),
        }
        recorded
    }
}

/// Which objects a request is about. One that creates has the name in its body alone.
fn objects(call: &Call<'_>) -> CalledObjects {
    match (call.key, call.namespace, call.new_name) {
        (Some(key), ..) => CalledObjects::One(key.clone()),
        (None, namespace, Some(name)) => CalledObjects::One(ObjectKey::new(namespace, name)),
        (None, Some(namespace), None) => CalledObjects::Namespace(namespace.into()),
        (None, None, None) => CalledObjects::All,
    }
}
