//! Calls of webhooks as records of a trace.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::time::Instant;

use super::patch::{PatchOperation, apply};
use super::request::AdmissionRequest;
use super::response::AdmissionResponse;
use super::review::Review;
use crate::object::Kind;
use crate::trace::{self, RawEvent, RawWebhook, Sent, Trace, WebhookCall};

/// A call that is under way.
pub(super) struct TracedCall {
    began: Instant,
    path: Arc<str>,
    body: Bytes,
    is_confidential: bool,
}

impl TracedCall {
    /// `None` if the trace is off.
    pub(super) fn begin(trace: &Trace, path: &str, body: &Bytes, request: &AdmissionRequest) -> Option<Self> {
        trace.is_on().then(|| TracedCall {
            began: Instant::now(),
            path: path.into(),
            body: body.clone(),
            is_confidential: trace::is_confidential(&kind(request)),
        })
    }

    pub(super) fn end(self, trace: &Trace, response: &AdmissionResponse) {
        trace.record_timed(|now| {
            let answered = Answered {
                path: self.path,
                allowed: response.allowed,
                code: response.status.code,
                message: response.status.message.clone(),
                warnings: response.warnings.clone(),
                patch: response.patch.clone(),
                took: now.duration_since(self.began),
            };
            // What is confidential must not be kept as it is, and what is large would displace too much else.
            let call = if self.is_confidential || !trace.has_room_for(self.body.len()) {
                KeptCall::Read(answered.call(&self.body))
            } else {
                // Copied: a part of what the connection has read would keep all of that.
                let body = self.body[..].into();
                KeptCall::Raw { answered, body }
            };
            RawEvent::Webhook(Arc::new(call))
        });
    }
}

/// A call as a trace keeps it. See [`WebhookCall`].
#[derive(Debug)]
enum KeptCall {
    /// The review as it was sent, which is read again when somebody reads the trace. Never of a confidential kind.
    Raw { answered: Answered, body: Box<[u8]> },
    /// What was read of it at once.
    Read(WebhookCall),
}

/// What was answered.
#[derive(Debug)]
struct Answered {
    path: Arc<str>,
    allowed: bool,
    code: u16,
    message: String,
    warnings: Vec<String>,
    patch: Vec<PatchOperation>,
    took: Duration,
}

impl RawWebhook for KeptCall {
    fn bytes(&self) -> usize {
        let held = match self {
            KeptCall::Raw { answered, body } => {
                let patch = answered.patch.iter().map(PatchOperation::bytes).sum::<usize>();
                answered.path.len() + answered.message.len() + texts(&answered.warnings) + patch + body.len()
            }
            KeptCall::Read(call) => {
                let words = [
                    &call.operation,
                    &call.kind,
                    &call.subresource,
                    &call.object,
                    &call.user,
                    &call.message,
                ];
                let words = words.into_iter().map(String::len).sum::<usize>();
                let changes = call.changes.iter().map(trace::FieldChange::bytes).sum::<usize>();
                let sent = call.sent.as_ref().map_or(0, String::len);
                call.path.len() + words + texts(&call.warnings) + sent + changes
            }
        };
        size_of::<KeptCall>() + 2 * size_of::<usize>() + held
    }

    fn call(&self) -> WebhookCall {
        match self {
            KeptCall::Raw { answered, body } => answered.call(body),
            KeptCall::Read(call) => call.clone(),
        }
    }
}

fn texts(texts: &[String]) -> usize {
    texts.iter().map(|text| size_of::<String>() + text.len()).sum()
}

impl Answered {
    /// Reads the review again, which was read before, and applies the patch.
    fn call(&self, body: &[u8]) -> WebhookCall {
        let request = Review::read(body).map_or_else(|_| AdmissionRequest::default(), |review| review.request);
        let kind = kind(&request);
        let about = if request.object.is_null() {
            &request.old_object
        } else {
            &request.object
        };
        let sent = (!about.is_null()).then(|| about.to_string());
        let mut after = request.object.clone();
        for operation in &self.patch {
            // The server refuses a patch that does not fit; what comes before is shown.
            if apply(&mut after, operation).is_none() {
                break;
            }
        }
        let (mut message, mut warnings) = (self.message.clone(), self.warnings.clone());
        let objects: [&Value; 3] = [&request.object, &after, &request.old_object];
        for words in warnings.iter_mut().chain([&mut message]) {
            trace::redact_words(&kind, &objects, words);
        }
        let object = match (request.namespace.as_str(), request.name.as_str()) {
            ("", name) => name.to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        WebhookCall {
            path: Arc::clone(&self.path),
            operation: request.operation.as_str().to_owned(),
            kind: kind.to_string(),
            sent: sent
                .and_then(|sent| trace::sent(&kind, sent.as_bytes()))
                .map(|sent| Sent::text(&sent)),
            changes: trace::changes(&kind, &request.object, &after),
            subresource: request.sub_resource,
            object,
            user: request.user_info.username,
            dry_run: request.dry_run,
            allowed: self.allowed,
            code: self.code,
            message,
            warnings,
            patched: self.patch.len(),
            took: self.took,
        }
    }
}

fn kind(request: &AdmissionRequest) -> Kind {
    let (of, resource) = (&request.kind, &request.resource.resource);
    Kind::named(
        &of.group,
        &of.version,
        &of.kind,
        resource,
        !request.namespace.is_empty(),
    )
}

#[cfg(test)]
mod tests {
    use http::Request;
    use serde_json::json;

