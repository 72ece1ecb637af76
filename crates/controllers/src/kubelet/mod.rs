//! Simulated nodes, and the life of Pods on them: no containers, but everything one sees of them through the API.
//! [`lifecycle`] decides what happens to a Pod, [`node`] what a node says, [`script`] reads what annotations ask for, and
//! [`process`] runs what is not simulated.

mod addresses;
mod lifecycle;
pub(crate) mod node;
pub mod process;
mod script;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStatus, Node, Pod, PodStatus};
use kubewright_apimachinery::go::quote;
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::client::{Client, DeleteOptions, Error, Patch};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Predicate, Reconciler, Request, Result, Trigger};
use kubewright_runtime::events::{EventNote, Referable as _, Reference};
use kubewright_runtime::manager::RunContext;
use kubewright_runtime::object::{Kind, ObjectKey, View};
use kubewright_runtime::operator::Operator;
use serde_json::json;

use crate::support::events::EventRecorder;
use crate::support::{Settings, index, pods};
use addresses::Addresses;
use lifecycle::{Next, PodPlacement, ProcessStates};
use process::Runner;

/// What the nodes say they run.
const VERSION: &str = "v1.36.3";
/// How long to wait before a node is made again that could not be.
const PAUSE: Duration = Duration::from_secs(1);

/// Adds the controllers of nodes and of Pods.
pub(crate) fn add_to(operator: Operator, settings: &Settings) -> Operator {
    let (for_nodes, for_pods, count) = (settings.clone(), settings.clone(), settings.nodes);
    let runner = settings.processes.clone().map(Runner::new);
    let (for_trigger, for_end) = (runner.clone(), runner.clone());
    let nodes = Controller::of::<Node>()
        .named("kubelet-nodes")
        .source(move |_: Trigger, client| make_nodes(client, count))
        .reconcile_with(move |context| {
            let client = context.client();
            Nodes {
                clock: for_nodes.clock_of(&client),
                client,
            }
        });
    let pods = Controller::of::<Pod>()
        .named("kubelet")
        .of_when(Predicate::object::<Pod>(|pod| !pods::node_of(pod).is_empty()))
        .watches_with::<Node, _>(node_wakes)
        .max_concurrent_reconciles(16)
        .source(move |trigger: Trigger, _| {
            if let Some(runner) = &for_trigger {
                runner.wakes(trigger);
            }
            std::future::ready(())
        })
        .reconcile_with(move |context| {
            let client = context.client();
            Pods {
                runner: runner.clone(),
                clock: for_pods.clock_of(&client),
                events: for_pods.recorder("kubelet", &client),
                addresses: Arc::new(Addresses::default()),
                client,
            }
        });
    let operator = match for_end {
        Some(runner) => operator.runnable("kubelet-processes", move |context: RunContext| async move {
            runner.open()?;
            context.stop.stopped().await;
            runner.close().await;
            Ok(())
        }),
        None => operator,
    };
    operator
        .controller(nodes)
        .controller(pods)
        .index(index::NODE, index::node)
        .index::<Pod>(index::POD_IP, |pod| {
            let ip = pod.status.as_ref().and_then(|status| status.pod_ip.clone());
            ip.into_iter().collect()
        })
}

