//! Validating policies: evaluated for what is about to be stored. The client gets the first refusal (A13).

use http::StatusCode;
use kubewright_admission::FailurePolicy;
use kubewright_admission::policy::{Action, Binding, Failure, FailureReason, ValidatingPolicy, Verdict};
use serde_json::{Value, json};

use super::context::{Context, Forms};
use super::params;
use crate::admit::Attributes;
use crate::webhook::dispatch::VersionedObjects;
use crate::wire::status::{Cause, Result, Status};

/// The key of the audit annotation for the failures of bindings that ask for it.
const VALIDATION_FAILURE: &str = "validation.policy.admission.k8s.io/validation_failure";
/// Longer values of audit annotations are cut.
const LONGEST_ANNOTATION: usize = 10 * 1024;

/// Lets policies refuse what is about to be stored; what they warn of joins `warnings`.
pub(crate) async fn validate(
    attributes: &Attributes<'_>,
    object: &Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let Some(policies) = attributes.server.policies.validating(attributes) else {
        return Ok(());
    };
    let Some(context) = Context::new(attributes) else {
        return Ok(());
    };
    let seen_old = old.unwrap_or(&Value::Null);
    let mut forms = Forms::default();
    let mut outcome = Outcome::default();
    for bound in policies.iter() {
        let policy = &*bound.policy;
        let matched = match context.find(&policy.matches, object, seen_old) {
            Ok(Some(matched)) => matched,
            Ok(None) => continue,
            Err(why) => {
                outcome.misconfigured(policy, None, &why);
                continue;
            }
        };
        let param_resource = match params::resource_of(attributes.server, policy.param_kind.as_ref()) {
            Ok(resource) => resource,
            Err(why) => {
                outcome.misconfigured(policy, None, &why);
                continue;
            }
        };
        let mut annotations = Annotations::default();
        for binding in &bound.bindings {
            match context.is_bound(binding, object, seen_old) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(why) => {
                    outcome.misconfigured(policy, Some(binding), &why);
                    continue;
                }
            }
            let namespace = &context.facts.namespace;
            let found = params::of_binding(attributes.server, param_resource.as_deref(), binding, namespace).await;
            let found = match found {
                Ok(found) if found.is_empty() => continue,
                Ok(found) => found,
                Err(why) => {
                    outcome.misconfigured(policy, Some(binding), &why);
                    continue;
                }
            };
            let objects = forms.of(matched, &context, || {
                VersionedObjects::new(attributes, object, old).without_stored_defaults(attributes)
            });
            let objects = match objects.await {
                Ok(objects) => &*objects,
                Err(status) => {
                    let why = format!("failed to convert object version: {}", status.message);
                    outcome.misconfigured(policy, Some(binding), &why);
                    continue;
                }
            };
            for params in &found {
                let evaluate =
                    || -> Result<_> { Ok(policy.evaluate(&context.request(policy.reads, matched, objects, params)?)) };
                let verdict = attributes.settled(evaluate).await?;
                outcome.note(attributes, policy, binding, verdict, warnings, &mut annotations);
            }
        }
        annotations.publish(attributes, &policy.name);
    }
    match outcome.denial {
        Some(denial) => Err(denial.status(attributes)),
        None => Ok(()),
    }
}

/// The first refusal, if any.
#[derive(Default)]
struct Outcome {
    denial: Option<Denial>,
}

struct Denial {
    message: String,
    reason: FailureReason,
}

impl Outcome {
    fn deny(&mut self, policy: &ValidatingPolicy, binding: Option<&Binding>, message: &str, reason: FailureReason) {
        self.denial.get_or_insert_with(|| Denial {
            message: match binding {
                Some(binding) => format!(
                    "ValidatingAdmissionPolicy '{}' with binding '{}' denied request: {message}",
                    policy.name, binding.name
                ),
                None => format!("ValidatingAdmissionPolicy '{}' denied request: {message}", policy.name),
            },
            reason,
        });
    }

    /// A policy or a binding cannot be evaluated, which its policy may ignore.
    fn misconfigured(&mut self, policy: &ValidatingPolicy, binding: Option<&Binding>, why: &str) {
        if policy.failure_policy == FailurePolicy::Ignore {
            return;
        }
        let what = if binding.is_some() { "binding" } else { "policy" };
        let message = format!("failed to configure {what}: {why}");
        self.deny(policy, binding, &message, FailureReason::Invalid);
    }

    /// Does what the actions of a binding say.
    fn note(
        &mut self,
        attributes: &Attributes<'_>,
        policy: &ValidatingPolicy,
        binding: &Binding,
        verdict: Verdict,
        warnings: &mut Vec<String>,
        annotations: &mut Annotations,
    ) {
        for failure in &verdict.failures {
            for action in &binding.actions {
                match action {
                    Action::Deny => self.deny(policy, Some(binding), &failure.message, failure.reason),
                    Action::Warn => warnings.push(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                        policy.name, binding.name, failure.message
                    )),
                    Action::Audit => attributes
                        .annotations
                        .add(VALIDATION_FAILURE, audited(binding, failure)),
                }
            }
        }
        for annotation in verdict.annotations {
            match annotation.value {
                Ok(value) => annotations.add(annotation.key, value),
                Err(why) => self.deny(policy, Some(binding), &why, FailureReason::Invalid),
            }
        }
    }
}

impl Denial {
    fn status(self, attributes: &Attributes<'_>) -> Box<Status> {
        let mut status = attributes.forbidden(&self.message);
        let (reason, code) = self.reason.status();
        status.reason = reason;
        status.code = StatusCode::from_u16(code).unwrap_or(StatusCode::UNPROCESSABLE_ENTITY);
        if let Some(details) = &mut status.details {
            details.causes.push(Cause {
                message: self.message,
                ..Cause::default()
            });
        }
        status
    }
}

/// The value of the audit annotation for a failure, with its fields in upstream's order.
fn audited(binding: &Binding, failure: &Failure) -> String {
    let actions: Vec<&str> = binding.actions.iter().map(|action| action.name()).collect();
    let text = |text: &str| {
        let mut out = Vec::new();
        kubewright_codec::json::write_string(text, &mut out);
        String::from_utf8(out).unwrap_or_default()
    };
    format!(
        r#"[{{"message":{},"policy":{},"binding":{},"expressionIndex":{},"validationActions":{}}}]"#,
        text(&failure.message),
        text(&binding.policy),
        text(&binding.name),
        failure.index,
        json!(actions)
    )
}

/// The audit annotations of a policy. Bindings may differ in a value, which then has them all.
#[derive(Default)]
struct Annotations(Vec<(String, Vec<String>)>);

impl Annotations {
    fn add(&mut self, key: String, mut value: String) {
        let most = value.floor_char_boundary(LONGEST_ANNOTATION);
        value.truncate(most);
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => self.0.push((key, vec![value])),
        }
    }

    fn publish(self, attributes: &Attributes<'_>, policy: &str) {
        for (key, values) in self.0 {
            attributes.annotations.add(format!("{policy}/{key}"), values.join(", "));
        }
    }
}
