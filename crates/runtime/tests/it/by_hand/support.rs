//! A cluster with a definition in it.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{Client, Patch};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::object::{Kind, ObjectKey};
use serde_json::{Value, json};

/// A cluster as its users see it.
pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
    pub(crate) user: Client,
}

impl Cluster {
    /// A cluster that knows a custom kind.
    pub(crate) async fn with(kind: &Kind, spec: Value, status: Value) -> Self {
        let server = ApiServer::new(Options::new());
        let user = Client::new(server.client(), Cache::default()).live();
        user.create(&definition(kind, &spec, &status)).await.unwrap();
        Cluster { server, user }
    }

    /// Says what the Deployment controller would say when pods run.
    pub(crate) async fn pods_run(&self, name: &str, available: i32) {
        let patch = Patch::Merge(json!({ "status": {
            "replicas": available, "readyReplicas": available, "availableReplicas": available,
        } }));
        self.user.patch_status::<Deployment>(&key(name), &patch).await.unwrap();
    }

    /// Type, reason and note of all events, in the order of their names.
    pub(crate) async fn events(&self) -> Vec<String> {
        let events = self.user.list::<Event>(&Query::all()).await.unwrap();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let mut said: Vec<_> = events
            .iter()
            .filter(|event| {
                event
                    .regarding
                    .as_ref()
                    .is_some_and(|regarding| regarding.kind.as_deref() != Some("Lease"))
            })
            .map(|event| {
                let time = event.event_time.as_ref().map(|time| time.0);
                let said = format!("{} {} {}", text(&event.type_), text(&event.reason), text(&event.note));
                (time, said)
            })
            .collect();
        said.sort();
        said.into_iter().map(|(_, said)| said).collect()
    }
}

/// Until nothing is runnable any more, and shorter than any period.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("default", name)
}

fn definition(kind: &Kind, spec: &Value, status: &Value) -> CustomResourceDefinition {
    let name = format!("{}.{}", kind.plural(), kind.group());
    let definition = json!({
        "metadata": {
            "name": name,
            "annotations": { "api-approved.kubernetes.io": "unapproved, a test" },
        },
        "spec": {
            "group": kind.group(), "scope": "Namespaced", "names": { "plural": kind.plural(), "kind": kind.kind() },
            "versions": [{
                "name": kind.version(), "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": {
                    "type": "object", "properties": { "spec": spec, "status": status },
                } },
            }],
        },
    });
    serde_json::from_value(definition).unwrap()
}
