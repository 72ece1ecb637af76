//! `Bar`: a `Deployment` by `create_or_update`, found again by an index on its owner, and deleted when its name changes.

use k8s_openapi::api::apps::v1::Deployment;
use kube::{CustomResource, ResourceExt as _};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::helpers::{ignore_not_found, set_controller_reference};
use kubewright_runtime::client::{Client, Outcome, Patch};
use kubewright_runtime::controller::{Action, Context, Controller, Predicate, Reconciler, Request, Result, Watch};
use kubewright_runtime::events::{EventNote, EventRecorder};
use kubewright_runtime::object::{Kind, ObjectKey};
use kubewright_runtime::operator::{Operator, Rule};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::support::{Cluster, Running, key, settle};

const OWNER_INDEX: &str = ".metadata.controller";

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default)]
#[kube(
    group = "samplecontroller.ginoh.github.io",
    version = "v1alpha1",
    kind = "Bar",
    namespaced,
    status = "BarStatus",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
struct BarSpec {
    deployment_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replicas: Option<i32>,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct BarStatus {
    #[serde(default)]
    available_replicas: i32,
}

struct Bars {
    client: Client,
    events: EventRecorder,
}

impl Bars {
    fn new(context: &Context) -> Self {
        Bars {
            client: context.client(),
            events: context.events(),
        }
    }

    /// Deployments of this bar under a name that it no longer asks for.
    async fn clean_up(&self, bar: &Bar) -> Result<()> {
        let query = Query::all()
            .in_namespace(bar.namespace().unwrap_or_default())
            .indexed(OWNER_INDEX, bar.name_any());
        for deployment in self.client.list::<Deployment>(&query).await? {
            if deployment.name_any() == bar.spec.deployment_name {
                continue;
            }
            ignore_not_found(self.client.delete::<Deployment>(deployment.key()).await)?;
            let text = format!("Deleted deployment {:?}", deployment.name_any());
            self.events.record(bar, EventNote::normal("Deleted", "Delete", text));
        }
        Ok(())
    }
}

impl Reconciler for Bars {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(bar) = self.client.get_opt::<Bar>(&request).await? else {
            return Ok(Action::done());
        };
        self.clean_up(&bar).await?;

        let labels = json!({ "app": "nginx", "controller": bar.name_any() });
        let initial: Deployment = serde_json::from_value(json!({
            "metadata": { "name": bar.spec.deployment_name, "namespace": bar.namespace() },
        }))?;
        let replicas = bar.spec.replicas.unwrap_or(1);
        let done = self
            .client
            .create_or_update(initial, |deployment| {
                let spec = deployment.spec.get_or_insert_default();
                spec.replicas = Some(replicas);
                // The selector of a Deployment cannot change, and its defaults need not be repeated.
                if spec.template.spec.is_none() {
                    *spec = serde_json::from_value(json!({
                        "replicas": replicas, "selector": { "matchLabels": labels },
                        "template": {
                            "metadata": { "labels": labels },
                            "spec": { "containers": [{ "name": "nginx", "image": "nginx:latest" }] },
                        },
                    }))
                    .expect("a Deployment's spec");
                }
                Ok(set_controller_reference(&*bar, deployment)?)
            })
            .await?;
        if done.outcome != Outcome::Unchanged {
            tracing::info!(outcome = ?done.outcome, "the Deployment is as it should be");
        }

        let available = done
            .object
            .status
            .and_then(|status| status.available_replicas)
            .unwrap_or(0);
        if bar
            .status
            .as_ref()
            .is_none_or(|status| status.available_replicas != available)
        {
            let mut bar = bar.into_owned();
            bar.status = Some(BarStatus {
                available_replicas: available,
            });
            let bar = self.client.update_status(&bar).await?;
            let text = format!("Update bar.status.AvailableReplicas: {available}");
            self.events.record(&bar, EventNote::normal("Updated", "Update", text));
        }
        Ok(Action::done())
    }
}

fn operator() -> Operator {
    let controller = Controller::of::<Bar>()
        .of_when(Predicate::generation_changed())
        .watch(Watch::owned::<Deployment>().when(Predicate::resource_version_changed()))
        .max_concurrent_reconciles(2)
        .reconcile_with(Bars::new);
    Operator::new("bar")
        .controller(controller)
        .index::<Deployment>(OWNER_INDEX, |deployment| {
            let owners = deployment.metadata.owner_references.iter().flatten();
            owners
                .filter(|owner| owner.controller == Some(true) && owner.kind == "Bar")
                .map(|owner| owner.name.clone())
                .collect()
        })
        .rule(Rule::new(["apps"], ["deployments"], ["create", "update", "delete"]))
        .rule(Rule::new(
            ["samplecontroller.ginoh.github.io"],
            ["bars/status"],
            ["update"],
        ))
}

