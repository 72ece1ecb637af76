//! Kubernetes' own controllers, explored as an operator is: some of them are the operator, the others run beside them.
//!
//! `cargo test` restarts them and ends them at each of their writes; `.ci/full controllers` tries what else can happen to requests, watches
//! and events.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{
    ConfigMap, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ResourceQuota, Service,
};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::ResourceExt as _;
use kubewright_controllers::FAILED_ANNOTATION;
use kubewright_runtime::client::{DeleteOptions, Propagation};
use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::operator::Rule;
use kubewright_testing::explore::{Class, Exploration, Summary, explore};
use kubewright_testing::{ControllerName, Controllers, TestEnv};
use serde_json::json;

/// These controllers, with the rights of a cluster's administrator, and all others beside them.
fn explored<const N: usize>(names: [ControllerName; N]) -> Exploration {
    let operator = move || {
        let operator = Controllers::only(names).seed(0).operator();
        operator.rule(Rule::new(["*"], ["*"], ["*"]))
    };
    explore(operator).environment(move |builder| {
        let others = names.into_iter().fold(Controllers::all(), Controllers::without);
        builder.controllers(others)
    })
}

/// No crash does harm.
async fn survive(exploration: Exploration) -> Summary {
    exploration.classes([Class::Restart, Class::Crash]).run().await
}

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
    template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}}";

async fn delete_owner(env: &TestEnv, name: &str, policy: Propagation) {
    let key = ObjectKey::namespaced(env.namespace(), name);
    let options = DeleteOptions {
        propagation_policy: Some(policy),
        ..DeleteOptions::default()
    };
    env.client().delete_with::<ConfigMap>(&key, &options).await.unwrap();
}

#[kubewright_testing::test]
async fn crashes_of_the_deployment_controller_do_no_harm() {
    let exploration = explored([ControllerName::Deployment, ControllerName::ReplicaSet])
        .step("create", |env| async move {
            env.apply(WEB).await;
        })
        .step("scale", |env| async move {
            env.edit::<Deployment>("web", |web| {
                web.spec.get_or_insert_default().replicas = Some(1);
            })
            .await;
        })
        .step("delete", |env| async move { env.delete::<Deployment>("web").await });
    let summary = survive(exploration).await;
    assert!(summary.runs_of(Class::Crash) > 10, "{summary}");
}

#[kubewright_testing::test]
async fn crashes_of_the_garbage_collector_do_no_harm() {
    let exploration = explored([ControllerName::GarbageCollector])
        .step("create", |env| async move {
            for owner in ["background", "foreground", "orphaned"] {
                let made = env.apply(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": owner } }));
                let uid = made.await[0].metadata.uid.clone();
                env.apply(json!({
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {
                        "name": format!("of-{owner}"),
                        "ownerReferences": [{
                            "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": true,
                        }],
                    },
                }))
                .await;
            }
        })
        .step("delete in the background", |env| async move {
            delete_owner(&env, "background", Propagation::Background).await;
        })
        .step("delete in the foreground", |env| async move {
            delete_owner(&env, "foreground", Propagation::Foreground).await;
        })
        .step("delete alone", |env| async move {
            delete_owner(&env, "orphaned", Propagation::Orphan).await;
        });
    let summary = survive(exploration).await;
    assert!(summary.runs_of(Class::Crash) > 10, "{summary}");
}

#[kubewright_testing::test]
async fn crashes_of_the_controllers_of_namespaces_do_no_harm() {
    let names = [
        ControllerName::Namespace,
        ControllerName::ServiceAccount,
        ControllerName::RootCa,
    ];
    let exploration = explored(names)
        .step("create", |env| async move {
            env.apply("{apiVersion: v1, kind: Namespace, metadata: {name: other}}")
                .await;
            env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: other}}")
                .await;
        })
        .step("delete", |env| async move { env.delete::<Namespace>("other").await });
    let summary = survive(exploration).await;
    assert!(summary.runs_of(Class::Crash) > 10, "{summary}");
}

#[kubewright_testing::test]
async fn crashes_of_the_endpoint_slice_controller_do_no_harm() {
    let exploration = explored([ControllerName::EndpointSlice])
        .step("create", |env| async move {
            env.apply("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}")
                .await;
            env.apply(WEB).await;
        })
        .step("scale", |env| async move {
            env.edit::<Deployment>("web", |web| {
                web.spec.get_or_insert_default().replicas = Some(1);
            })
            .await;
        })
        .step("delete", |env| async move { env.delete::<Service>("web").await });
    let summary = survive(exploration).await;
    assert!(summary.runs_of(Class::Crash) > 10, "{summary}");
}

