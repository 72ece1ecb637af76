//! What a `CronJob` needs next: a pure function from it and its Jobs to Jobs to make or delete, and a status.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::api::batch::v1::{CronJob, CronJobStatus, Job};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_runtime::events::EventNote;

use super::schedule::Schedule;
use crate::support::claim::controller_reference;
use crate::support::time::{later, until, whole};

const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
/// Times are written without fractions: it is a little later then.
const LATER: Duration = Duration::from_millis(100);
/// More than so many missed times are worth a word.
const MANY_MISSED: i64 = 100;

/// What to do, in this order.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Jobs to delete, by name.
    pub(super) delete: Vec<String>,
    pub(super) create: Option<Box<Job>>,
    /// The status to write, if it differs.
    pub(super) status: Option<CronJobStatus>,
    pub(super) tell: Vec<EventNote>,
    pub(super) wake: Option<Duration>,
}

struct Planner<'a> {
    cron: &'a CronJob,
    jobs: &'a [Job],
    status: CronJobStatus,
    now: Timestamp,
    plan: Plan,
}

/// Plans what a `CronJob` needs. `jobs` are those it controls.
pub(super) fn plan(cron: &CronJob, jobs: &[Job], now: Timestamp) -> Plan {
    let mut planner = Planner {
        cron,
        jobs,
        status: cron.status.clone().unwrap_or_default(),
        now,
        plan: Plan::default(),
    };
    planner.note_finished();
    planner.clean_up();
    if cron.metadata.deletion_timestamp.is_none() {
        planner.schedule();
    }
    let active = planner.status.active.take().filter(|active| !active.is_empty());
    planner.status.active = active;
    if cron.status.as_ref().unwrap_or(&CronJobStatus::default()) != &planner.status {
        planner.plan.status = Some(planner.status);
    }
    planner.plan
}

/// How a Job ended.
fn end_of(job: &Job) -> Option<(&str, Option<Timestamp>)> {
    let conditions = job.status.as_ref()?.conditions.as_deref()?;
    let end = conditions
        .iter()
        .find(|condition| matches!(condition.type_.as_str(), "Complete" | "Failed") && condition.status == "True")?;
    Some((end.type_.as_str(), end.last_transition_time.as_ref().map(|time| time.0)))
}

fn name_of(job: &Job) -> &str {
    job.metadata.name.as_deref().unwrap_or_default()
}