    use super::super::{Webhook, WebhookServer};
    use super::*;
    use crate::trace::TraceEvent;

    fn admission(_: AdmissionRequest) -> std::future::Ready<AdmissionResponse> {
        let patch = [
            PatchOperation::add("/data/key", "c2VzYW1l"),
            PatchOperation::add("/metadata/labels", json!({ "a": "1" })),
        ];
        let words = ["the key sesame is known to everybody", "keys are short"];
        std::future::ready(AdmissionResponse::patched(patch).with_warnings(words))
    }

    async fn recorded(kind: &str, resource: &str) -> WebhookCall {
        let trace = Trace::bounded(1 << 16);
        let server = WebhookServer::new([Webhook::raw("/patch", admission)])
            .unwrap()
            .with_trace(trace.clone());
        let review = json!({
            "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
            "request": {
                "uid": "7", "operation": "UPDATE", "namespace": "shop", "name": "door", "dryRun": true,
                "kind": { "group": "", "version": "v1", "kind": kind },
                "resource": { "group": "", "version": "v1", "resource": resource },
                "userInfo": { "username": "ann" },
                "object": { "metadata": { "name": "door" }, "data": { "key": "b3Blbg==" } },
            },
        });
        let request = Request::post("/patch").header("content-type", "application/json");
        server.answer(request.body(review.to_string().into()).unwrap()).await;
        let calls: Vec<_> = server.calls().collect();
        assert_eq!((calls[0].0, calls[0].1.allowed, calls[0].1.in_flight), ("/patch", 1, 0));
        match &trace.records()[0].event {
            TraceEvent::Webhook(call) => call.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_recorded_with_what_it_changed_and_what_it_said() {
        let call = recorded("ConfigMap", "configmaps").await;
        assert_eq!(
            (&*call.path, &*call.kind, &*call.object, &*call.user),
            ("/patch", "ConfigMap", "shop/door", "ann")
        );
        assert!(call.allowed && call.dry_run && call.patched == 2);
        let sent: Value = serde_json::from_str(call.sent.as_deref().unwrap()).unwrap();
        assert_eq!(sent["data"]["key"], "b3Blbg==");
        assert_eq!(
            call.warnings,
            ["the key sesame is known to everybody", "keys are short"]
        );
        let changes: Vec<_> = call.changes.iter().map(ToString::to_string).collect();
        assert_eq!(
            changes,
            [
                "data.key from \"b3Blbg==\" to \"c2VzYW1l\"",
                "metadata.labels from null to {\"a\":\"1\"}"
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_secret_neither_what_it_holds_nor_words_that_repeat_it_are_recorded() {
        let call = recorded("Secret", "secrets").await;
        assert_eq!(call.warnings, ["(redacted)", "keys are short"]);
        let sent = call.sent.unwrap();
        assert!(
            sent.contains("\"key\":\"(redacted)\"") && !sent.contains("b3Blbg=="),
            "{sent}"
        );
        let changes: Vec<_> = call.changes.iter().map(ToString::to_string).collect();
        assert_eq!(
            changes,
            [
                "data.key from (redacted) to (redacted)",
                "metadata.labels from null to {\"a\":\"1\"}"
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn calls_are_counted_by_verdict() {
        let judge = |request: AdmissionRequest| async move {
            match request.name.as_str() {
                "no" => AdmissionResponse::denied("no"),
                "panic" => panic!("oh"),
                _ => AdmissionResponse::allowed(),
            }
        };
        let server = WebhookServer::new([Webhook::raw("/judge", judge)]).unwrap();
        for name in ["yes", "yes", "no", "panic"] {
            let review =
                json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": { "name": name } });
            let request = Request::post("/judge").header("content-type", "application/json");
            server.answer(request.body(review.to_string().into()).unwrap()).await;
        }
        server.answer(Request::post("/judge").body(Bytes::new()).unwrap()).await;
        let (_, calls) = server.calls().next().unwrap();
        assert_eq!(
            (calls.allowed, calls.denied, calls.errored, calls.in_flight),
            (2, 1, 2, 0)
        );
    }
}
