//! `MarkdownView`: three children in two ways, conditions, events, a metric, an index and a timer.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, Resource as _, ResourceExt as _};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::helpers::{
    ConditionUpdate, find_condition, is_condition_true, set_condition, set_controller_reference,
};
use kubewright_runtime::client::{Client, Patch};
use kubewright_runtime::controller::{Action, Context, Controller, Reconciler, Request, Result};
use kubewright_runtime::events::{EventNote, EventRecorder};
use kubewright_runtime::lease::ElectionOptions;
use kubewright_runtime::metrics::{Family, Gauge};
use kubewright_runtime::object::Kind;
use kubewright_runtime::operator::{Operator, Rule};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::support::{Cluster, Running, key, settle};

const FIELD_OWNER: &str = "markdown-view-controller";
const OWNER_INDEX: &str = ".metadata.ownerReference.controller";

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default)]
#[kube(
    group = "view.zoetrope.github.io",
    version = "v1",
    kind = "MarkdownView",
    namespaced,
    status = "MarkdownViewStatus",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
struct MarkdownViewSpec {
    markdowns: BTreeMap<String, String>,
    replicas: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    viewer_image: Option<String>,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
struct MarkdownViewStatus {
    #[serde(default)]
    conditions: Vec<Condition>,
}

struct MarkdownViews {
    client: Client,
    events: EventRecorder,
    available: Family<Gauge, 2>,
}

impl MarkdownViews {
    fn new(context: &Context) -> Self {
        let help = "The cluster status about markdown view condition";
        let labels = ["name", "namespace"];
        MarkdownViews {
            client: context.client().field_owner(FIELD_OWNER).force(),
            events: context.events(),
            available: context
                .metrics()
                .gauge("markdownview_available", help, labels)
                .expect("a metric that is registered once"),
        }
    }

    /// Old keys stay, as in the original: data is merged.
    async fn config_map(&self, view: &MarkdownView) -> Result<()> {
        let initial = named(view, &format!("markdowns-{}", view.name_any()))?;
        self.client
            .create_or_update::<ConfigMap>(initial, |object| {
                object.data.get_or_insert_default().extend(view.spec.markdowns.clone());
                Ok(set_controller_reference(view, object)?)
            })
            .await?;
        Ok(())
    }

    async fn deployment(&self, view: &MarkdownView) -> Result<()> {
        let name = view.name_any();
        let probe = json!({ "httpGet": { "path": "/", "port": "http" } });
        let wanted: Deployment = serde_json::from_value(json!({
            "metadata": named::<Deployment>(view, &format!("viewer-{name}"))?.metadata,
            "spec": {
                "replicas": view.spec.replicas,
                "selector": { "matchLabels": labels(&name) },
                "template": {
                    "metadata": { "labels": labels(&name) },
                    "spec": {
                        "containers": [{
                            "name": "mdbook",
                            "image": view.spec.viewer_image.as_deref().unwrap_or("peaceiris/mdbook:latest"),
                            "imagePullPolicy": "IfNotPresent",
                            "command": ["mdbook"], "args": ["serve", "--hostname", "0.0.0.0"],
                            "volumeMounts": [{ "name": "markdowns", "mountPath": "/book/src" }],
                            "ports": [{ "name": "http", "protocol": "TCP", "containerPort": 3000 }],
                            "livenessProbe": probe, "readinessProbe": probe,
                        }],
                        "volumes": [{ "name": "markdowns", "configMap": { "name": format!("markdowns-{name}") } }],
                    },
                },
            },
        }))?;
        self.client.apply(&wanted).await?;
        Ok(())
    }

    async fn service(&self, view: &MarkdownView) -> Result<()> {
        let name = view.name_any();
        let wanted: Service = serde_json::from_value(json!({
            "metadata": named::<Service>(view, &format!("viewer-{name}"))?.metadata,
            "spec": {
                "selector": labels(&name), "type": "ClusterIP",
                "ports": [{ "protocol": "TCP", "port": 80, "targetPort": 3000 }],
            },
        }))?;
        self.client.apply(&wanted).await?;
        Ok(())
    }

