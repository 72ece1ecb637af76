use kubewright::k8s_openapi::api::batch::v1::JobTemplateSpec;
use kubewright::k8s_openapi::api::core::v1::ObjectReference;
use kubewright::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kubewright::prelude::*;

/// What a `CronJob` asks for: Jobs at certain times.
#[kubewright::resource(
    group = "batch.tutorial.kubewright.dev",
    version = "v1",
    kind = "CronJob",
    namespaced,
    status = "CronJobStatus",
    printcolumn(name = "Schedule", type = "string", json_path = ".spec.schedule"),
    printcolumn(name = "Suspend", type = "boolean", json_path = ".spec.suspend"),
    printcolumn(
        name = "Last schedule",
        type = "date",
        json_path = ".status.lastScheduleTime"
    ),
    rule(
        "self.metadata.name.size() <= 52",
        message = "the names of its Jobs are eleven characters longer: 52 characters at most"
    )
)]
pub struct CronJobSpec {
    /// When Jobs are started: minute, hour, day of the month, month and day of the week, as cron has them.
    #[schema(pattern = r"^[^\s@]+( [^\s@]+){4}$", example = "*/5 8-18 * * MON-FRI")]
    pub schedule: String,
    /// How many seconds late a Job may start. A run that is later than that is missed.
    pub starting_deadline_seconds: Option<u32>,
    /// What happens if a Job still runs when the next one is due.
    #[schema(default = ConcurrencyPolicy::Allow)]
    pub concurrency_policy: ConcurrencyPolicy,
    /// Whether to start no Jobs for now. Those that run go on.
    #[schema(default = false)]
    pub suspend: bool,
    /// The Job that is started.
    pub job_template: JobTemplateSpec,
    /// How many Jobs that succeeded are kept.
    #[schema(default = 3)]
    pub successful_jobs_history_limit: u32,
    /// How many Jobs that failed are kept.
    #[schema(default = 1)]
    pub failed_jobs_history_limit: u32,
}

/// What happens if a Job still runs when the next one is due.
#[kubewright::schema]
#[derive(Copy, Eq)]
pub enum ConcurrencyPolicy {
    /// They run side by side.
    Allow,
    /// The next one waits until the first has ended.
    Forbid,
    /// The next one takes the place of the first.
    Replace,
}

/// What is observed of a `CronJob`.
#[kubewright::schema]
#[derive(Default)]
pub struct CronJobStatus {
    /// The Jobs that run.
    #[schema(optional, list_type = atomic)]
    pub active: Vec<ObjectReference>,
    /// When the last Job was due.
    pub last_schedule_time: Option<Time>,
    /// `Available`: runs are scheduled. `Progressing`: a Job runs. `Degraded`: the last Job failed, or a run was missed.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<Condition>,
}
