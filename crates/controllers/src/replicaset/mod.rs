//! `ReplicaSets`: as many Pods as wanted, never more.
//! Cached reads wait for the controller's own writes, so that no Pod is made twice; upstream's expectations are not needed.

mod plan;

use futures_util::future::join_all;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{Client, Error};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Failure, Reconciler, Request, Result, Watch};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::View;

use crate::support::claim::{Claim, claim, claim_all, controller_reference};
use crate::support::events::EventRecorder;
use crate::support::index::{self, controller_of};
use crate::support::{Settings, creation, labels, pods};
use plan::Difference;

/// The controller.
pub(crate) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<ReplicaSet>()
        .named("replicaset-controller")
        .owns::<Pod>()
        .watch(Watch::mapped_with::<Pod, _>(orphan_wakes).when(index::orphans()))
        .max_concurrent_reconciles(8)
        .reconcile_with(move |context| {
            let client = context.client();
            ReplicaSets {
                clock: settings.clock_of(&client),
                events: settings.recorder("replicaset-controller", &client),
                client,
            }
        })
}

/// A Pod without a controller wakes all sets that would take it.
async fn orphan_wakes(client: Client, pod: View<Pod>) -> Vec<Request> {
    if controller_of(&*pod).is_some() || pod.metadata.deletion_timestamp.is_some() || pod.metadata.labels.is_none() {
        return Vec::new();
    }
    let query = Query::all().in_namespace(pod.key().namespace().unwrap_or_default());
    let sets = client
        .without_waiting()
        .list::<ReplicaSet>(&query)
        .await
        .unwrap_or_default();
    sets.into_iter()
        .filter(|set| {
            let selector = set.spec.as_ref().map(|spec| &spec.selector);
            labels::of_workload(selector)
                .is_some_and(|selector| labels::matches(&selector, pod.metadata.labels.as_ref()))
        })
        .map(|set| set.key().clone().into())
        .collect()
}

struct ReplicaSets {
    client: Client,
    events: EventRecorder,
    clock: Clock,
}

impl Reconciler for ReplicaSets {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(set) = self.client.get_opt::<ReplicaSet>(&request).await? else {
            return Ok(Action::done());
        };
        let Some(selector) = labels::of_workload(set.spec.as_ref().map(|spec| &spec.selector)) else {
            return Ok(Action::done());
        };
        let namespace = request.namespace().unwrap_or_default();
        let mut found = Vec::new();
        for owner in [set.metadata.uid.as_deref().unwrap_or_default(), index::ORPHAN] {
            let query = index::by::<Pod>(&self.client, index::CONTROLLER, owner)?;
            found.extend(self.client.list(&query.in_namespace(namespace)).await?);
        }
        let terminating = found
            .iter()
            .filter(|pod| pods::is_terminating(pod) && claim(&*set, &selector, &***pod) == Claim::Keep)
            .count();
        let active = found.into_iter().filter(|pod| pods::is_active(pod));
        let active = claim_all(&self.client, &*set, &selector, active).await?;

        let managed = self.manage(&set, &active).await;
        let failure = managed.as_ref().err().map(ToString::to_string);
        let now = self.clock.now();
        let status = plan::status(
            &set,
            active.iter().map(|pod| &**pod),
            terminating,
            failure.as_deref(),
            now,
        );
        let short = status.ready_replicas != status.available_replicas;
        self.write_status(&set, status).await?;
        managed.map_err(|error| Failure::message(error.to_string()))?;

        let seconds = plan::min_ready_seconds(&set);
        let next = pods::next_available(active.iter().map(|pod| &**pod), seconds, now);
        Ok(match next {
            Some(wait) if seconds > 0 && short => Action::requeue_after(wait),
            _ => Action::done(),
        })
    }
}

impl ReplicaSets {
    async fn manage(&self, set: &View<ReplicaSet>, active: &[View<Pod>]) -> Result<(), PodWriteError> {
        match plan::difference(set, active.len()) {
            Difference::None => Ok(()),
            Difference::Create(count) => self.create(set, count).await,
            Difference::Delete(count) => self.delete(set, active, count).await,
        }
    }

