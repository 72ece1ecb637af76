//! Puts Pods on nodes: by resources, ports, selectors, affinity, taints. No preemption. Nodes are not chosen by volumes, but [`volumes`]
//! that wait for a Pod get it with its node.

mod cache;
pub(crate) mod fit;
mod node_info;
mod pod_affinity;
mod requirements;
mod volumes;

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod, PodCondition};
use kubewright_runtime::cache::{Event, Registration};
use kubewright_runtime::client::{Client, Error};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Predicate, Reconciler, Request, Result, Trigger};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::{Kind, Object, View};
use kubewright_runtime::operator::Operator;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::events::EventRecorder;
use crate::support::time::whole;
use crate::support::{Settings, pods};
use cache::{Placement, SchedulerCache};
use requirements::Requirements;

/// Adds the scheduler.
pub(crate) fn add_to(operator: Operator, settings: &Settings) -> Operator {
    let settings = settings.clone();
    let slot: Arc<Mutex<Option<Trigger>>> = Arc::default();
    let trigger = Arc::clone(&slot);
    let controller = Controller::of::<Pod>()
        .named("default-scheduler")
        .of_when(Predicate::object::<Pod>(waits))
        .reads::<Node>()
        .source(move |trigger, _| {
            // The ledger wakes those who wait: it knows when there may be room for them.
            *slot.lock() = Some(trigger);
            std::future::ready(())
        })
        .max_concurrent_reconciles(4)
        .reconcile_with(move |context| Scheduler::new(context.client(), &settings, trigger.lock().clone()));
    operator.controller(controller)
}

/// Whether a Pod waits for a node.
fn waits(pod: &Pod) -> bool {
    let spec = pod.spec.as_ref();
    let scheduler = spec.and_then(|spec| spec.scheduler_name.as_deref());
    let gated = spec
        .and_then(|spec| spec.scheduling_gates.as_ref())
        .is_some_and(|gates| !gates.is_empty());
    pods::node_of(pod).is_empty()
        && pods::is_active(pod)
        && !gated
        && scheduler.is_none_or(|scheduler| scheduler == "default-scheduler")
}

struct Scheduler {
    client: Client,
    events: EventRecorder,
    clock: Clock,
    cache: Arc<SchedulerCache>,
    expects_nodes: bool,
    _handlers: Vec<Registration>,
}

impl Scheduler {
    fn new(client: Client, settings: &Settings, trigger: Option<Trigger>) -> Self {
        let cache = Arc::new(SchedulerCache::new(trigger));
        let handlers = [
            handler::<Node>(&client, &cache, SchedulerCache::node_event),
            handler::<Pod>(&client, &cache, SchedulerCache::pod_event),
        ];
        Scheduler {
            clock: settings.clock_of(&client),
            events: settings.recorder("default-scheduler", &client),
            expects_nodes: settings.expects_nodes,
            client,
            cache,
            _handlers: handlers.into_iter().flatten().collect(),
        }
    }

    async fn bind(&self, pod: &View<Pod>, node: &str) -> Result<(), Error> {
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": { "name": pod.key().name(), "namespace": pod.key().namespace(), "uid": pod.metadata.uid },
            "target": { "apiVersion": "v1", "kind": "Node", "name": node },
        });
        let bindings = self.client.of::<Pod>().subresource("binding");
        bindings.create_as::<Value>(pod.key(), &binding).await?;
        Ok(())
    }

    /// Records that no node fits a Pod, unless its status says so already.
    async fn report_unschedulable(&self, pod: &View<Pod>, message: String) -> Result {
        let known = pods::condition(pod, "PodScheduled")
            .is_some_and(|condition| condition.status == "False" && condition.message.as_ref() == Some(&message));
        if known {
            return Ok(Action::done());
        }
        self.events.record(
            &**pod,
            EventNote::warning("FailedScheduling", "Scheduling", message.clone()),
        );
        let mut pod = pod.clone().into_owned();
        let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
        let since = conditions
            .iter()
            .find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")
            .and_then(|condition| condition.last_transition_time.clone());
        conditions.retain(|condition| condition.type_ != "PodScheduled");
        conditions.push(PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            reason: Some("Unschedulable".to_owned()),
            message: Some(message),
            last_transition_time: since.or_else(|| Some(whole(self.clock.now()))),
            ..PodCondition::default()
        });
        match self.client.update_status(&pod).await {
            Err(error) if !error.is_conflict() && !error.is_not_found() => Err(error.into()),
            _ => Ok(Action::done()),
        }
    }
}

fn handler<K: Object>(
    client: &Client,
    cache: &Arc<SchedulerCache>,
    take: fn(&SchedulerCache, &Event),
) -> Option<Registration> {
    let informer = client.cache().informer(&Kind::of::<K>())?;
    let cache = Arc::clone(cache);
    Some(informer.add_handler(move |event: &Event| take(&cache, event)))
}

impl Reconciler for Scheduler {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(pod) = self.client.get_opt::<Pod>(&request).await? else {
            return Ok(Action::done());
        };
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        if !waits(&pod) || self.cache.has(&uid) {
            return Ok(Action::done());
        }
        let node = match self.cache.place(Requirements::of(&pod, &request), self.expects_nodes) {
            Placement::Node(node) => node,
            Placement::Unschedulable(message) => return self.report_unschedulable(&pod, message).await,
            // The first node that is ready requeues all unschedulable Pods.
            Placement::NoNodesYet => return Ok(Action::done()),
        };
        let bound = match volumes::bind(&self.client, &pod, &node).await {
            Ok(()) => self.bind(&pod, &node).await,
            Err(error) => Err(error),
        };
        if let Err(error) = bound {
            self.cache.forget(&uid);
            return match error {
                // The Pod was deleted, or another scheduler bound it, or somebody else took its volume: then it is still there.
                error if error.is_conflict() || error.is_not_found() => Ok(Action::requeue()),
                error => Err(error.into()),
            };
        }
        let text = format!("Successfully assigned {request} to {node}");
        self.events
            .record(&*pod, EventNote::normal("Scheduled", "Binding", text));
        Ok(Action::done())
    }
}
