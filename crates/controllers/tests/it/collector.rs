//! The garbage collector with many objects, and with kinds that come while it starts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::client::Body;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_controllers::Controllers;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{Client, DeleteOptions, Patch, Propagation};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::manager::ManagerError;
use kubewright_runtime::object::{Kind, ObjectKey};
use kubewright_runtime::stop::Stopper;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Nothing here takes that long; what does is broken.
const PATIENCE: Duration = Duration::from_mins(1);

struct Cluster {
    server: ApiServer,
    user: Client,
    stopper: Stopper,
    running: JoinHandle<Result<(), ManagerError>>,
}

impl Cluster {
    fn start() -> Self {
        let server = ApiServer::new(Options::new());
        let kube = server.client();
        Self::collected_by(server, kube)
    }

    fn collected_by(server: ApiServer, kube: kube::Client) -> Self {
        let (stopper, stop) = Stopper::new();
        let collector: Controllers = "gc".parse().unwrap();
        Cluster {
            user: Client::new(server.client(), Cache::default()).live(),
            running: tokio::spawn(collector.run(kube, stop)),
            server,
            stopper,
        }
    }

    async fn create(&self, name: &str, owners: Value) -> ConfigMap {
        let object = json!({ "metadata": { "name": name, "namespace": "default", "ownerReferences": owners } });
        let object: ConfigMap = serde_json::from_value(object).unwrap();
        self.user.create(&object).await.unwrap()
    }

    async fn delete(&self, name: &str, policy: Propagation) {
        let options = DeleteOptions {
            propagation_policy: Some(policy),
            ..DeleteOptions::default()
        };
        let key = ObjectKey::namespaced("default", name);
        self.user.delete_with::<ConfigMap>(&key, &options).await.unwrap();
    }

    async fn names(&self) -> Vec<String> {
        let query = Query::all().in_namespace("default");
        let all = self.user.list::<ConfigMap>(&query).await.unwrap();
        all.iter().map(|config| config.key().name().to_owned()).collect()
    }

    /// Waits until only these are left.
    async fn left(&self, names: &[&str]) {
        let wait = async {
            while self.names().await != names {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, wait).await;
        assert!(waited.is_ok(), "not {names:?} but {:?} are left", self.names().await);
    }

    async fn stop(self) {
        self.stopper.stop();
        self.running.await.unwrap().unwrap();
    }
}

fn owned(owners: &[&ConfigMap]) -> Value {
    let owner = |owner: &&ConfigMap| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid,
            "blockOwnerDeletion": true,
        })
    };
    owners.iter().map(owner).collect()
}

async fn settle() {
    tokio::time::sleep(Duration::from_mins(2)).await;
}

