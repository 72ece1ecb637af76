//! Sends a request to webhooks: to mutating ones one after the other, to validating ones at once (A1, A7–A9).

mod mutate;
mod owners;
mod rights;
mod validate;
mod versioned_objects;

use std::sync::Arc;

use http::StatusCode;
use kubewright_admission::failure::{self, CallFailure, Reason};
use kubewright_admission::response::{self, WebhookDecision};
use kubewright_admission::review::{self, ReviewVersion};
use kubewright_admission::{
    Attributes as Facts, FailurePolicy, Invocation, Phase, SideEffects, Undecided, Variables, Webhook, is_exempt,
};
use serde_json::Value;
use tokio::time::Instant;

pub(crate) use mutate::{Reinvocation, mutate};
pub(crate) use owners::OwnersBefore;
pub(crate) use validate::validate;

use super::call::{CallError, post};
use crate::admit::{Attributes, Deadline};
use crate::object;
use crate::registry::BuiltInId;
use crate::wire::status::{Details, Result, Status, Verbatim};
pub(crate) use rights::Rights;
pub(crate) use versioned_objects::{Equivalents, VersionedObjects};

/// The body of upstream's timeout filter when the `timeout` of the client has passed.
const ALLOTTED: &str = concat!(
    r#"{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","#,
    r#""reason":"Timeout","details":{},"code":504}"#,
);
/// The timeout of a webhook without `timeoutSeconds`.
const DEFAULT_SECONDS: u64 = 10;

/// A request on its way to the webhooks of a phase.
struct Request<'a> {
    attributes: &'a Attributes<'a>,
    facts: Facts,
    equivalents: Equivalents,
    phase: Phase,
}

/// Why a webhook did not let a request pass.
enum WebhookRefusal {
    /// The call failed; the webhook's `failurePolicy` decides.
    Failed(CallFailure),
    /// It denied the request, or the request cannot be sent to it at all.
    Final(Box<Status>),
}

/// The 504 of a request whose deadline has passed.
pub(crate) fn too_late(deadline: Deadline) -> Box<Status> {
    let why = if deadline.wanted {
        "request did not complete within the allotted timeout"
    } else {
        "request did not complete within requested timeout - context deadline exceeded"
    };
    let status = Status::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", format!("Timeout: {why}"));
    let mut status = status.with_details(Details::default());
    if deadline.wanted {
        status.verbatim = Some(Verbatim::Text(ALLOTTED.into()));
    }
    status
}

