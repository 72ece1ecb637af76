//! What is seen of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kubewright_apiserver::{ApiServer, StoredObject};
use kubewright_runtime::object::{Kind, ObjectKey};
use kubewright_runtime::trace::{Change, TraceRecord};
use serde_json::Value;

use super::canonical::State;
use super::cluster::{Cluster, Followed};
use super::compare::Difference;
use super::plan::ObjectName;
use super::rest::WriteCounts;
use super::story_event::ObjectStory;
use crate::traffic::{JournaledWrite, Right, TROUBLE, WebhookCall};

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
    /// What the steps made, is there and can be deleted at once.
    pub(super) owners: Vec<ObjectName>,
    /// What was written in a minute in which nothing happened.
    pub(super) at_rest: WriteCounts,
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
    /// The rights that reads of the server needed, with their steps, and how often.
    pub(super) reads: BTreeMap<(usize, Right), u64>,
    /// Those of them before a step had settled.
    pub(super) reads_in_steps: BTreeMap<(usize, Right), u64>,
    /// The changes of all objects, whoever made them, in order.
    pub(super) changes: Vec<ClusterChange>,
    /// What the operator did, in order.
    pub(super) trace: Vec<Arc<TraceRecord>>,
    /// The namespace of the test.
    pub(super) namespace: String,
    /// The revision at which each step that was taken began.
    pub(super) began: Vec<u64>,
    /// The resources that the operator watches.
    pub(super) watched: BTreeSet<String>,
    /// Whether the operator has webhooks.
    pub(super) has_webhooks: bool,
    /// Their calls, with the steps.
    pub(super) webhook_calls: Vec<(usize, WebhookCall)>,
    /// What is wrong whatever the reference did.
    pub(super) problems: Vec<Difference>,
    /// The names of such problems that are accepted.
    pub(super) tolerated: BTreeSet<String>,
    /// One before each step, if they were asked for.
    pub(super) checkpoints: Vec<Checkpoint>,
    /// Whether what was planned has happened.
    pub(super) reached: bool,
    /// The number of the edit that the server refused.
    pub(super) refused_edit: Option<usize>,
}

impl Observation {
    /// The changes in a step, by the step's number.
    pub(super) fn changes_in(&self, step: usize) -> &[ClusterChange] {
        let at = step.checked_sub(self.first).and_then(|at| self.began.get(at));
        let (Some(began), Some(after)) = (at, self.after(step)) else {
            return &[];
        };
        let from = self.changes.partition_point(|change| change.revision <= *began);
        let to = self
            .changes
            .partition_point(|change| change.revision <= after.cluster.revision());
        self.changes.get(from..to).unwrap_or_default()
    }

    /// Whether webhooks were called in the step of a write after it, so soon that trouble that begins with it is met.
    pub(super) fn calls_webhooks_after(&self, write: &JournaledWrite) -> bool {
        let mut calls = self.webhook_calls.iter();
        calls.any(|(step, call)| {
            *step == write.step && call.number >= write.webhook_calls && call.at < write.sent + TROUBLE
        })
    }

    /// Whether webhooks were called in a step before the operator wrote something: for users, or to convert what it watches.
    pub(super) fn calls_webhooks_before_writes(&self, step: usize) -> bool {
        let mut writes = self.writes.iter();
        let first = writes.find(|write| write.step == step && write.effective);
        let mut calls = self.webhook_calls.iter().filter(|(at, _)| *at == step);
        calls.any(|(_, call)| first.is_none_or(|write| call.number < write.webhook_calls))
    }

    /// The number of the step in which a revision was written.
    pub(super) fn step_at(&self, revision: u64) -> Option<usize> {
        let begun = self.began.iter().filter(|began| **began < revision).count();
        begun.checked_sub(1).map(|at| self.first + at)
    }

    /// The boundary after a step, by the step's number.
    pub(super) fn after(&self, step: usize) -> Option<&Boundary> {
        self.boundaries.get(step.checked_sub(self.first)?)
    }
}

