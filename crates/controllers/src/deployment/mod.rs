//! `Deployments`: rolling out templates by way of `ReplicaSets`.
//! [`plan`](plan::plan) decides; this module reads what it needs, carries it out and records events.

mod hash;
mod history;
mod plan;
mod size;
mod status;
mod template;
#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::client::{Client, Error};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Predicate, Reconciler, Request, Result, Watch};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::{ObjectKey, Record, View};
use kubewright_runtime::operator::Operator;
use serde::Deserialize;

use crate::support::claim::claim_all;
use crate::support::events::EventRecorder;
use crate::support::index::{self, controller_of};
use crate::support::{Settings, creation, labels, pods};
use plan::{Plan, RolloutStep};

/// Adds the controller and what it needs.
pub(crate) fn add_to(operator: Operator, settings: &Settings) -> Operator {
    let settings = settings.clone();
    let controller = Controller::of::<Deployment>()
        .named("deployment-controller")
        .owns::<ReplicaSet>()
        .watch(Watch::mapped_with::<ReplicaSet, _>(orphan_wakes).when(index::orphans()))
        .watch(Watch::mapped_with::<Pod, _>(pod_wakes).when(endings()))
        .max_concurrent_reconciles(8)
        .reconcile_with(move |context| {
            let client = context.client();
            Deployments {
                clock: settings.clock_of(&client),
                events: settings.recorder("deployment-controller", &client),
                client,
            }
        });
    operator.controller(controller)
}

/// A set without a controller wakes all `Deployments` that would take it.
async fn orphan_wakes(client: Client, set: View<ReplicaSet>) -> Vec<Request> {
    if controller_of(&*set).is_some() || set.metadata.deletion_timestamp.is_some() || set.metadata.labels.is_none() {
        return Vec::new();
    }
    let query = Query::all().in_namespace(set.key().namespace().unwrap_or_default());
    let deployments = client
        .without_waiting()
        .list::<Deployment>(&query)
        .await
        .unwrap_or_default();
    deployments
        .into_iter()
        .filter(|deployment| {
            labels::of_workload(deployment.spec.as_ref().map(|spec| &spec.selector))
                .is_some_and(|selector| labels::matches(&selector, set.metadata.labels.as_ref()))
        })
        .map(|deployment| deployment.key().clone().into())
        .collect()
}

/// Lets only Pods of sets through that finish or go. Nothing but the phase is decoded for the many others.
fn endings() -> Predicate {
    Predicate::new(|event| {
        let mut records = event.old().into_iter().chain([event.object()]);
        records.any(|record| {
            let of_set = record.controller().is_some_and(|owner| owner.kind == "ReplicaSet");
            of_set && (record.is_deleting() || has_finished(record))
        })
    })
}

/// What [`pods::is_terminal`] looks at.
#[derive(Deserialize)]
struct PodWithPhase {
    status: Option<Phase>,
}

#[derive(Deserialize)]
struct Phase {
    phase: Option<String>,
}

fn has_finished(pod: &Record) -> bool {
    let status = pod.decode::<PodWithPhase>().ok().and_then(|pod| pod.status);
    let phase = status.and_then(|status| status.phase);
    matches!(phase.as_deref(), Some("Succeeded" | "Failed"))
}

/// A Pod that finishes or goes may let a `Deployment` go on that replaces all its Pods at once.
async fn pod_wakes(client: Client, pod: View<Pod>) -> Vec<Request> {
    let ends = pods::is_terminal(&pod) || pod.metadata.deletion_timestamp.is_some();
    let Some(owner) = controller_of(&*pod).filter(|owner| ends && owner.kind == "ReplicaSet") else {
        return Vec::new();
    };
    let client = client.without_waiting();
    let namespace = pod.key().namespace().unwrap_or_default();
    let set = client
        .get_opt::<ReplicaSet>(&ObjectKey::namespaced(namespace, &owner.name))
        .await;
    let Some(owner) = set.ok().flatten().and_then(|set| controller_of(&*set).cloned()) else {
        return Vec::new();
    };
    let key = ObjectKey::namespaced(namespace, &owner.name);
    match client.get_opt::<Deployment>(&key).await {
        Ok(Some(deployment)) if !size::is_rolling(&deployment) => vec![key.into()],
        _ => Vec::new(),
    }
}

struct Deployments {
    client: Client,
    events: EventRecorder,
    clock: Clock,
}

impl Reconciler for Deployments {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(deployment) = self.client.get_opt::<Deployment>(&request).await? else {
            return Ok(Action::done());
        };
        let Some(selector) = labels::of_workload(deployment.spec.as_ref().map(|spec| &spec.selector)) else {
            return self.refuse_everything(deployment.into_owned()).await;
        };
        let namespace = request.namespace().unwrap_or_default();
        let mut found = Vec::new();
        for owner in [deployment.metadata.uid.as_deref().unwrap_or_default(), index::ORPHAN] {
            let query = index::by::<ReplicaSet>(&self.client, index::CONTROLLER, owner)?;
            found.extend(self.client.list(&query.in_namespace(namespace)).await?);
        }
        let sets = claim_all(&self.client, &*deployment, &selector, found).await?;
        let busy = self.busy(&deployment, &sets).await?;
        let sets = sets.into_iter().map(View::into_owned).collect();
        let plan = plan::plan(&deployment, sets, &busy, self.clock.now());
        self.carry_out(&deployment, plan).await
    }
}