    /// Makes Pods, in batches that double: if none can be made, few are tried.
    async fn create(&self, set: &View<ReplicaSet>, count: usize) -> Result<(), PodWriteError> {
        let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
        let owner = controller_reference(&**set);
        let pod = creation::pod_from_template(template, &**set, owner);
        creation::slow_start(count, || async {
            match self.client.create(&pod).await {
                Ok(made) => {
                    let name = made.metadata.name.unwrap_or_default();
                    let note = EventNote::normal("SuccessfulCreate", "Create", format!("Created pod: {name}"));
                    self.events.record(&**set, note);
                    Ok(())
                }
                Err(error) if creation::is_namespace_going(&error) => Ok(()),
                Err(error) => {
                    let text = format!("Error creating: {}", creation::message(&error));
                    self.events
                        .record(&**set, EventNote::warning("FailedCreate", "Create", text));
                    Err(PodWriteError::Create(error))
                }
            }
        })
        .await
    }

    async fn delete(&self, set: &View<ReplicaSet>, active: &[View<Pod>], count: usize) -> Result<(), PodWriteError> {
        let mut chosen: Vec<RankedPod> = active.iter().cloned().map(RankedPod).collect();
        if count < chosen.len() {
            let related = self.related(set).await.map_err(PodWriteError::Create)?;
            pods::rank_for_deletion(&mut chosen, &related, self.clock.now());
        }
        let deletions = chosen.into_iter().take(count).map(|RankedPod(pod)| async move {
            let name = pod.key().name().to_owned();
            match self.client.delete::<Pod>(pod.key()).await {
                Ok(()) => {
                    let note = EventNote::normal("SuccessfulDelete", "Delete", format!("Deleted pod: {name}"));
                    self.events.record(&**set, note);
                    Ok(())
                }
                Err(error) if error.is_not_found() => Ok(()),
                Err(error) => {
                    let text = format!("Error deleting: {}", creation::message(&error));
                    self.events
                        .record(&**set, EventNote::warning("FailedDelete", "Delete", text));
                    Err(PodWriteError::Delete(error))
                }
            }
        });
        join_all(deletions).await.into_iter().collect()
    }

    /// The Pods of all sets with the same controller: they count as neighbours on a node.
    async fn related(&self, set: &View<ReplicaSet>) -> Result<Vec<RankedPod>, Error> {
        let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
        let mut sets = vec![set.clone()];
        if let Some(owner) = controller_of(&**set) {
            let query = index::by::<ReplicaSet>(&self.client, index::CONTROLLER, &owner.uid)?;
            sets = self.client.list(&query.in_namespace(namespace)).await?;
        }
        let mut related = Vec::new();
        for sibling in sets {
            let uid = sibling.metadata.uid.as_deref().unwrap_or_default();
            let query = index::by::<Pod>(&self.client, index::CONTROLLER, uid)?.in_namespace(namespace);
            related.extend(self.client.list(&query).await?.into_iter().map(RankedPod));
        }
        Ok(related)
    }

    async fn write_status(&self, set: &View<ReplicaSet>, status: ReplicaSetStatus) -> Result<(), Error> {
        if set.status.as_ref() == Some(&status) {
            return Ok(());
        }
        let mut set = set.clone().into_owned();
        set.status = Some(status);
        self.client.update_status(&set).await?;
        Ok(())
    }
}

/// Why Pods could not be made or deleted.
#[derive(Debug, thiserror::Error)]
enum PodWriteError {
    #[error("{}", creation::message(.0))]
    Create(#[source] Error),
    #[error("unable to delete pods: {}", creation::message(.0))]
    Delete(#[source] Error),
}

struct RankedPod(View<Pod>);

impl AsRef<Pod> for RankedPod {
    fn as_ref(&self) -> &Pod {
        &self.0
    }
}
