//! What a `Deployment` needs next: a pure function from it and its `ReplicaSets` to writes, events and a status.
//! The steps are upstream's; what it writes in several goes is written once here.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_apimachinery::go::quote;
use kubewright_runtime::events::EventNote;

use super::hash::pod_template_hash;
use super::template::{HASH_LABEL, is_same, without_hash};
use super::{history, size, status};
use crate::support::claim::controller_reference;

/// One thing to do. If it fails, what follows is not done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RolloutStep {
    /// Make a set.
    Create(Box<ReplicaSet>),
    /// Replace a set.
    Update(Box<ReplicaSet>),
    /// Delete a set by name.
    Delete(String),
    /// Replace the `Deployment` itself.
    Replace(Box<Deployment>),
    /// Record an event.
    Event(Box<EventNote>),
}

/// What to do, in order, and what the status is then.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) steps: Vec<RolloutStep>,
    /// The `Deployment` with the status it should have, if that differs from what it has.
    pub(super) status: Option<Box<Deployment>>,
    /// When to look again if nothing happens.
    pub(super) wake: Option<Duration>,
}

/// Everything that is known.
pub(super) struct Planner<'a> {
    deployment: Deployment,
    before: &'a Deployment,
    sets: Vec<ReplicaSet>,
    new: Option<usize>,
    /// The uids of sets with Pods that have not finished.
    busy: &'a BTreeSet<String>,
    now: Timestamp,
    steps: Vec<RolloutStep>,
    wake: Option<Duration>,
}

/// Plans what a `Deployment` needs. `sets` are those it controls.
pub(super) fn plan(deployment: &Deployment, sets: Vec<ReplicaSet>, busy: &BTreeSet<String>, now: Timestamp) -> Plan {
    let mut sets = sets;
    sets.sort_by(by_age);
    let mut planner = Planner {
        deployment: deployment.clone(),
        before: deployment,
        sets,
        new: None,
        busy,
        now,
        steps: Vec::new(),
        wake: None,
    };
    planner.decide();
    planner.finish()
}

/// The older first; of equal age, by name.
fn by_age(left: &ReplicaSet, right: &ReplicaSet) -> Ordering {
    let key = |set: &ReplicaSet| {
        let made = set.metadata.creation_timestamp.as_ref().map(|time| time.0);
        // What is not made yet is the youngest.
        (made.is_none(), made, set.metadata.name.clone())
    };
    key(left).cmp(&key(right))
}

