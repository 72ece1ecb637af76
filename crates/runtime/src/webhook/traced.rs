//! Calls of webhooks as records of a trace.

use bytes::Bytes;
use serde_json::Value;
use tokio::time::Instant;

use super::patch::apply;
use super::request::AdmissionRequest;
use super::response::AdmissionResponse;
use super::review::Review;
use crate::object::Kind;
use crate::trace::{self, Trace, TraceEvent, WebhookCall};

/// A call that is under way, and what is recorded of it once it is answered.
pub(super) struct TracedCall {
    began: Instant,
    kind: Kind,
    /// The review as it was sent. It is read again if the answer changes the object, which most do not.
    body: Bytes,
    recorded: WebhookCall,
}

impl TracedCall {
    /// `None` if the trace is off.
    pub(super) fn begin(trace: &Trace, path: &str, body: &Bytes, request: &AdmissionRequest) -> Option<Self> {
        if !trace.is_on() {
            return None;
        }
        let object = match (request.namespace.as_str(), request.name.as_str()) {
            ("", name) => name.to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        let (of, resource) = (&request.kind, &request.resource.resource);
        let kind = Kind::named(
            &of.group,
            &of.version,
            &of.kind,
            resource,
            !request.namespace.is_empty(),
        );
        let about = if request.object.is_null() {
            &request.old_object
        } else {
            &request.object
        };
        let sent = (!about.is_null()).then(|| about.to_string());
        Some(TracedCall {
            began: Instant::now(),
            body: body.clone(),
            recorded: WebhookCall {
                path: path.into(),
                operation: request.operation.as_str().to_owned(),
                kind: kind.to_string(),
                subresource: request.sub_resource.clone(),
                object,
                user: request.user_info.username.clone(),
                dry_run: request.dry_run,
                sent: sent.and_then(|sent| trace::sent(&kind, sent.as_bytes())),
                allowed: false,
                code: 0,
                message: String::new(),
                warnings: Vec::new(),
                patched: 0,
                changes: Vec::new(),
                took: std::time::Duration::ZERO,
            },
            kind,
        })
    }

    pub(super) fn end(self, trace: &Trace, response: &AdmissionResponse) {
        let TracedCall {
            began,
            kind,
            body,
            mut recorded,
        } = self;
        recorded.took = began.elapsed();
        recorded.allowed = response.allowed;
        recorded.code = response.status.code;
        recorded.patched = response.patch.len();
        recorded.message.clone_from(&response.status.message);
        recorded.warnings.clone_from(&response.warnings);
        let has_words = !recorded.message.is_empty() || !recorded.warnings.is_empty();
        if (!response.patch.is_empty() || (has_words && trace::is_confidential(&kind)))
            && let Ok(Review { request, .. }) = Review::read(&body)
        {
            let before = request.object;
            let mut after = before.clone();
            for operation in &response.patch {
                // The server refuses a patch that does not fit; what comes before is shown.
                if apply(&mut after, operation).is_none() {
                    break;
                }
            }
            recorded.changes = trace::changes(&kind, &before, &after);
            let objects: [&Value; 3] = [&before, &after, &request.old_object];
            for words in recorded.warnings.iter_mut().chain([&mut recorded.message]) {
                trace::redact_words(&kind, &objects, words);
            }
        }
        trace.record(|| TraceEvent::Webhook(recorded));
    }
}

#[cfg(test)]
mod tests {
    use http::Request;
    use serde_json::json;

    use super::super::{AdmissionResponse, PatchOperation, Webhook, WebhookServer};
    use super::*;

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