impl<'a> Request<'a> {
    /// `None` for a request that is exempt from webhooks.
    fn new(attributes: &'a Attributes<'a>, phase: Phase) -> Option<Request<'a>> {
        attributes.deadline();
        let facts = attributes.facts();
        (!is_exempt(&facts.kind)).then(|| Request {
            equivalents: Equivalents::of(attributes),
            attributes,
            facts,
            phase,
        })
    }

    /// The resource and kind that a webhook is to be called with; `None` if the request does not match its rules or
    /// selectors. Labels are those of `object` and `old`.
    fn invocation(&self, webhook: &Webhook, object: &Value, old: &Value) -> Result<Option<Invocation>> {
        webhook
            .invocation(&self.facts, object, old, &self.equivalents.identifiers, || {
                self.namespace_labels(object)
            })
            .map_err(|undecided| match undecided {
                Undecided::Namespace(status) => status,
                Undecided::Selector(why) => Status::internal(&why),
            })
    }

    /// The labels of the request's namespace. For a write of a Namespace, those that it will have.
    fn namespace_labels(&self, object: &Value) -> Result<Value> {
        use kubewright_admission::Operation::{Create, Update};
        let labels = |object: &Value| object.pointer("/metadata/labels").cloned().unwrap_or_default();
        let facts = &self.facts;
        let is_written = matches!(facts.operation, Create | Update);
        if facts.resource.resource == "namespaces" && facts.subresource.is_empty() && is_written {
            return Ok(labels(object));
        }
        let namespaces = BuiltInId::Namespaces.resource();
        match self.attributes.server.store.get(namespaces.table, &facts.namespace) {
            Some(record) => Ok(labels(&object::to_value(namespaces, &record, record.revision))),
            None => Err(Status::not_found(namespaces.about(), &facts.namespace)),
        }
    }

    /// Whether the conditions of a webhook hold for the request in the version that it is sent in.
    async fn conditions_hold(&self, webhook: &Webhook, objects: &VersionedObjects) -> Result<bool> {
        let variables = Variables {
            attributes: &self.facts,
            kind: &objects.kind,
            object: &objects.object,
            old: &objects.old,
            authorizer: Arc::new(Rights::of(self.attributes)),
        };
        self.attributes
            .settled(|| webhook.conditions.hold(&variables))
            .await
            .map_err(|why| Status::forbidden(self.attributes.resource.about(), &self.facts.name, &why))
    }

    /// Asks a webhook. Its audit annotations are kept, whatever it decides.
    async fn ask(
        &self,
        webhook: &Webhook,
        invocation: &Invocation,
        objects: &VersionedObjects,
        warnings: &mut Vec<String>,
    ) -> std::result::Result<WebhookDecision, WebhookRefusal> {
        let failed = |reason: Reason| WebhookRefusal::Failed(failed_call(webhook, reason));
        if self.facts.dry_run {
            match webhook.side_effects {
                SideEffects::NoneOnDryRun => {}
                SideEffects::Unstated => return Err(failed(Reason::UnstatedSideEffects)),
                SideEffects::Some => {
                    let why = failure::no_dry_run(&webhook.name);
                    return Err(WebhookRefusal::Final(Status::bad_request(why)));
                }
            }
        }
        let version = ReviewVersion::of(webhook).ok_or_else(|| failed(Reason::UnknownReviewVersions))?;
        let config = webhook.client.as_ref().ok_or_else(|| {
            failed(Reason::NoClient(
                "webhook configuration must have either service or URL".into(),
            ))
        })?;
        let server = self.attributes.server;
        let uid = server.random.uuid();
        let document = review::write(version, &uid, &self.facts, invocation, &objects.object, &objects.old);
        let own = std::time::Duration::from_secs(webhook.timeout_seconds.unwrap_or(DEFAULT_SECONDS));
        let left = self.attributes.deadline().at.saturating_duration_since(Instant::now());
        let answer = post(server, config, document, own.min(left)).await;
        self.check_deadline().map_err(WebhookRefusal::Final)?;
        let answer = answer.map_err(|error| {
            failed(match error {
                CallError::NoClient(why) => Reason::NoClient(why),
                other => Reason::Call(other.to_string()),
            })
        })?;
        let decision = response::read(version, self.phase, &uid, &answer).map_err(failed)?;
        for (key, value) in &decision.audit_annotations {
            self.attributes
                .annotations
                .add(format!("{}/{key}", webhook.name), value.as_str());
        }
        // Upstream drops warnings that cannot be put into a header.
        let tellable = |warning: &&String| !warning.chars().any(char::is_control);
        warnings.extend(decision.warnings.iter().filter(tellable).cloned());
        if decision.allowed {
            Ok(decision)
        } else {
            Err(WebhookRefusal::Final(denied(&failure::denial(
                &webhook.name,
                &decision.status,
            ))))
        }
    }

    /// Refuses the request once its deadline has passed.
    fn check_deadline(&self) -> Result<()> {
        let deadline = self.attributes.deadline();
        if Instant::now() < deadline.at {
            return Ok(());
        }
        Err(too_late(deadline))
    }

    /// Applies the failure policy to a failed call: an audit annotation and nothing else, or the refusal of the
    /// request.
    fn apply_failure_policy(&self, webhook: &Webhook, at: usize, round: usize, failure: &CallFailure) -> Result<()> {
        if webhook.failure_policy == FailurePolicy::Fail {
            return Err(Status::internal(&failure.to_string()));
        }
        let what = match self.phase {
            Phase::Mutating => "mutation",
            Phase::Validating => "validating",
        };
        let key = format!("failed-open.{what}.webhook.admission.k8s.io/round_{round}_index_{at}");
        self.attributes.annotations.add(key, webhook.name.as_str());
        self.check_deadline()
    }
}

fn failed_call(webhook: &Webhook, reason: Reason) -> CallFailure {
    CallFailure {
        webhook: webhook.name.clone(),
        reason,
    }
}

/// The status of a denied request, worded as upstream does.
pub(crate) fn denied(denial: &Value) -> Box<Status> {
    let code = denial["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let code = code.and_then(|code| StatusCode::from_u16(code).ok());
    let mut status = Status::new(
        code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        "",
        denial["message"].as_str().unwrap_or_default(),
    );
    status.verbatim = Some(Verbatim::Denial(denial.clone()));
    let retry = denial.pointer("/details/retryAfterSeconds").and_then(Value::as_u64);
    if let Some(seconds) = retry.and_then(|seconds| u32::try_from(seconds).ok()) {
        status = status.with_details(Details {
            retry_after_seconds: seconds,
            ..Details::default()
        });
    }
    status
}