/// Makes the nodes that are not there.
async fn make_nodes(client: Client, count: usize) {
    for number in 1..=count {
        loop {
            match client.create(&node::named(number)).await {
                Ok(_) => break,
                Err(error) if error.is_already_exists() => break,
                Err(error) => {
                    tracing::warn!(%error, number, "a simulated node cannot be made");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

/// A node that fails or comes back wakes its Pods.
async fn node_wakes(client: Client, node: View<Node>) -> Vec<Request> {
    let pods = index::listed::<Pod>(client, index::NODE, node.key().name(), None).await;
    pods.into_iter().map(|pod| pod.key().clone().into()).collect()
}

struct Nodes {
    client: Client,
    clock: Clock,
}

impl Reconciler for Nodes {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(node) = self.client.get_opt::<Node>(&request).await? else {
            return Ok(Action::done());
        };
        let number = addresses::of_node(request.name());
        if let Some(status) = node::report(&node, &number, VERSION, self.clock.now()) {
            let mut node = node.into_owned();
            node.status = Some(status);
            return written(self.client.update_status(&node).await);
        }
        if let Some(taints) = node::without_not_ready(&node) {
            let patch = json!({
                "metadata": { "resourceVersion": node.metadata.resource_version }, "spec": { "taints": taints },
            });
            return written(self.client.patch::<Node>(&request, &Patch::Merge(patch)).await);
        }
        Ok(Action::done())
    }
}

/// The containers of which events tell, with the list of the Pod that each is in.
fn reported(status: &PodStatus) -> impl Iterator<Item = (&'static str, &ContainerStatus)> {
    let own = status.container_statuses.iter().flatten();
    let ephemeral = status.ephemeral_container_statuses.iter().flatten();
    own.map(|status| ("containers", status))
        .chain(ephemeral.map(|status| ("ephemeralContainers", status)))
}

/// Ignores conflicts: the write that won requeues the Pod.
fn written<K>(result: Result<K, Error>) -> Result {
    match result {
        Err(error) if !error.is_conflict() && !error.is_not_found() => Err(error.into()),
        _ => Ok(Action::done()),
    }
}

struct Pods {
    /// Runs the containers that are not simulated.
    runner: Option<Arc<Runner>>,
    client: Client,
    events: EventRecorder,
    addresses: Arc<Addresses>,
    clock: Clock,
}

impl Reconciler for Pods {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(pod) = self.client.get_opt::<Pod>(&request).await? else {
            if let Some(runner) = &self.runner {
                runner.discard(&request);
            }
            return Ok(Action::done());
        };
        let host = ObjectKey::cluster(pods::node_of(&pod));
        let Some(node) = self.client.get_opt::<Node>(&host).await? else {
            return Ok(Action::done());
        };
        if node::has_failed(&node) {
            return Ok(Action::done());
        }
        let (script, mistakes) = script::of_pod(&pod);
        let is_new = pod.status.as_ref().is_none_or(|status| status.start_time.is_none());
        for mistake in mistakes.iter().filter(|_| is_new) {
            let warning = EventNote::warning("InvalidAnnotation", "Start", mistake.to_string());
            self.events.record(&*pod, warning);
        }
        let pod_ip = self.address(&pod);
        let next = loop {
            let process_states = self.process_states(&pod, &request);
            let placement = PodPlacement {
                host_ip: node::address(&node),
                pod_ip: &pod_ip,
                now: self.clock.now(),
            };
            match (
                lifecycle::step(&pod, &script, &process_states, &placement),
                &self.runner,
            ) {
                // What has become of them decides what is next.
                (Next::Start(starts), Some(runner)) => {
                    for (container, run) in starts {
                        runner.start(&self.context(), &pod, &request, &container, run).await;
                    }
                }
                (next, _) => break next,
            }
        };
        self.carry_out(&request, pod, next).await
    }
}

impl Pods {
    async fn carry_out(&self, request: &Request, pod: View<Pod>, next: Next) -> Result {
        match next {
            Next::Nothing | Next::Start(_) => Ok(Action::done()),
            Next::Wait(wait) => Ok(Action::requeue_after(wait)),
            Next::Stop(grace) => {
                if let Some(runner) = &self.runner {
                    runner.stop(request, grace);
                }
                Ok(Action::done())
            }
            Next::Remove => {
                let now = DeleteOptions {
                    grace_period_seconds: Some(0),
                    uid: pod.metadata.uid.clone(),
                    ..DeleteOptions::default()
                };
                written(ignore_not_found(self.client.delete_with::<Pod>(request, &now).await))
            }
            Next::Status(status) => {
                self.record(&pod, &status);
                if let Some(runner) = &self.runner {
                    // Before anybody learns of its address.
                    runner.place(request, status.pod_ip.as_deref().unwrap_or_default());
                    self.explain_simulated(runner, &pod, &status);
                }
                let mut pod = pod.into_owned();
                pod.status = Some(*status);
                written(self.client.update_status(&pod).await)
            }
        }
    }

    fn context(&self) -> process::Context {
        process::Context {
            client: self.client.clone(),
            events: self.events.clone(),
            clock: self.clock,
        }
    }

    fn process_states(&self, pod: &Pod, key: &ObjectKey) -> ProcessStates {
        let runner = self.runner.as_ref();
        runner.map_or_else(ProcessStates::default, |runner| runner.process_states(pod, key))
    }

    /// Containers that seem to run although others really do say so, once.
    fn explain_simulated(&self, runner: &Runner, pod: &Pod, after: &PodStatus) {
        let was_running = |name: &str| {
            let mut before = pod.status.iter().flat_map(reported);
            before.any(|(_, status)| status.name == name && status.container_id.is_some())
        };
        for (_, status) in reported(after) {
            let is_simulated = status
                .container_id
                .as_deref()
                .is_some_and(|id| !id.starts_with(lifecycle::PROCESS));
            if is_simulated && !was_running(&status.name) {
                runner.explain_simulated(&self.events, pod, &status.name, &status.image);
            }
        }
    }

    /// The address of a Pod: the one it has, or the next that is free.
    fn address(&self, pod: &Pod) -> String {
        let own = pod.status.as_ref().and_then(|status| status.pod_ip.clone());
        own.unwrap_or_else(|| {
            self.addresses.next(|candidate| {
                let pods = self.client.cache().informer(&Kind::of::<Pod>());
                let found = pods.map(|pods| {
                    let pods = pods.lister::<Pod>();
                    let query = pods.index(index::POD_IP).map(|index| index.query(candidate));
                    query.is_ok_and(|query| pods.list(&query).is_ok_and(|found| !found.is_empty()))
                });
                found.unwrap_or_default()
            })
        })
    }

    /// That a container runs, in the words of a kubelet that found its image there.
    fn tell_start(&self, pod: &Pod, list: &str, container: &str, image: &str) {
        let part = Reference {
            field_path: format!("spec.{list}{{{container}}}"),
            ..pod.reference()
        };
        let pulled = format!(
            "Container image {} already present on machine and can be accessed by the pod",
            quote(image)
        );
        self.events.record(&part, EventNote::normal("Pulled", "Pull", pulled));
        self.events
            .record(&part, EventNote::normal("Created", "Start", "Container created"));
        self.events
            .record(&part, EventNote::normal("Started", "Start", "Container started"));
    }

    /// What people want to know of a change.
    fn record(&self, pod: &View<Pod>, after: &PodStatus) {
        for (list, status) in reported(after) {
            let mut before = pod.status.iter().flat_map(reported);
            let before = before.find(|(_, before)| before.name == status.name);
            let before = before.and_then(|(_, status)| status.state.as_ref());
            let Some(state) = status.state.as_ref().filter(|state| Some(*state) != before) else {
                continue;
            };
            let waiting = state.waiting.as_ref().and_then(|waiting| waiting.reason.as_deref());
            let note = match waiting {
                None if state.running.is_some() => {
                    self.tell_start(pod, list, &status.name, &status.image);
                    continue;
                }
                Some("ErrImagePull") => {
                    let why = state.waiting.as_ref().and_then(|waiting| waiting.message.as_deref());
                    let why = why.unwrap_or("unknown");
                    let text = format!("Failed to pull image \"{}\": {why}", status.image);
                    EventNote::warning("Failed", "Pull", text)
                }
                Some("CrashLoopBackOff") => {
                    let text = format!("Back-off restarting failed container {}", status.name);
                    EventNote::warning("BackOff", "Start", text)
                }
                Some("ImagePullBackOff") => EventNote::normal(
                    "BackOff",
                    "Pull",
                    format!("Back-off pulling image \"{}\"", status.image),
                ),
                _ => continue,
            };
            self.events.record(&**pod, note);
        }
    }
}
