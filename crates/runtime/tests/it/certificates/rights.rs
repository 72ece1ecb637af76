//! The rights that are described are enough, and each of them is needed.

use kubewright_apiserver::User;
use kubewright_runtime::certificates::{Permission, Source};
use serde_json::json;

use super::support::*;

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Lets the manager do this and nothing else.
async fn grant(cluster: &Cluster, permissions: &[Permission]) {
    for (at, permission) in permissions.iter().enumerate() {
        let rule = json!({
            "apiGroups": [permission.api_group],
            "resources": [permission.resource],
            "resourceNames": permission.resource_names,
            "verbs": permission.verbs,
        });
        let (place, kind) = match &permission.namespace {
            Some(namespace) => (format!("{ROLES}/namespaces/{namespace}"), ""),
            None => (ROLES.to_owned(), "Cluster"),
        };
        let (roles, bindings) = (
            format!("{kind}role").to_lowercase(),
            format!("{kind}rolebinding").to_lowercase(),
        );
        let name = format!("certificates-{at}");
        let body = json!({ "metadata": { "name": name }, "rules": [rule] });
        cluster.post(&format!("{place}/{roles}s"), &body).await;
        let binding = json!({
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": format!("{kind}Role"), "name": name },
            "subjects": [{ "kind": "ServiceAccount", "namespace": "shop", "name": "manager" }],
        });
        cluster.post(&format!("{place}/{bindings}s"), &binding).await;
    }
}

fn manager(cluster: &Cluster) -> kube::Client {
    cluster.server.client_as(User::service_account("shop", "manager"))
}

#[tokio::test]
async fn the_rights_that_are_described_are_enough() {
    let cluster = Cluster::with_webhooks().await;
    let source = Source::Managed(options());
    grant(&cluster, &source.permissions()).await;
    let replica = Replica::start(manager(&cluster), source, epoch());
    replica.ready().await;
    assert!(cluster.is_announced().await);

    // The watches are allowed too: changes are seen at once.
    let before = cluster.get(SECRET).await["data"].clone();
    cluster.delete(SECRET).await;
    eventually("the Secret is back", async || {
        cluster
            .try_get(SECRET)
            .await
            .is_some_and(|secret| secret["data"] == before)
    })
    .await;
    let path = "/webhooks/0/clientConfig/caBundle";
    let removal = json!([{ "op": "remove", "path": path }]);
    cluster.patch(&format!("{VALIDATING}/shop"), &removal).await;
    eventually("the bundle is back", async || cluster.is_announced().await).await;
}

#[tokio::test]
async fn a_right_that_is_missing_is_named() {
    let all = Source::Managed(options()).permissions();
    for (at, permission) in all.iter().enumerate() {
        for verb in &permission.verbs {
            // Without list and watch changes are seen later.
            if ["list", "watch"].contains(&verb.as_str()) {
                continue;
            }
            let cluster = Cluster::with_webhooks().await;
            let mut granted = all.clone();
            granted[at].verbs.retain(|granted| granted != verb);
            grant(&cluster, &granted).await;
            let replica = Replica::start(manager(&cluster), Source::Managed(options()), epoch());
            let missing = Permission {
                verbs: vec![verb.clone()],
                ..permission.clone()
            };
            let wanted = format!("; the rule that is missing: {missing}");
            eventually(&format!("`{wanted}` is told"), async || {
                replica
                    .certificates
                    .check()
                    .is_err_and(|error| error.ends_with(&wanted))
            })
            .await;
        }
    }
}
