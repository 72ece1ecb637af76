//! Deletes Pods that no kubelet will delete: those of nodes that are gone or out of service, those that were deleted before they
//! had a node, and the oldest of too many that have ended. Events and deadlines wake it; at rest it does nothing.

mod plan;

use std::collections::HashMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::client::{Client, DeleteOptions, Patch};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Reconciler, Request, Result};
use kubewright_runtime::object::{ObjectKey, View};
use kubewright_runtime::operator::Operator;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Settings, index, pods};
use plan::DeletionReason;

/// So long a node may be missing before the server is asked whether it is really gone.
const QUARANTINE: Duration = Duration::from_secs(40);
/// Pods that have ended are counted no more often than this.
const PERIOD: Duration = Duration::from_secs(20);
/// The request to count the Pods that have ended. No node can have this name.
const ENDED: &str = "ended pods";

/// Adds the controller. A request is for a node, for a Pod without one, or for all Pods that have [`ENDED`].
pub(crate) fn add_to(operator: Operator, settings: &Settings) -> Operator {
    let settings = settings.clone();
    let controller = Controller::of::<Node>()
        .named("pod-garbage-collector-controller")
        .watches_with::<Pod, _>(wakes)
        .max_concurrent_reconciles(4)
        .reconcile_with(move |context| {
            let client = context.client();
            Collector {
                clock: settings.clock_of(&client),
                most_ended: settings.most_ended,
                missing: Mutex::default(),
                counted: Mutex::default(),
                client,
            }
        });
    operator
        .controller(controller)
        .index(index::NODE, index::node)
        .index::<Pod>(index::ENDED, |pod| {
            let ended = pods::is_terminal(pod).then(|| index::ENDED.to_owned());
            ended.into_iter().collect()
        })
}

/// What a Pod enqueues: nothing, as long as a kubelet is responsible for it.
async fn wakes(client: Client, pod: View<Pod>) -> Vec<Request> {
    let mut requests = Vec::new();
    if pods::is_terminal(&pod) {
        requests.push(ObjectKey::cluster(ENDED).into());
    }
    let host = ObjectKey::cluster(pods::node_of(&pod));
    if plan::goes_from_nowhere(&pod) {
        requests.push(pod.key().clone().into());
    } else if !host.name().is_empty() {
        let node = client.without_waiting().get_opt::<Node>(&host).await;
        if !matches!(node, Ok(Some(node)) if !plan::is_out_of_service(&node)) {
            requests.push(host.into());
        }
    }
    requests
}

struct Collector {
    client: Client,
    clock: Clock,
    /// How many Pods that have ended are kept.
    most_ended: usize,
    /// Nodes that Pods are on and that are not there, and since when that is known.
    missing: Mutex<HashMap<String, Instant>>,
    /// When Pods that have ended were counted last.
    counted: Mutex<Option<Instant>>,
}

impl Reconciler for Collector {
    async fn reconcile(&self, request: Request) -> Result {
        if request.namespace().is_some() {
            return self.attend_pod(&request).await;
        }
        match request.name() {
            ENDED => self.count().await,
            node => self.attend_node(node).await,
        }
    }
}

impl Collector {
    /// A Pod that was deleted before it had a node.
    async fn attend_pod(&self, key: &ObjectKey) -> Result {
        if let Some(pod) = self.client.get_opt::<Pod>(key).await?
            && plan::goes_from_nowhere(&pod)
        {
            self.remove(&pod, DeletionReason::Abandoned).await?;
        }
        Ok(Action::done())
    }

    /// The Pods of a node that is gone, or out of service.
    async fn attend_node(&self, name: &str) -> Result {
        let key = ObjectKey::cluster(name);
        let Some(node) = self.client.get_opt::<Node>(&key).await? else {
            return self.attend_missing(&key).await;
        };
        self.missing.lock().remove(name);
        if plan::is_out_of_service(&node) {
            for pod in self.pods_of(name).await? {
                if pod.metadata.deletion_timestamp.is_some() {
                    self.remove(&pod, DeletionReason::Abandoned).await?;
                }
            }
        }
        Ok(Action::done())
    }

    async fn attend_missing(&self, key: &ObjectKey) -> Result {
        let now = self.clock.now();
        let mut lost = self.pods_of(key.name()).await?;
        lost.retain(|pod| plan::removal(pod, DeletionReason::NodeGone, now).is_some());
        if lost.is_empty() {
            self.missing.lock().remove(key.name());
            return Ok(Action::done());
        }
        let since = *self
            .missing
            .lock()
            .entry(key.name().to_owned())
            .or_insert_with(Instant::now);
        let left = QUARANTINE.saturating_sub(since.elapsed());
        if !left.is_zero() {
            return Ok(Action::requeue_after(left));
        }
        // The cache may be behind: what is lost by mistake does not come back.
        if self.client.live().get_opt::<Node>(key).await?.is_some() {
            self.missing.lock().remove(key.name());
            return Ok(Action::requeue_after(QUARANTINE));
        }
        for pod in lost {
            self.remove(&pod, DeletionReason::NodeGone).await?;
        }
        // A node of that name that is missed later gets a new quarantine.
        self.missing.lock().remove(key.name());
        Ok(Action::done())
    }

    /// Deletes the oldest of too many Pods that have ended.
    async fn count(&self) -> Result {
        if let Some(counted) = *self.counted.lock() {
            let left = PERIOD.saturating_sub(counted.elapsed());
            if !left.is_zero() {
                return Ok(Action::requeue_after(left));
            }
        }
        *self.counted.lock() = Some(Instant::now());
        let ended = index::by::<Pod>(&self.client, index::ENDED, index::ENDED)?;
        for pod in plan::too_many(self.client.list(&ended).await?, self.most_ended) {
            self.remove(&pod, DeletionReason::Abandoned).await?;
        }
        Ok(Action::done())
    }

    async fn pods_of(&self, node: &str) -> Result<Vec<View<Pod>>> {
        let query = index::by::<Pod>(&self.client, index::NODE, node)?;
        Ok(self.client.list(&query).await?)
    }

    /// Writes down what became of a Pod, and deletes it without asking anybody.
    async fn remove(&self, pod: &View<Pod>, why: DeletionReason) -> Result<()> {
        let Some(removal) = plan::removal(pod, why, self.clock.now()) else {
            return Ok(());
        };
        let uid = pod.metadata.uid.clone();
        if let Some(status) = removal.status {
            let patch = Patch::Strategic(json!({ "metadata": { "uid": uid }, "status": status }));
            match self.client.patch_status::<Pod>(pod.key(), &patch).await {
                Err(error) if error.is_not_found() => return Ok(()),
                result => result?,
            };
        }
        if removal.delete {
            let now = DeleteOptions {
                grace_period_seconds: Some(0),
                uid,
                ..DeleteOptions::default()
            };
            ignore_not_found(self.client.delete_with::<Pod>(pod.key(), &now).await)?;
        }
        Ok(())
    }
}
