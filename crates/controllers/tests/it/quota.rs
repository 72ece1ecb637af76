//! The controller of quotas: what is there is counted, what goes is given back, and kinds are watched only if a quota counts them.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, ResourceQuota};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_controllers::Controllers;
use kubewright_runtime::client::{Client, Patch};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::object::{Object, ObjectKey};
use kubewright_runtime::stop::Stopper;
use serde_json::{Value, json};

struct Cluster {
    user: Client,
    server: ApiServer,
    _stopper: Stopper,
}

impl Cluster {
    fn start() -> Self {
        let server = ApiServer::new(Options::new());
        let (stopper, stop) = Stopper::new();
        let controllers: Controllers = "resourcequota".parse().unwrap();
        tokio::spawn(controllers.run(server.client(), stop));
        Cluster {
            user: Client::new(server.client(), Cache::default()).live(),
            server,
            _stopper: stopper,
        }
    }

    async fn create<K: Object>(&self, object: Value) -> K {
        let object: K = serde_json::from_value(object).unwrap();
        self.user.create(&object).await.unwrap()
    }

    async fn quota(&self, spec: Value) {
        let quota = json!({ "metadata": { "name": "quota", "namespace": "default" }, "spec": spec });
        self.create::<ResourceQuota>(quota).await;
    }

    /// Waits, on the paused clock, until the quota says that this is used.
    async fn uses(&self, used: Value) {
        let key = ObjectKey::namespaced("default", "quota");
        let mut last = Value::Null;
        for _ in 0..400 {
            let quota = self.user.get::<ResourceQuota>(&key).await.unwrap();
            let status = serde_json::to_value(&quota.status).unwrap();
            if status["used"] == used && status["hard"] == serde_json::to_value(&quota.spec).unwrap()["hard"] {
                return;
            }
            last = status;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{last} instead of {used}");
    }
}

fn config_map(name: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": "default" } })
}

fn pod(name: &str) -> Value {
    json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "containers": [{ "name": "c", "image": "i", "resources": { "requests": { "cpu": "500m" } } }] },
    })
}

#[tokio::test(start_paused = true)]
async fn what_is_there_is_counted_and_what_is_deleted_is_given_back() {
    let cluster = Cluster::start();
    cluster.create::<ConfigMap>(config_map("before")).await;
    cluster
        .quota(json!({ "hard": { "count/configmaps": "3", "configmaps": "2" } }))
        .await;
    cluster
        .uses(json!({ "count/configmaps": "1", "configmaps": "1" }))
        .await;
    cluster.create::<ConfigMap>(config_map("after")).await;
    cluster
        .uses(json!({ "count/configmaps": "2", "configmaps": "2" }))
        .await;
    let one_more: ConfigMap = serde_json::from_value(config_map("more")).unwrap();
    let refused = cluster.user.create(&one_more).await.unwrap_err().to_string();
    assert!(refused.contains("exceeded quota: quota"), "{refused}");
    let key = ObjectKey::namespaced("default", "before");
    cluster.user.delete::<ConfigMap>(&key).await.unwrap();
    cluster
        .uses(json!({ "count/configmaps": "1", "configmaps": "1" }))
        .await;
    cluster.user.create(&one_more).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_has_ended_frees_its_share_but_is_still_an_object() {
    let cluster = Cluster::start();
    cluster
        .quota(json!({ "hard": { "pods": "1", "requests.cpu": "1", "count/pods": "9" } }))
        .await;
    cluster
        .uses(json!({ "pods": "0", "requests.cpu": "0", "count/pods": "0" }))
        .await;
    cluster.create::<Pod>(pod("first")).await;
    cluster
        .uses(json!({ "pods": "1", "requests.cpu": "500m", "count/pods": "1" }))
        .await;
    let key = ObjectKey::namespaced("default", "first");
    let ended = Patch::Merge(json!({ "status": { "phase": "Succeeded" } }));
    cluster.user.patch_status::<Pod>(&key, &ended).await.unwrap();
    cluster
        .uses(json!({ "pods": "0", "requests.cpu": "0", "count/pods": "1" }))
        .await;
    cluster.create::<Pod>(pod("second")).await;
}

#[tokio::test(start_paused = true)]
async fn a_quota_follows_its_spec_and_keeps_what_nobody_can_count() {
    let cluster = Cluster::start();
    cluster
        .quota(json!({ "hard": { "count/widgets.example.com": "3", "configmaps": "5" } }))
        .await;
    cluster.uses(json!({ "configmaps": "0" })).await;
    let key = ObjectKey::namespaced("default", "quota");
    let more = Patch::Merge(json!({ "spec": { "hard": { "secrets": "7", "configmaps": null } } }));
    cluster.user.patch::<ResourceQuota>(&key, &more).await.unwrap();
    cluster.uses(json!({ "secrets": "0" })).await;
}

#[tokio::test(start_paused = true)]
async fn without_quotas_nothing_but_quotas_is_watched() {
    let cluster = Cluster::start();
    for name in ["a", "b"] {
        cluster.create::<ConfigMap>(config_map(name)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let watched: Vec<String> = cluster
        .server
        .audit()
        .events()
        .into_iter()
        .filter(|event| event.attributes.verb == "watch")
        .map(|event| event.attributes.resource.into_owned())
        .collect();
    assert!(
        watched.iter().all(|resource| resource == "resourcequotas"),
        "{watched:?}"
    );
}
