//! A cluster with controllers on the virtual clock.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Event, Pod};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_controllers::Controllers;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{Client, Patch};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::manager::ManagerError;
use kubewright_runtime::object::{Object, ObjectKey, View};
use kubewright_runtime::stop::Stopper;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

pub(crate) const EPOCH: &str = "2026-03-01T12:00:00Z";

/// A cluster as its users see it, with controllers at work.
pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
    pub(crate) user: Client,
    stopper: Stopper,
    running: JoinHandle<Result<(), ManagerError>>,
}

impl Cluster {
    /// A cluster with these controllers.
    pub(crate) fn with(controllers: &str, nodes: usize) -> Self {
        Self::starting_at(EPOCH, controllers, nodes)
    }

    /// The same at another time.
    pub(crate) fn starting_at(epoch: &str, controllers: &str, nodes: usize) -> Self {
        Self::running(epoch, Controllers::parse(controllers).unwrap().nodes(nodes))
    }

    /// The same with controllers that were told more.
    pub(crate) fn running(epoch: &str, controllers: Controllers) -> Self {
        let epoch = epoch.parse().unwrap();
        let server = ApiServer::new(Options::new().seed(7).epoch(epoch));
        let controllers = controllers.seed(7).epoch(epoch);
        let (stopper, stop) = Stopper::new();
        let running = tokio::spawn(controllers.run(server.client(), stop));
        Cluster {
            user: Client::new(server.client(), Cache::default()).live(),
            server,
            stopper,
            running,
        }
    }

    /// A cluster with all controllers and some nodes.
    pub(crate) fn whole(nodes: usize) -> Self {
        Self::with("*", nodes)
    }

    pub(crate) async fn create<K: Object>(&self, object: Value) -> K {
        let object: K = serde_json::from_value(object).unwrap();
        self.user.create(&object).await.unwrap()
    }

    pub(crate) async fn get<K: Object>(&self, name: &str) -> View<K> {
        self.user.get(&key(name)).await.unwrap()
    }

    pub(crate) async fn patch<K: Object>(&self, name: &str, patch: Value) {
        self.user.patch::<K>(&key(name), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn all<K: Object>(&self) -> Vec<View<K>> {
        self.user.list(&Query::all().in_namespace("default")).await.unwrap()
    }

    pub(crate) async fn pods(&self) -> Vec<View<Pod>> {
        self.all().await
    }

    /// The sets by revision: how many Pods each has.
    pub(crate) async fn sets(&self) -> Vec<(String, i32)> {
        let mut sets: Vec<_> = self
            .all::<ReplicaSet>()
            .await
            .iter()
            .map(|set| {
                let annotations = set.metadata.annotations.clone().unwrap_or_default();
                let revision = annotations.get("deployment.kubernetes.io/revision").cloned();
                (revision.unwrap_or_default(), set.status.as_ref().unwrap().replicas)
            })
            .collect();
        sets.sort();
        sets
    }

    /// Type, status and reason of the conditions of a Deployment.
    pub(crate) async fn conditions(&self, name: &str) -> Vec<String> {
        let deployment = self.get::<Deployment>(name).await;
        let status = deployment.status.clone().unwrap_or_default();
        let mut conditions: Vec<_> = status
            .conditions
            .unwrap_or_default()
            .into_iter()
            .map(|condition| {
                format!(
                    "{}={} {}",
                    condition.type_,
                    condition.status,
                    condition.reason.unwrap_or_default()
                )
            })
            .collect();
        conditions.sort();
        conditions
    }

    /// Reasons and notes of all events about a kind, in order.
    pub(crate) async fn events(&self, kind: &str) -> Vec<String> {
        let mut said: Vec<_> = self
            .all::<Event>()
            .await
            .iter()
            .filter(|event| event.involved_object.kind.as_deref() == Some(kind))
            .map(|event| {
                let time = event.first_timestamp.as_ref().map(|time| time.0);
                let text = |text: &Option<String>| text.clone().unwrap_or_default();
                // The number at the end of a name is a time, more exactly.
                let number = event
                    .metadata
                    .name
                    .as_ref()
                    .and_then(|name| name.rsplit('.').next().map(str::to_owned));
                (
                    time,
                    number,
                    format!("{} {}", text(&event.reason), text(&event.message)),
                )
            })
            .collect();
        said.sort();
        said.into_iter().map(|(_, _, said)| said).collect()
    }

    /// Says by hand that a Pod is ready, where nobody else does.
    pub(crate) async fn make_ready(&self, pod: &Pod) {
        let now = "2026-03-01T12:00:00Z";
        let patch = json!({ "status": { "phase": "Running", "conditions": [
            { "type": "Ready", "status": "True", "lastTransitionTime": now },
        ] } });
        let name = pod.metadata.name.as_deref().unwrap();
        self.user
            .patch_status::<Pod>(&key(name), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// Asks the controllers to stop; they must not have failed.
    pub(crate) async fn stop(self) {
        self.stopper.stop();
        self.running.await.unwrap().unwrap();
    }
}

/// Until nothing is runnable any more.
pub(crate) async fn settle() {
    advance(1).await;
}

/// Lets seconds pass.
pub(crate) async fn advance(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("default", name)
}

/// A Deployment of a web server.
pub(crate) fn deployment(name: &str, replicas: i32) -> Value {
    json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": name } },
            "template": template(name, "nginx:1"),
        },
    })
}

pub(crate) fn template(app: &str, image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": app } },
        "spec": { "containers": [{ "name": "web", "image": image }] },
    })
}
