//! What a Job needs next: a pure function from it and its Pods to Pods to make or delete, and a status.
//! A Pod is counted once: its uid is written down, then it loses its finalizer, then it becomes part of the count.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus, UncountedTerminatedPods};
use k8s_openapi::api::core::v1::Pod;
use kubewright_runtime::events::EventNote;

use super::backoff::Backoff;
use super::indexes;
use super::member::JobPod;
use super::policies::{self, FailureAction};
use crate::support::pods;
use crate::support::time::{later, until, whole};

/// A Pod to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NewPod {
    pub(super) index: Option<i32>,
    /// How many Pods of its index failed before: those that count and those that do not.
    pub(super) failures: Option<(i32, i32)>,
}

/// What to do, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// Pods to delete that should not count: they lose their finalizer first.
    pub(super) remove: Vec<String>,
    /// Pods to delete because the Job is over.
    pub(super) end: Vec<String>,
    pub(super) create: Vec<NewPod>,
    /// The status to write, if it differs.
    pub(super) status: Option<Box<JobStatus>>,
    /// Pods that are written down and lose their finalizer.
    pub(super) release: Vec<String>,
    pub(super) events: Vec<EventNote>,
    pub(super) wake: Option<Duration>,
    /// What to remember of failures.
    pub(super) backoff: Backoff,
}

pub(super) struct Planner<'a> {
    job: &'a Job,
    pub(super) spec: JobSpec,
    pub(super) members: Vec<JobPod<'a>>,
    pub(super) status: JobStatus,
    pub(super) now: Timestamp,
    pub(super) plan: Plan,
    /// All Pods that ended, also those that are not counted yet.
    pub(super) succeeded: i32,
    failed: i32,
    pub(super) done: BTreeSet<i32>,
    /// Indexes that failed for good, if the Job limits failures per index.
    pub(super) given_up: Option<BTreeSet<i32>>,
    /// The failed Pod of each index that stays until its successor is made, which inherits its count.
    pub(super) last_failed: BTreeMap<i32, JobPod<'a>>,
}

/// Whether a Job is over.
pub(super) fn is_finished(job: &Job) -> bool {
    let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions
        .into_iter()
        .any(|condition| matches!(condition.type_.as_str(), "Complete" | "Failed") && condition.status == "True")
}

/// Plans what a Job needs. `pods` are those it controls.
pub(super) fn plan<'a>(
    job: &'a Job,
    pods: impl IntoIterator<Item = &'a Pod>,
    backoff: Backoff,
    now: Timestamp,
) -> Plan {
    let mut members: Vec<JobPod<'_>> = pods.into_iter().map(JobPod::of).collect();
    members.sort_by_key(|member| (member.index, member.name));
    let mut planner = Planner {
        job,
        spec: job.spec.clone().unwrap_or_default(),
        members,
        status: job.status.clone().unwrap_or_default(),
        now,
        plan: Plan::default(),
        succeeded: 0,
        failed: 0,
        done: BTreeSet::new(),
        given_up: None,
        last_failed: BTreeMap::new(),
    };
    planner.decide(backoff);
    planner.finish()
}

impl<'a> Planner<'a> {
    pub(super) fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    pub(super) fn is_indexed(&self) -> bool {
        self.spec.completion_mode.as_deref() == Some("Indexed")
    }

    pub(super) fn completions(&self) -> i32 {
        self.spec.completions.unwrap_or(0)
    }

    /// Whether a Pod is replaced only once it has failed. A failure policy implies that: it is applied to failed Pods alone.
    pub(super) fn replaces_only_failed(&self) -> bool {
        self.spec.pod_replacement_policy.as_deref() == Some("Failed") || self.spec.pod_failure_policy.is_some()
    }

    fn has_failed(&self, member: &JobPod<'_>) -> bool {
        let phase = pods::phase(member.pod);
        let going = member.pod.metadata.deletion_timestamp.is_some();
        phase == "Failed" || (!self.replaces_only_failed() && going && phase != "Succeeded")
    }