    /// What is there, as conditions. Cached reads see the children that were just written.
    async fn update_status(&self, view: &MarkdownView) -> Result<Action> {
        let name = view.name_any();
        let namespace = view.namespace().unwrap_or_default();
        let in_namespace = |name: String| kubewright_runtime::object::ObjectKey::namespaced(&namespace, &name);
        let (markdowns, viewer) = (
            in_namespace(format!("markdowns-{name}")),
            in_namespace(format!("viewer-{name}")),
        );
        let deployment = self.client.get_opt::<Deployment>(&viewer).await?;
        let missing = if self.client.get_opt::<ConfigMap>(&markdowns).await?.is_none() {
            Some("ConfigMap not found")
        } else if self.client.get_opt::<Service>(&viewer).await?.is_none() {
            Some("Service not found")
        } else if deployment.is_none() {
            Some("Deployment not found")
        } else {
            None
        };
        let running = deployment
            .and_then(|deployment| deployment.status.as_ref().and_then(|status| status.available_replicas))
            .unwrap_or(0);
        let (available, degraded) = match missing {
            Some(message) => (
                ConditionUpdate::is_false("Available", "Reconciling").message(message),
                ConditionUpdate::is_true("Degraded", "Reconciling").message(message),
            ),
            None if running == 0 => (
                ConditionUpdate::is_false("Available", "Unavailable").message("AvailableReplicas is 0"),
                ConditionUpdate::is_false("Degraded", "OK"),
            ),
            None => (
                ConditionUpdate::is_true("Available", "OK"),
                ConditionUpdate::is_false("Degraded", "OK"),
            ),
        };

        let mut changed = view.clone();
        let conditions = &mut changed.status.get_or_insert_default().conditions;
        let before = conditions.clone();
        let now = self.client.clock().now();
        for update in [available, degraded] {
            set_condition(conditions, &update.observed(view.meta().generation), now);
        }
        let is_available = is_condition_true(conditions, "Available");
        for (type_, note) in [
            (
                "Degraded",
                EventNote::warning(
                    "Degraded",
                    "Reconcile",
                    format!("MarkdownView({namespace}:{name}) degraded"),
                ),
            ),
            (
                "Available",
                EventNote::normal(
                    "Available",
                    "Reconcile",
                    format!("MarkdownView({namespace}:{name}) available"),
                ),
            ),
        ] {
            if is_condition_true(conditions, type_) && !is_condition_true(&before, type_) {
                self.events.record(view, note);
            }
        }
        if *conditions != before {
            self.client.update_status(&changed).await?;
        }
        self.available
            .with([&name, &namespace])
            .set(if is_available { 1.0 } else { 0.0 });
        Ok(if is_available {
            Action::done()
        } else {
            Action::requeue()
        })
    }
}

impl Reconciler for MarkdownViews {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(view) = self.client.get_opt::<MarkdownView>(&request).await? else {
            self.available
                .remove([request.name(), request.namespace().unwrap_or_default()]);
            return Ok(Action::done());
        };
        if view.meta().deletion_timestamp.is_some() {
            return Ok(Action::done());
        }
        let children = async {
            self.config_map(&view).await?;
            self.deployment(&view).await?;
            self.service(&view).await
        };
        // A failing child shows in the status, and then fails the reconcile.
        let children = children.await;
        let action = self.update_status(&view).await?;
        children.map(|()| action)
    }
}

fn labels(instance: &str) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("app.kubernetes.io/name", "mdbook".to_owned()),
        ("app.kubernetes.io/instance", instance.to_owned()),
        ("app.kubernetes.io/created-by", FIELD_OWNER.to_owned()),
    ])
}

/// A child of a view with its name, labels and owner, and nothing else.
fn named<K: kubewright_runtime::object::Object>(view: &MarkdownView, name: &str) -> Result<K> {
    let metadata = json!({ "name": name, "namespace": view.namespace(), "labels": labels(&view.name_any()) });
    let mut object: K = serde_json::from_value(json!({ "metadata": metadata }))?;
    set_controller_reference(view, &mut object)?;
    Ok(object)
}

fn operator() -> Operator {
    let controller = Controller::of::<MarkdownView>()
        .owns::<ConfigMap>()
        .owns::<Deployment>()
        .owns::<Service>()
        .every(Duration::from_secs(30))
        .reconcile_with(MarkdownViews::new);
    Operator::new("markdown-view")
        .controller(controller)
        .index::<ConfigMap>(OWNER_INDEX, |object| {
            let owners = object.metadata.owner_references.iter().flatten();
            owners
                .filter(|owner| owner.controller == Some(true) && owner.kind == "MarkdownView")
                .map(|owner| owner.name.clone())
                .collect()
        })
        .rule(Rule::new([""], ["configmaps"], ["create", "update"]))
        .rule(Rule::new([""], ["services"], ["create", "patch"]))
        .rule(Rule::new(["apps"], ["deployments"], ["create", "patch"]))
        .rule(Rule::new(
            ["view.zoetrope.github.io"],
            ["markdownviews/status"],
            ["update"],
        ))
}

