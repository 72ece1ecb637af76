//! The status of each `ResourceQuota`: what it allows, and what is used of it, counted anew when objects come and go.
//! Admission charges what is created; only here is given back what was deleted.
//!
//! What a quota counts is decided in `kubewright_quota`, without I/O. Here kinds are watched, each as soon as a quota counts it:
//! a cluster without quotas has a watch of quotas and nothing else.

mod monitors;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ResourceQuota, ResourceQuotaStatus};
use kubewright_quota::{Evaluator, evaluators_of, recomputed};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Failure, Predicate, Reconciler, Request, Result};
use kubewright_runtime::object::{Kind, Record};
use kubewright_runtime::operator::Operator;
use serde_json::Value;

use crate::support::Settings;
use crate::support::discovery;
use monitors::Monitors;

/// How often everything is counted again, since a Pod stops to count by the mere passing of time.
const RESYNC: Duration = Duration::from_mins(5);

/// Adds the controller.
pub(crate) fn add_to(operator: Operator, settings: &Settings) -> Operator {
    let settings = settings.clone();
    let monitors = Arc::new(Monitors::new(settings.random.clone()));
    let woken = Arc::clone(&monitors);
    let controller = Controller::of::<ResourceQuota>()
        .named("resourcequota-controller")
        .of_when(limits_changed())
        .source(move |trigger, _| {
            woken.wakes(trigger);
            std::future::pending()
        })
        .reconcile_with(move |context| {
            let client = context.client();
            Counter {
                clock: settings.clock_of(&client),
                monitors: Arc::clone(&monitors),
                client,
            }
        });
    operator.controller(controller)
}

/// Lets quotas through that are new, or whose limits have changed. A status alone changes what is counted by nobody: admission charges what
/// it lets in, and what goes wakes the quotas of its namespace.
fn limits_changed() -> Predicate {
    Predicate::update(|old, new| {
        let hard = |quota: &Record| quota.decode::<ResourceQuota>().ok()?.spec?.hard;
        hard(old) != hard(new)
    })
}

struct Counter {
    client: Client,
    clock: Clock,
    monitors: Arc<Monitors>,
}

impl Reconciler for Counter {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(quota) = self.client.get_opt::<ResourceQuota>(&request).await? else {
            self.monitors.forget(request.key());
            return Ok(Action::done());
        };
        if quota.metadata.deletion_timestamp.is_some() {
            return Ok(Action::done());
        }
        let value = serde_json::to_value(&*quota).map_err(Failure::from)?;
        let kinds = self.counted(&value).await?;
        self.monitors.remember(request.key());
        self.monitors.watch(&self.client, &kinds).await;
        let mut objects = Vec::new();
        for kind in &kinds {
            let evaluator = Evaluator::of(kind.group(), kind.plural());
            objects.push((evaluator, self.list(kind, &request).await?));
        }
        if let Some(status) = recomputed(&value, &objects, self.clock.now()) {
            let mut counted = (*quota).clone();
            counted.status = Some(serde_json::from_value::<ResourceQuotaStatus>(status).map_err(Failure::from)?);
            self.client.update_status(&counted).await?;
        }
        Ok(Action::requeue_after(RESYNC))
    }
}

impl Counter {
    /// The kinds that the quota counts, of those that are served.
    async fn counted(&self, quota: &Value) -> std::result::Result<Vec<Kind>, Failure> {
        let served = discovery::served(self.client.kube()).await.map_err(Failure::from)?;
        let countable = served
            .kinds
            .iter()
            .filter(|found| found.kind.is_namespaced() && found.can(&["list", "watch"]));
        let kinds: Vec<&Kind> = countable.map(|found| &found.kind).collect();
        let names = kinds.iter().map(|kind| (kind.group(), kind.plural()));
        let names = evaluators_of(quota, names);
        let is_counted = |kind: &&&Kind| names.contains(&(kind.group(), kind.plural()));
        Ok(kinds.iter().filter(is_counted).map(|kind| (*kind).clone()).collect())
    }

    /// The objects of the quota's namespace, as the server has them now: a cache may not know yet what was charged.
    async fn list(&self, kind: &Kind, request: &Request) -> std::result::Result<Vec<Value>, Failure> {
        let namespace = request.namespace().unwrap_or_default();
        let objects = self.client.live().dynamic(kind.clone());
        let objects = objects.list(&Query::all().in_namespace(namespace)).await?;
        let values = objects.iter().map(|object| serde_json::to_value(&**object));
        values.collect::<std::result::Result<_, _>>().map_err(Failure::from)
    }
}
