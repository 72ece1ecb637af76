//! Deletes Pods that do not tolerate the taints of their node, or not for ever.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodCondition, Taint, Toleration};
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::client::{Client, DeleteOptions};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Predicate, Reconciler, Request, Result};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::{ObjectKey, View};
use parking_lot::Mutex;

use crate::scheduler::fit::tolerates;
use crate::support::events::EventRecorder;
use crate::support::{Settings, claim, index, pods, time};

/// The controller.
pub(super) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<Pod>()
        .named("taint-eviction-controller")
        .of_when(Predicate::object::<Pod>(|pod| !pods::node_of(pod).is_empty()))
        .watches_with::<Node, _>(|client: Client, node: View<Node>| async move {
            let pods = index::listed::<Pod>(client, index::NODE, node.key().name(), None).await;
            pods.into_iter().map(|pod| pod.key().clone().into()).collect()
        })
        .max_concurrent_reconciles(8)
        .reconcile_with(move |context| {
            let client = context.client();
            Evictions {
                clock: settings.clock_of(&client),
                events: settings.recorder("taint-eviction-controller", &client),
                due: Mutex::default(),
                client,
            }
        })
}

struct Evictions {
    client: Client,
    events: EventRecorder,
    clock: Clock,
    /// Pods that are to go: their uid, and since when that is known. A taint need not say when it was added.
    due: Mutex<HashMap<ObjectKey, (String, Timestamp)>>,
}

impl Reconciler for Evictions {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(pod) = self.client.get_opt::<Pod>(&request).await? else {
            if self.due.lock().remove(request.key()).is_some() {
                self.tell_forgiven(&gone(&request));
            }
            return Ok(Action::done());
        };
        let host = ObjectKey::cluster(pods::node_of(&pod));
        let Some(node) = self.client.get_opt::<Node>(&host).await? else {
            return Ok(Action::done());
        };
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
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let now = self.clock.now();
        match stay(&taints, &tolerations) {
            TolerationTime::ForEver => {
                if self.forgive(&request, &uid) {
                    self.tell_forgiven(&pod);
                }
                Ok(Action::done())
            }
            // The Pod was deleted in the meantime.
            TolerationTime::For(_) if pod.metadata.deletion_timestamp.is_some() => Ok(Action::done()),
            TolerationTime::For(tolerated) => {
                let since = self.since(&request, uid, now);
                let left = tolerated.saturating_sub(time::since(since, now));
                if left.is_zero() {
                    self.evict(&pod).await
                } else {
                    Ok(Action::requeue_after(left))
                }
            }
        }
    }
}

impl Evictions {
    /// Since when a Pod is to go. Another Pod of the same name begins anew.
    fn since(&self, key: &ObjectKey, uid: String, now: Timestamp) -> Timestamp {
        let mut due = self.due.lock();
        let (known, since) = due.entry(key.clone()).or_insert_with(|| (uid.clone(), now));
        if *known != uid {
            (*known, *since) = (uid, now);
        }
        *since
    }

    /// Lets a Pod stay after all. Whether it was to go.
    fn forgive(&self, key: &ObjectKey, uid: &str) -> bool {
        let known = self.due.lock().remove(key);
        known.is_some_and(|(known, _)| known == uid)
    }

    /// Says that a Pod is not evicted after all: it may stay, or it is gone.
    fn tell_forgiven(&self, pod: &Pod) {
        let text = format!("Cancelling deletion of Pod {}", claim::key_of(pod));
        self.events
            .record(pod, EventNote::normal("TaintManagerEviction", "Evict", text));
    }

    async fn evict(&self, pod: &View<Pod>) -> Result {
        let text = format!("Marking for deletion Pod {}", pod.key());
        self.events
            .record(&**pod, EventNote::normal("TaintManagerEviction", "Evict", text));
        let mut marked = pod.clone().into_owned();
        if mark(&mut marked, self.clock.now()) {
            match self.client.update_status(&marked).await {
                Err(error) if error.is_not_found() => {
                    self.due.lock().remove(pod.key());
                    return Ok(Action::done());
                }
                result => result?,
            };
        }
        let options = DeleteOptions {
            uid: pod.metadata.uid.clone(),
            ..DeleteOptions::default()
        };
        ignore_not_found(self.client.delete_with::<Pod>(pod.key(), &options).await)?;
        self.due.lock().remove(pod.key());
        Ok(Action::done())
    }
}

