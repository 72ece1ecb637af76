//! Nodes that fail: their condition, the taints that follow from conditions, and Pods that do not tolerate them.

mod eviction;
mod taints;

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{Client, Patch};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Reconciler, Request, Result};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::operator::Operator;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use crate::kubelet::node;
use crate::support::tell::Teller;
use crate::support::{Settings, index, pods};

/// How long a node may be silent before it counts as lost.
const GRACE: Duration = Duration::from_secs(50);

/// Adds the controller of nodes' conditions and taints.
pub(crate) fn add_lifecycle(operator: Operator, settings: &Settings) -> Operator {
    let settings = settings.clone();
    let controller = Controller::of::<Node>()
        .named("node-lifecycle-controller")
        .reads::<Pod>()
        .reconcile_with(move |context| {
            let client = context.client();
            Nodes {
                clock: settings.clock_of(&client),
                events: settings.teller("node-controller", &client),
                silent: Mutex::default(),
                client,
            }
        });
    operator
        .controller(controller)
        .index::<Pod>(index::NODE, |pod| vec![pods::node_of(pod).to_owned()])
}

/// Adds the controller that evicts Pods.
pub(crate) fn add_eviction(operator: Operator, settings: &Settings) -> Operator {
    operator
        .controller(eviction::controller(settings))
        .index::<Pod>(index::NODE, |pod| vec![pods::node_of(pod).to_owned()])
}

struct Nodes {
    client: Client,
    events: Teller,
    clock: Clock,
    /// Since when each node that has failed is silent.
    silent: Mutex<std::collections::BTreeMap<String, Instant>>,
}

impl Reconciler for Nodes {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(node) = self.client.get_opt::<Node>(&request).await? else {
            self.silent.lock().remove(request.name());
            return Ok(Action::done());
        };
        let mut wait = None;
        if node::has_failed(&node) {
            let since = *self
                .silent
                .lock()
                .entry(request.name().to_owned())
                .or_insert_with(Instant::now);
            let left = GRACE.saturating_sub(since.elapsed());
            if left.is_zero() {
                if let Some(status) = taints::lost(&node, self.clock.now()) {
                    let news = EventNote::normal(
                        "NodeNotReady",
                        "Watch",
                        format!("Node {request} status is now: NodeNotReady"),
                    );
                    self.events.tell(&*node, news);
                    let mut lost = node.clone().into_owned();
                    lost.status = Some(status);
                    self.client.update_status(&lost).await?;
                    self.mark_pods(request.name()).await?;
                    return Ok(Action::done());
                }
            } else {
                wait = Some(left);
            }
        } else {
            self.silent.lock().remove(request.name());
        }
        if let Some(taints) = taints::wanted(&node, self.clock.now()) {
            let patch = json!({
                "metadata": { "resourceVersion": node.metadata.resource_version }, "spec": { "taints": taints },
            });
            self.client.patch::<Node>(&request, &Patch::Merge(patch)).await?;
        }
        Ok(wait.map_or_else(Action::done, Action::requeue_after))
    }
}

impl Nodes {
    /// Pods on a lost node are not ready: nobody knows better.
    async fn mark_pods(&self, node: &str) -> Result<()> {
        let query = Query::all().indexed(index::NODE, node);
        for pod in self.client.list::<Pod>(&query).await? {
            if !pods::is_ready(&pod) {
                continue;
            }
            let mut unready = pod.clone().into_owned();
            let conditions = unready
                .status
                .get_or_insert_default()
                .conditions
                .get_or_insert_default();
            for condition in conditions.iter_mut().filter(|condition| condition.type_ == "Ready") {
                "False".clone_into(&mut condition.status);
                condition.last_transition_time = Some(crate::support::time::whole(self.clock.now()));
            }
            match self.client.update_status(&unready).await {
                Err(error) if !error.is_conflict() && !error.is_not_found() => return Err(error.into()),
                _ => self
                    .events
                    .tell(&*pod, EventNote::warning("NodeNotReady", "Watch", "Node is not ready")),
            }
        }
        Ok(())
    }
}
