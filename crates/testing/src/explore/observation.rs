//! What is seen of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use kubewright_apiserver::ApiServer;
use serde_json::Value;

use super::canonical::State;
use super::cluster::Cluster;
use super::compare::Difference;
use super::plan::ObjectName;
use crate::traffic::JournaledWrite;

/// The cluster after a step, when it had settled.
#[derive(Clone, Debug, Default)]
pub(super) struct Boundary {
    pub(super) state: State,
    pub(super) cluster: Cluster,
    /// Keys that fail on and on.
    pub(super) failing: Vec<String>,
    /// What the operator made and is there.
    pub(super) made: Vec<ObjectName>,
    /// What the steps made and is there.
    pub(super) given: Vec<ObjectName>,
}

/// A cluster before a step, from which runs begin.
pub(super) struct Checkpoint {
    pub(super) server: ApiServer,
    pub(super) now: Timestamp,
    pub(super) namespace: String,
    pub(super) cluster: Cluster,
    pub(super) ledger: Ledger,
    pub(super) external: Option<Value>,
}

/// A run from its first step to its end.
#[derive(Default)]
pub(super) struct Observation {
    /// One for each step that was taken, the first of which is `first`.
    pub(super) boundaries: Vec<Boundary>,
    pub(super) first: usize,
    pub(super) writes: Vec<JournaledWrite>,
    /// What is wrong whatever the reference did.
    pub(super) problems: Vec<Difference>,
    /// One before each step, if they were asked for.
    pub(super) checkpoints: Vec<Checkpoint>,
    /// Whether what was planned has happened.
    pub(super) reached: bool,
    /// The number of the edit that the server refused.
    pub(super) refused_edit: Option<usize>,
}

impl Observation {
    /// The boundary after a step, by the step's number.
    pub(super) fn after(&self, step: usize) -> Option<&Boundary> {
        self.boundaries.get(step.checked_sub(self.first)?)
    }
}

/// Who made which objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// What was there before the first step.
    before: BTreeSet<ObjectName>,
    /// What the operator made, generated names as `prefix*`.
    made: BTreeSet<ObjectName>,
    had_owners: bool,
}

impl Ledger {
    pub(super) fn new(cluster: &Cluster) -> Self {
        Ledger {
            before: cluster.objects().keys().cloned().collect(),
            ..Ledger::default()
        }
    }

    /// Learns from writes and from the cluster after them.
    pub(super) fn learn(&mut self, writes: &[JournaledWrite], cluster: &Cluster) {
        for write in writes {
            let created = write.effective && (write.address.verb == "create" || write.code == Some(201));
            if created && !write.address.resource.contains('/') {
                self.made.insert(ObjectName {
                    resource: write.address.resource.clone(),
                    name: write.address.name.clone(),
                });
            }
        }
        let has_owners = self.owners(cluster).next().is_some();
        self.had_owners |= has_owners;
    }

    /// What the steps made.
    pub(super) fn owners<'a>(&'a self, cluster: &'a Cluster) -> impl Iterator<Item = (&'a ObjectName, &'a Arc<Value>)> {
        let objects = cluster.objects().iter();
        objects.filter(|(name, object)| !self.before.contains(name) && is_of_the_test(object))
    }

    /// What the operator made and is there.
    pub(super) fn made<'a>(&'a self, cluster: &'a Cluster) -> impl Iterator<Item = &'a ObjectName> {
        let objects = cluster.objects().iter();
        let made = objects.filter(|(name, object)| self.made.contains(&family(name, object)));
        made.map(|(name, _)| name)
    }

    /// What the operator made, and is still there although all that the steps made is gone.
    pub(super) fn left_behind<'a>(&'a self, cluster: &'a Cluster) -> Vec<&'a ObjectName> {
        if !self.had_owners || self.owners(cluster).next().is_some() {
            return Vec::new();
        }
        self.made(cluster).collect()
    }
}

/// An object as plans name it: `prefix*` for a generated name.
pub(super) fn family(name: &ObjectName, object: &Value) -> ObjectName {
    let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default();
    if prefix.is_empty() {
        return name.clone();
    }
    ObjectName {
        resource: name.resource.clone(),
        name: format!("{prefix}*"),
    }
}

/// Whether the test's own client made an object.
fn is_of_the_test(object: &Value) -> bool {
    let entries = object["metadata"]["managedFields"].as_array();
    entries.is_some_and(|entries| entries.iter().any(|entry| entry["manager"] == crate::env::FIELD_OWNER))
}