impl Planner<'_> {
    fn tell(&mut self, note: EventNote) {
        self.plan.tell.push(note);
    }

    /// Keeps the list of Jobs that are active, and the time of the last success.
    fn note_finished(&mut self) {
        let mut active = self.status.active.take().unwrap_or_default();
        for job in self.jobs {
            let listed = active.iter().position(|known| known.uid == job.metadata.uid);
            match (listed, end_of(job)) {
                (Some(place), Some((condition, _))) => {
                    active.remove(place);
                    let text = format!("Saw completed job: {}, condition: {condition}", name_of(job));
                    self.tell(EventNote::normal("SawCompletedJob", "Track", text));
                }
                (None, None) => {
                    let text = format!(
                        "Saw a job that the controller did not create or forgot: {}",
                        name_of(job)
                    );
                    self.tell(EventNote::warning("UnexpectedJob", "Track", text));
                }
                _ => {}
            }
            if let Some(("Complete", _)) = end_of(job) {
                let time = job.status.as_ref().and_then(|status| status.completion_time.clone());
                if time > self.status.last_successful_time {
                    self.status.last_successful_time = time;
                }
            }
        }
        let missing: Vec<String> = active
            .iter()
            .filter(|known| !self.jobs.iter().any(|job| job.metadata.uid == known.uid))
            .filter_map(|known| known.name.clone())
            .collect();
        for name in missing {
            let text = format!("Active job went missing: {name}");
            self.tell(EventNote::normal("MissingJob", "Track", text));
            active.retain(|known| known.name.as_deref() != Some(&name));
        }
        self.status.active = Some(active);
    }

    /// Deletes the oldest of the Jobs that ended, until as few are left as wanted.
    fn clean_up(&mut self) {
        let spec = self.cron.spec.clone();
        for (condition, limit) in [
            ("Complete", spec.successful_jobs_history_limit.unwrap_or(3)),
            ("Failed", spec.failed_jobs_history_limit.unwrap_or(1)),
        ] {
            let mut ended: Vec<&Job> = self
                .jobs
                .iter()
                .filter(|job| end_of(job).is_some_and(|(end, _)| end == condition))
                .collect();
            ended.sort_by_key(|job| {
                (
                    job.status.as_ref().and_then(|status| status.start_time.clone()),
                    name_of(job),
                )
            });
            let too_many = ended.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
            self.plan
                .delete
                .extend(ended.into_iter().take(too_many).map(|job| name_of(job).to_owned()));
        }
    }

    fn schedule(&mut self) {
        let spec = self.cron.spec.clone();
        if spec.suspend == Some(true) {
            return;
        }
        let zone = match spec.time_zone.as_deref() {
            None => TimeZone::UTC,
            Some(name) => {
                let Ok(zone) = TimeZone::get(name) else {
                    let text = format!("invalid timeZone: {name:?}: unknown time zone {name}");
                    return self.tell(EventNote::warning("UnknownTimeZone", "Schedule", text));
                };
                zone
            }
        };
        let schedule = match Schedule::parse(&spec.schedule) {
            Ok(schedule) => schedule,
            Err(error) => {
                let text = format!("unparseable schedule: {:?} : {error}", spec.schedule);
                return self.tell(EventNote::warning("UnparseableSchedule", "Schedule", text));
            }
        };
        if let Some(next) = schedule.next(self.now, &zone) {
            self.plan.wake = Some(until(next, self.now) + LATER);
        }
        let Some(due) = self.due(&schedule, &zone) else {
            return;
        };
        let last = self.status.last_schedule_time.as_ref().map(|time| time.0);
        if last == Some(due) || self.jobs.iter().any(|job| name_of(job) == self.job_name(due)) {
            return;
        }
        if let Some(seconds) = spec.starting_deadline_seconds
            && later(due, seconds) < self.now
        {
            let text = format!("Missed scheduled time to start a job: {}", rfc1123(due));
            return self.tell(EventNote::warning("MissSchedule", "Schedule", text));
        }
        let active = self.status.active.clone().unwrap_or_default();
        match spec.concurrency_policy.as_deref() {
            Some("Forbid") if !active.is_empty() => {
                let text = "Not starting job because prior execution is running and concurrency policy is Forbid";
                return self.tell(EventNote::normal("JobAlreadyActive", "Schedule", text));
            }
            Some("Replace") => {
                self.plan
                    .delete
                    .extend(active.into_iter().filter_map(|known| known.name));
                self.status.active = Some(Vec::new());
            }
            _ => {}
        }
        let job = self.job(due, &zone);
        self.status.last_schedule_time = Some(whole(due));
        self.plan.create = Some(Box::new(job));
    }

    /// The last time that has come and was not met.
    fn due(&mut self, schedule: &Schedule, zone: &TimeZone) -> Option<Timestamp> {
        let spec = self.cron.spec.clone();
        let created = self.cron.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let mut from = self.status.last_schedule_time.as_ref().map(|time| time.0).or(created)?;
        if let Some(seconds) = spec.starting_deadline_seconds {
            from = from.max(later(self.now, -seconds));
        }
        let first = schedule.next(from, zone).filter(|first| *first <= self.now)?;
        let Some(second) = schedule.next(first, zone).filter(|second| *second <= self.now) else {
            return Some(first);
        };
        // After a long sleep there may be many: it is enough to look at the last of them.
        let period = (second.as_second() - first.as_second()).max(1);
        let missed = (self.now.as_second() - first.as_second()) / period + 1;
        let mut due = later(first, (missed - 2).max(0) * period);
        if missed <= MANY_MISSED || schedule.next(due, zone).is_none_or(|next| next > self.now) {
            due = first;
        }
        while let Some(next) = schedule.next(due, zone).filter(|next| *next <= self.now) {
            due = next;
        }
        if missed > MANY_MISSED {
            let text = format!(
                "too many missed start times: {missed}. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            );
            self.tell(EventNote::warning("TooManyMissedTimes", "Schedule", text));
        }
        Some(due)
    }

    fn job_name(&self, due: Timestamp) -> String {
        let name = self.cron.metadata.name.as_deref().unwrap_or_default();
        format!("{name}-{}", due.as_second() / 60)
    }

    fn job(&self, due: Timestamp, zone: &TimeZone) -> Job {
        let template = self.cron.spec.clone().job_template;
        let metadata = template.metadata.unwrap_or_default();
        let mut annotations = metadata.annotations.unwrap_or_default();
        let written = due.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
        annotations.insert(SCHEDULED.to_owned(), written.replace("+00:00", "Z"));
        Job {
            metadata: ObjectMeta {
                name: Some(self.job_name(due)),
                namespace: self.cron.metadata.namespace.clone(),
                labels: metadata.labels,
                annotations: Some(annotations),
                creation_timestamp: None,
                owner_references: Some(vec![controller_reference(self.cron)]),
                ..ObjectMeta::default()
            },
            spec: Some(template.spec.unwrap_or_default()),
            status: None,
        }
    }
}

/// The reference by which a `CronJob` remembers an active Job.
pub(super) fn reference(job: &Job) -> ObjectReference {
    ObjectReference {
        api_version: Some("batch/v1".to_owned()),
        kind: Some("Job".to_owned()),
        name: job.metadata.name.clone(),
        namespace: job.metadata.namespace.clone(),
        uid: job.metadata.uid.clone(),
        resource_version: job.metadata.resource_version.clone(),
        ..ObjectReference::default()
    }
}

fn rfc1123(time: Timestamp) -> String {
    time.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()
}