async fn cluster() -> Cluster {
    let spec = json!({
        "type": "object",
        "properties": {
            "markdowns": { "type": "object", "minProperties": 1, "additionalProperties": { "type": "string" } },
            "replicas": { "type": "integer", "format": "int32", "default": 1 },
            "viewerImage": { "type": "string" },
        },
    });
    let status = json!({
        "type": "object",
        "properties": { "conditions": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": { "type": "object", "required": ["type", "status"], "x-kubernetes-preserve-unknown-fields": true,
                "properties": { "type": { "type": "string" }, "status": { "type": "string" } } },
        } },
    });
    Cluster::with(&Kind::of::<MarkdownView>(), spec, status).await
}

fn sample() -> MarkdownView {
    serde_json::from_value(json!({
        "apiVersion": "view.zoetrope.github.io/v1", "kind": "MarkdownView",
        "metadata": { "name": "sample", "namespace": "default" },
        "spec": {
            "markdowns": { "SUMMARY.md": "summary", "page1.md": "page" },
            "replicas": 3, "viewerImage": "peaceiris/mdbook:0.4.10",
        },
    }))
    .unwrap()
}

/// Status and reason of a condition.
fn said(view: &MarkdownView, type_: &str) -> (String, String) {
    let conditions = view.status.as_ref().map_or(&[] as &[_], |status| &status.conditions);
    let condition = find_condition(conditions, type_).unwrap();
    (condition.status.clone(), condition.reason.clone())
}

