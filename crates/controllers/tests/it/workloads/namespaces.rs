//! What namespaces are given, and how they go.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kubewright_runtime::client::Patch;
use kubewright_runtime::object::ObjectKey;
use serde_json::json;

use super::support::{Cluster, advance, deployment, settle};

async fn shop(cluster: &Cluster) {
    cluster
        .create::<Namespace>(json!({ "metadata": { "name": "shop" } }))
        .await;
    settle().await;
}

fn in_shop(name: &str) -> ObjectKey {
    ObjectKey::namespaced("shop", name)
}

#[tokio::test(start_paused = true)]
async fn a_namespace_gets_its_account_and_the_certificates_and_gets_them_back() {
    let cluster = Cluster::with("serviceaccount,root-ca", 0);
    shop(&cluster).await;
    let user = &cluster.user;
    assert!(
        user.get_opt::<ServiceAccount>(&in_shop("default"))
            .await
            .unwrap()
            .is_some()
    );
    let config = user.get::<ConfigMap>(&in_shop("kube-root-ca.crt")).await.unwrap();
    assert!(config.data.as_ref().unwrap().contains_key("ca.crt"));
    user.delete::<ServiceAccount>(&in_shop("default")).await.unwrap();
    user.patch::<ConfigMap>(&in_shop("kube-root-ca.crt"), &Patch::Merge(json!({ "data": null })))
        .await
        .unwrap();
    settle().await;
    assert!(
        user.get_opt::<ServiceAccount>(&in_shop("default"))
            .await
            .unwrap()
            .is_some()
    );
    assert!(
        user.get::<ConfigMap>(&in_shop("kube-root-ca.crt"))
            .await
            .unwrap()
            .data
            .is_some()
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_goes_with_everything_in_it() {
    let cluster = Cluster::whole(1);
    shop(&cluster).await;
    let mut web = deployment("web", 3);
    web["metadata"]["namespace"] = "shop".into();
    cluster.create::<Deployment>(web).await;
    settle().await;
    cluster
        .user
        .delete::<Namespace>(&ObjectKey::cluster("shop"))
        .await
        .unwrap();
    advance(5).await;
    let left = cluster
        .user
        .get_opt::<Namespace>(&ObjectKey::cluster("shop"))
        .await
        .unwrap();
    assert!(left.is_none(), "{left:?}");
    assert!(
        cluster
            .user
            .get_opt::<Deployment>(&in_shop("web"))
            .await
            .unwrap()
            .is_none()
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_waits_for_what_holds_on_and_says_so() {
    let cluster = Cluster::whole(0);
    shop(&cluster).await;
    let held = json!({ "metadata": { "name": "held", "namespace": "shop", "finalizers": ["example.com/hold"] } });
    cluster.create::<ConfigMap>(held).await;
    cluster
        .user
        .delete::<Namespace>(&ObjectKey::cluster("shop"))
        .await
        .unwrap();
    advance(5).await;
    let namespace = cluster
        .user
        .get::<Namespace>(&ObjectKey::cluster("shop"))
        .await
        .unwrap();
    let conditions = namespace.status.as_ref().unwrap().conditions.clone().unwrap();
    let true_ones: Vec<_> = conditions
        .iter()
        .filter(|condition| condition.status == "True")
        .map(|condition| condition.message.clone().unwrap())
        .collect();
    assert_eq!(
        true_ones,
        [
            "Some resources are remaining: configmaps. has 1 resource instances",
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
        ]
    );
    let release = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    cluster
        .user
        .patch::<ConfigMap>(&in_shop("held"), &release)
        .await
        .unwrap();
    advance(20).await;
    assert!(
        cluster
            .user
            .get_opt::<Namespace>(&ObjectKey::cluster("shop"))
            .await
            .unwrap()
            .is_none()
    );
    cluster.stop().await;
}

/// As upstream: what is known goes, and the namespace stays until it is known what else may be in it.
#[tokio::test(start_paused = true)]
async fn a_namespace_waits_for_a_group_whose_server_is_gone() {
    let cluster = Cluster::whole(0);
    shop(&cluster).await;
    let broken = json!({
        "metadata": { "name": "v1.broken.example.com" },
        "spec": { "group": "broken.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
                  "service": { "namespace": "nowhere", "name": "api" } },
    });
    cluster.create::<APIService>(broken).await;
    let config = json!({ "metadata": { "name": "config", "namespace": "shop" } });
    cluster.create::<ConfigMap>(config).await;
    let (user, key) = (&cluster.user, ObjectKey::cluster("shop"));
    user.delete::<Namespace>(&key).await.unwrap();
    advance(30).await;
    assert!(user.get_opt::<ConfigMap>(&in_shop("config")).await.unwrap().is_none());
    let namespace = user.get::<Namespace>(&key).await.unwrap();
    let conditions = namespace.status.as_ref().unwrap().conditions.clone().unwrap();
    let trouble = conditions.iter().find(|condition| condition.status == "True").unwrap();
    assert_eq!(trouble.reason.as_deref(), Some("DiscoveryFailed"));
    let message = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
                   broken.example.com/v1: stale GroupVersion discovery: broken.example.com/v1";
    assert_eq!(trouble.message.as_deref(), Some(message));

    let gone = ObjectKey::cluster("v1.broken.example.com");
    user.delete::<APIService>(&gone).await.unwrap();
    advance(30).await;
    assert!(user.get_opt::<Namespace>(&key).await.unwrap().is_none());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn roles_that_gather_rules_gather_new_ones() {
    let cluster = Cluster::with("clusterrole-aggregation", 0);
    settle().await;
    let view = ObjectKey::cluster("view");
    let count = |role: &ClusterRole| role.rules.as_ref().map_or(0, Vec::len);
    let before = count(&cluster.user.get::<ClusterRole>(&view).await.unwrap());
    assert!(before > 5);
    cluster
        .create::<ClusterRole>(json!({
            "metadata": { "name": "toys", "labels": { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
            "rules": [{ "apiGroups": ["example.com"], "resources": ["toys"], "verbs": ["get"] }],
        }))
        .await;
    settle().await;
    assert_eq!(
        count(&cluster.user.get::<ClusterRole>(&view).await.unwrap()),
        before + 1
    );
    cluster.stop().await;
}
