//! Validating webhooks: all are called at once; of several refusals the client gets the one of the first webhook in
//! order (A1).

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use kubewright_admission::{GroupVersionKind, Invocation, Phase, Webhook};
use serde_json::Value;

use super::{Request, VersionedObjects, WebhookRefusal};
use crate::admit::Attributes;
use crate::wire::status::Result;

pub(crate) async fn validate(
    attributes: &Attributes<'_>,
    webhooks: &[Arc<Webhook>],
    object: &Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let Some(request) = Request::new(attributes, Phase::Validating) else {
        return Ok(());
    };
    let mut forms: HashMap<GroupVersionKind, VersionedObjects> = HashMap::new();
    let mut invocations: Vec<(&Webhook, Invocation)> = Vec::new();
    for webhook in webhooks {
        let nothing = &Value::Null;
        let Some(invocation) = request.invocation(webhook, object, old.unwrap_or(nothing))? else {
            continue;
        };
        if !forms.contains_key(&invocation.kind) {
            let mut objects = VersionedObjects::new(attributes, object, old).without_stored_defaults(attributes);
            objects
                .convert_to(&invocation.kind, attributes, &request.equivalents)
                .await?;
            forms.insert(invocation.kind.clone(), objects);
        }
        let objects = &forms[&invocation.kind];
        if webhook.conditions.is_empty() || request.conditions_hold(webhook, objects).await? {
            invocations.push((webhook, invocation));
        }
    }
    if invocations.is_empty() {
        return Ok(());
    }
    request.check_deadline()?;
    let (request, forms) = (&request, &forms);
    let asked = invocations
        .iter()
        .enumerate()
        .map(|(at, (webhook, invocation))| async move {
            let mut new_warnings = Vec::new();
            let outcome = request
                .ask(webhook, invocation, &forms[&invocation.kind], &mut new_warnings)
                .await;
            let outcome = match outcome {
                Ok(_) => Ok(()),
                Err(WebhookRefusal::Final(status)) => Err(status),
                Err(WebhookRefusal::Failed(failure)) => request.apply_failure_policy(webhook, at, 0, &failure),
            };
            (outcome, new_warnings)
        });
    let mut first_refusal = Ok(());
    for (outcome, new_warnings) in join_all(asked).await {
        warnings.extend(new_warnings);
        if first_refusal.is_ok() {
            first_refusal = outcome;
        }
    }
    first_refusal
}