async fn cluster() -> Cluster {
    let spec = json!({
        "type": "object", "required": ["deploymentName"],
        "properties": {
            "deploymentName": { "type": "string" },
            "replicas": { "type": "integer", "format": "int32", "minimum": 1, "maximum": 10 },
        },
    });
    let status = json!({
        "type": "object", "properties": { "availableReplicas": { "type": "integer", "format": "int32" } },
    });
    Cluster::with(&Kind::of::<Bar>(), spec, status).await
}

fn bar(name: &str, deployment: &str, replicas: i32) -> Bar {
    let mut bar = Bar::new(
        name,
        BarSpec {
            deployment_name: deployment.to_owned(),
            replicas: Some(replicas),
        },
    );
    bar.metadata.namespace = Some("default".to_owned());
    bar
}

async fn replicas(cluster: &Cluster, name: &str) -> Option<i32> {
    let deployment = cluster.user.get_opt::<Deployment>(&key(name)).await.unwrap()?;
    deployment.spec.as_ref()?.replicas
}

#[tokio::test(start_paused = true)]
async fn a_bar_gets_its_deployment_and_says_how_many_of_it_run() {
    let cluster = cluster().await;
    let manager = operator().manager().unwrap();
    let stats = manager.stats()[0].1.clone();
    let running = Running::start(&cluster, manager);
    let user = &cluster.user;
    user.create(&bar("sample", "sample-web", 3)).await.unwrap();
    settle().await;
    assert_eq!(replicas(&cluster, "sample-web").await, Some(3));

    cluster.pods_run("sample-web", 2).await;
    settle().await;
    let sample = user.get::<Bar>(&key("sample")).await.unwrap();
    assert_eq!(sample.status.as_ref().unwrap().available_replicas, 2);
    assert_eq!(
        cluster.events().await,
        [
            "Normal Updated Update bar.status.AvailableReplicas: 0",
            "Normal Updated Update bar.status.AvailableReplicas: 2"
        ]
    );

    // Somebody else scales it; the bar puts that right.
    let patch = Patch::Merge(json!({ "spec": { "replicas": 7 } }));
    user.patch::<Deployment>(&key("sample-web"), &patch).await.unwrap();
    settle().await;
    assert_eq!(replicas(&cluster, "sample-web").await, Some(3));
    assert_eq!(stats.snapshot().errors, 0);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_under_an_old_name_is_deleted_and_those_of_others_are_not() {
    let cluster = cluster().await;
    let running = Running::start(&cluster, operator().manager().unwrap());
    let user = &cluster.user;
    user.create(&bar("one", "one-web", 1)).await.unwrap();
    user.create(&bar("two", "two-web", 2)).await.unwrap();
    settle().await;
    let patch = Patch::Merge(json!({ "spec": { "deploymentName": "renamed" } }));
    user.patch::<Bar>(&key("one"), &patch).await.unwrap();
    settle().await;
    assert_eq!(replicas(&cluster, "one-web").await, None);
    assert_eq!(replicas(&cluster, "renamed").await, Some(1));
    assert_eq!(replicas(&cluster, "two-web").await, Some(2));
    assert!(
        cluster
            .events()
            .await
            .contains(&"Normal Deleted Deleted deployment \"one-web\"".to_owned())
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_status_of_its_own_does_not_wake_a_bar_again() {
    let cluster = cluster().await;
    let manager = operator().manager().unwrap();
    let stats = manager.stats()[0].1.clone();
    let running = Running::start(&cluster, manager);
    cluster.user.create(&bar("sample", "sample-web", 1)).await.unwrap();
    settle().await;
    let settled = stats.snapshot().total();
    // Once for the bar, once for the Deployment it made; never for the status it wrote.
    assert_eq!(settled, 2);
    tokio::time::sleep(std::time::Duration::from_mins(10)).await;
    assert_eq!(stats.snapshot().total(), settled);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_hundred_bars_at_once_create_a_hundred_deployments_without_an_error() {
    let cluster = cluster().await;
    let manager = operator().manager().unwrap();
    let stats = manager.stats()[0].1.clone();
    let running = Running::start(&cluster, manager);
    for number in 0..100 {
        let name = format!("bar-{number:02}");
        cluster
            .user
            .create(&bar(&name, &format!("{name}-web"), 1))
            .await
            .unwrap();
    }
    settle().await;
    let deployments = cluster
        .user
        .list::<Deployment>(&Query::all().in_namespace("default"))
        .await
        .unwrap();
    assert_eq!(deployments.len(), 100);
    // A stale cache would have said `already exists`.
    assert_eq!(stats.snapshot().errors, 0, "{:?}", stats.snapshot().last_error);
    running.stop().await;
    assert!(
        cluster
            .user
            .get_opt::<Bar>(&ObjectKey::namespaced("default", "bar-99"))
            .await
            .unwrap()
            .is_some()
    );
}
