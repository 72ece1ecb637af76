//! `EndpointSlices` of Services: where the Pods are that a Service means. [`plan`](plan::plan) decides.

mod plan;
#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kubewright_apimachinery::errors::aggregate;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::controller::{Action, Controller, Failure, Reconciler, Request, Result};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::{ObjectKey, Selector, View};
use kubewright_runtime::operator::Operator;
use kubewright_runtime::queue::{Backoff, QueueOptions};

use crate::support::creation::is_namespace_going;
use crate::support::events::EventRecorder;
use crate::support::{Settings, index, labels, pods};
use plan::Zones;

/// The label of a node that says in which zone it is.
const ZONE: &str = "topology.kubernetes.io/zone";

/// Services by one pair of their selector: whom a Pod may concern is found by its labels.
const SELECTOR: &str = "selector";
/// Pods by each of their labels.
const LABEL: &str = "label";
/// Slices by the name of their Service.
const SERVICE: &str = "service";

/// Adds the controller and what it needs.
pub(crate) fn add_to(operator: Operator, settings: &Settings) -> Operator {
    operator
        .index::<Service>(SELECTOR, |service| {
            let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            let pair = selector.filter(|_| plan::is_managed(service)).and_then(one_pair);
            pair.into_iter().collect()
        })
        .index::<Pod>(LABEL, |pod| {
            let labels = pod.metadata.labels.iter().flatten();
            labels.map(|(label, value)| pair(label, value)).collect()
        })
        .index::<EndpointSlice>(SERVICE, |slice| {
            let name = slice
                .metadata
                .labels
                .as_ref()
                .and_then(|labels| labels.get(plan::SERVICE_LABEL));
            name.into_iter().cloned().collect()
        })
        .controller(controller(settings))
}

fn pair(label: &str, value: &str) -> String {
    format!("{label}={value}")
}

/// Any one will do, if it is the same for all who ask.
fn one_pair(selector: &BTreeMap<String, String>) -> Option<String> {
    selector.last_key_value().map(|(label, value)| pair(label, value))
}

fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<Service>()
        .named("endpointslice-controller")
        .owns::<EndpointSlice>()
        .watches_with::<Pod, _>(pod_wakes)
        .reads::<Node>()
        .max_concurrent_reconciles(4)
        .queue_options(QueueOptions {
            backoff: Backoff {
                base: Duration::from_secs(1),
                max: Duration::from_secs(1000),
            },
            ..QueueOptions::default()
        })
        .reconcile_with(move |context| {
            let client = context.client();
            Slices {
                events: settings.recorder("endpoint-slice-controller", &client),
                client,
            }
        })
}

fn selector(labels: &BTreeMap<String, String>) -> Selector {
    let all = Selector::everything();
    labels
        .iter()
        .fold(all, |selector, (label, value)| selector.equals(label, value))
}

/// A Pod wakes the Services that mean it.
async fn pod_wakes(client: Client, pod: View<Pod>) -> Vec<Request> {
    let namespace = pod.key().namespace();
    let mut woken = Vec::new();
    for (label, value) in pod.metadata.labels.iter().flatten() {
        let services = index::listed::<Service>(client.clone(), SELECTOR, pair(label, value), namespace).await;
        let meant = services.into_iter().filter(|service| {
            let wanted = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            labels::is_subset(wanted, pod.metadata.labels.as_ref())
        });
        woken.extend(meant.map(|service| service.key().clone().into()));
    }
    woken
}

struct Slices {
    client: Client,
    events: EventRecorder,
}

impl Reconciler for Slices {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(service) = self.client.get_opt::<Service>(&request).await? else {
            return Ok(Action::done());
        };
        if !plan::is_managed(&service) || service.metadata.deletion_timestamp.is_some() {
            return Ok(Action::done());
        }
        let namespace = request.namespace().unwrap_or_default();
        let wanted = service
            .spec
            .as_ref()
            .and_then(|spec| spec.selector.clone())
            .unwrap_or_default();
        let pods = if let Some(pair) = one_pair(&wanted) {
            let meant = index::by::<Pod>(&self.client, LABEL, pair)?;
            let meant = meant.in_namespace(namespace).matching(selector(&wanted));
            self.client.list(&meant).await?
        } else {
            let meant = Query::all().in_namespace(namespace).matching(selector(&wanted));
            self.client.list::<Pod>(&meant).await?
        };
        let own = Selector::everything()
            .equals(plan::SERVICE_LABEL, request.name())
            .equals(plan::MANAGED_BY, plan::MANAGER);
        let query = index::by::<EndpointSlice>(&self.client, SERVICE, request.name())?;
        let present = self.client.list(&query.in_namespace(namespace).matching(own)).await?;
        let pods: Vec<&Pod> = pods.iter().map(|pod| &**pod).collect();
        let present: Vec<&EndpointSlice> = present.iter().map(|slice| &**slice).collect();
        let zones = self.zones(&pods).await?;
        let plan = plan::plan(&service, &pods, &zones, &present);
        for slice in &plan.create {
            match self.client.create(slice).await {
                Err(error) if !is_namespace_going(&error) => return Err(error.into()),
                _ => {}
            }
        }
        for slice in &plan.update {
            ignore_not_found(self.client.update(slice).await)?;
        }
        for name in &plan.delete {
            let key = ObjectKey::namespaced(namespace, name);
            ignore_not_found(self.client.delete::<EndpointSlice>(&key).await)?;
        }
        let Some(skipped) = aggregate(plan.skipped) else {
            return Ok(Action::done());
        };
        let text = format!("Error updating Endpoint Slices for Service {request}: {skipped}");
        let note = EventNote::warning("FailedToUpdateEndpointSlices", "Sync", text);
        self.events.record(&*service, note);
        Err(Failure::message(skipped))
    }
}

impl Slices {
    /// The nodes that Pods are on, as far as they exist, and their zones.
    async fn zones(&self, pods: &[&Pod]) -> Result<Zones> {
        let mut zones = Zones::new();
        for name in pods
            .iter()
            .map(|pod| pods::node_of(pod))
            .filter(|name| !name.is_empty())
        {
            if zones.contains_key(name) {
                continue;
            }
            if let Some(node) = self.client.get_opt::<Node>(&ObjectKey::cluster(name)).await? {
                let zone = node
                    .metadata
                    .labels
                    .as_ref()
                    .and_then(|labels| labels.get(ZONE).cloned());
                zones.insert(name.to_owned(), zone);
            }
        }
        Ok(zones)
    }
}
