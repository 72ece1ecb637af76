//! `pods/eviction`: a deletion that disruption budgets may refuse.

use http::StatusCode;
use kubewright_kinds::pod::eviction::{self, EvictionDecision};
use serde_json::{Value, json};

use super::body_kind;
use crate::admit::BodyKind;
use crate::object::{self, meta_text};
use crate::registry::{BuiltInId, Resource};
use crate::request::HandlerOutput;
use crate::request::call::Call;
use crate::request::delete_options::{self, DeleteOptions};
use crate::request::write_options::OptionsKind;
use crate::verbs::delete::{check_preconditions, delete_one};
use crate::wire::respond::Reply;
use crate::wire::status::{Cause, Details, GroupResource, Result, Status};
use crate::write::addressed::place_in_namespace;
use crate::write::decode;

pub(super) async fn create(call: &mut Call<'_>) -> Result<HandlerOutput> {
    let expected = decode::expected("policy", "v1", "Eviction")?;
    let (options, mut wanted) = decode::received(call, OptionsKind::Create, expected)?;
    if meta_text(&wanted, "name") != call.target.name {
        return Err(Status::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    place_in_namespace(call, &mut wanted)?;
    let name = call.target.name;
    if call.server.webhooks.any() {
        wanted = body_kind::owned(call, BodyKind::EVICTION, &options.manager, wanted);
    }
    body_kind::mutate(call, BodyKind::EVICTION, name, &mut wanted, options.dry_run).await?;
    body_kind::validate(call, BodyKind::EVICTION, name, &wanted, options.dry_run).await?;
    let mut delete = match wanted.get("deleteOptions") {
        Some(given) => delete_options::of_value(given)?,
        None => DeleteOptions::default(),
    };
    delete.dry_run |= options.dry_run;
    evict(call, &delete).await?;
    let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    Ok(Reply::value(StatusCode::CREATED, &status).into())
}

async fn evict(call: &mut Call<'_>, options: &DeleteOptions) -> Result<()> {
    let pods = BuiltInId::Pods.resource();
    let budgets = BuiltInId::PodDisruptionBudgets.resource();
    let store = &call.server.store;
    let now = call.server.clock.stamp();
    let name = call.target.name;
    loop {
        let record = call.existing()?;
        let pod = object::to_value(pods, &record, record.revision);
        let namespace = Some(call.target.namespace);
        let known: Vec<Value> = store
            .snapshot(budgets.table)
            .records(namespace, None)
            .map(|record| object::to_value(budgets, record, record.revision))
            .collect();
        let mut options = options.clone();
        match eviction::decide(&pod, &known, &now) {
            EvictionDecision::Allowed { pinned, budget } => {
                if let Some(budget) = budget.filter(|_| !options.dry_run) {
                    let key = object::key(call.target.namespace, meta_text(&budget, "name"));
                    let expected = meta_text(&budget, "resourceVersion")
                        .parse()
                        .map(kubewright_store::Revision);
                    let draft = object::to_built_in_draft(budgets, &budget);
                    let Ok(expected) = expected else { continue };
                    if store.update(budgets.table, &key, expected, draft).is_err() {
                        continue;
                    }
                }
                if pinned && options.resource_version.is_none() {
                    options.resource_version = Some(record.revision.to_string());
                }
                let outcome = match mark(call, pods, &mut options, &now) {
                    Ok(()) => delete_one(call, call.target.namespace, name, &options).await,
                    Err(status) => Err(status),
                };
                return match outcome {
                    // Only another writer of the pod is worth another try; a precondition of the request fails again.
                    Err(status)
                        if pinned
                            && status.code == StatusCode::CONFLICT
                            && call.existing()?.revision != record.revision =>
                    {
                        continue;
                    }
                    other => other.map(|_| ()),
                };
            }
            EvictionDecision::TooManyRequests {
                message,
                cause,
                retry_after,
            } => {
                return Err(
                    Status::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message).with_details(Details {
                        causes: vec![Cause {
                            reason: "DisruptionBudget".into(),
                            message: cause,
                            field: String::new(),
                        }],
                        retry_after_seconds: u32::try_from(retry_after).unwrap_or(0),
                        ..Details::default()
                    }),
                );
            }
            EvictionDecision::Forbidden { budget, reason } => {
                let about = GroupResource {
                    group: "policy",
                    resource: "poddisruptionbudget",
                };
                return Err(Status::forbidden(about, &budget, reason));
            }
            EvictionDecision::Unsupported(message) => {
                return Err(Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", message));
            }
        }
    }
}

/// Sets the `DisruptionTarget` condition of the Pod. A precondition on the resourceVersion then means the version
/// that this makes.
fn mark(call: &Call<'_>, pods: &Resource, options: &mut DeleteOptions, now: &str) -> Result<()> {
    while !options.dry_run {
        let record = call.existing()?;
        let pod = object::to_value(pods, &record, record.revision);
        check_preconditions(pods, &pod, options)?;
        let draft = object::to_built_in_draft(pods, &disrupted(pod, now));
        let marked = call
            .server
            .store
            .update(pods.table, &call.key(), record.revision, draft);
        if let Ok(marked) = marked {
            if options.resource_version.is_some() {
                options.resource_version = Some(marked.revision.to_string());
            }
            break;
        }
    }
    Ok(())
}

/// The pod with the condition that says why it goes; a second eviction does not change since when.
fn disrupted(mut pod: Value, now: &str) -> Value {
    const DISRUPTION: &str = "DisruptionTarget";
    let mut condition = json!({
        "type": DISRUPTION,
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    });
    let conditions = &mut pod["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return pod;
    };
    match conditions.iter_mut().find(|known| known["type"] == DISRUPTION) {
        Some(known) => {
            if known["status"] == "True" {
                condition["lastTransitionTime"] = known["lastTransitionTime"].take();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
    pod
}
