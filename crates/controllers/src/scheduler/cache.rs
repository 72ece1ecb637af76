//! The scheduler's view of nodes and the Pods on them: informers keep it up to date, and the scheduler's own decisions enter it
//! before the informers have seen them. An unschedulable Pod is recorded under the lock under which no node was found for it, so
//! that no event that may make room for it is missed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kubewright_runtime::cache::Event;
use kubewright_runtime::controller::Trigger;
use kubewright_runtime::object::{ObjectKey, Record};
use parking_lot::Mutex;

use super::fit;
use super::node_info::NodeInfo;
use super::pod_affinity::PodAffinity;
use super::requirements::Requirements;
use crate::support::pods;

/// Nodes and the Pods on them.
#[derive(Debug, Default)]
pub(super) struct SchedulerCache {
    state: Mutex<State>,
    trigger: Option<Trigger>,
}

/// The result of scheduling a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// The Pod is assigned to this node.
    Node(String),
    /// No node fits, with the reasons.
    Unschedulable(String),
    /// No node has been ready yet, but one is expected.
    NoNodesYet,
}

#[derive(Debug, Default)]
struct State {
    nodes: BTreeMap<String, NodeInfo>,
    /// The node of each Pod, by the Pod's uid.
    assigned: HashMap<String, String>,
    /// Whether a node was ever ready.
    seen_ready: bool,
    /// Unschedulable Pods, and whether each has affinity to other Pods.
    unschedulable_pods: BTreeMap<ObjectKey, bool>,
}

impl State {
    fn put(&mut self, node: &str, requirements: Requirements) {
        self.take(&requirements.uid);
        if let Some(key) = &requirements.key {
            self.unschedulable_pods.remove(key);
        }
        self.assigned.insert(requirements.uid.clone(), node.to_owned());
        self.nodes.entry(node.to_owned()).or_default().add(requirements);
    }

    fn take(&mut self, uid: &str) -> bool {
        let Some(node) = self.assigned.remove(uid) else {
            return false;
        };
        if let Some(info) = self.nodes.get_mut(&node) {
            info.remove(uid);
        }
        true
    }

    /// Takes all unschedulable Pods: there is more room, so each is tried again.
    fn take_unschedulable(&mut self) -> Vec<ObjectKey> {
        std::mem::take(&mut self.unschedulable_pods).into_keys().collect()
    }

    /// Takes the unschedulable Pods with affinity to other Pods: one more Pod is on a node.
    fn waiting_for_pods(&mut self) -> Vec<ObjectKey> {
        let wake: Vec<_> = self
            .unschedulable_pods
            .extract_if(.., |_, has_affinity| *has_affinity)
            .collect();
        wake.into_iter().map(|(key, _)| key).collect()
    }
}

impl SchedulerCache {
    /// A cache that requeues unschedulable Pods through a trigger.
    pub(super) fn new(trigger: Option<Trigger>) -> Self {
        SchedulerCache {
            state: Mutex::default(),
            trigger,
        }
    }

    fn wake(&self, keys: Vec<ObjectKey>) {
        for key in keys {
            if let Some(trigger) = &self.trigger {
                trigger.wake(key);
            }
        }
    }

    /// Handles an event of a Pod.
    pub(super) fn pod_event(&self, event: &Event) {
        let record = event.object();
        if matches!(event, Event::Deleted { .. }) {
            let mut state = self.state.lock();
            state.unschedulable_pods.remove(record.key());
            return self.taken(state, &record.uid());
        }
        let Ok(pod) = Record::view::<Pod>(record) else {
            return;
        };
        let node = pods::node_of(&pod);
        if pods::is_terminal(&pod) {
            self.taken(self.state.lock(), &record.uid());
        } else if !node.is_empty() {
            let mut state = self.state.lock();
            if state.assigned.get(&*record.uid()).is_none_or(|known| known != node) {
                state.put(node, Requirements::of(&pod, record.key()));
                let wake = state.waiting_for_pods();
                drop(state);
                self.wake(wake);
            }
        }
    }

    /// Removes a Pod from its node.
    fn taken(&self, mut state: parking_lot::MutexGuard<'_, State>, uid: &str) {
        if state.take(uid) {
            let wake = state.take_unschedulable();
            drop(state);
            self.wake(wake);
        }
    }

    /// Handles an event of a node.
    pub(super) fn node_event(&self, event: &Event) {
        let record: &Arc<Record> = event.object();
        let mut state = self.state.lock();
        let info = state.nodes.entry(record.key().name().to_owned()).or_default();
        let is_news = match Record::view::<Node>(record) {
            Ok(node) if !matches!(event, Event::Deleted { .. }) => info.describe(&node),
            _ => std::mem::replace(&mut info.exists, false),
        };
        let is_ready = info.exists
            && !info
                .description
                .taints
                .iter()
                .any(|taint| taint.key == "node.kubernetes.io/not-ready");
        state.seen_ready |= is_ready;
        if is_news {
            let wake = state.take_unschedulable();
            drop(state);
            self.wake(wake);
        }
    }

    /// Assigns a Pod to the node that fits best, or says why none does. With `expects_nodes`, a Pod is not unschedulable before
    /// the first node is ready.
    pub(super) fn place(&self, requirements: Requirements, expects_nodes: bool) -> Placement {
        let mut state = self.state.lock();
        let found = if expects_nodes && !state.seen_ready {
            Err(None)
        } else {
            best(&requirements, &state.nodes).map_err(Some)
        };
        match found {
            Ok(node) => {
                state.put(&node, requirements);
                let wake = state.waiting_for_pods();
                drop(state);
                self.wake(wake);
                Placement::Node(node)
            }
            Err(why) => {
                if let Some(key) = requirements.key {
                    state.unschedulable_pods.insert(key, !requirements.together.is_empty());
                }
                why.map_or(Placement::NoNodesYet, Placement::Unschedulable)
            }
        }
    }

    /// Whether a Pod is assigned to a node.
    pub(super) fn has(&self, uid: &str) -> bool {
        self.state.lock().assigned.contains_key(uid)
    }

    /// Undoes an assignment that could not be bound.
    pub(super) fn forget(&self, uid: &str) {
        self.taken(self.state.lock(), uid);
    }
}

/// The name of the node that fits a Pod best, or why none fits.
fn best(requirements: &Requirements, nodes: &BTreeMap<String, NodeInfo>) -> Result<String, String> {
    let nodes = || nodes.values().filter(|info| info.exists);
    let affinity = PodAffinity::around(requirements, &nodes());
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    let mut best = None;
    for info in nodes() {
        let reasons = fit::reasons(requirements, info, &affinity);
        if reasons.is_empty() {
            let cost = fit::cost(requirements, info);
            if best.is_none_or(|least| cost < least) {
                best = Some(cost);
            }
        }
        for reason in reasons {
            *counted.entry(reason).or_default() += 1;
        }
    }
    match best {
        Some((.., name)) => Ok(name.to_owned()),
        None => Err(refusal(nodes().count(), &counted)),
    }
}

fn refusal(nodes: usize, reasons: &BTreeMap<String, usize>) -> String {
    if nodes == 0 {
        return "no nodes available to schedule pods".to_owned();
    }
    let mut words: Vec<_> = reasons
        .iter()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    words.sort();
    format!(
        "0/{nodes} nodes are available: {}. preemption: 0/{nodes} nodes are available: {nodes} Preemption is not helpful \
         for scheduling.",
        words.join(", ")
    )
}
