use kubewright::k8s_openapi::api::batch::v1::JobTemplateSpec;
use kubewright::prelude::*;

use crate::api::v1::{self, ConcurrencyPolicy};

/// What a `CronJob` asks for: Jobs at certain times.
#[kubewright::resource(
    group = "batch.tutorial.kubewright.dev",
    version = "v2",
    kind = "CronJob",
    namespaced,
    status = "v1::CronJobStatus",
    storage = false,
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
#[derive(Convert)]
#[convert(hub = v1::CronJobSpec)]
pub struct CronJobSpec {
    /// When Jobs are started. What is left out is every minute, hour, day and month.
    #[convert(try_to_hub = CronSchedule::into_text, try_from_hub = CronSchedule::from_text)]
    pub schedule: CronSchedule,
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

/// The fields of a schedule, each as cron has it: `5`, `*/5`, `1-5`, `MON,WED`.
#[kubewright::schema]
pub struct CronSchedule {
    /// The minutes of an hour.
    #[schema(default = CronField::every())]
    pub minute: CronField,
    /// The hours of a day.
    #[schema(default = CronField::every())]
    pub hour: CronField,
    /// The days of a month.
    #[schema(default = CronField::every())]
    pub day_of_month: CronField,
    /// The months of a year.
    #[schema(default = CronField::every())]
    pub month: CronField,
    /// The days of a week: 0 is Sunday.
    #[schema(default = CronField::every())]
    pub day_of_week: CronField,
}

/// A field of a schedule.
#[kubewright::schema]
#[schema(pattern = r"^[^\s@]+$", example = "*/5")]
pub struct CronField(pub String);

impl CronField {
    fn every() -> Self {
        CronField("*".to_owned())
    }

    fn is_valid(&self) -> bool {
        !self.0.is_empty() && !self.0.contains(|c: char| c.is_whitespace() || c == '@')
    }
}

impl CronSchedule {
    /// As v1 has it: five fields in one text.
    fn into_text(self) -> Result<String, String> {
        let Self {
            minute,
            hour,
            day_of_month,
            month,
            day_of_week,
        } = self;
        let fields = [minute, hour, day_of_month, month, day_of_week];
        match fields.iter().find(|field| !field.is_valid()) {
            Some(field) => Err(format!("{:?} is not a field of a schedule", field.0)),
            None => Ok(fields.map(|field| field.0).join(" ")),
        }
    }

    fn from_text(text: String) -> Result<Self, String> {
        let fields: Vec<CronField> = text
            .split(' ')
            .map(|field| CronField(field.to_owned()))
            .collect();
        let fields: [CronField; 5] = fields
            .try_into()
            .map_err(|fields: Vec<_>| format!("{text:?} has {} fields, not five", fields.len()))?;
        let [minute, hour, day_of_month, month, day_of_week] = fields;
        Ok(Self {
            minute,
            hour,
            day_of_month,
            month,
            day_of_week,
        })
    }
}
