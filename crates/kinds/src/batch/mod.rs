//! The kinds of `batch`: Jobs, whose pods run to completion, and `CronJobs`, which make them on a schedule.

pub(crate) mod cron_job;
mod indexes;
mod job;
mod job_policies;
mod job_status;
mod time_zone;

pub(crate) use cron_job::CronJob;
pub(crate) use job::Job;
