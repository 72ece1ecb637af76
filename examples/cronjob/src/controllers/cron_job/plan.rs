use std::ops::Deref;

use kubewright::cron::Schedule;
use kubewright::jiff::{SignedDuration, Timestamp};
use kubewright::k8s_openapi::api::batch::v1::Job;
use kubewright::k8s_openapi::api::core::v1::ObjectReference;
use kubewright::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kubewright::prelude::*;

use super::SCHEDULED_AT;
use crate::api::v1::{ConcurrencyPolicy, CronJob, CronJobStatus};

/// What is to be done about a `CronJob` now.
pub struct Plan<'a, J> {
    /// What is observed of it.
    pub status: CronJobStatus,
    /// The Jobs that are to go.
    pub delete: Vec<&'a J>,
    /// The run that is to be started.
    pub start: Option<Timestamp>,
    /// When the next run is due.
    pub next: Option<Timestamp>,
}

impl<'a, J: Deref<Target = Job>> Plan<'a, J> {
    /// Decides by what is there and what time it is, and by nothing else.
    pub fn make(cron_job: &CronJob, jobs: &'a [J], now: Timestamp) -> Self {
        let spec = &cron_job.spec;
        let mut jobs: Vec<&J> = jobs.iter().collect();
        jobs.sort_by_key(|job| scheduled_at(job));
        let that_ended = |how: Option<&str>| -> Vec<&'a J> {
            let jobs = jobs.iter().copied();
            jobs.filter(|job| ended(job) == how).collect()
        };
        let active = that_ended(None);
        let (succeeded, failed) = (that_ended(Some("Complete")), that_ended(Some("Failed")));

        // The oldest go first.
        let mut delete = surplus(&succeeded, spec.successful_jobs_history_limit);
        delete.extend(surplus(&failed, spec.failed_jobs_history_limit));

        // The last run is known from its Job, and from the status once that is deleted.
        let mut status = cron_job.status.clone().unwrap_or_default();
        let remembered = status.last_schedule_time.as_ref().map(|time| time.0);
        let last = jobs.iter().filter_map(|job| scheduled_at(job)).max();
        let last = last.max(remembered);
        status.active = active.iter().map(|job| reference(job)).collect();
        status.last_schedule_time = last.map(Time);

        let created = cron_job.creation_timestamp().map(|time| time.0);
        let since = last.or(created).unwrap_or(now);
        let schedule = spec.schedule.parse::<Schedule>();
        let mut run = Run::NotDue;
        if let (Ok(schedule), false) = (&schedule, spec.suspend)
            && let Some(due) = schedule.last_between(since, now)
        {
            let deadline = spec.starting_deadline_seconds;
            let deadline = deadline.map(|seconds| SignedDuration::from_secs(seconds.into()));
            run = match (deadline, spec.concurrency_policy) {
                (Some(deadline), _) if now.duration_since(due) > deadline => Run::Missed(due),
                (_, ConcurrencyPolicy::Forbid) if !active.is_empty() => Run::Waits,
                _ => Run::Due(due),
            };
        }
        if matches!(run, Run::Due(_)) && spec.concurrency_policy == ConcurrencyPolicy::Replace {
            delete.extend(&active);
        }

        let available = match &schedule {
            Err(error) => ConditionUpdate::is_false("Available", "InvalidSchedule")
                .message(format!("spec.schedule: {error}")),
            Ok(_) if spec.suspend => ConditionUpdate::is_false("Available", "Suspended"),
            Ok(_) => ConditionUpdate::is_true("Available", "Scheduled"),
        };
        let progressing = if active.is_empty() {
            ConditionUpdate::is_false("Progressing", "NoJobRuns")
        } else {
            ConditionUpdate::is_true("Progressing", "JobsRun")
        };
        let last_ended = jobs.iter().rev().find(|job| ended(job).is_some());
        let degraded = match (run, last_ended) {
            (Run::Missed(due), _) => ConditionUpdate::is_true("Degraded", "RunMissed")
                .message(format!("the run of {due} could not start in time")),
            (_, Some(job)) if ended(job) == Some("Failed") => {
                ConditionUpdate::is_true("Degraded", "JobFailed")
                    .message(format!("Job {} failed", job.name_any()))
            }
            _ => ConditionUpdate::is_false("Degraded", "NothingFailed"),
        };
        for condition in [available, progressing, degraded] {
            let condition = condition.observed(cron_job.metadata.generation);
            set_condition(&mut status.conditions, &condition, now);
        }

