//! Jobs: Pods that run to their end, so many times. [`plan`](plan::plan) decides; here it is carried out.

mod backoff;
mod indexes;
mod member;
mod plan;
mod policies;
mod size;
#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests;
pub(crate) mod ttl;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, ObjectFieldSelector, Pod};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::client::{Client, Error, Patch};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Reconciler, Request, Result};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::{ObjectKey, Selector, View};
use parking_lot::Mutex;
use serde_json::json;

use crate::support::claim::{claim_all, controller_reference};
use crate::support::events::EventRecorder;
use crate::support::index::{self, controller_of};
use crate::support::{Settings, creation};
use backoff::Backoff;
use member::{FAILURES, IGNORED_FAILURES, INDEX, TRACKING, is_tracked};
use plan::NewPod;

/// The label by which the Pods of a Job know its name.
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

/// The controller.
pub(crate) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<Job>()
        .named("job-controller")
        .owns::<Pod>()
        .watches::<Pod>(orphan_wakes)
        .max_concurrent_reconciles(8)
        .reconcile_with(move |context| {
            let client = context.client();
            Jobs {
                clock: settings.clock_of(&client),
                events: settings.recorder("job-controller", &client),
                backoffs: Mutex::default(),
                client,
            }
        })
}

/// Enqueues a Pod with the Job finalizer whose Job is gone, so that the finalizer is removed.
fn orphan_wakes(pod: &Pod) -> Vec<Request> {
    let name = pod.metadata.labels.as_ref().and_then(|labels| labels.get(JOB_NAME));
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    name.filter(|_| is_tracked(pod) && controller_of(pod).is_none())
        .map(|name| ObjectKey::namespaced(namespace, name).into())
        .into_iter()
        .collect()
}

struct Jobs {
    client: Client,
    events: EventRecorder,
    clock: Clock,
    /// What is remembered of each Job's failures, by its uid.
    backoffs: Mutex<HashMap<String, Backoff>>,
}

impl Reconciler for Jobs {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(job) = self.client.get_opt::<Job>(&request).await? else {
            self.let_orphans_go(&request, None).await?;
            return Ok(Action::done());
        };
        let spec = job.spec.clone().unwrap_or_default();
        let elsewhere = spec
            .managed_by
            .as_deref()
            .is_some_and(|name| name != "kubernetes.io/job-controller");
        let uid = job.metadata.uid.clone().unwrap_or_default();
        if elsewhere || plan::is_finished(&job) {
            self.backoffs.lock().remove(&uid);
            return Ok(Action::done());
        }
        if job.status.as_ref().is_none_or(|status| status.start_time.is_none()) {
            // There may have been a Job of the same name before.
            self.let_orphans_go(&request, Some(&uid)).await?;
        }
        let Some(selector) = spec
            .selector
            .as_ref()
            .and_then(|selector| Selector::try_from(selector).ok())
        else {
            return Ok(Action::done());
        };
        let mut found = Vec::new();
        for owner in [uid.as_str(), index::ORPHAN] {
            let query = index::by::<Pod>(&self.client, index::CONTROLLER, owner)?;
            let query = query.in_namespace(request.namespace().unwrap_or_default());
            found.extend(self.client.list(&query).await?);
        }
        let pods = claim_all(&self.client, &*job, &selector, found).await?;
        let backoff = self.backoffs.lock().get(&uid).copied().unwrap_or_default();
        let plan = plan::plan(&job, pods.iter().map(|pod| &**pod), backoff, self.clock.now());
        let key = |name: &str| ObjectKey::namespaced(request.namespace().unwrap_or_default(), name);
        for name in &plan.remove {
            self.untrack(&key(name), &pods).await?;
        }
        for name in plan.remove.iter().chain(&plan.end) {
            if ignore_not_found(self.client.delete::<Pod>(&key(name)).await)?.is_some() {
                let note = EventNote::normal("SuccessfulDelete", "Delete", format!("Deleted pod: {name}"));
                self.events.record(&*job, note);
            }
        }
        let made = self.create(&job, &plan.create).await;
        if let Some(status) = plan.status {
            let mut job = job.clone().into_owned();
            job.status = Some(*status);
            if let Err(error) = &made {
                let missing = i32::try_from(plan.create.len() - error.made).unwrap_or(i32::MAX);
                let status = job.status.get_or_insert_default();
                status.active = status
                    .active
                    .map(|active| active - missing)
                    .filter(|active| *active > 0);
            }
            self.client.update_status(&job).await?;
        }
        self.backoffs.lock().insert(uid, plan.backoff);
        for note in plan.events {
            self.events.record(&*job, note);
        }
        for name in &plan.release {
            self.untrack(&key(name), &pods).await?;
        }
        if let Err(error) = made {
            return Err(error.cause.into());
        }
        Ok(plan.wake.map_or_else(Action::done, Action::requeue_after))
    }
}

