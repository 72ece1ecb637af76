//! Jobs: Pods that run to their end, so many times. [`plan`](plan::plan) decides; here it is carried out.
//! Not here yet: limits per index, policies for failures and for success.

mod indexes;
mod plan;
#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests;
pub(crate) mod ttl;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, ObjectFieldSelector, Pod};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::client::{Client, Error, Patch};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Reconciler, Request, Result};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::{ObjectKey, Selector, View};
use serde_json::json;

use crate::support::claim::{claim_all, controller_reference};
use crate::support::index;
use crate::support::tell::Teller;
use crate::support::{Settings, creation};
use plan::{INDEX, TRACKING};

/// The controller.
pub(crate) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<Job>()
        .named("job-controller")
        .owns::<Pod>()
        .max_concurrent_reconciles(8)
        .reconcile_with(move |context| {
            let client = context.client();
            Jobs {
                clock: settings.clock_of(&client),
                events: settings.teller("job-controller", &client),
                client,
            }
        })
}

struct Jobs {
    client: Client,
    events: Teller,
    clock: Clock,
}

impl Reconciler for Jobs {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(job) = self.client.get_opt::<Job>(&request).await? else {
            return Ok(Action::done());
        };
        let spec = job.spec.clone().unwrap_or_default();
        let elsewhere = spec
            .managed_by
            .as_deref()
            .is_some_and(|name| name != "kubernetes.io/job-controller");
        if elsewhere || plan::is_finished(&job) {
            return Ok(Action::done());
        }
        let Some(selector) = spec
            .selector
            .as_ref()
            .and_then(|selector| Selector::try_from(selector).ok())
        else {
            return Ok(Action::done());
        };
        let mut found = Vec::new();
        for owner in [job.metadata.uid.as_deref().unwrap_or_default(), index::ORPHAN] {
            let query = Query::all()
                .in_namespace(request.namespace().unwrap_or_default())
                .indexed(index::CONTROLLER, owner);
            found.extend(self.client.list::<Pod>(&query).await?);
        }
        let pods = claim_all(&self.client, &*job, &selector, found).await?;
        let plan = plan::plan(&job, pods.iter().map(|pod| &**pod), self.clock.now());
        let key = |name: &str| ObjectKey::namespaced(request.namespace().unwrap_or_default(), name);
        for name in &plan.remove {
            self.untrack(&key(name), &pods).await?;
        }
        for name in plan.remove.iter().chain(&plan.end) {
            if ignore_not_found(self.client.delete::<Pod>(&key(name)).await)?.is_some() {
                let note = EventNote::normal("SuccessfulDelete", "Delete", format!("Deleted pod: {name}"));
                self.events.tell(&*job, note);
            }
        }
        let made = self.create(&job, &plan.create).await;
        if let Some(status) = plan.status {
            let mut job = job.clone().into_owned();
            job.status = Some(*status);
            self.client.update_status(&job).await?;
        }
        for note in plan.tell {
            self.events.tell(&*job, note);
        }
        for name in &plan.release {
            self.untrack(&key(name), &pods).await?;
        }
        made?;
        Ok(plan.wake.map_or_else(Action::done, Action::requeue_after))
    }
}

impl Jobs {
    async fn create(&self, job: &View<Job>, indexes: &[Option<i32>]) -> Result<(), Error> {
        let mut indexes = indexes.iter();
        creation::slow_start(indexes.len(), || {
            let pod = pod_of(job, indexes.next().copied().flatten());
            async move {
                match self.client.create(&pod).await {
                    Ok(made) => {
                        let name = made.metadata.name.unwrap_or_default();
                        let note = EventNote::normal("SuccessfulCreate", "Create", format!("Created pod: {name}"));
                        self.events.tell(&**job, note);
                        Ok(())
                    }
                    Err(error) if creation::is_namespace_going(&error) => Ok(()),
                    Err(error) => {
                        let text = format!("Error creating: {}", creation::message(&error));
                        self.events
                            .tell(&**job, EventNote::warning("FailedCreate", "Create", text));
                        Err(error)
                    }
                }
            }
        })
        .await
    }

    /// Takes the finalizer from a Pod: it is counted, or will not be.
    async fn untrack(&self, key: &ObjectKey, pods: &[View<Pod>]) -> Result<(), Error> {
        let Some(pod) = pods.iter().find(|pod| pod.key() == key) else {
            return Ok(());
        };
        let finalizers = pod.metadata.finalizers.iter().flatten();
        if !finalizers.into_iter().any(|own| own == TRACKING) {
            return Ok(());
        }
        let patch = Patch::Strategic(json!({ "metadata": {
            "uid": pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING],
        } }));
        ignore_not_found(self.client.patch::<Pod>(key, &patch).await)?;
        Ok(())
    }
}

/// A Pod of a Job, with its index if it has one.
fn pod_of(job: &Job, index: Option<i32>) -> Pod {
    let template = job.spec.as_ref().map(|spec| &spec.template);
    let mut pod = creation::pod_from_template(template, job, controller_reference(job));
    let finalizers = pod.metadata.finalizers.get_or_insert_default();
    if !finalizers.iter().any(|own| own == TRACKING) {
        finalizers.push(TRACKING.to_owned());
    }
    let Some(index) = index else {
        return pod;
    };
    let name = job.metadata.name.as_deref().unwrap_or_default();
    pod.metadata.generate_name = Some(format!("{name}-{index}-"));
    for labels in [&mut pod.metadata.labels, &mut pod.metadata.annotations] {
        labels
            .get_or_insert_default()
            .insert(INDEX.to_owned(), index.to_string());
    }
    let spec = pod.spec.get_or_insert_default();
    spec.hostname = Some(format!("{name}-{index}"));
    let containers = spec
        .containers
        .iter_mut()
        .chain(spec.init_containers.iter_mut().flatten());
    for container in containers {
        let variables = container.env.get_or_insert_default();
        if !variables.iter().any(|variable| variable.name == "JOB_COMPLETION_INDEX") {
            variables.push(EnvVar {
                name: "JOB_COMPLETION_INDEX".to_owned(),
                value_from: Some(EnvVarSource {
                    field_ref: Some(ObjectFieldSelector {
                        field_path: format!("metadata.labels['{INDEX}']"),
                        ..ObjectFieldSelector::default()
                    }),
                    ..EnvVarSource::default()
                }),
                ..EnvVar::default()
            });
        }
    }
    pod
}