/// A change of an object.
#[derive(Clone, Debug)]
pub(super) struct ClusterChange {
    pub(super) revision: u64,
    pub(super) name: ObjectName,
    pub(super) what: Change,
    before: Option<StoredObject>,
    /// The object after it, or what it was last.
    object: Option<StoredObject>,
}

impl ClusterChange {
    pub(super) fn of(revision: u64, followed: &Followed) -> Self {
        let what = match (&followed.before, &followed.after) {
            (_, None) => Change::Deleted,
            (None, Some(_)) => Change::Created,
            (Some(_), Some(_)) => Change::Updated,
        };
        ClusterChange {
            revision,
            name: followed.name.clone(),
            what,
            before: followed.before.clone(),
            object: followed.after.clone().or_else(|| followed.before.clone()),
        }
    }

    /// Whether it is a change of this object.
    pub(super) fn is_of(&self, kind: &Kind, key: &ObjectKey) -> bool {
        let group = self.name.resource.split_once('.').map_or("", |(_, group)| group);
        self.object.as_ref().is_some_and(|object| {
            object.kind() == kind.kind()
                && group == kind.group()
                && (object.namespace(), object.name()) == (key.namespace(), key.name())
        })
    }

    /// The object before it and after it.
    pub(super) fn story(&self) -> ObjectStory {
        ObjectStory {
            name: self.name.to_string(),
            revision: self.revision,
            before: self.before.clone(),
            after: self.object.clone().filter(|_| !self.is_gone()),
        }
    }

    /// Whether the test itself wrote it.
    pub(super) fn is_of_the_test(&self) -> bool {
        self.by() == Some(crate::env::FIELD_OWNER)
    }

    /// Who wrote it, if that is known.
    pub(super) fn by(&self) -> Option<&str> {
        self.object
            .as_ref()
            .filter(|_| !self.is_gone())
            .and_then(newest_manager)
    }

    pub(super) fn is_gone(&self) -> bool {
        self.what == Change::Deleted
    }
}

/// Who wrote an object last.
fn newest_manager(object: &StoredObject) -> Option<&str> {
    let entries = object["metadata"]["managedFields"].as_array()?;
    let newest = entries.iter().max_by_key(|entry| entry["time"].as_str())?;
    newest["manager"].as_str()
}

/// Who made which objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// What was there before the first step.
    before: BTreeSet<ObjectName>,
    /// What the operator made, generated names as `prefix*`.
    made: BTreeSet<ObjectName>,
    /// Whose status the operator wrote.
    statuses: BTreeSet<ObjectName>,
    /// Objects as they were created.
    created: BTreeMap<ObjectName, StoredObject>,
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
            if write.effective
                && let Some(resource) = write.address.resource.strip_suffix("/status")
            {
                self.statuses.insert(ObjectName {
                    resource: resource.to_owned(),
                    name: write.address.name.clone(),
                });
            }
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

    /// Learns how an object was when it was created.
    pub(super) fn learn_created(&mut self, name: &ObjectName, object: &StoredObject) {
        self.created.insert(name.clone(), object.clone());
    }

    /// An object as it was created.
    pub(super) fn created(&self, name: &ObjectName) -> Option<&StoredObject> {
        self.created.get(name)
    }

    /// What the steps made.
    pub(super) fn owners<'a>(
        &'a self,
        cluster: &'a Cluster,
    ) -> impl Iterator<Item = (&'a ObjectName, &'a StoredObject)> {
        let objects = cluster.objects().iter();
        objects.filter(|(name, object)| !self.before.contains(name) && is_of_the_test(object))
    }

    /// What the operator made and is there.
    pub(super) fn made<'a>(&'a self, cluster: &'a Cluster) -> impl Iterator<Item = &'a ObjectName> {
        let objects = cluster.objects().iter();
        let made = objects.filter(|(name, object)| self.made.contains(&family(name, object)));
        made.map(|(name, _)| name)
    }

    /// Whether the operator wrote the status of an object.
    pub(super) fn has_status_of_the_operator(&self, name: &ObjectName) -> bool {
        self.statuses.contains(name)
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
