//! Deletes Jobs some time after they finished, if they ask for it.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::client::{DeleteOptions, Propagation};
use kubewright_runtime::controller::{Action, Controller};

use crate::support::Settings;
use crate::support::time::{later, until};

/// The controller.
pub(crate) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<Job>()
        .named("ttl-after-finished-controller")
        .reconcile_objects::<Job, _>(move |context, job| {
            let client = context.client();
            let now = settings.clock_of(&client).now();
            async move {
                let Some(due) = due(&job) else {
                    return Ok(Action::done());
                };
                let left = until(due, now);
                if !left.is_zero() {
                    return Ok(Action::requeue_after(left));
                }
                let options = DeleteOptions {
                    propagation_policy: Some(Propagation::Foreground),
                    uid: job.metadata.uid.clone(),
                    ..DeleteOptions::default()
                };
                ignore_not_found(client.delete_with::<Job>(job.key(), &options).await)?;
                Ok(Action::done())
            }
        })
}

/// When a Job is to be deleted.
fn due(job: &Job) -> Option<Timestamp> {
    let seconds = job.spec.as_ref()?.ttl_seconds_after_finished?;
    let conditions = job.status.as_ref()?.conditions.as_deref()?;
    let finished = conditions
        .iter()
        .find(|condition| matches!(condition.type_.as_str(), "Complete" | "Failed") && condition.status == "True")?;
    if job.metadata.deletion_timestamp.is_some() {
        return None;
    }
    Some(later(finished.last_transition_time.as_ref()?.0, seconds.into()))
}
