pub mod plan;

use kubewright::client::Propagation;
use kubewright::jiff::Timestamp;
use kubewright::k8s_openapi::api::batch::v1::Job;
use kubewright::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright::prelude::*;

use crate::api::v1::CronJob;
use plan::Plan;

/// Finds the Jobs of a `CronJob` by its name.
const OWNER_INDEX: &str = ".metadata.controller";

/// The annotation of a Job that says when it was due.
pub const SCHEDULED_AT: &str = "batch.tutorial.kubewright.dev/scheduled-at";

/// Reconciles `CronJob`s.
pub struct CronJobReconciler {
    client: Client,
    events: EventRecorder,
    jobs: DeclaredIndex<Job>,
}

impl CronJobReconciler {
    /// A `CronJob` wakes it, and so does every Job that a `CronJob` controls.
    pub fn controller() -> Controller {
        Controller::of::<CronJob>()
            .owns::<Job>()
            .index::<Job>(OWNER_INDEX, owners)
            .reconcile_with(Self::new)
    }

    fn new(context: &Context) -> Self {
        Self {
            client: context.client(),
            events: context.events(),
            jobs: context.index(OWNER_INDEX),
        }
    }

    /// The Jobs of a `CronJob`, those that run and those that have ended.
    async fn jobs(&self, cron_job: &CronJob) -> Result<Vec<View<Job>>> {
        let query = self
            .jobs
            .query(cron_job.name_any())
            .in_namespace(cron_job.namespace().unwrap_or_default());
        let mut jobs = self.client.list::<Job>(&query).await?;
        // A former object of this name may have left some behind.
        jobs.retain(|job| is_controlled_by(&**job, cron_job));
        Ok(jobs)
    }

    async fn start(&self, cron_job: &CronJob, due: Timestamp) -> Result<()> {
        let job = job(cron_job, due)?;
        let name = job.name_any();
        match self.client.create(&job).await {
            Ok(_) => {
                let note = EventNote::normal("Started", "Start", format!("started Job {name}"));
                self.events.record(cron_job, note);
                Ok(())
            }
            // An earlier attempt made it, and its answer was lost.
            Err(error) if error.is_already_exists() => Ok(()),
            Err(error) => {
                let text = format!("cannot start Job {name}: {error}");
                let note = EventNote::warning("NotStarted", "Start", text);
                self.events.record(cron_job, note);
                Err(error.into())
            }
        }
    }

    /// Deletes a Job, and in the background its Pods. One that is gone is as good.
    async fn delete(&self, job: &View<Job>) -> Result<()> {
        let options = DeleteOptions {
            propagation_policy: Some(Propagation::Background),
            uid: job.uid(),
            ..DeleteOptions::default()
        };
        ignore_not_found(self.client.delete_with::<Job>(job.key(), &options).await)?;
        Ok(())
    }
}

#[rbac(groups = "batch", resources = "jobs", verbs = "create, delete")]
#[rbac(
    groups = "batch.tutorial.kubewright.dev",
    resources = "cronjobs/status",
    verbs = "update"
)]
impl Reconciler for CronJobReconciler {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(cron_job) = self.client.get_opt::<CronJob>(&request).await? else {
            return Ok(Action::done());
        };
        if cron_job.metadata.deletion_timestamp.is_some() {
            return Ok(Action::done());
        }

        let jobs = self.jobs(&cron_job).await?;
        let now = self.client.clock().now();
        let plan = Plan::make(&cron_job, &jobs, now);

        // The status first: it remembers the last run when its Job is deleted.
        if cron_job.status.as_ref() != Some(&plan.status) {
            let mut changed = cron_job.clone().into_owned();
            changed.status = Some(plan.status);
            self.client.update_status(&changed).await?;
        }
        for job in plan.delete {
            self.delete(job).await?;
        }
        if let Some(due) = plan.start {
            self.start(&cron_job, due).await?;
        }
        Ok(plan.next.map_or_else(Action::done, |next| {
            Action::requeue_after(next.duration_since(now).unsigned_abs())
        }))
    }
}

/// The Job of a run. Its name follows from the time, so that no run has two.
fn job(cron_job: &CronJob, due: Timestamp) -> Result<Job> {
    let template = cron_job.spec.job_template.clone();
    let mut job = Job {
        metadata: ObjectMeta {
            name: Some(format!("{}-{}", cron_job.name_any(), due.as_second())),
            namespace: cron_job.namespace(),
            ..template.metadata.unwrap_or_default()
        },
        spec: template.spec,
        status: None,
    };
    job.annotations_mut()
        .insert(SCHEDULED_AT.to_owned(), due.to_string());
    set_controller_reference(cron_job, &mut job)?;
    Ok(job)
}

/// By which names [`OWNER_INDEX`] finds a Job: that of the `CronJob` that controls it.
fn owners(job: &Job) -> Vec<String> {
    let owners = job.owner_references().iter();
    let ours = owners.filter(|owner| owner.controller == Some(true) && owner.kind == "CronJob");
    ours.map(|owner| owner.name.clone()).collect()
}