    fn failure_action(&self, member: &JobPod<'_>) -> FailureAction {
        policies::failure_action(self.spec.pod_failure_policy.as_ref(), member.pod)
    }

    /// Whether a Pod has an index that the Job has; without indexes every Pod does.
    fn is_in_range(&self, member: &JobPod<'_>) -> bool {
        !self.is_indexed() || member.index.is_some_and(|index| index < self.completions())
    }

    fn condition(&self, type_: &str) -> Option<&JobCondition> {
        let conditions = self.status.conditions.as_deref().unwrap_or_default();
        conditions
            .iter()
            .find(|condition| condition.type_ == type_ && condition.status == "True")
    }

    fn add_condition(&mut self, type_: &str, status: &str, reason: &str, message: &str) {
        let condition = JobCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_probe_time: Some(whole(self.now)),
            last_transition_time: Some(whole(self.now)),
        };
        let conditions = self.status.conditions.get_or_insert_default();
        match conditions.iter_mut().find(|condition| condition.type_ == type_) {
            Some(present) => *present = condition,
            None => conditions.push(condition),
        }
    }

    pub(super) fn active(&self) -> Vec<JobPod<'a>> {
        let active = self.members.iter().filter(|member| pods::is_active(member.pod));
        active.copied().collect()
    }

    fn decide(&mut self, backoff: Backoff) {
        self.take_stock(backoff);
        if self.status.start_time.is_none() && !self.is_suspended() {
            self.status.start_time = Some(whole(self.now));
        }
        let mut target = self.target();
        if target.is_some() {
            self.plan.end = self.active().iter().map(|member| member.name.to_owned()).collect();
        } else {
            let manages = self.job.metadata.deletion_timestamp.is_none();
            if manages {
                self.manage();
            }
            if self.is_complete() {
                let message = "Reached expected number of succeeded pods";
                target = Some(Target::success("CompletionsReached", message));
            } else if manages {
                self.note_suspension();
            }
        }
        self.set_counts();
        self.track(target.as_ref());
        if let Some(target) = target
            && self.condition(target.type_).is_none()
        {
            self.add_condition(target.type_, "True", &target.reason, &target.message);
        }
        self.conclude();
    }

    /// Counts what has ended, and what of that is known already.
    fn take_stock(&mut self, backoff: Backoff) {
        let uncounted = self.uncounted();
        let is_known = |list: &Option<Vec<String>>, uid: &str| list.iter().flatten().any(|known| known == uid);
        let new = |ended: &dyn Fn(&JobPod<'a>) -> bool, list: &Option<Vec<String>>| {
            let members = self.members.iter().filter(|member| {
                member.tracked && !is_known(list, member.uid) && self.is_in_range(member) && ended(member)
            });
            members.copied().collect::<Vec<JobPod<'a>>>()
        };
        let succeeded = new(&|member| member.has_succeeded(), &uncounted.succeeded);
        let failed = new(&|member| self.has_failed(member), &uncounted.failed);
        let counted = failed
            .iter()
            .filter(|member| self.failure_action(member) != FailureAction::Ignore);
        let size = |list: &Option<Vec<String>>| list.as_ref().map_or(0, Vec::len);
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let (had_failed, had_succeeded) = (self.status.failed.unwrap_or(0), self.status.succeeded.unwrap_or(0));
        self.failed = had_failed.saturating_add(number(counted.count() + size(&uncounted.failed)));
        self.succeeded = had_succeeded.saturating_add(number(succeeded.len() + size(&uncounted.succeeded)));
        self.plan.backoff = backoff.after(&succeeded, &failed);
        if self.is_indexed() {
            let known = self.status.completed_indexes.as_deref().unwrap_or_default();
            self.done = indexes::parse(known, self.completions());
            let all = self
                .members
                .iter()
                .filter(|member| member.tracked && self.is_in_range(member));
            let done: Vec<i32> = all
                .filter(|member| member.has_succeeded())
                .filter_map(|member| member.index)
                .collect();
            self.done.extend(done);
            self.succeeded = number(self.done.len());
            self.take_stock_of_failed_indexes();
        }
    }

    /// Where failures are limited per index: which indexes have failed for good, and which are to be tried again.
    fn take_stock_of_failed_indexes(&mut self) {
        let Some(limit) = self.spec.backoff_limit_per_index else {
            return;
        };
        let known = self.status.failed_indexes.as_deref().unwrap_or_default();
        let mut given_up = indexes::parse(known, self.completions());
        let failed: Vec<JobPod<'a>> = self
            .members
            .iter()
            .filter(|member| member.tracked && self.is_in_range(member) && self.has_failed(member))
            .copied()
            .collect();
        for member in &failed {
            let is_last = match self.failure_action(member) {
                FailureAction::FailIndex => true,
                FailureAction::Ignore => false,
                FailureAction::Count | FailureAction::FailJob(_) => member.failures().0 >= limit,
            };
            given_up.extend(member.index.filter(|_| is_last));
        }
        let active: BTreeSet<i32> = self.active().iter().filter_map(|member| member.index).collect();
        for member in failed {
            let Some(index) = member.index else {
                continue;
            };
            if self.done.contains(&index) || given_up.contains(&index) || active.contains(&index) {
                continue;
            }
            let is_later = self
                .last_failed
                .get(&index)
                .is_none_or(|other| other.all_failures() <= member.all_failures() && other.ended() <= member.ended());
            if is_later {
                self.last_failed.insert(index, member);
            }
        }
        self.given_up = Some(given_up);
    }

    fn uncounted(&self) -> UncountedTerminatedPods {
        self.status.uncounted_terminated_pods.clone().unwrap_or_default()
    }

    /// What the Job is to come to, if that is decided before all has been done.
    fn target(&mut self) -> Option<Target> {
        for type_ in [SUCCESS, FAILURE] {
            if let Some(condition) = self.condition(type_) {
                let text = |text: &Option<String>| text.clone().unwrap_or_default();
                return Some(Target {
                    type_,
                    reason: text(&condition.reason),
                    message: text(&condition.message),
                });
            }
        }
        let failed = self.members.iter().filter(|member| self.has_failed(member));
        let fatal = failed.into_iter().find_map(|member| match self.failure_action(member) {
            FailureAction::FailJob(message) => Some(message),
            _ => None,
        });
        if let Some(message) = fatal {
            return Some(Target::failure("PodFailurePolicy", &message));
        }
        let limit = self.spec.backoff_limit.unwrap_or(6);
        if self.failed > limit || self.restarts_exceed(limit) {
            let message = "Job has reached the specified backoff limit";
            return Some(Target::failure("BackoffLimitExceeded", message));
        }
        if let (Some(seconds), Some(start), false) = (
            self.spec.active_deadline_seconds,
            self.status.start_time.as_ref().map(|time| time.0),
            self.is_suspended(),
        ) {
            let left = until(later(start, seconds), self.now);
            if left.is_zero() {
                let message = "Job was active longer than specified deadline";
                return Some(Target::failure("DeadlineExceeded", message));
            }
            self.wake_after(left);
        }
        self.target_of_indexes()
    }

    fn target_of_indexes(&self) -> Option<Target> {
        if !self.is_indexed() {
            return None;
        }
        let given_up = self.given_up.as_ref().map_or(0, BTreeSet::len);
        let number = |number: i32| usize::try_from(number).unwrap_or(0);
        if self.spec.max_failed_indexes.is_some_and(|most| given_up > number(most)) {
            let message = "Job has exceeded the specified maximal number of failed indexes";
            return Some(Target::failure("MaxFailedIndexesExceeded", message));
        }
        if given_up > 0 && given_up + self.done.len() >= number(self.completions()) {
            return Some(Target::failure("FailedIndexes", "Job has failed indexes"));
        }
        let rule = policies::success(self.spec.success_policy.as_ref(), self.completions(), &self.done)?;
        let message = format!("Matched rules at index {rule}");
        Some(Target::success("SuccessPolicy", &message))
    }

    /// Where containers are restarted in place, their restarts count against the limit.
    fn restarts_exceed(&self, limit: i32) -> bool {
        let policy = self
            .spec
            .template
            .spec
            .as_ref()
            .and_then(|spec| spec.restart_policy.as_deref());
        if policy != Some("OnFailure") {
            return false;
        }
        let is_running = |member: &&JobPod<'_>| matches!(pods::phase(member.pod), "Running" | "Pending");
        let statuses = self.members.iter().filter(is_running).flat_map(|member| {
            let status = member.pod.status.clone().unwrap_or_default();
            let containers = status.container_statuses.unwrap_or_default();
            containers
                .into_iter()
                .chain(status.init_container_statuses.unwrap_or_default())
        });
        let restarts: i32 = statuses.map(|status| status.restart_count).fold(0, i32::saturating_add);
        if limit == 0 { restarts > 0 } else { restarts >= limit }
    }

    pub(super) fn wake_after(&mut self, wait: Duration) {
        self.plan.wake = Some(self.plan.wake.map_or(wait, |wake| wake.min(wait)));
    }

    /// Whether all completions are there, and no Pod is active any more.
    fn is_complete(&self) -> bool {
        let left = self.active().len().saturating_sub(self.plan.remove.len()) + self.plan.create.len();
        let done = match self.spec.completions {
            None => self.succeeded > 0,
            Some(completions) => self.succeeded >= completions,
        };
        done && left == 0
    }

    fn note_suspension(&mut self) {
        let known = self
            .status
            .conditions
            .iter()
            .flatten()
            .find(|condition| condition.type_ == "Suspended")
            .map(|condition| condition.status == "True");
        match (self.is_suspended(), known) {
            (true, None | Some(false)) => {
                self.add_condition("Suspended", "True", "JobSuspended", "Job suspended");
                self.plan
                    .events
                    .push(EventNote::normal("Suspended", "Suspend", "Job suspended"));
            }
            (false, Some(true)) => {
                self.add_condition("Suspended", "False", "JobResumed", "Job resumed");
                self.plan
                    .events
                    .push(EventNote::normal("Resumed", "Resume", "Job resumed"));
                self.status.start_time = Some(whole(self.now));
            }
            _ => {}
        }
    }

    pub(super) fn terminating(&self) -> i32 {
        let going = self.members.iter().filter(|member| pods::is_terminating(member.pod));
        i32::try_from(going.count()).unwrap_or(i32::MAX)
    }

    fn set_counts(&mut self) {
        let leaving: BTreeSet<&str> = self
            .plan
            .remove
            .iter()
            .chain(&self.plan.end)
            .map(String::as_str)
            .collect();
        let (mut active, mut ready, mut leaves) = (0, 0, 0);
        for member in self.active() {
            if leaving.contains(member.name) {
                leaves += 1;
            } else {
                active += 1;
                ready += i32::from(pods::is_ready(member.pod));
            }
        }
        active += i32::try_from(self.plan.create.len()).unwrap_or(i32::MAX);
        self.status.active = (active != 0).then_some(active);
        self.status.ready = Some(ready);
        self.status.terminating = Some(self.terminating() + leaves);
    }

    /// Folds what is settled into the counts, and writes down what has finished since.
    fn track(&mut self, target: Option<&Target>) {
        let mut uncounted = self.status.uncounted_terminated_pods.take().unwrap_or_default();
        let tracked: BTreeSet<&str> = self
            .members
            .iter()
            .filter(|member| member.tracked)
            .map(|member| member.uid)
            .collect();
        let fold = |list: &mut Option<Vec<String>>| -> i32 {
            let before = list.as_ref().map_or(0, Vec::len);
            let mut kept = list.take().unwrap_or_default();
            kept.retain(|uid| tracked.contains(uid.as_str()));
            let settled = before - kept.len();
            *list = (!kept.is_empty()).then_some(kept);
            i32::try_from(settled).unwrap_or(i32::MAX)
        };
        let (succeeded, failed) = (fold(&mut uncounted.succeeded), fold(&mut uncounted.failed));
        let some = |count: i32| (count != 0).then_some(count);
        self.status.succeeded = some(self.status.succeeded.unwrap_or(0).saturating_add(succeeded));
        self.status.failed = some(self.status.failed.unwrap_or(0).saturating_add(failed));
        let lets_all_go = target.is_some() || self.job.metadata.deletion_timestamp.is_some();
        let fails_all = target.is_some_and(|target| target.type_ == FAILURE);
        let mut release = Vec::new();
        for member in self.members.iter().filter(|member| member.tracked) {
            let failed = self.has_failed(member);
            let is_known = |list: &Option<Vec<String>>| list.iter().flatten().any(|uid| uid == member.uid);
            let waits = member.index.and_then(|index| self.last_failed.get(&index));
            let waits = waits.is_some_and(|waiting| waiting.uid == member.uid);
            if !(lets_all_go || member.has_succeeded() || failed && !waits) {
                continue;
            }
            release.push(member.name.to_owned());
            if member.has_succeeded() && !is_known(&uncounted.failed) {
                if !self.is_indexed() && !is_known(&uncounted.succeeded) {
                    uncounted.succeeded.get_or_insert_default().push(member.uid.to_owned());
                }
            } else if (failed || fails_all)
                && !is_known(&uncounted.failed)
                && self.is_in_range(member)
                && self.failure_action(member) != FailureAction::Ignore
            {
                uncounted.failed.get_or_insert_default().push(member.uid.to_owned());
            }
        }
        self.plan.release = release;
        if self.is_indexed() {
            self.status.succeeded = some(self.succeeded);
            let text = indexes::print(&self.done);
            self.status.completed_indexes = (!text.is_empty()).then_some(text);
            self.status.failed_indexes = self.given_up.as_ref().map(indexes::print);
        }
        self.status.uncounted_terminated_pods = Some(uncounted);
    }

    /// A Job is over when all its Pods have ended and are counted.
    fn conclude(&mut self) {
        let uncounted = self.uncounted();
        let is_settled = uncounted.succeeded.is_none() && uncounted.failed.is_none();
        let waits = !is_settled || self.status.terminating != Some(0) || self.status.active.is_some();
        // What has been decided in this very moment is written down before it is carried out.
        let written = self
            .job
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let is_new = !written
            .into_iter()
            .any(|condition| [SUCCESS, FAILURE].contains(&condition.type_.as_str()) && condition.status == "True");
        if waits || is_new || !self.plan.release.is_empty() {
            return;
        }
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        if let Some(met) = self.condition(SUCCESS).cloned() {
            self.add_condition("Complete", "True", &text(&met.reason), &text(&met.message));
            self.status.completion_time = Some(whole(self.now));
            if self.spec.completions.is_some_and(|wanted| self.succeeded > wanted) {
                let message = "Too many succeeded pods running after completion count reached";
                let note = EventNote::warning("TooManySucceededPods", "Complete", message);
                self.plan.events.push(note);
            }
            self.plan
                .events
                .push(EventNote::normal("Completed", "Complete", "Job completed"));
        } else if let Some(target) = self.condition(FAILURE).cloned() {
            let (reason, message) = (text(&target.reason), text(&target.message));
            self.add_condition("Failed", "True", &reason, &message);
            self.plan.events.push(EventNote::warning(reason, "Fail", message));
        }
    }

    fn finish(mut self) -> Plan {
        if self.job.status.as_ref() != Some(&self.status) {
            self.plan.status = Some(Box::new(self.status));
        }
        self.plan
    }
}

const SUCCESS: &str = "SuccessCriteriaMet";
const FAILURE: &str = "FailureTarget";

/// What a Job is to come to: condition, reason, message.
struct Target {
    type_: &'static str,
    reason: String,
    message: String,
}

impl Target {
    fn success(reason: &str, message: &str) -> Self {
        Target {
            type_: SUCCESS,
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }

    fn failure(reason: &str, message: &str) -> Self {
        Target {
            type_: FAILURE,
            ..Target::success(reason, message)
        }
    }
}
