//! What is where: kept up to date by the cache, and by the scheduler's own decisions before the cache has seen them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kubewright_runtime::cache::Event;
use kubewright_runtime::object::Record;
use parking_lot::Mutex;

use super::fit::{self, Host};
use super::needs::Needs;
use crate::support::pods;

/// Nodes and the Pods on them.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    hosts: BTreeMap<String, Host>,
    /// Where each Pod is, by uid.
    places: HashMap<String, String>,
    /// Whether a node was ever ready.
    seen_ready: bool,
}

impl State {
    fn put(&mut self, node: &str, needs: Needs) {
        self.take(&needs.uid);
        self.places.insert(needs.uid.clone(), node.to_owned());
        self.hosts.entry(node.to_owned()).or_default().add(needs);
    }

    fn take(&mut self, uid: &str) {
        if let Some(host) = self.places.remove(uid).and_then(|node| self.hosts.get_mut(&node)) {
            host.remove(uid);
        }
    }
}

impl Ledger {
    /// A Pod changed.
    pub(super) fn pod_event(&self, event: &Event) {
        let record = event.object();
        if matches!(event, Event::Deleted { .. }) {
            return self.0.lock().take(&record.uid());
        }
        let Ok(pod) = Record::view::<Pod>(record) else {
            return;
        };
        let node = pods::node_of(&pod);
        if pods::is_terminal(&pod) {
            self.0.lock().take(&record.uid());
        } else if !node.is_empty() {
            let mut state = self.0.lock();
            if state.places.get(&*record.uid()).is_none_or(|known| known != node) {
                state.put(node, Needs::of(&pod, record.key()));
            }
        }
    }

    /// A node changed.
    pub(super) fn node_event(&self, event: &Event) {
        let record: &Arc<Record> = event.object();
        let mut state = self.0.lock();
        let host = state.hosts.entry(record.key().name().to_owned()).or_default();
        match Record::view::<Node>(record) {
            Ok(node) if !matches!(event, Event::Deleted { .. }) => host.describe(&node),
            _ => host.exists = false,
        }
        let is_ready = host.exists
            && !host
                .taints
                .iter()
                .any(|taint| taint.key == "node.kubernetes.io/not-ready");
        state.seen_ready |= is_ready;
    }

    /// Finds the best node for a Pod and puts it there; or says why there is none.
    pub(super) fn place(&self, needs: Needs) -> Result<String, String> {
        let mut state = self.0.lock();
        let hosts = || state.hosts.values().filter(|host| host.exists);
        let mut counted: BTreeMap<String, usize> = BTreeMap::new();
        let mut best = None;
        for host in hosts() {
            let reasons = fit::reasons(&needs, host, &hosts());
            if reasons.is_empty() {
                let cost = fit::cost(&needs, host);
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, host.name.clone()));
                }
            }
            for reason in reasons {
                *counted.entry(reason).or_default() += 1;
            }
        }
        let Some((_, node)) = best else {
            return Err(refusal(hosts().count(), &counted));
        };
        state.put(&node, needs);
        Ok(node)
    }

    /// Whether a Pod is somewhere already.
    pub(super) fn has(&self, uid: &str) -> bool {
        self.0.lock().places.contains_key(uid)
    }

    /// Whether there was ever a node to put Pods on.
    pub(super) fn has_seen_a_node(&self) -> bool {
        self.0.lock().seen_ready
    }

    /// A Pod did not come to where it was put.
    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().take(uid);
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