fn pair(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_view_gets_its_children_its_conditions_its_events_and_its_metric() {
    let cluster = cluster().await;
    let manager = operator()
        .manager()
        .unwrap()
        .leader_election(ElectionOptions::new("default", "3ca5b296.zoetrope.github.io"));
    let (registry, stats) = (manager.registry().clone(), manager.stats()[0].1.clone());
    let running = Running::start(&cluster, manager);
    cluster.user.create(&sample()).await.unwrap();
    settle().await;

    let user = &cluster.user;
    let config_map = user.get::<ConfigMap>(&key("markdowns-sample")).await.unwrap();
    let keys: Vec<_> = config_map.data.as_ref().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["SUMMARY.md", "page1.md"]);
    let deployment = user.get::<Deployment>(&key("viewer-sample")).await.unwrap();
    let spec = deployment.spec.as_ref().unwrap();
    assert_eq!(spec.replicas, Some(3));
    let container = &spec.template.spec.as_ref().unwrap().containers[0];
    assert_eq!(container.image.as_deref(), Some("peaceiris/mdbook:0.4.10"));
    let owner = &deployment.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!((owner.controller, owner.block_owner_deletion), (Some(true), Some(true)));
    let managers: Vec<_> = deployment.metadata.managed_fields.iter().flatten().collect();
    assert_eq!(managers[0].manager.as_deref(), Some(FIELD_OWNER));
    assert_eq!(managers[0].operation.as_deref(), Some("Apply"));
    let service = user.get::<Service>(&key("viewer-sample")).await.unwrap();
    assert_eq!(service.spec.as_ref().unwrap().ports.as_ref().unwrap()[0].port, 80);

    // Nothing runs yet.
    let view = user.get::<MarkdownView>(&key("sample")).await.unwrap();
    assert_eq!(said(&view, "Available"), pair("False", "Unavailable"));
    assert_eq!(said(&view, "Degraded"), pair("False", "OK"));
    let gauge = "markdownview_available{name=\"sample\",namespace=\"default\"}";
    assert!(registry.render().contains(&format!("{gauge} 0\n")));
    assert!(stats.snapshot().requeue > 0);

    // Pods run: the Deployment wakes its view.
    cluster.pods_run("viewer-sample", 3).await;
    settle().await;
    let view = user.get::<MarkdownView>(&key("sample")).await.unwrap();
    assert_eq!(said(&view, "Available"), pair("True", "OK"));
    assert!(registry.render().contains(&format!("{gauge} 1\n")));
    assert_eq!(
        cluster.events().await,
        ["Normal Available MarkdownView(default:sample) available"]
    );

    // Applying what is there makes no call: the Deployment stays at its revision however often it is reconciled.
    let deployment = user.get::<Deployment>(&key("viewer-sample")).await.unwrap();
    let before = stats.snapshot().total();
    tokio::time::sleep(Duration::from_secs(95)).await;
    assert!(stats.snapshot().total() >= before + 3);
    let again = user.get::<Deployment>(&key("viewer-sample")).await.unwrap();
    assert_eq!(deployment.metadata.resource_version, again.metadata.resource_version);
    assert_eq!(stats.snapshot().errors, 0);

    user.delete::<MarkdownView>(&key("sample")).await.unwrap();
    settle().await;
    assert!(!registry.render().contains(gauge));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_view_or_of_a_child_is_put_right() {
    let cluster = cluster().await;
    let running = Running::start(&cluster, operator().manager().unwrap());
    let user = &cluster.user;
    user.create(&sample()).await.unwrap();
    settle().await;
    cluster.pods_run("viewer-sample", 3).await;

    let patch =
        Patch::Merge(json!({ "spec": { "replicas": 2, "markdowns": { "page1.md": null, "page2.md": "new" } } }));
    user.patch::<MarkdownView>(&key("sample"), &patch).await.unwrap();
    settle().await;
    let deployment = user.get::<Deployment>(&key("viewer-sample")).await.unwrap();
    assert_eq!(deployment.spec.as_ref().unwrap().replicas, Some(2));
    let config_map = user.get::<ConfigMap>(&key("markdowns-sample")).await.unwrap();
    let keys: Vec<_> = config_map.data.as_ref().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["SUMMARY.md", "page1.md", "page2.md"]);

    // Somebody scales by hand, and deletes what is not theirs.
    let patch = Patch::Merge(json!({ "spec": { "replicas": 9 } }));
    user.patch::<Deployment>(&key("viewer-sample"), &patch).await.unwrap();
    user.delete::<Service>(&key("viewer-sample")).await.unwrap();
    settle().await;
    let deployment = user.get::<Deployment>(&key("viewer-sample")).await.unwrap();
    assert_eq!(deployment.spec.as_ref().unwrap().replicas, Some(2));
    user.get::<Service>(&key("viewer-sample")).await.unwrap();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_cannot_be_made_degrades_the_view_and_fails_the_reconcile() {
    let cluster = cluster().await;
    let user = &cluster.user;
    // The server refuses the image's place, so that the Deployment never comes about.
    let mut view = sample();
    view.spec.viewer_image = Some(String::new());
    user.create(&view).await.unwrap();
    let manager = operator().manager().unwrap();
    let stats = manager.stats()[0].1.clone();
    let running = Running::start(&cluster, manager);
    settle().await;
    let view = user.get::<MarkdownView>(&key("sample")).await.unwrap();
    assert_eq!(said(&view, "Degraded"), pair("True", "Reconciling"));
    assert_eq!(said(&view, "Available"), pair("False", "Reconciling"));
    assert!(stats.snapshot().errors > 0);
    assert_eq!(
        cluster.events().await,
        ["Warning Degraded MarkdownView(default:sample) degraded"]
    );

    let patch = Patch::Merge(json!({ "spec": { "viewerImage": "peaceiris/mdbook:latest" } }));
    user.patch::<MarkdownView>(&key("sample"), &patch).await.unwrap();
    settle().await;
    let view = user.get::<MarkdownView>(&key("sample")).await.unwrap();
    assert_eq!(said(&view, "Degraded"), pair("False", "OK"));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_index_finds_the_config_maps_of_a_view() {
    let cluster = cluster().await;
    let found = std::sync::Arc::new(parking_lot::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&found);
    let lookout = move |context: kubewright_runtime::manager::RunContext| {
        let seen = std::sync::Arc::clone(&seen);
        async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            let query = Query::all().in_namespace("default").indexed(OWNER_INDEX, "sample");
            for object in context.client.list::<ConfigMap>(&query).await? {
                seen.lock().push(object.key().name().to_owned());
            }
            context.stop.stopped().await;
            Ok(())
        }
    };
    let manager = operator().runnable("lookout", lookout).manager().unwrap();
    let running = Running::start(&cluster, manager);
    cluster.user.create(&sample()).await.unwrap();
    let other: ConfigMap =
        serde_json::from_value(json!({ "metadata": { "name": "other", "namespace": "default" } })).unwrap();
    cluster.user.create(&other).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(*found.lock(), ["markdowns-sample"]);
    running.stop().await;
}
