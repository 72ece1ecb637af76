//! What a `CronJob` needs next: a pure function from it and its Jobs to Jobs to make or delete, and a status.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, CronJobStatus, Job};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_apimachinery::go::quote;
use kubewright_runtime::cron::Schedule;
use kubewright_runtime::events::EventNote;

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
    pub(super) events: Vec<EventNote>,
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
    planner.clean_up();
    planner.note_finished();
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
fn end_of(job: &Job) -> Option<&str> {
    let conditions = job.status.as_ref()?.conditions.as_deref()?;
    let end = conditions
        .iter()
        .find(|condition| matches!(condition.type_.as_str(), "Complete" | "Failed") && condition.status == "True")?;
    Some(end.type_.as_str())
}

fn name_of(job: &Job) -> &str {
    job.metadata.name.as_deref().unwrap_or_default()
}

impl Planner<'_> {
    fn record(&mut self, note: EventNote) {
        self.plan.events.push(note);
    }

    /// Keeps the list of Jobs that are active, and the time of the last success.
    fn note_finished(&mut self) {
        let mut active = self.status.active.take().unwrap_or_default();
        for job in self.jobs {
            let listed = active.iter().position(|known| known.uid == job.metadata.uid);
            match (listed, end_of(job)) {
                (Some(place), Some(condition)) => {
                    active.remove(place);
                    let text = format!("Saw completed job: {}, condition: {condition}", name_of(job));
                    self.record(EventNote::normal("SawCompletedJob", "Track", text));
                }
                (None, None) => {
                    let text = format!(
                        "Saw a job that the controller did not create or forgot: {}",
                        name_of(job)
                    );
                    self.record(EventNote::warning("UnexpectedJob", "Track", text));
                }
                _ => {}
            }
            if end_of(job) == Some("Complete") {
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
            self.record(EventNote::normal("MissingJob", "Track", text));
            active.retain(|known| known.name.as_deref() != Some(&name));
        }
        self.status.active = Some(active);
    }

    /// Deletes the oldest of the Jobs that ended, until as few are left as wanted.
    fn clean_up(&mut self) {
        let spec = self.spec();
        for (condition, limit) in [
            ("Complete", spec.successful_jobs_history_limit),
            ("Failed", spec.failed_jobs_history_limit),
        ] {
            // The server sets defaults for both, so a missing limit means to keep all Jobs.
            let Some(limit) = limit else {
                continue;
            };
            let mut ended: Vec<&Job> = self.jobs.iter().filter(|job| end_of(job) == Some(condition)).collect();
            ended.sort_by_key(|job| {
                let start = job.status.as_ref().and_then(|status| status.start_time.clone());
                (start.is_none(), start, name_of(job))
            });
            let too_many = ended.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
            for job in ended.into_iter().take(too_many) {
                self.plan.delete.push(name_of(job).to_owned());
                let active = self.status.active.iter_mut();
                active.for_each(|active| active.retain(|known| known.uid != job.metadata.uid));
            }
        }
    }

    fn schedule(&mut self) {
        let spec = self.spec();
        let zone = match spec.time_zone.as_deref() {
            None => TimeZone::UTC,
            Some(name) => {
                let Ok(zone) = TimeZone::get(name) else {
                    let text = format!("invalid timeZone: {}: unknown time zone {name}", quote(name));
                    return self.record(EventNote::warning("UnknownTimeZone", "Schedule", text));
                };
                zone
            }
        };
        if spec.suspend == Some(true) {
            return;
        }
        let schedule = match spec.schedule.parse::<Schedule>() {
            Ok(schedule) => schedule,
            Err(error) => {
                let text = format!("unparseable schedule: {} : {error}", quote(&spec.schedule));
                return self.record(EventNote::warning("UnparseableSchedule", "Schedule", text));
            }
        };
        let deadline = spec.starting_deadline_seconds;
        let from = self.last().map(|last| match deadline {
            Some(seconds) => last.max(later(self.now, seconds.saturating_neg())),
            None => last,
        });
        let recent = from.map_or(Ok(Recent::default()), |from| recent(&schedule, &zone, from, self.now));
        let Ok(recent) = recent else {
            let text = format!(
                "invalid schedule: {} : time difference between two schedules is less than 1 second",
                spec.schedule
            );
            return self.record(EventNote::warning("InvalidSchedule", "Schedule", text));
        };
        if let Some(due) = recent.due {
            if recent.missed > MANY_MISSED {
                let text =
                    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
                self.record(EventNote::warning("TooManyMissedTimes", "Schedule", text));
            }
            self.start(due, &zone);
        }
        self.wake(&schedule, &zone);
    }

    /// When a Job was last due, or the `CronJob` was made.
    fn last(&self) -> Option<Timestamp> {
        let last = self.status.last_schedule_time.as_ref();
        let last = last.or(self.cron.metadata.creation_timestamp.as_ref());
        last.map(|time| time.0)
    }

    /// Makes the Job of a time that has come, if nothing speaks against it.
    fn start(&mut self, due: Timestamp, zone: &TimeZone) {
        let spec = self.spec();
        if spec
            .starting_deadline_seconds
            .is_some_and(|seconds| later(due, seconds) < self.now)
        {
            let text = format!("Missed scheduled time to start a job: {}", rfc1123(due));
            return self.record(EventNote::warning("MissSchedule", "Schedule", text));
        }
        let active = self.status.active.clone().unwrap_or_default();
        let name = Some(self.job_name(due));
        let last = self.status.last_schedule_time.as_ref().map(|time| time.0);
        if last == Some(due) || active.iter().any(|known| known.name == name) {
            return;
        }
        match spec.concurrency_policy.as_deref() {
            Some("Forbid") if !active.is_empty() => {
                let text = "Not starting job because prior execution is running and concurrency policy is Forbid";
                return self.record(EventNote::normal("JobAlreadyActive", "Schedule", text));
            }
            Some("Replace") => {
                let running = active.into_iter().filter_map(|known| known.name);
                self.plan.delete.extend(running);
                self.status.active = Some(Vec::new());
            }
            _ => {}
        }
        self.plan.create = Some(Box::new(self.job(due, zone)));
        self.status.last_schedule_time = Some(whole(due));
    }

    /// Looks again when the next Job is due.
    fn wake(&mut self, schedule: &Schedule, zone: &TimeZone) {
        let Some(last) = self.last() else {
            return;
        };
        let after = match recent(schedule, zone, last, self.now) {
            Ok(Recent { due: Some(due), .. }) => due,
            Ok(Recent { missed: 0, .. }) => last,
            _ => self.now,
        };
        let next = schedule.next_after_in(after, zone);
        self.plan.wake = next.map(|next| until(next, self.now) + LATER);
    }

    /// The types of some versions of Kubernetes have an optional spec, those of others a spec.
    fn spec(&self) -> CronJobSpec {
        Option::<CronJobSpec>::from(self.cron.spec.clone()).unwrap_or_default()
    }

    fn job_name(&self, due: Timestamp) -> String {
        let name = self.cron.metadata.name.as_deref().unwrap_or_default();
        format!("{name}-{}", due.as_second() / 60)
    }

    fn job(&self, due: Timestamp, zone: &TimeZone) -> Job {
        let template = self.spec().job_template;
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

/// What has come and was not met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Recent {
    /// The last of these times.
    due: Option<Timestamp>,
    /// About how many there were, if there were several.
    missed: i64,
}

/// The schedule has no times.
#[derive(Debug, PartialEq, Eq)]
struct NoTimes;

/// What has come since. As upstream, times that were missed are counted by the distance of the first two; where a schedule
/// is uneven, that may lead past the last of them, and then nothing is due.
fn recent(schedule: &Schedule, zone: &TimeZone, from: Timestamp, now: Timestamp) -> Result<Recent, NoTimes> {
    let first = schedule.next_after_in(from, zone).ok_or(NoTimes)?;
    if now < first {
        return Ok(Recent::default());
    }
    let Some(second) = schedule.next_after_in(first, zone).filter(|second| *second <= now) else {
        return Ok(Recent {
            due: Some(first),
            missed: 0,
        });
    };
    let period = second.as_second() - first.as_second();
    if period < 1 {
        return Err(NoTimes);
    }
    let missed = (now.as_second() - first.as_second()) / period + 1;
    let mut time = later(first, (missed - 2).saturating_mul(period));
    let mut due = None;
    while let Some(next) = schedule.next_after_in(time, zone).filter(|next| *next <= now) {
        (time, due) = (next, Some(next));
    }
    Ok(Recent { due, missed })
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn cron(change: &Value) -> CronJob {
        let mut cron = json!({
            "metadata": { "name": "tick", "uid": "1", "creationTimestamp": "2026-03-01T12:00:00Z" },
            "spec": { "schedule": "0 * * * *", "jobTemplate": {} },
        });
        for (key, value) in change.as_object().unwrap() {
            cron["spec"][key] = value.clone();
        }
        serde_json::from_value(cron).unwrap()
    }

    fn reasons(plan: &Plan) -> Vec<&str> {
        plan.events.iter().map(|note| note.reason.as_str()).collect()
    }

    fn made(plan: &Plan) -> Option<String> {
        let annotations = plan.create.as_ref()?.metadata.annotations.clone()?;
        annotations.get(SCHEDULED).cloned()
    }

    #[test]
    fn after_a_long_sleep_the_last_time_is_met_and_many_are_worth_a_word() {
        let few = plan(&cron(&json!({})), &[], at("2026-03-02T12:30:00Z"));
        assert_eq!(made(&few).as_deref(), Some("2026-03-02T12:00:00Z"));
        assert!(few.events.is_empty());
        let many = plan(&cron(&json!({})), &[], at("2026-03-11T12:30:00Z"));
        assert_eq!(made(&many).as_deref(), Some("2026-03-11T12:00:00Z"));
        assert_eq!(reasons(&many), ["TooManyMissedTimes"]);
        assert_eq!(
            many.events[0].text,
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        );
        // With a starting deadline, times before it do not count as missed.
        let bounded = plan(
            &cron(&json!({ "startingDeadlineSeconds": 7200 })),
            &[],
            at("2026-03-11T12:30:00Z"),
        );
        assert!(bounded.create.is_some() && bounded.events.is_empty());
    }

    #[test]
    fn what_is_past_its_deadline_is_not_started() {
        let late = plan(
            &cron(&json!({ "startingDeadlineSeconds": 60 })),
            &[],
            at("2026-03-01T13:05:00Z"),
        );
        assert!(late.create.is_none() && late.events.is_empty());
        assert_eq!(late.wake, Some(Duration::from_mins(55) + LATER));
    }

    #[test]
    fn zones_say_when_it_is_nine_and_summer() {
        let tokyo = json!({ "schedule": "0 9 * * *", "timeZone": "Asia/Tokyo" });
        let plan_at = |spec: &Value, now: &str| plan(&cron(spec), &[], at(now));
        assert_eq!(
            made(&plan_at(&tokyo, "2026-03-02T00:10:00Z")).as_deref(),
            Some("2026-03-02T09:00:00+09:00")
        );
        let new_york = json!({ "schedule": "0 9 * * *", "timeZone": "America/New_York" });
        // Summer begins on 8 March: nine is an hour earlier by then.
        assert_eq!(
            made(&plan_at(&new_york, "2026-03-09T13:10:00Z")).as_deref(),
            Some("2026-03-09T09:00:00-04:00")
        );
        let unknown = json!({ "timeZone": "Mars/Olympus_Mons" });
        let refused = plan_at(&unknown, "2026-03-02T00:10:00Z");
        assert_eq!(
            refused.events[0].text,
            "invalid timeZone: \"Mars/Olympus_Mons\": unknown time zone Mars/Olympus_Mons"
        );
        assert!(refused.wake.is_none() && refused.create.is_none());
    }

    #[test]
    fn a_day_that_never_comes_is_no_schedule() {
        let never = plan(
            &cron(&json!({ "schedule": "0 0 30 2 *" })),
            &[],
            at("2026-03-02T00:10:00Z"),
        );
        assert_eq!(reasons(&never), ["InvalidSchedule"]);
        assert_eq!(never.wake, None);
    }

    #[test]
    fn periods_are_counted_from_the_last_job_and_not_from_now() {
        let every = cron(&json!({ "schedule": "@every 1h" }));
        let mut later_on = every.clone();
        later_on.status = Some(CronJobStatus {
            last_schedule_time: Some(whole(at("2026-03-01T13:00:00Z"))),
            ..CronJobStatus::default()
        });
        let plan = plan(&later_on, &[], at("2026-03-01T13:20:00Z"));
        assert_eq!(plan.wake, Some(Duration::from_mins(40) + LATER));
    }

    #[test]
    fn jobs_that_are_cleaned_up_are_not_seen_to_end() {
        let mut cron = cron(&json!({ "failedJobsHistoryLimit": 0 }));
        let job: Job = serde_json::from_value(json!({
            "metadata": { "name": "tick-1", "uid": "job" },
            "status": { "conditions": [{ "type": "Failed", "status": "True" }] },
        }))
        .unwrap();
        cron.status = Some(CronJobStatus {
            active: Some(vec![reference(&job)]),
            ..CronJobStatus::default()
        });
        let plan = plan(&cron, &[job], at("2026-03-01T12:00:30Z"));
        assert_eq!(plan.delete, ["tick-1"]);
        assert!(plan.events.is_empty());
        assert_eq!(plan.status.unwrap().active, None);
    }
}
