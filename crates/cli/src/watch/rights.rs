//! What an account may do, by the roles that are bound to it.

use kubewright_cluster::{Cluster, Error};
use kubewright_description::Rule;
use kubewright_runtime::object::Kind;
use serde_json::Value;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The rules of all roles that are bound to a service account, everywhere and in its own namespace.
pub(super) async fn rules(cluster: &Cluster, namespace: &str, account: &str) -> Result<Vec<Rule>, Error> {
    let kind = |kind: &str, plural: &str, namespaced| Kind::named(GROUP, "v1", kind, plural, namespaced);
    let everywhere = cluster
        .list(&kind("ClusterRoleBinding", "clusterrolebindings", false), None, "")
        .await?;
    let here = cluster
        .list(&kind("RoleBinding", "rolebindings", true), Some(namespace), "")
        .await?;
    let cluster_roles = cluster
        .list(&kind("ClusterRole", "clusterroles", false), None, "")
        .await?;
    let roles = cluster.list(&kind("Role", "roles", true), Some(namespace), "").await?;
    let bindings: Vec<Value> = everywhere.into_iter().chain(here).collect();
    let all: Vec<Value> = cluster_roles.into_iter().chain(roles).collect();
    Ok(bound(&bindings, &all, namespace, account))
}

fn bound(bindings: &[Value], roles: &[Value], namespace: &str, account: &str) -> Vec<Rule> {
    let is_account = |subject: &&Value| {
        subject["kind"] == "ServiceAccount" && subject["name"] == account && subject["namespace"] == namespace
    };
    let bound = bindings.iter().filter(|binding| {
        binding["subjects"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|subject| is_account(&subject))
    });
    let role_of = |binding: &&Value| {
        let wanted = &binding["roleRef"];
        roles
            .iter()
            .find(|role| role["kind"] == wanted["kind"] && role["metadata"]["name"] == wanted["name"])
    };
    let granted = bound
        .filter_map(|binding| role_of(&binding))
        .flat_map(|role| role["rules"].as_array().into_iter().flatten());
    granted
        .filter_map(|rule| serde_json::from_value(rule.clone()).ok())
        .collect()
}

/// The kinds that the account reads and that are not Kubernetes' own.
pub(super) fn own_kinds(rules: &[Rule]) -> Vec<(String, String)> {
    let is_read = |rule: &&Rule| rule.verbs.iter().any(|verb| verb == "watch" || verb == "list");
    let is_own = |group: &&String| group.contains('.') && !group.ends_with(".k8s.io");
    rules
        .iter()
        .filter(is_read)
        .flat_map(|rule| {
            let groups = rule.api_groups.iter().filter(is_own);
            groups.flat_map(|group| {
                rule.resources
                    .iter()
                    .map(move |resource| (group.clone(), resource.clone()))
            })
        })
        .filter(|(_, resource)| resource != "*" && !resource.contains('/'))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_are_those_of_the_roles_that_are_bound() {
        let role = |kind: &str, name: &str, resource: &str| {
            let rules =
                json!([{ "apiGroups": ["shop.example.com"], "resources": [resource, "x/status"], "verbs": ["watch"] }]);
            json!({ "kind": kind, "metadata": { "name": name }, "rules": rules })
        };
        let binding = |kind: &str, role: &str, account: &str, namespace: &str| {
            json!({
                "roleRef": { "kind": kind, "name": role },
                "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": namespace }],
            })
        };
        let roles = [
            role("ClusterRole", "manager", "orders"),
            role("Role", "manager", "leases"),
            role("ClusterRole", "other", "none"),
        ];
        let bindings = [
            binding("ClusterRole", "manager", "shop", "shop-system"),
            binding("Role", "manager", "shop", "shop-system"),
            binding("ClusterRole", "other", "shop", "elsewhere"),
            binding("ClusterRole", "gone", "shop", "shop-system"),
        ];
        let found = bound(&bindings, &roles, "shop-system", "shop");
        let kinds = own_kinds(&found);
        let names: Vec<&str> = kinds.iter().map(|(_, resource)| &**resource).collect();
        assert_eq!(names, ["orders", "leases"]);
    }

    #[test]
    fn kinds_of_kubernetes_are_not_the_operators_own() {
        let rules = [
            Rule::new(["", "apps", "discovery.k8s.io"], ["things"], ["watch"]),
            Rule::new(["shop.example.com"], ["orders"], ["create"]),
            Rule::new(["shop.example.com"], ["*"], ["list"]),
        ];
        assert_eq!(own_kinds(&rules), []);
    }
}