impl Deployments {
    /// The sets with Pods that have not finished. Only who replaces all Pods at once asks.
    async fn busy(&self, deployment: &Deployment, sets: &[View<ReplicaSet>]) -> Result<BTreeSet<String>, Error> {
        let mut busy = BTreeSet::new();
        if size::is_rolling(deployment) {
            return Ok(busy);
        }
        for set in sets {
            let uid = set.metadata.uid.clone().unwrap_or_default();
            let query = index::by::<Pod>(&self.client, index::CONTROLLER, &uid)?;
            let query = query.in_namespace(set.key().namespace().unwrap_or_default());
            let pods = self.client.list(&query).await?;
            if pods.iter().any(|pod| !pods::is_terminal(pod)) {
                busy.insert(uid);
            }
        }
        Ok(busy)
    }

    async fn refuse_everything(&self, mut deployment: Deployment) -> Result {
        let text = "This deployment is selecting all pods. A non-empty selector is required.";
        self.events
            .record(&deployment, EventNote::warning("SelectingAll", "Sync", text));
        let generation = deployment.metadata.generation;
        let status = deployment.status.get_or_insert_default();
        if status.observed_generation < generation {
            status.observed_generation = generation;
            self.client.update_status(&deployment).await?;
        }
        Ok(Action::done())
    }

    async fn carry_out(&self, deployment: &Deployment, plan: Plan) -> Result {
        let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
        // A set may be written twice: the second time with the version of the first.
        let mut versions: BTreeMap<String, Option<String>> = BTreeMap::new();
        for step in plan.steps {
            match step {
                RolloutStep::Create(set) => {
                    if let Err(error) = self.client.create(&*set).await {
                        return self.not_created(deployment, &set, error).await;
                    }
                }
                RolloutStep::Update(mut set) => {
                    let name = set.metadata.name.clone().unwrap_or_default();
                    if let Some(version) = versions.get(&name) {
                        set.metadata.resource_version.clone_from(version);
                    }
                    let written = self.client.update(&*set).await?;
                    versions.insert(name, written.metadata.resource_version);
                }
                RolloutStep::Delete(name) => {
                    let key = ObjectKey::namespaced(namespace, &name);
                    ignore_not_found(self.client.delete::<ReplicaSet>(&key).await)?;
                }
                RolloutStep::Replace(deployment) => {
                    self.client.update(&*deployment).await?;
                }
                RolloutStep::Event(note) => self.events.record(deployment, *note),
            }
        }
        if let Some(deployment) = plan.status {
            self.client.update_status(&*deployment).await?;
        }
        Ok(plan.wake.map_or_else(Action::done, Action::requeue_after))
    }

    /// A set could not be made: its name is taken, or the server does not want it.
    async fn not_created(&self, deployment: &Deployment, set: &ReplicaSet, error: Error) -> Result {
        if creation::is_namespace_going(&error) {
            return Ok(Action::done());
        }
        let mut deployment = deployment.clone();
        if error.is_already_exists() {
            let key = crate::support::claim::key_of(set);
            let taken = self.client.live().get_opt::<ReplicaSet>(&key).await?;
            let is_ours = taken.is_some_and(|taken| {
                let template = taken.spec.as_ref().and_then(|spec| spec.template.as_ref());
                controller_of(&*taken).is_some_and(|owner| Some(&owner.uid) == deployment.metadata.uid.as_ref())
                    && deployment
                        .spec
                        .as_ref()
                        .is_some_and(|spec| template::is_same(template, &spec.template))
            });
            if !is_ours {
                // Another template has the same hash, or another object has the name: the next hash includes the collision count.
                let status = deployment.status.get_or_insert_default();
                status.collision_count = Some(status.collision_count.unwrap_or(0).saturating_add(1));
                self.client.update_status(&deployment).await?;
            }
            return Err(error.into());
        }
        let name = set.metadata.name.as_deref().unwrap_or_default();
        let message = format!(
            "Failed to create new replica set {name:?}: {}",
            creation::message(&error)
        );
        if status::deadline(&deployment).is_some() {
            let now = self.clock.now();
            let condition = status::condition(
                status::PROGRESSING,
                "False",
                "ReplicaSetCreateError",
                message.clone(),
                now,
            );
            status::set(deployment.status.get_or_insert_default(), condition);
            // The failure itself matters more than that it could not be written down.
            let _ = self.client.update_status(&deployment).await;
        }
        self.events.record(
            &deployment,
            EventNote::warning("ReplicaSetCreateError", "Create", message),
        );
        Err(error.into())
    }
}
