//! `CronJobs`: Jobs at set times. [`plan`](plan::plan) decides; here it is carried out.

mod plan;

use k8s_openapi::api::batch::v1::{CronJob, Job};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::client::{Client, DeleteOptions, Propagation};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Reconciler, Request, Result};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::ObjectKey;

use crate::support::claim::key_of;
use crate::support::events::EventRecorder;
use crate::support::index::controller_of;
use crate::support::{Settings, creation};

/// The controller.
pub(crate) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<CronJob>()
        .named("cronjob-controller")
        .owns::<Job>()
        .max_concurrent_reconciles(4)
        .reconcile_with(move |context| {
            let client = context.client();
            CronJobs {
                clock: settings.clock_of(&client),
                events: settings.recorder("cronjob-controller", &client),
                client,
            }
        })
}

struct CronJobs {
    client: Client,
    events: EventRecorder,
    clock: Clock,
}

impl Reconciler for CronJobs {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(cron) = self.client.get_opt::<CronJob>(&request).await? else {
            return Ok(Action::done());
        };
        let namespace = request.namespace().unwrap_or_default();
        let jobs = self.client.list::<Job>(&Query::all().in_namespace(namespace)).await?;
        let own = |job: &Job| controller_of(job).is_some_and(|owner| Some(&owner.uid) == cron.metadata.uid.as_ref());
        let jobs: Vec<Job> = jobs.iter().filter(|job| own(job)).map(|job| (**job).clone()).collect();
        let plan = plan::plan(&cron, &jobs, self.clock.now());
        for note in plan.events {
            self.events.record(&*cron, note);
        }
        for name in plan.delete {
            let background = DeleteOptions {
                propagation_policy: Some(Propagation::Background),
                ..DeleteOptions::default()
            };
            let key = ObjectKey::namespaced(namespace, &name);
            if ignore_not_found(self.client.delete_with::<Job>(&key, &background).await)?.is_some() {
                let note = EventNote::normal("SuccessfulDelete", "Delete", format!("Deleted job {name}"));
                self.events.record(&*cron, note);
            }
        }
        let mut status = plan.status;
        if let Some(job) = plan.create {
            match self.client.create(&*job).await {
                Ok(made) => {
                    let name = made.metadata.name.clone().unwrap_or_default();
                    let note = EventNote::normal("SuccessfulCreate", "Create", format!("Created job {name}"));
                    self.events.record(&*cron, note);
                    let status = status.get_or_insert_with(|| cron.status.clone().unwrap_or_default());
                    status.active.get_or_insert_default().push(plan::reference(&made));
                }
                Err(error) if error.is_already_exists() => {
                    // The Job was created before and the status not updated, or it has another owner.
                    let present = self.client.live().get_opt::<Job>(&key_of(&*job)).await?;
                    let Some(present) = present.filter(|present| own(present)) else {
                        return Ok(Action::done());
                    };
                    let status = status.get_or_insert_with(|| cron.status.clone().unwrap_or_default());
                    status.active.get_or_insert_default().push(plan::reference(&present));
                }
                Err(error) if creation::is_namespace_going(&error) => return Ok(Action::done()),
                Err(error) => {
                    let text = format!("Error creating job: {}", creation::message(&error));
                    self.events
                        .record(&*cron, EventNote::warning("FailedCreate", "Create", text));
                    return Err(error.into());
                }
            }
        }
        if let Some(status) = status {
            let mut cron = cron.into_owned();
            cron.status = Some(status);
            self.client.update_status(&cron).await?;
        }
        Ok(plan.wake.map_or_else(Action::done, Action::requeue_after))
    }
}
