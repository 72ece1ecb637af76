//! Nodes that fail: their condition, the taints that follow from conditions, and Pods that do not tolerate them.

mod eviction;
mod taints;

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, NodeStatus, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_runtime::client::{Client, Patch};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Reconciler, Request, Result};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::View;
use kubewright_runtime::operator::Operator;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use crate::kubelet::node;
use crate::support::events::EventRecorder;
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
                events: settings.recorder("node-controller", &client),
                known: Mutex::default(),
                client,
            }
        });
    operator.controller(controller).index(index::NODE, index::node)
}

/// Adds the controller that evicts Pods.
pub(crate) fn add_eviction(operator: Operator, settings: &Settings) -> Operator {
    operator
        .controller(eviction::controller(settings))
        .index(index::NODE, index::node)
}

/// What the controller remembers of a node.
struct NodeRecord {
    uid: String,
    /// Since when it is silent, if it has failed.
    silent_since: Option<Instant>,
}

struct Nodes {
    client: Client,
    events: EventRecorder,
    clock: Clock,
    known: Mutex<BTreeMap<String, NodeRecord>>,
}

impl Reconciler for Nodes {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(node) = self.client.get_opt::<Node>(&request).await? else {
            self.forget(request.name());
            return Ok(Action::done());
        };
        let left = self.observe(&node);
        if left.is_some_and(|left| left.is_zero()) {
            if let Some(status) = taints::lost(&node, self.clock.now()) {
                return self.lose(&node, status).await;
            }
            // Who said that the node is lost may have ended before the Pods were marked, or failed at one.
            self.mark_pods(request.name()).await?;
        }
        let labels = taints::old_labels(&node);
        if let Some(taints) = taints::wanted(&node, self.clock.now()) {
            let patch = json!({
                "metadata": { "resourceVersion": node.metadata.resource_version, "labels": labels },
                "spec": { "taints": taints },
            });
            self.client.patch::<Node>(&request, &Patch::Merge(patch)).await?;
        } else if !labels.is_empty() {
            let patch = json!({ "metadata": { "labels": labels } });
            self.client.patch::<Node>(&request, &Patch::Merge(patch)).await?;
        }
        let wait = left.filter(|left| !left.is_zero());
        Ok(wait.map_or_else(Action::done, Action::requeue_after))
    }
}

impl Nodes {
    /// Records the event of a new node. How long until a failed node counts as lost.
    fn observe(&self, node: &View<Node>) -> Option<Duration> {
        let (name, uid) = (node.key().name(), node.metadata.uid.clone().unwrap_or_default());
        let mut all = self.known.lock();
        if all.get(name).is_none_or(|record| record.uid != uid) {
            all.insert(
                name.to_owned(),
                NodeRecord {
                    uid,
                    silent_since: None,
                },
            );
            let text = format!("Node {name} event: Registered Node {name} in Controller");
            self.events
                .record(&**node, EventNote::normal("RegisteredNode", "Register", text));
        }
        let record = all.get_mut(name)?;
        if !node::has_failed(node) {
            record.silent_since = None;
            return None;
        }
        let since = *record.silent_since.get_or_insert_with(Instant::now);
        Some(GRACE.saturating_sub(since.elapsed()))
    }

    /// Records the event of a deleted node.
    fn forget(&self, name: &str) {
        let Some(record) = self.known.lock().remove(name) else {
            return;
        };
        let gone = Node {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                uid: Some(record.uid),
                ..ObjectMeta::default()
            },
            ..Node::default()
        };
        let text = format!("Node {name} event: Removing Node {name} from Controller");
        self.events
            .record(&gone, EventNote::normal("RemovingNode", "Remove", text));
    }

    /// Sets the conditions of a node that is silent to `Unknown`.
    async fn lose(&self, node: &View<Node>, status: NodeStatus) -> Result {
        let name = node.key().name();
        let was_ready = node::condition(node, "Ready").is_some_and(|ready| ready.status == "True");
        let mut lost = node.clone().into_owned();
        lost.status = Some(status);
        self.client.update_status(&lost).await?;
        if was_ready {
            let text = format!("Node {name} status is now: NodeNotReady");
            self.events
                .record(&**node, EventNote::normal("NodeNotReady", "Watch", text));
            self.mark_pods(name).await?;
        }
        Ok(Action::done())
    }

    /// Marks the Pods of a lost node as not ready.
    async fn mark_pods(&self, node: &str) -> Result<()> {
        let query = index::by::<Pod>(&self.client, index::NODE, node)?;
        for pod in self.client.list(&query).await? {
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
                Ok(_) => self
                    .events
                    .record(&*pod, EventNote::warning("NodeNotReady", "Watch", "Node is not ready")),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