/// What is known of a Pod that is not there any more.
fn gone(key: &ObjectKey) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some(key.name().to_owned());
    pod.metadata.namespace = key.namespace().map(str::to_owned);
    pod
}

/// Writes down why a Pod goes, for those who judge its end. Whether that is news.
fn mark(pod: &mut Pod, now: Timestamp) -> bool {
    const TYPE: &str = "DisruptionTarget";
    if pods::condition(pod, TYPE).is_some_and(|known| known.status == "True") {
        return false;
    }
    let observed_generation = pod.metadata.generation;
    let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
    conditions.retain(|condition| condition.type_ != TYPE);
    conditions.push(PodCondition {
        type_: TYPE.to_owned(),
        status: "True".to_owned(),
        reason: Some("DeletionByTaintManager".to_owned()),
        message: Some("Taint manager: deleting due to NoExecute taint".to_owned()),
        last_transition_time: Some(time::whole(now)),
        observed_generation,
        ..PodCondition::default()
    });
    true
}

/// How long a Pod may stay on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TolerationTime {
    ForEver,
    For(Duration),
}

/// A Pod may stay for the shortest of its tolerations' seconds; of each taint the first toleration counts.
fn stay(taints: &[Taint], tolerations: &[Toleration]) -> TolerationTime {
    let mut least: Option<Duration> = None;
    for taint in taints.iter().filter(|taint| taint.effect == "NoExecute") {
        let Some(toleration) = tolerations.iter().find(|toleration| tolerates(toleration, taint)) else {
            return TolerationTime::For(Duration::ZERO);
        };
        if let Some(seconds) = toleration.toleration_seconds {
            let patience = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
            least = Some(least.map_or(patience, |least| least.min(patience)));
        }
    }
    least.map_or(TolerationTime::ForEver, TolerationTime::For)
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_stays_as_long_as_it_tolerates_every_taint() {
        let taints: Vec<Taint> = serde_json::from_value(json!([
            { "key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z" },
            { "key": "b", "effect": "NoSchedule" },
        ]))
        .unwrap();
        let tolerations = |value| serde_json::from_value::<Vec<Toleration>>(value).unwrap();
        assert_eq!(stay(&taints, &[]), TolerationTime::For(Duration::ZERO));
        let for_ever = tolerations(json!([{ "key": "a", "operator": "Exists" }]));
        assert_eq!(stay(&taints, &for_ever), TolerationTime::ForEver);
        let some_time = tolerations(json!([{ "key": "a", "operator": "Exists", "tolerationSeconds": 300 }]));
        assert_eq!(stay(&taints, &some_time), TolerationTime::For(Duration::from_mins(5)));
        assert_eq!(stay(&taints[1..], &[]), TolerationTime::ForEver);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_vanished_is_forgotten() {
        let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
        let client = Client::new(server.client(), kubewright_runtime::informer::Cache::default()).live();
        let settings = Settings::default();
        let evictions = Evictions {
            clock: client.clock(),
            events: settings.recorder("tester", &client),
            due: Mutex::default(),
            client,
        };
        let key = ObjectKey::namespaced("default", "brief");
        let now = evictions.clock.now();
        assert_eq!(evictions.since(&key, "1".to_owned(), now), now);
        assert_eq!(evictions.since(&key, "1".to_owned(), time::later(now, 9)), now);
        let later = time::later(now, 10);
        assert_eq!(evictions.since(&key, "2".to_owned(), later), later);
        evictions.reconcile(key.into()).await.unwrap();
        assert!(evictions.due.lock().is_empty());
    }

    #[test]
    fn a_pod_says_once_why_it_goes() {
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let mut pod = Pod::default();
        assert!(mark(&mut pod, now));
        assert!(!mark(&mut pod, now));
        assert_eq!(pod.status.unwrap().conditions.unwrap().len(), 1);
    }
}