#[tokio::test(start_paused = true)]
async fn hundreds_of_dependents_go_before_their_owner_with_one_write_each() {
    const COUNT: usize = 300;
    let cluster = Cluster::start();
    let owner = cluster.create("owner", json!([])).await;
    for number in 0..COUNT {
        cluster.create(&format!("child-{number}"), owned(&[&owner])).await;
    }
    settle().await;
    let before = cluster.server.revision();
    cluster.delete("owner", Propagation::Foreground).await;
    settle().await;
    assert!(cluster.names().await.is_empty());
    // Each child, the mark on the owner and its end.
    assert_eq!(cluster.server.revision() - before, COUNT as u64 + 2);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn hundreds_of_dependents_are_let_go_of_by_their_owner() {
    const COUNT: usize = 100;
    let cluster = Cluster::start();
    let owner = cluster.create("owner", json!([])).await;
    let other = cluster.create("other", json!([])).await;
    for number in 0..COUNT {
        cluster
            .create(&format!("child-{number}"), owned(&[&owner, &other]))
            .await;
    }
    settle().await;
    cluster.delete("owner", Propagation::Orphan).await;
    settle().await;
    assert_eq!(cluster.names().await.len(), COUNT + 1);
    cluster.delete("other", Propagation::Background).await;
    settle().await;
    assert!(cluster.names().await.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_tree_of_owners_goes_with_its_root_but_two_that_own_each_other_keep_each_other() {
    let cluster = Cluster::start();
    let root = cluster.create("root", json!([])).await;
    for branch in 0..5 {
        let branch = cluster.create(&format!("branch-{branch}"), owned(&[&root])).await;
        let name = branch.metadata.name.clone().unwrap();
        for leaf in 0..5 {
            cluster
                .create(&format!("{name}-{leaf}"), owned(&[&branch, &root]))
                .await;
        }
    }
    // Two that own each other as well: each is a solid owner of the other, so that both lose the root only, as upstream.
    let first = cluster.create("first", owned(&[&root])).await;
    let second = cluster.create("second", owned(&[&root, &first])).await;
    let circle = json!({ "metadata": { "ownerReferences": owned(&[&root, &second]) } });
    let key = ObjectKey::namespaced("default", "first");
    let patch = kubewright_runtime::client::Patch::Merge(circle);
    cluster.user.patch::<ConfigMap>(&key, &patch).await.unwrap();
    settle().await;
    assert_eq!(cluster.names().await.len(), 33);
    cluster.delete("root", Propagation::Foreground).await;
    settle().await;
    assert_eq!(cluster.names().await, ["first", "second"]);
    cluster.delete("first", Propagation::Foreground).await;
    settle().await;
    assert!(cluster.names().await.is_empty(), "{:?}", cluster.names().await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn dependents_that_disagree_where_their_owner_is_lose_only_who_is_wrong() {
    let cluster = Cluster::start();
    let owner = cluster.create("owner", json!([])).await;
    let mut wrong = owned(&[&owner]);
    wrong[0]["name"] = "somebody".into();
    cluster.create("liar", wrong).await;
    cluster.create("child", owned(&[&owner])).await;
    settle().await;
    assert_eq!(cluster.names().await, ["child", "owner"]);
    cluster.delete("owner", Propagation::Background).await;
    settle().await;
    assert!(cluster.names().await.is_empty());
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_kind_owns_that_was_defined_a_moment_ago_is_collected() {
    for _ in 0..5 {
        let cluster = Cluster::start();
        let definition = json!({
            "metadata": { "name": "toys.example.com" },
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": { "plural": "toys", "kind": "Toy" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                    "type": "object",
                } } }],
            },
        });
        let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
        cluster.user.create(&definition).await.unwrap();
        let toys = cluster
            .user
            .dynamic(Kind::named("example.com", "v1", "Toy", "toys", true));
        let toy = json!({
            "apiVersion": "example.com/v1", "kind": "Toy", "metadata": { "name": "toy", "namespace": "default" },
        });
        let toy = toys.create(&serde_json::from_value(toy).unwrap()).await.unwrap();
        let owners = json!([{ "apiVersion": "example.com/v1", "kind": "Toy", "name": "toy", "uid": toy.metadata.uid }]);
        cluster.create("child", owners).await;
        toys.delete(&ObjectKey::namespaced("default", "toy")).await.unwrap();
        cluster.left(&[]).await;
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_race_against_another_writer_is_run_again_at_once() {
    let server = ApiServer::new(Options::new());
    let (through, user) = (server.client(), Client::new(server.client(), Cache::default()).live());
    let raced = Arc::new(AtomicBool::new(false));
    let was_raced = Arc::clone(&raced);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (through, user, raced) = (through.clone(), user.clone(), Arc::clone(&raced));
        async move {
            // Between the collector's look and its word somebody writes the child.
            let is_end = request.method() == "DELETE" && request.uri().path().ends_with("/child");
            if is_end && !raced.swap(true, Ordering::Relaxed) {
                let patch = Patch::Merge(json!({ "metadata": { "labels": { "written": "now" } } }));
                let key = ObjectKey::namespaced("default", "child");
                user.patch::<ConfigMap>(&key, &patch).await.unwrap();
            }
            through.send(request).await
        }
    });
    let cluster = Cluster::collected_by(server, kube::Client::new(service, "default"));
    let owner = cluster.create("owner", json!([])).await;
    cluster.create("child", owned(&[&owner])).await;
    settle().await;
    cluster.delete("owner", Propagation::Background).await;
    // A paused clock comes so far when there is nothing left to do, and less far than any pause before another try.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(was_raced.load(Ordering::Relaxed));
    assert!(cluster.names().await.is_empty());
    cluster.stop().await;
}
