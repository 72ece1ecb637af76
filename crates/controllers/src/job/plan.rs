//! What a Job needs next: a pure function from it and its Pods to Pods to make or delete, and a status.
//! A Pod is counted once: its uid is written down, then it loses its finalizer, then it becomes part of the count.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobStatus, UncountedTerminatedPods};
use k8s_openapi::api::core::v1::Pod;
use kubewright_runtime::events::EventNote;

use super::indexes;
use crate::support::pods;
use crate::support::time::{later, until, whole};

/// While a Pod has this finalizer it is not counted yet.
pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// The index of a Pod, as annotation and label.
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// So many Pods are made or deleted at once, at most.
const MOST_AT_ONCE: i32 = 500;
/// The pause after the first failure; it doubles,
const BACK_OFF: Duration = Duration::from_secs(10);
/// up to this.
const LONGEST_BACK_OFF: Duration = Duration::from_mins(10);

/// What to do, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// Pods to delete that should not count: they lose their finalizer first.
    pub(super) remove: Vec<String>,
    /// Pods to delete because the Job is over.
    pub(super) end: Vec<String>,
    /// How many Pods to make: their indexes, or none.
    pub(super) create: Vec<Option<i32>>,
    /// The status to write, if it differs.
    pub(super) status: Option<Box<JobStatus>>,
    /// Pods that are written down and lose their finalizer.
    pub(super) release: Vec<String>,
    pub(super) tell: Vec<EventNote>,
    pub(super) wake: Option<Duration>,
}

/// A Pod by its name and what matters of it.
struct Member<'a> {
    pod: &'a Pod,
    name: &'a str,
    uid: &'a str,
    tracked: bool,
    index: Option<i32>,
}

struct Planner<'a> {
    job: &'a Job,
    members: Vec<Member<'a>>,
    status: JobStatus,
    now: Timestamp,
    plan: Plan,
}

/// Whether a Job is over.
pub(super) fn is_finished(job: &Job) -> bool {
    let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions
        .into_iter()
        .any(|condition| matches!(condition.type_.as_str(), "Complete" | "Failed") && condition.status == "True")
}

/// Plans what a Job needs. `pods` are those it controls.
pub(super) fn plan<'a>(job: &Job, pods: impl IntoIterator<Item = &'a Pod>, now: Timestamp) -> Plan {
    let mut members: Vec<Member<'_>> = pods.into_iter().map(Member::of).collect();
    members.sort_by_key(|member| (member.index, member.name));
    let mut planner = Planner {
        job,
        members,
        status: job.status.clone().unwrap_or_default(),
        now,
        plan: Plan::default(),
    };
    planner.decide();
    planner.finish()
}

impl<'a> Member<'a> {
    fn of(pod: &'a Pod) -> Self {
        let annotations = pod.metadata.annotations.as_ref();
        Member {
            pod,
            name: pod.metadata.name.as_deref().unwrap_or_default(),
            uid: pod.metadata.uid.as_deref().unwrap_or_default(),
            tracked: pod.metadata.finalizers.iter().flatten().any(|own| own == TRACKING),
            index: annotations.and_then(|all| all.get(INDEX)?.parse().ok()),
        }
    }

    /// When it ended, as far as it says.
    fn ended(&self) -> Option<Timestamp> {
        let statuses = self.pod.status.as_ref()?.container_statuses.as_deref()?;
        let ends = statuses.iter().filter_map(|status| {
            let ended = status.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref()?;
            Some(ended.0)
        });
        ends.max()
    }
}