        let next = schedule.ok().filter(|_| !spec.suspend);
        Plan {
            status,
            delete,
            start: match run {
                Run::Due(due) => Some(due),
                _ => None,
            },
            next: next.and_then(|schedule| schedule.next_after(now)),
        }
    }
}

/// What there is to be said of the last time of a schedule.
#[derive(Clone, Copy)]
enum Run {
    /// It was met.
    NotDue,
    /// It is to be met now.
    Due(Timestamp),
    /// It has to wait for the Job before it.
    Waits,
    /// It is too late for it.
    Missed(Timestamp),
}

/// The first of some Jobs, so that a number of them is left.
fn surplus<'a, J>(jobs: &[&'a J], limit: u32) -> Vec<&'a J> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    jobs[..jobs.len().saturating_sub(limit)].to_vec()
}

/// How a Job ended, if it did: `Complete` or `Failed`.
fn ended(job: &Job) -> Option<&str> {
    let conditions = job.status.as_ref()?.conditions.as_deref()?;
    let mut true_ones = conditions
        .iter()
        .filter(|condition| condition.status == "True");
    let end =
        true_ones.find(|condition| ["Complete", "Failed"].contains(&condition.type_.as_str()));
    Some(end?.type_.as_str())
}

/// When a Job was due.
fn scheduled_at(job: &Job) -> Option<Timestamp> {
    job.annotations().get(SCHEDULED_AT)?.parse().ok()
}

fn reference(job: &Job) -> ObjectReference {
    ObjectReference {
        api_version: Some("batch/v1".to_owned()),
        kind: Some("Job".to_owned()),
        name: job.metadata.name.clone(),
        namespace: job.metadata.namespace.clone(),
        uid: job.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests {
    use kubewright::k8s_openapi::api::batch::v1::{JobCondition, JobStatus};
    use kubewright::serde_json::json;

    use super::*;

    /// Nothing here waits or asks a server, so that a month is over in milliseconds.
    #[test]
    fn a_month_has_its_runs() {
        let mut cron_job: CronJob = from_json(json!({
            "apiVersion": "batch.tutorial.kubewright.dev/v1",
            "kind": "CronJob",
            "metadata": { "name": "hourly", "uid": "1", "creationTimestamp": "2026-03-01T00:00:00Z" },
            "spec": { "schedule": "0 * * * *", "jobTemplate": {} },
        }))
        .unwrap();
        let mut now: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        let end: Timestamp = "2026-04-01T00:00:00Z".parse().unwrap();
        let (mut jobs, mut started) = (Vec::<Box<Job>>::new(), 0);
        while now < end {
            let plan = Plan::make(&cron_job, &jobs, now);
            now = plan.next.unwrap();
            let deleted: Vec<String> = plan.delete.iter().map(|job| job.name_any()).collect();
            let new = plan
                .start
                .map(|due| super::super::job(&cron_job, due).unwrap());
            cron_job.status = Some(plan.status);
            jobs.retain(|job| !deleted.contains(&job.name_any()));
            jobs.extend(new.map(|job| {
                started += 1;
                Box::new(completed(job))
            }));
        }
        assert_eq!(started, 31 * 24 - 1);
        // The last one was started a moment ago, and there are three from before.
        assert_eq!(jobs.len(), 4);
    }

    fn completed(mut job: Job) -> Job {
        let condition = JobCondition {
            type_: "Complete".to_owned(),
            status: "True".to_owned(),
            ..JobCondition::default()
        };
        job.status = Some(JobStatus {
            conditions: Some(vec![condition]),
            ..JobStatus::default()
        });
        job
    }
}
