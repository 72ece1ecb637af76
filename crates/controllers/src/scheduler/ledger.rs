//! What is where: kept up to date by the cache, and by the scheduler's own decisions before the cache has seen them.
//! Who found no place is woken by what may make room: it is noted down under the lock under which the place was looked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kubewright_runtime::cache::Event;
use kubewright_runtime::controller::Trigger;
use kubewright_runtime::object::{ObjectKey, Record};
use parking_lot::Mutex;

use super::crowd::Crowd;
use super::fit;
use super::host::Host;
use super::needs::Needs;
use crate::support::pods;

/// Nodes and the Pods on them.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    state: Mutex<State>,
    trigger: Option<Trigger>,
}

/// What became of a Pod that looked for a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// It is on this node.
    Node(String),
    /// There is no place for it, and why.
    Refused(String),
    /// There was no node ever, but there will be.
    TooEarly,
}

#[derive(Debug, Default)]
struct State {
    hosts: BTreeMap<String, Host>,
    /// Where each Pod is, by uid.
    places: HashMap<String, String>,
    /// Whether a node was ever ready.
    seen_ready: bool,
    /// Who found no place, and whether that may be for want of company.
    refused: BTreeMap<ObjectKey, bool>,
}

impl State {
    fn put(&mut self, node: &str, needs: Needs) {
        self.take(&needs.uid);
        if let Some(key) = &needs.key {
            self.refused.remove(key);
        }
        self.places.insert(needs.uid.clone(), node.to_owned());
        self.hosts.entry(node.to_owned()).or_default().add(needs);
    }

    fn take(&mut self, uid: &str) -> bool {
        let Some(node) = self.places.remove(uid) else {
            return false;
        };
        if let Some(host) = self.hosts.get_mut(&node) {
            host.remove(uid);
        }
        true
    }

    /// There is more room: everybody may try again.
    fn all_refused(&mut self) -> Vec<ObjectKey> {
        std::mem::take(&mut self.refused).into_keys().collect()
    }

    /// There is more company: who looks for it may try again.
    fn refused_for_company(&mut self) -> Vec<ObjectKey> {
        let wake: Vec<_> = self.refused.extract_if(.., |_, company| *company).collect();
        wake.into_iter().map(|(key, _)| key).collect()
    }
}

impl Ledger {
    /// A ledger that wakes Pods by a trigger.
    pub(super) fn new(trigger: Option<Trigger>) -> Self {
        Ledger {
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

    /// A Pod changed.
    pub(super) fn pod_event(&self, event: &Event) {
        let record = event.object();
        if matches!(event, Event::Deleted { .. }) {
            let mut state = self.state.lock();
            state.refused.remove(record.key());
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
            if state.places.get(&*record.uid()).is_none_or(|known| known != node) {
                state.put(node, Needs::of(&pod, record.key()));
                let wake = state.refused_for_company();
                drop(state);
                self.wake(wake);
            }
        }
    }

    /// A Pod is not where it was any more.
    fn taken(&self, mut state: parking_lot::MutexGuard<'_, State>, uid: &str) {
        if state.take(uid) {
            let wake = state.all_refused();
            drop(state);
            self.wake(wake);
        }
    }

    /// A node changed.
    pub(super) fn node_event(&self, event: &Event) {
        let record: &Arc<Record> = event.object();
        let mut state = self.state.lock();
        let host = state.hosts.entry(record.key().name().to_owned()).or_default();
        let is_news = match Record::view::<Node>(record) {
            Ok(node) if !matches!(event, Event::Deleted { .. }) => host.describe(&node),
            _ => std::mem::replace(&mut host.exists, false),
        };
        let is_ready = host.exists
            && !host
                .description
                .taints
                .iter()
                .any(|taint| taint.key == "node.kubernetes.io/not-ready");
        state.seen_ready |= is_ready;
        if is_news {
            let wake = state.all_refused();
            drop(state);
            self.wake(wake);
        }
    }

    /// Finds the best node for a Pod and puts it there; or says why there is none. While the first node comes up
    /// (`expects_nodes`) there is nothing to complain about.
    pub(super) fn place(&self, needs: Needs, expects_nodes: bool) -> Placement {
        let mut state = self.state.lock();
        let found = if expects_nodes && !state.seen_ready {
            Err(None)
        } else {
            best(&needs, &state.hosts).map_err(Some)
        };
        match found {
            Ok(node) => {
                state.put(&node, needs);
                let wake = state.refused_for_company();
                drop(state);
                self.wake(wake);
                Placement::Node(node)
            }
            Err(why) => {
                if let Some(key) = needs.key {
                    state.refused.insert(key, !needs.together.is_empty());
                }
                why.map_or(Placement::TooEarly, Placement::Refused)
            }
        }
    }

    /// Whether a Pod is somewhere already.
    pub(super) fn has(&self, uid: &str) -> bool {
        self.state.lock().places.contains_key(uid)
    }

    /// A Pod did not come to where it was put.
    pub(super) fn forget(&self, uid: &str) {
        self.taken(self.state.lock(), uid);
    }
}

/// The node that suits a Pod best, or why none does.
fn best(needs: &Needs, hosts: &BTreeMap<String, Host>) -> Result<String, String> {
    let hosts = || hosts.values().filter(|host| host.exists);
    let crowd = Crowd::around(needs, &hosts());
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    let mut best = None;
    for host in hosts() {
        let reasons = fit::reasons(needs, host, &crowd);
        if reasons.is_empty() {
            let cost = fit::cost(needs, host);
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
        None => Err(refusal(hosts().count(), &counted)),
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
