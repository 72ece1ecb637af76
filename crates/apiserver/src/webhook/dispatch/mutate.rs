//! Mutating webhooks: called one after the other, each with the object as those before it changed it (A1, A8).

use std::collections::HashSet;
use std::sync::Arc;

use http::StatusCode;
use kubewright_admission::failure::{self, Reason};
use kubewright_admission::response::WebhookDecision;
use kubewright_admission::{Phase, Webhook, patch};
use serde_json::{Value, json};

use super::{OwnersBefore, Request, VersionedObjects, WebhookRefusal, failed_call};
use crate::admit::Attributes;
use crate::object::{meta_text, set_meta};
use crate::wire::status::{Result, Status};

/// What the reinvocation of webhooks needs to know of the first round (A8).
#[derive(Default)]
pub(crate) struct Reinvocation {
    round: usize,
    /// A webhook changed the object.
    changed: bool,
    /// The object after the last webhook.
    output: Option<Value>,
    /// The webhooks with `reinvocationPolicy: IfNeeded` that have been called since the object last changed.
    asked: HashSet<String>,
    /// The webhooks that the second round calls again.
    due: HashSet<String>,
}

impl Reinvocation {
    /// Begins the second round. Returns `false` if none is needed.
    pub(crate) fn again(&mut self) -> bool {
        let first = self.round == 0;
        self.round += 1;
        first && self.changed
    }

    fn object_changed(&mut self) {
        self.due.extend(self.asked.drain());
    }
}

pub(crate) async fn mutate(
    attributes: &Attributes<'_>,
    webhooks: &[Arc<Webhook>],
    object: &mut Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
    (round, owners): (&mut Reinvocation, &mut OwnersBefore),
) -> Result<()> {
    let Some(request) = Request::new(attributes, Phase::Mutating) else {
        return Ok(());
    };
    if round.round > 0 && round.output.as_ref() != Some(object) {
        round.object_changed();
    }
    let mut objects: Option<VersionedObjects> = None;
    let mut dirty = false;
    for (at, webhook) in webhooks.iter().enumerate() {
        let nothing = &Value::Null;
        // Selectors look at the labels as the webhooks before changed them.
        let (seen, seen_old) = match &objects {
            Some(objects) => (&objects.object, &objects.old),
            None => (&*object, old.unwrap_or(nothing)),
        };
        let Some(invocation) = request.invocation(webhook, seen, seen_old)? else {
            continue;
        };
        let is_due = round.round == 0 || round.due.contains(&webhook.id);
        if !is_due && webhook.conditions.is_empty() {
            continue;
        }
        let mut current = match objects.take() {
            Some(objects) => objects,
            None if round.round == 0 => VersionedObjects::new(attributes, object, old),
            None => VersionedObjects::new(attributes, object, old).reread(),
        };
        current
            .convert_to(&invocation.kind, attributes, &request.equivalents)
            .await?;
        let current = objects.insert(current);
        if !webhook.conditions.is_empty() && !request.conditions_hold(webhook, current).await? || !is_due {
            continue;
        }
        let outcome = match request.ask(webhook, &invocation, current, warnings).await {
            Ok(decision) => apply(&request, webhook, decision, current, &mut dirty),
            Err(refusal) => Err(refusal),
        };
        let changed = matches!(outcome, Ok(true));
        let note = json!({ "configuration": webhook.configuration, "webhook": webhook.name, "mutated": changed });
        let key = format!("mutation.webhook.admission.k8s.io/round_{}_index_{at}", round.round);
        attributes.annotations.add(key, note.to_string());
        if changed {
            round.object_changed();
            round.changed = true;
        }
        if webhook.reinvoke {
            round.asked.insert(webhook.id.clone());
        }
        match outcome {
            Ok(_) => {}
            Err(WebhookRefusal::Final(status)) => return Err(status),
            Err(WebhookRefusal::Failed(failure)) => request.apply_failure_policy(webhook, at, round.round, &failure)?,
        }
    }
    if dirty && let Some(mut objects) = objects {
        objects
            .convert_to(&attributes.kind(), attributes, &request.equivalents)
            .await?;
        owners.replace(object, objects.into_object(attributes)?);
        // A name that a webhook removed is an empty string in upstream's types.
        if old.is_some() && object.is_object() && meta_text(object, "name").is_empty() {
            set_meta(object, "name", "");
        }
    }
    // Compared for those alone that the second round may call again.
    if round.round == 0 && !round.asked.is_empty() {
        round.output = Some(object.clone());
    }
    Ok(())
}

/// Applies the patch of a decision. Returns whether it changed the object.
fn apply(
    request: &Request<'_>,
    webhook: &Webhook,
    decision: WebhookDecision,
    objects: &mut VersionedObjects,
    dirty: &mut bool,
) -> std::result::Result<bool, WebhookRefusal> {
    let Some((bytes, ty)) = decision.patch else {
        return Ok(false);
    };
    let failed = |reason: Reason| WebhookRefusal::Failed(failed_call(webhook, reason));
    let internal = |why: String| WebhookRefusal::Final(Status::internal(&why));
    let Some(patch) = patch::read(&bytes).map_err(|why| failed(Reason::UndecodablePatch(why)))? else {
        return Ok(false);
    };
    if objects.object.is_null() {
        return Err(internal(failure::nothing_to_modify(&webhook.name)));
    }
    if ty != "JSONPatch" {
        return Err(failed(Reason::UnsupportedPatchType(ty)));
    }
    let patched = patch.apply(&objects.object).map_err(internal)?;
    let changed = objects
        .accept_patched(patched, request.attributes, &request.equivalents)
        .map_err(|why| match request.attributes {
            // Upstream's codec of custom resources words this error for a Scale in its own way, without a prefix.
            Attributes {
                body_kind: Some(_),
                resource,
                ..
            } if resource.custom().is_some() => {
                WebhookRefusal::Final(Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", why))
            }
            _ => internal(why),
        })?;
    *dirty = true;
    Ok(changed)
}