impl Planner<'_> {
    fn spec(&self) -> k8s_openapi::api::batch::v1::JobSpec {
        self.job.spec.clone().unwrap_or_default()
    }

    fn is_suspended(&self) -> bool {
        self.spec().suspend == Some(true)
    }

    fn is_indexed(&self) -> bool {
        self.spec().completion_mode.as_deref() == Some("Indexed")
    }

    fn replaces_only_failed(&self) -> bool {
        self.spec().pod_replacement_policy.as_deref() == Some("Failed")
    }

    fn has_failed(&self, member: &Member<'_>) -> bool {
        let phase = pods::phase(member.pod);
        let going = member.pod.metadata.deletion_timestamp.is_some();
        phase == "Failed" || (!self.replaces_only_failed() && going && phase != "Succeeded")
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
        conditions.retain(|condition| condition.type_ != type_);
        conditions.push(condition);
    }

    fn decide(&mut self) {
        self.count();
        if self.status.start_time.is_none() && !self.is_suspended() {
            self.status.start_time = Some(whole(self.now));
        }
        let target = self.target();
        let is_over = target.is_some();
        if let Some((type_, reason, message)) = target
            && self.condition(type_).is_none()
        {
            self.add_condition(type_, "True", &reason, &message);
        }
        if is_over {
            self.end_all();
        } else if self.job.metadata.deletion_timestamp.is_none() {
            self.manage();
            self.note_suspension();
        }
        self.set_counts();
        self.conclude();
    }

    /// Folds what is settled into the counts, and writes down what has finished since.
    fn count(&mut self) {
        let indexed = self.is_indexed();
        let completions = self.spec().completions.unwrap_or(0);
        let mut uncounted = self.status.uncounted_terminated_pods.take().unwrap_or_default();
        let tracked: BTreeSet<&str> = self
            .members
            .iter()
            .filter(|member| member.tracked)
            .map(|member| member.uid)
            .collect();
        let fold = |list: &mut Option<Vec<String>>| -> i32 {
            let before = list.as_ref().map_or(0, Vec::len);
            let kept: Vec<String> = list.take().unwrap_or_default();
            let kept: Vec<String> = kept.into_iter().filter(|uid| tracked.contains(uid.as_str())).collect();
            let settled = before - kept.len();
            *list = (!kept.is_empty()).then_some(kept);
            i32::try_from(settled).unwrap_or(i32::MAX)
        };
        let (succeeded, failed) = (fold(&mut uncounted.succeeded), fold(&mut uncounted.failed));
        let some = |count: i32| (count != 0).then_some(count);
        self.status.succeeded = some(self.status.succeeded.unwrap_or(0) + succeeded);
        self.status.failed = some(self.status.failed.unwrap_or(0) + failed);
        let mut done = indexes::parse(
            self.status.completed_indexes.as_deref().unwrap_or_default(),
            completions,
        );
        let over = self.condition("FailureTarget").is_some();
        let mut release = Vec::new();
        for member in self.members.iter().filter(|member| member.tracked) {
            let is_known = |list: &Option<Vec<String>>| list.iter().flatten().any(|uid| uid == member.uid);
            if pods::phase(member.pod) == "Succeeded" && !is_known(&uncounted.failed) {
                if indexed {
                    done.extend(member.index.filter(|index| *index < completions));
                } else if !is_known(&uncounted.succeeded) {
                    uncounted.succeeded.get_or_insert_default().push(member.uid.to_owned());
                }
            } else if self.has_failed(member) || over {
                if !is_known(&uncounted.failed) {
                    uncounted.failed.get_or_insert_default().push(member.uid.to_owned());
                }
            } else {
                continue;
            }
            release.push(member.name.to_owned());
        }
        self.plan.release = release;
        if indexed {
            self.status.succeeded = some(i32::try_from(done.len()).unwrap_or(i32::MAX));
            let text = indexes::print(&done);
            self.status.completed_indexes = (!text.is_empty()).then_some(text);
        }
        self.status.uncounted_terminated_pods = Some(uncounted);
    }

    fn uncounted(&self) -> UncountedTerminatedPods {
        self.status.uncounted_terminated_pods.clone().unwrap_or_default()
    }

    fn succeeded(&self) -> i32 {
        let waiting = self.uncounted().succeeded.map_or(0, |list| list.len());
        self.status.succeeded.unwrap_or(0) + i32::try_from(waiting).unwrap_or(i32::MAX)
    }

    fn failed(&self) -> i32 {
        let waiting = self.uncounted().failed.map_or(0, |list| list.len());
        self.status.failed.unwrap_or(0) + i32::try_from(waiting).unwrap_or(i32::MAX)
    }

    fn active(&self) -> Vec<&Member<'_>> {
        self.members
            .iter()
            .filter(|member| pods::is_active(member.pod))
            .collect()
    }

    /// What the Job is to come to, if that is decided: condition, reason, message.
    fn target(&mut self) -> Option<(&'static str, String, String)> {
        for type_ in ["SuccessCriteriaMet", "FailureTarget"] {
            if let Some(condition) = self.condition(type_) {
                let text = |text: &Option<String>| text.clone().unwrap_or_default();
                return Some((type_, text(&condition.reason), text(&condition.message)));
            }
        }
        let failure = |reason: &str, message: &str| Some(("FailureTarget", reason.to_owned(), message.to_owned()));
        let spec = self.spec();
        let limit = spec.backoff_limit.unwrap_or(6);
        if self.failed() > limit || self.restarts_exceed(limit) {
            return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit");
        }
        if let (Some(seconds), Some(start), false) = (
            spec.active_deadline_seconds,
            self.status.start_time.as_ref().map(|time| time.0),
            self.is_suspended(),
        ) {
            let left = until(later(start, seconds), self.now);
            if left.is_zero() {
                return failure("DeadlineExceeded", "Job was active longer than specified deadline");
            }
            self.wake_after(left);
        }
        let active = self.active().len();
        let complete = match spec.completions {
            None => self.succeeded() > 0,
            Some(completions) => self.succeeded() >= completions,
        };
        (complete && active == 0).then(|| {
            let message = "Reached expected number of succeeded pods";
            (
                "SuccessCriteriaMet",
                "CompletionsReached".to_owned(),
                message.to_owned(),
            )
        })
    }

    /// Where containers are restarted in place, their restarts count against the limit.
    fn restarts_exceed(&self, limit: i32) -> bool {
        let policy = self.spec().template.spec.and_then(|spec| spec.restart_policy);
        if policy.as_deref() != Some("OnFailure") {
            return false;
        }
        let statuses = self.active().into_iter().flat_map(|member| {
            let status = member.pod.status.clone().unwrap_or_default();
            let containers = status.container_statuses.unwrap_or_default();
            containers
                .into_iter()
                .chain(status.init_container_statuses.unwrap_or_default())
        });
        let restarts: i32 = statuses.map(|status| status.restart_count).fold(0, i32::saturating_add);
        if limit == 0 { restarts > 0 } else { restarts >= limit }
    }

    fn wake_after(&mut self, wait: Duration) {
        self.plan.wake = Some(self.plan.wake.map_or(wait, |wake| wake.min(wait)));
    }

    fn end_all(&mut self) {
        self.plan.end = self.active().into_iter().map(|member| member.name.to_owned()).collect();
    }

    /// Makes or deletes Pods so that as many are active as wanted.
    fn manage(&mut self) {
        let spec = self.spec();
        let active = i32::try_from(self.active().len()).unwrap_or(i32::MAX);
        let parallelism = spec.parallelism.unwrap_or(1);
        let wanted = match spec.completions {
            _ if self.is_suspended() => 0,
            None if self.succeeded() > 0 => active,
            None => parallelism,
            Some(completions) => (completions - self.succeeded()).min(parallelism).max(0),
        };
        let too_many = usize::try_from((active - wanted).clamp(0, MOST_AT_ONCE)).unwrap_or(0);
        let remove = self.for_removal(too_many);
        if !remove.is_empty() {
            self.plan.remove = remove;
            return;
        }
        let terminating = if self.replaces_only_failed() {
            self.terminating()
        } else {
            0
        };
        let missing = (wanted - terminating - active).min(MOST_AT_ONCE);
        if missing <= 0 || self.is_suspended() {
            return;
        }
        let pause = self.pause();
        if !pause.is_zero() {
            return self.wake_after(pause);
        }
        self.plan.create = if self.is_indexed() {
            self.free_indexes(missing).into_iter().map(Some).collect()
        } else {
            (0..missing).map(|_| None).collect()
        };
    }

    /// The Pods that go first: those whose index is taken twice, then those in early phases.
    fn for_removal(&self, count: usize) -> Vec<String> {
        let mut taken = BTreeSet::new();
        let mut doubled: Vec<String> = Vec::new();
        let mut single = Vec::new();
        for member in self.active() {
            match member.index {
                Some(index) if self.is_indexed() && !taken.insert(index) => doubled.push(member.name.to_owned()),
                _ => single.push(Ranked(member.pod)),
            }
        }
        pods::rank_for_deletion(&mut single, &[], self.now);
        let more = count.saturating_sub(doubled.len());
        let names = single
            .into_iter()
            .take(more)
            .filter_map(|Ranked(pod)| pod.metadata.name.clone());
        doubled.extend(names);
        doubled
    }

    fn free_indexes(&self, count: i32) -> Vec<i32> {
        let completions = self.spec().completions.unwrap_or(0);
        let mut taken = indexes::parse(
            self.status.completed_indexes.as_deref().unwrap_or_default(),
            completions,
        );
        taken.extend(self.active().into_iter().filter_map(|member| member.index));
        (0..completions)
            .filter(|index| !taken.contains(index))
            .take(usize::try_from(count).unwrap_or(0))
            .collect()
    }

    /// How long to wait after failures before the next Pod.
    fn pause(&self) -> Duration {
        let ended = |phase: &'static str| {
            let members = self
                .members
                .iter()
                .filter(move |member| pods::phase(member.pod) == phase);
            members.filter_map(Member::ended)
        };
        let success = ended("Succeeded").max();
        let failures: Vec<Timestamp> = ended("Failed")
            .filter(|end| success.is_none_or(|success| *end > success))
            .collect();
        let Some(last) = failures.iter().max() else {
            return Duration::ZERO;
        };
        let doublings = u32::try_from(failures.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let pause = BACK_OFF
            .saturating_mul(2_u32.saturating_pow(doublings))
            .min(LONGEST_BACK_OFF);
        let due = later(*last, i64::try_from(pause.as_secs()).unwrap_or(i64::MAX));
        until(due, self.now)
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
                    .tell
                    .push(EventNote::normal("Suspended", "Suspend", "Job suspended"));
            }
            (false, Some(true)) => {
                self.add_condition("Suspended", "False", "JobResumed", "Job resumed");
                self.plan
                    .tell
                    .push(EventNote::normal("Resumed", "Resume", "Job resumed"));
                self.status.start_time = Some(whole(self.now));
            }
            _ => {}
        }
    }

    fn terminating(&self) -> i32 {
        let going = self.members.iter().filter(|member| pods::is_terminating(member.pod));
        i32::try_from(going.count()).unwrap_or(i32::MAX)
    }

    fn set_counts(&mut self) {
        let leaving: BTreeSet<&String> = self.plan.remove.iter().chain(&self.plan.end).collect();
        let (mut active, mut ready, mut leaves) = (0, 0, 0);
        for member in self.members.iter().filter(|member| pods::is_active(member.pod)) {
            if leaving.contains(&member.name.to_owned()) {
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

    /// A Job is over when all its Pods have ended and are counted.
    fn conclude(&mut self) {
        let uncounted = self.uncounted();
        let is_settled = uncounted.succeeded.is_none() && uncounted.failed.is_none();
        let waits = !is_settled || self.status.terminating != Some(0) || self.status.active.is_some();
        // What has been decided in this very moment is written down before it is carried out.
        let decided = |type_: &str| {
            let conditions = self
                .job
                .status
                .iter()
                .flat_map(|status| status.conditions.iter().flatten());
            conditions
                .into_iter()
                .any(|condition| condition.type_ == type_ && condition.status == "True")
        };
        let is_new = !decided("SuccessCriteriaMet") && !decided("FailureTarget");
        if waits || is_new || !self.plan.release.is_empty() {
            return;
        }
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        if let Some(met) = self.condition("SuccessCriteriaMet").cloned() {
            self.add_condition("Complete", "True", &text(&met.reason), &text(&met.message));
            self.status.completion_time = Some(whole(self.now));
            self.plan
                .tell
                .push(EventNote::normal("Completed", "Complete", "Job completed"));
        } else if let Some(target) = self.condition("FailureTarget").cloned() {
            let (reason, message) = (text(&target.reason), text(&target.message));
            self.add_condition("Failed", "True", &reason, &message);
            self.plan.tell.push(EventNote::warning(reason, "Fail", message));
        }
    }

    fn finish(mut self) -> Plan {
        if self.job.status.as_ref() != Some(&self.status) {
            self.plan.status = Some(Box::new(self.status));
        }
        self.plan
    }
}

struct Ranked<'a>(&'a Pod);

impl AsRef<Pod> for Ranked<'_> {
    fn as_ref(&self) -> &Pod {
        self.0
    }
}
