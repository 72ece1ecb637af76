//! Deletes Pods that do not tolerate the taints of their node, or not for ever.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::client::{Client, DeleteOptions};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Predicate, Reconciler, Request, Result};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::{ObjectKey, View};

use crate::scheduler::fit::tolerates;
use crate::support::tell::Teller;
use crate::support::time::{later, until};
use crate::support::{Settings, index, pods};

/// The controller.
pub(super) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<Pod>()
        .named("taint-eviction-controller")
        .of_when(Predicate::object::<Pod>(|pod| !pods::node_of(pod).is_empty()))
        .watches_with::<Node, _>(|client: Client, node: View<Node>| async move {
            let query = Query::all().indexed(index::NODE, node.key().name());
            let pods = client.without_waiting().list::<Pod>(&query).await.unwrap_or_default();
            pods.into_iter().map(|pod| pod.key().clone().into()).collect()
        })
        .max_concurrent_reconciles(8)
        .reconcile_with(move |context| {
            let client = context.client();
            Evictions {
                clock: settings.clock_of(&client),
                events: settings.teller("taint-eviction-controller", &client),
                client,
            }
        })
}

struct Evictions {
    client: Client,
    events: Teller,
    clock: Clock,
}

impl Reconciler for Evictions {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(pod) = self.client.get_opt::<Pod>(&request).await? else {
            return Ok(Action::done());
        };
        let host = ObjectKey::cluster(pods::node_of(&pod));
        let Some(node) = self.client.get_opt::<Node>(&host).await? else {
            return Ok(Action::done());
        };
        if pod.metadata.deletion_timestamp.is_some() || pods::is_terminal(&pod) {
            return Ok(Action::done());
        }
        let taints = node
            .spec
            .as_ref()
            .and_then(|spec| spec.taints.clone())
            .unwrap_or_default();
        let tolerations = pod
            .spec
            .as_ref()
            .and_then(|spec| spec.tolerations.clone())
            .unwrap_or_default();
        match stay(&taints, &tolerations, self.clock.now()) {
            Stay::ForEver => Ok(Action::done()),
            Stay::For(left) if !left.is_zero() => Ok(Action::requeue_after(left)),
            Stay::For(_) => {
                let text = format!("Marking for deletion Pod {request}");
                self.events
                    .tell(&*pod, EventNote::normal("TaintManagerEviction", "Evict", text));
                let options = DeleteOptions {
                    uid: pod.metadata.uid.clone(),
                    ..DeleteOptions::default()
                };
                ignore_not_found(self.client.delete_with::<Pod>(&request, &options).await)?;
                Ok(Action::done())
            }
        }
    }
}

/// How long a Pod may stay on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    ForEver,
    For(Duration),
}

fn stay(taints: &[Taint], tolerations: &[Toleration], now: Timestamp) -> Stay {
    let mut least: Option<Duration> = None;
    for taint in taints.iter().filter(|taint| taint.effect == "NoExecute") {
        let tolerating: Vec<&Toleration> = tolerations
            .iter()
            .filter(|toleration| tolerates(toleration, taint))
            .collect();
        let left = if tolerating.is_empty() {
            Duration::ZERO
        } else {
            let Some(seconds) = tolerating
                .iter()
                .filter_map(|toleration| toleration.toleration_seconds)
                .min()
            else {
                continue;
            };
            let since = taint.time_added.as_ref().map_or(now, |time| time.0);
            until(later(since, seconds.max(0)), now)
        };
        least = Some(least.map_or(left, |least| least.min(left)));
    }
    least.map_or(Stay::ForEver, Stay::For)
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_stays_as_long_as_it_tolerates_every_taint() {
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let taints: Vec<Taint> = serde_json::from_value(json!([
            { "key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z" },
            { "key": "b", "effect": "NoSchedule" },
        ]))
        .unwrap();
        let tolerations = |value| serde_json::from_value::<Vec<Toleration>>(value).unwrap();
        assert_eq!(stay(&taints, &[], now), Stay::For(Duration::ZERO));
        let for_ever = tolerations(json!([{ "key": "a", "operator": "Exists" }]));
        assert_eq!(stay(&taints, &for_ever, now), Stay::ForEver);
        let some_time = tolerations(json!([{ "key": "a", "operator": "Exists", "tolerationSeconds": 300 }]));
        assert_eq!(stay(&taints, &some_time, now), Stay::For(Duration::from_mins(4)));
        assert_eq!(stay(&taints[1..], &[], now), Stay::ForEver);
    }
}