#[kubewright_testing::test]
async fn crashes_of_the_quota_controller_do_no_harm() {
    let exploration = explored([ControllerName::ResourceQuota])
        .step("limit", |env| async move {
            env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: map}}").await;
            env.apply("{apiVersion: v1, kind: ResourceQuota, metadata: {name: most}, spec: {hard: {count/configmaps: '5', pods: '2'}}}")
                .await;
        })
        .step("use", |env| async move {
            env.apply("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}")
                .await;
        })
        .step("delete", |env| async move {
            env.delete::<ConfigMap>("map").await;
            env.delete::<Pod>("a").await;
        })
        .step("limit no more", |env| async move { env.delete::<ResourceQuota>("most").await });
    let summary = survive(exploration).await;
    assert!(summary.runs_of(Class::Crash) > 5, "{summary}");
}

#[kubewright_testing::test]
async fn crashes_of_the_volume_controllers_do_no_harm() {
    let names = [
        ControllerName::VolumeBinder,
        ControllerName::ClaimProtection,
        ControllerName::VolumeProtection,
    ];
    let exploration = explored(names)
        .step("offer", |env| async move {
            env.apply(
                "{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}, spec: {accessModes: [ReadWriteOnce],
                  capacity: {storage: 1Gi}, hostPath: {path: /data}, storageClassName: slow}}",
            )
            .await;
        })
        .step("claim", |env| async move {
            env.apply(
                "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce],
                  storageClassName: slow, resources: {requests: {storage: 1Gi}}}}",
            )
            .await;
        })
        .step("release", |env| async move { env.delete::<PersistentVolumeClaim>("data").await })
        .step("delete", |env| async move { env.delete::<PersistentVolume>("disk").await });
    let summary = survive(exploration).await;
    assert!(summary.runs_of(Class::Crash) > 10, "{summary}");
}

/// One that ends after it has said that a node is lost, and before it marks the Pods there, goes on with them when it is back.
#[kubewright_testing::test]
async fn crashes_of_the_controllers_of_nodes_do_no_harm() {
    let names = [
        ControllerName::NodeLifecycle,
        ControllerName::TaintEviction,
        ControllerName::PodGarbageCollector,
    ];
    let exploration = explored(names)
        .step("create", |env| async move {
            env.apply("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}")
                .await;
        })
        .step("fail", |env| async move {
            env.edit::<Node>("node-1", |node| {
                node.annotations_mut()
                    .insert(FAILED_ANNOTATION.to_owned(), "true".to_owned());
            })
            .await;
            env.advance(Duration::from_mins(7)).await;
        })
        .step("lose", |env| async move { env.delete::<Node>("node-1").await });
    let summary = survive(exploration).await;
    assert!(summary.runs_of(Class::Crash) > 10, "{summary}");
}

#[kubewright_testing::test]
async fn crashes_of_the_scheduler_and_of_kubelets_do_no_harm() {
    let exploration = explored([ControllerName::Scheduler, ControllerName::Kubelet])
        .step("create", |env| async move {
            env.apply("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}")
                .await;
            env.apply("{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {restartPolicy: Never, containers: [{name: b, image: b}]}}")
                .await;
        })
        .step("delete", |env| async move { env.delete::<Pod>("a").await });
    let summary = survive(exploration).await;
    assert!(summary.runs_of(Class::Crash) > 10, "{summary}");
}

#[kubewright_testing::test]
async fn crashes_of_the_controllers_of_roles_and_policies_do_no_harm() {
    let names = [
        ControllerName::ClusterRoleAggregation,
        ControllerName::ValidatingAdmissionPolicyStatus,
    ];
    let exploration = explored(names)
        .step("gather", |env| async move {
            env.apply(
                "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: gathered}, rules: [],
                  aggregationRule: {clusterRoleSelectors: [{matchLabels: {gather: 'yes'}}]}}",
            )
            .await;
            env.apply(
                "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: part, labels: {gather: 'yes'}},
                  rules: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]}",
            )
            .await;
        })
        .step("judge", |env| async move {
            env.apply(
                "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: judge},
                  spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE],
                  resources: [configmaps]}]}, validations: [{expression: 'object.data.size() > 0'}]}}",
            )
            .await;
        })
        .step("scatter", |env| async move { env.delete::<ClusterRole>("part").await });
    let summary = survive(exploration).await;
    assert!(summary.runs_of(Class::Crash) > 5, "{summary}");
}