/// Why not all Pods were made, and how many were.
struct NotAllMade {
    made: usize,
    cause: Error,
}

impl Jobs {
    async fn create(&self, job: &View<Job>, new: &[NewPod]) -> Result<(), NotAllMade> {
        let mut left = new.iter();
        let made = AtomicUsize::new(0);
        let result = creation::slow_start(new.len(), || {
            let pod = pod_of(job, &left.next().cloned().unwrap_or_default());
            let made = &made;
            async move {
                match self.client.create(&pod).await {
                    Ok(pod) => {
                        let name = pod.metadata.name.unwrap_or_default();
                        let note = EventNote::normal("SuccessfulCreate", "Create", format!("Created pod: {name}"));
                        self.events.record(&**job, note);
                        made.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    }
                    Err(error) if creation::is_namespace_going(&error) => Ok(()),
                    Err(error) => {
                        let text = format!("Error creating: {}", creation::message(&error));
                        self.events
                            .record(&**job, EventNote::warning("FailedCreate", "Create", text));
                        Err(error)
                    }
                }
            }
        })
        .await;
        result.map_err(|cause| NotAllMade {
            made: made.into_inner(),
            cause,
        })
    }

    /// Pods that no Job will count any more lose their finalizer. `uid` is that of the Job of this name, if there is one.
    async fn let_orphans_go(&self, job: &ObjectKey, uid: Option<&str>) -> Result<(), Error> {
        let named = Selector::everything().equals(JOB_NAME, job.name());
        let query = Query::all()
            .in_namespace(job.namespace().unwrap_or_default())
            .matching(named);
        let pods = self.client.list::<Pod>(&query).await?;
        for pod in pods.iter().filter(|pod| is_tracked(pod)) {
            let owner = controller_of(&**pod);
            let is_ours = owner.is_none_or(|owner| owner.kind == "Job" && owner.name == job.name());
            if is_ours && (uid.is_none() || owner.is_some_and(|owner| Some(owner.uid.as_str()) != uid)) {
                self.untrack(pod.key(), &pods).await?;
            }
        }
        Ok(())
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
fn pod_of(job: &Job, new: &NewPod) -> Pod {
    let template = job.spec.as_ref().map(|spec| &spec.template);
    let mut pod = creation::pod_from_template(template, job, controller_reference(job));
    let finalizers = pod.metadata.finalizers.get_or_insert_default();
    if !finalizers.iter().any(|own| own == TRACKING) {
        finalizers.push(TRACKING.to_owned());
    }
    let Some(index) = new.index else {
        return pod;
    };
    let name = job.metadata.name.as_deref().unwrap_or_default();
    pod.metadata.generate_name = Some(format!("{name}-{index}-"));
    for labels in [&mut pod.metadata.labels, &mut pod.metadata.annotations] {
        labels
            .get_or_insert_default()
            .insert(INDEX.to_owned(), index.to_string());
    }
    if let Some((counted, ignored)) = new.failures {
        let annotations = pod.metadata.annotations.get_or_insert_default();
        annotations.insert(FAILURES.to_owned(), counted.to_string());
        if ignored > 0 {
            annotations.insert(IGNORED_FAILURES.to_owned(), ignored.to_string());
        }
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