impl Planner<'_> {
    fn decide(&mut self) {
        let spec = self.deployment.spec.clone().unwrap_or_default();
        if self.deployment.metadata.deletion_timestamp.is_some() {
            self.find_new(false);
            return self.count();
        }
        let paused = spec.paused == Some(true);
        self.note_pause(paused);
        if paused {
            return self.resize();
        }
        if let Some(revision) = self.rollback_revision() {
            return self.roll_back(revision);
        }
        self.find_new(false);
        if self.is_resized() {
            return self.resize();
        }
        if size::is_rolling(&self.deployment) {
            self.roll();
        } else {
            self.recreate();
        }
    }

    fn finish(self) -> Plan {
        let changed = self.deployment.status != self.before.status
            || self.deployment.metadata.annotations != self.before.metadata.annotations;
        // Replacing the `Deployment` triggers another reconcile, which updates the status.
        let replaced = self.steps.iter().any(|step| matches!(step, RolloutStep::Replace(_)));
        Plan {
            status: (changed && !replaced).then(|| Box::new(self.deployment)),
            steps: self.steps,
            wake: if changed { None } else { self.wake },
        }
    }

    fn name(&self) -> String {
        self.deployment.metadata.name.clone().unwrap_or_default()
    }

    fn wanted(&self) -> i64 {
        size::wanted(&self.deployment)
    }

    fn old(&self) -> Vec<usize> {
        (0..self.sets.len()).filter(|set| Some(*set) != self.new).collect()
    }

    fn all_asked(&self) -> i64 {
        self.sets.iter().map(size::asked).sum()
    }

    fn status_mut(&mut self) -> &mut DeploymentStatus {
        self.deployment.status.get_or_insert_default()
    }

    fn record(&mut self, note: EventNote) {
        self.steps.push(RolloutStep::Event(Box::new(note)));
    }

    /// The status without a word about progress.
    fn count(&mut self) {
        let all: Vec<_> = self.in_status_order();
        let new = self.new.map(|new| &self.sets[new]);
        self.deployment.status = Some(status::count(&self.deployment, &all, new, self.now));
    }

    /// The status of a rollout.
    fn report(&mut self) {
        let all: Vec<_> = self.in_status_order();
        let new = self.new.map(|new| &self.sets[new]);
        let after = status::of_rollout(&self.deployment, &all, new, self.now);
        self.wake = status::next_check(&self.deployment, &after, self.now);
        self.deployment.status = Some(after);
    }

    /// The old sets, then the new one: the first failure of an old one is reported, unless the new one fails.
    fn in_status_order(&self) -> Vec<&ReplicaSet> {
        let old = self.old();
        old.into_iter().chain(self.new).map(|set| &self.sets[set]).collect()
    }

    /// A pause stops the clock of progress, and its end starts it.
    fn note_pause(&mut self, paused: bool) {
        if status::deadline(&self.deployment).is_none() {
            return;
        }
        let current = self
            .deployment
            .status
            .as_ref()
            .and_then(|all| status::find(all, status::PROGRESSING));
        let reason = current.and_then(|current| current.reason.as_deref());
        let (reason, message) = match (paused, reason) {
            (_, Some(status::TIMED_OUT)) => return,
            (true, reason) if reason != Some("DeploymentPaused") => ("DeploymentPaused", "Deployment is paused"),
            (false, Some("DeploymentPaused")) => ("DeploymentResumed", "Deployment is resumed"),
            _ => return,
        };
        let condition = status::condition(status::PROGRESSING, "Unknown", reason, message.to_owned(), self.now);
        status::set(self.status_mut(), condition);
    }

    /// Finds the set with the template of the `Deployment`, makes it if it is missing and may be made, and keeps revisions.
    fn find_new(&mut self, create: bool) {
        let spec = self.deployment.spec.clone().unwrap_or_default();
        self.new = self.sets.iter().position(|set| {
            let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
            is_same(template, &spec.template)
        });
        let old = self
            .old()
            .into_iter()
            .filter_map(|set| history::revision(&self.sets[set]));
        let newest = old.max().unwrap_or(0).saturating_add(1);
        match self.new {
            Some(new) => self.keep_new(new, newest),
            None if create => self.create_new(newest),
            None => {}
        }
    }

    fn keep_new(&mut self, new: usize, newest: i64) {
        let set = &mut self.sets[new];
        let annotated = history::annotate(set, &self.deployment, newest);
        let seconds = self.deployment.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
        let own = set.spec.get_or_insert_default();
        let differs = own.min_ready_seconds.unwrap_or(0) != seconds.unwrap_or(0);
        if annotated || differs {
            own.min_ready_seconds = seconds;
            self.steps.push(RolloutStep::Update(Box::new(set.clone())));
            return;
        }
        let revision = set
            .metadata
            .annotations
            .as_ref()
            .and_then(|all| all.get(history::REVISION))
            .cloned();
        let found = format!(
            "Found new replica set {}",
            quote(set.metadata.name.as_deref().unwrap_or_default())
        );
        self.set_revision(&revision.unwrap_or_default());
        let known = self
            .deployment
            .status
            .as_ref()
            .and_then(|all| status::find(all, status::PROGRESSING));
        if status::deadline(&self.deployment).is_some() && known.is_none() {
            let condition = status::condition(status::PROGRESSING, "True", "FoundNewReplicaSet", found, self.now);
            status::set(self.status_mut(), condition);
        }
    }

    fn create_new(&mut self, newest: i64) {
        let spec = self.deployment.spec.clone().unwrap_or_default();
        let collisions = self
            .deployment
            .status
            .as_ref()
            .and_then(|status| status.collision_count);
        let hash = pod_template_hash(&spec.template, collisions);
        let mut template = spec.template.clone();
        let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
        labels.insert(HASH_LABEL.to_owned(), hash.clone());
        let labels = labels.clone();
        let mut selector = spec.selector.clone();
        selector
            .match_labels
            .get_or_insert_default()
            .insert(HASH_LABEL.to_owned(), hash.clone());
        let name = set_name(&self.name(), &hash);
        let replicas = size::of_new(&self.deployment, self.all_asked(), 0);
        let mut set = ReplicaSet {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                namespace: self.deployment.metadata.namespace.clone(),
                owner_references: Some(vec![controller_reference(&self.deployment)]),
                labels: Some(labels),
                ..ObjectMeta::default()
            },
            spec: Some(ReplicaSetSpec {
                replicas: Some(i32::try_from(replicas).unwrap_or(i32::MAX)),
                min_ready_seconds: spec.min_ready_seconds,
                selector,
                template: Some(template),
            }),
            status: None,
        };
        history::annotate(&mut set, &self.deployment, newest);
        history::annotate_size(
            &mut set,
            self.wanted(),
            self.wanted() + size::bounds(&self.deployment).0,
        );
        self.steps.push(RolloutStep::Create(Box::new(set.clone())));
        self.sets.push(set);
        self.new = Some(self.sets.len() - 1);
        if replicas > 0 {
            let text = format!("Scaled up replica set {name} from 0 to {replicas}");
            self.record(EventNote::normal("ScalingReplicaSet", "Scale", text));
        }
        self.set_revision(&newest.to_string());
        if status::deadline(&self.deployment).is_some() {
            let message = format!("Created new replica set {name:?}");
            let condition = status::condition(status::PROGRESSING, "True", "NewReplicaSetCreated", message, self.now);
            status::set(self.status_mut(), condition);
        }
    }

    fn set_revision(&mut self, revision: &str) {
        let annotations = self.deployment.metadata.annotations.get_or_insert_default();
        annotations.insert(history::REVISION.to_owned(), revision.to_owned());
    }

    /// Gives a set another size; or, if `always`, at least the sizes of the `Deployment` to remember. Whether the size changed.
    fn scale(&mut self, set: usize, to: i64, always: bool) -> bool {
        let from = size::asked(&self.sets[set]);
        if from == to && !always {
            return false;
        }
        let (wanted, surge) = (self.wanted(), size::bounds(&self.deployment).0);
        let target = &mut self.sets[set];
        let annotated = history::annotate_size(target, wanted, wanted + surge);
        if from == to && !annotated {
            return false;
        }
        target.spec.get_or_insert_default().replicas = Some(i32::try_from(to).unwrap_or(i32::MAX));
        let name = target.metadata.name.clone().unwrap_or_default();
        self.steps.push(RolloutStep::Update(Box::new(self.sets[set].clone())));
        if from == to {
            return false;
        }
        let direction = if from < to { "up" } else { "down" };
        let text = format!("Scaled {direction} replica set {name} from {from} to {to}");
        self.record(EventNote::normal("ScalingReplicaSet", "Scale", text));
        true
    }

    /// Whether the size was changed since the annotations of the sets were written.
    fn is_resized(&self) -> bool {
        let active = self.sets.iter().filter(|set| size::asked(set) > 0);
        active
            .filter_map(|set| history::number(set, history::DESIRED))
            .any(|desired| desired != self.wanted())
    }

    /// Changes sizes without rolling anything out.
    fn resize(&mut self) {
        self.find_new(false);
        self.resize_sets();
        let paused = self.deployment.spec.as_ref().and_then(|spec| spec.paused) == Some(true);
        if paused && self.rollback_revision().is_none() {
            self.clean_up();
        }
        self.count();
    }

    fn resize_sets(&mut self) {
        let active: Vec<usize> = (0..self.sets.len())
            .filter(|set| size::asked(&self.sets[*set]) > 0)
            .collect();
        let only = match active.as_slice() {
            [] => self.new.or_else(|| self.old().last().copied()),
            [only] => Some(*only),
            _ => None,
        };
        if let Some(only) = only {
            self.scale(only, self.wanted(), false);
            return;
        }
        let is_saturated = self
            .new
            .is_some_and(|new| size::is_saturated(&self.deployment, &self.sets[new]));
        if is_saturated {
            let new = self.new;
            for set in active.into_iter().filter(|set| Some(*set) != new) {
                self.scale(set, 0, false);
            }
        } else if size::is_rolling(&self.deployment) {
            self.share(active);
        }
    }

    /// Shares what is to be added or taken away among the sets by their size.
    fn share(&mut self, mut active: Vec<usize>) {
        let wanted = self.wanted();
        let most = if wanted > 0 {
            wanted + size::bounds(&self.deployment).0
        } else {
            0
        };
        let to_add = most - active.iter().map(|set| size::asked(&self.sets[*set])).sum::<i64>();
        // The larger first; of equal size, the newer when growing and the older when shrinking.
        active.sort_by(|left, right| {
            let (left, right) = (&self.sets[*left], &self.sets[*right]);
            let age = by_age(left, right);
            let age = if to_add > 0 { age.reverse() } else { age };
            size::asked(right).cmp(&size::asked(left)).then(age)
        });
        let mut added = 0;
        let mut sizes = Vec::new();
        for set in &active {
            let share = size::proportion(&self.sets[*set], &self.deployment, to_add, added);
            sizes.push(size::asked(&self.sets[*set]) + share);
            added += share;
        }
        if to_add != 0
            && let Some(largest) = sizes.first_mut()
        {
            *largest = (*largest + to_add - added).max(0);
        }
        for (set, size) in active.into_iter().zip(sizes) {
            self.scale(set, size, true);
        }
    }

    /// Deletes old sets without Pods, the oldest first, until as few are left as wanted.
    fn clean_up(&mut self) {
        let limit = self
            .deployment
            .spec
            .as_ref()
            .and_then(|spec| spec.revision_history_limit);
        let Some(limit) = limit
            .filter(|limit| *limit != i32::MAX)
            .and_then(|limit| usize::try_from(limit).ok())
        else {
            return;
        };
        let mut old: Vec<&ReplicaSet> = self.old().into_iter().map(|set| &self.sets[set]).collect();
        old.retain(|set| set.metadata.deletion_timestamp.is_none());
        old.sort_by(
            |left, right| match (history::revision(left), history::revision(right)) {
                (Some(one), Some(other)) if one != other => one.cmp(&other),
                _ => by_age(left, right),
            },
        );
        let too_many = old.len().saturating_sub(limit);
        let idle = old.into_iter().take(too_many).filter(|set| {
            let observed = set.status.as_ref().and_then(|status| status.observed_generation);
            size::actual(set) == 0 && size::asked(set) == 0 && set.metadata.generation <= observed
        });
        let names: Vec<_> = idle.filter_map(|set| set.metadata.name.clone()).collect();
        self.steps.extend(names.into_iter().map(RolloutStep::Delete));
    }

    fn clean_up_if_complete(&mut self) {
        let status = self.deployment.status.clone().unwrap_or_default();
        if status::is_complete(&self.deployment, &status) {
            self.clean_up();
        }
    }

    /// Replaces Pods step by step.
    fn roll(&mut self) {
        self.find_new(true);
        if !self.grow_new() && !self.shrink_old() {
            self.clean_up_if_complete();
        }
        self.report();
    }

    fn grow_new(&mut self) -> bool {
        let Some(new) = self.new else {
            return false;
        };
        let (asked, wanted) = (size::asked(&self.sets[new]), self.wanted());
        let to = if asked >= wanted {
            wanted
        } else {
            size::of_new(&self.deployment, self.all_asked(), asked)
        };
        self.scale(new, to, false)
    }

    fn shrink_old(&mut self) -> bool {
        let old: Vec<usize> = self
            .old()
            .into_iter()
            .filter(|set| size::asked(&self.sets[*set]) > 0)
            .collect();
        let Some(new) = self.new.filter(|_| !old.is_empty()) else {
            return false;
        };
        let least = self.wanted() - size::bounds(&self.deployment).1;
        let unavailable = size::asked(&self.sets[new]) - size::available(&self.sets[new]);
        let most = self.all_asked() - least - unavailable;
        if most <= 0 {
            return false;
        }
        // Pods that are not healthy are removed first: they would block the rollout.
        let mut cleaned = 0;
        for set in &old {
            let (asked, available) = (size::asked(&self.sets[*set]), size::available(&self.sets[*set]));
            let count = (most - cleaned).min(asked - available);
            // It has more Pods than it is asked for: what it says is of the past, and nothing can be concluded from it.
            if count < 0 {
                return false;
            }
            if count > 0 {
                self.scale(*set, asked - count, false);
                cleaned += count;
            }
        }
        let available: i64 = old
            .iter()
            .chain([&new])
            .map(|set| size::available(&self.sets[*set]))
            .sum();
        let mut left = available - least;
        let mut shrunk = 0;
        for set in old {
            let asked = size::asked(&self.sets[set]);
            let count = left.min(asked);
            if count > 0 {
                self.scale(set, asked - count, false);
                left -= count;
                shrunk += count;
            }
        }
        cleaned + shrunk > 0
    }

    /// Ends all old Pods before the first new one is made.
    fn recreate(&mut self) {
        let mut scaled = false;
        for set in self.old() {
            if size::asked(&self.sets[set]) > 0 {
                scaled |= self.scale(set, 0, false);
            }
        }
        let old_runs = self.old().into_iter().any(|set| {
            let set = &self.sets[set];
            size::actual(set) > 0 || set.metadata.uid.as_ref().is_some_and(|uid| self.busy.contains(uid))
        });
        if !scaled && !old_runs {
            if self.new.is_none() {
                self.find_new(true);
            }
            if let Some(new) = self.new {
                self.scale(new, self.wanted(), false);
            }
            self.clean_up_if_complete();
        }
        self.report();
    }

    /// The revision that the annotation of old clients asks for.
    fn rollback_revision(&self) -> Option<i64> {
        let annotations = self.deployment.metadata.annotations.as_ref()?;
        annotations.get(history::ROLLBACK)?.parse().ok()
    }

    fn roll_back(&mut self, revision: i64) {
        self.find_new(true);
        let mut revisions: Vec<i64> = self.sets.iter().filter_map(history::revision).collect();
        revisions.sort_unstable();
        let last = revisions.iter().rev().nth(1).copied().unwrap_or(0);
        let revision = if revision == 0 { last } else { revision };
        let target = self
            .sets
            .iter()
            .find(|set| revision != 0 && history::revision(set) == Some(revision))
            .cloned();
        let note = match &target {
            None if revision == 0 => EventNote::warning(
                "DeploymentRollbackRevisionNotFound",
                "Rollback",
                "Unable to find last revision.",
            ),
            None => EventNote::warning(
                "DeploymentRollbackRevisionNotFound",
                "Rollback",
                "Unable to find the revision to rollback to.",
            ),
            Some(set) => self.take_template(set, revision),
        };
        if let Some(annotations) = &mut self.deployment.metadata.annotations {
            annotations.remove(history::ROLLBACK);
        }
        let mut replaced = self.deployment.clone();
        replaced.status.clone_from(&self.before.status);
        self.steps.push(RolloutStep::Replace(Box::new(replaced)));
        self.record(note);
    }

    fn take_template(&mut self, set: &ReplicaSet, revision: i64) -> EventNote {
        let name = self.name();
        let template = set
            .spec
            .as_ref()
            .and_then(|spec| spec.template.clone())
            .unwrap_or_default();
        let spec = self.deployment.spec.get_or_insert_default();
        if is_same(Some(&template), &spec.template) {
            let text = format!("The rollback revision contains the same template as current deployment {name:?}");
            return EventNote::warning("DeploymentRollbackTemplateUnchanged", "Rollback", text);
        }
        spec.template = without_hash(template);
        history::restore(&mut self.deployment, set);
        let text = format!("Rolled back deployment {name:?} to revision {revision}");
        EventNote::normal("DeploymentRollback", "Rollback", text)
    }
}

/// The name of a `Deployment`, cut if need be, and the hash of its template.
fn set_name(deployment: &str, hash: &str) -> String {
    const LONGEST: usize = 253;
    let most = LONGEST.saturating_sub(hash.len() + 1);
    let cut = deployment.get(..most.min(deployment.len())).unwrap_or(deployment);
    format!("{cut}-{hash}")
}
