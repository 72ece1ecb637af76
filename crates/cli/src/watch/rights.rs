//! What an account may do, by the roles that are bound to it.

use kubewright_cluster::{Cluster, Error};
use kubewright_description::{Description, Rule};
use kubewright_runtime::object::Kind;
use serde_json::Value;

const GROUP: &str = "rbac.authorization.k8s.io";
/// The groups of what the toolkit itself asks for.
const TOOLKIT: [&str; 3] = ["coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io"];
/// The verbs of a cache.
const CACHED: [&str; 3] = ["get", "list", "watch"];

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
    let of_account = bindings.iter().filter(|binding| {
        binding["subjects"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|subject| is_account(&subject))
    });
    let granted = of_account.flat_map(|binding| {
        let reference = &binding["roleRef"];
        let is_wanted =
            |role: &&Value| role["kind"] == reference["kind"] && role["metadata"]["name"] == reference["name"];
        let listed = roles.iter().find(is_wanted).and_then(|role| role["rules"].as_array());
        // What a binding of a namespace grants is granted there.
        let place = binding["metadata"]["namespace"].as_str().map(str::to_owned);
        let placed = listed.into_iter().flatten().map(move |rule| (rule, place.clone()));
        placed.filter_map(|(rule, namespace)| {
            let rule: Rule = serde_json::from_value(rule.clone()).ok()?;
            Some(Rule { namespace, ..rule })
        })
    });
    granted.collect()
}

/// What an operator with these rules would say of itself: first what its caches need to read, then what was written for its reconcilers. What the
/// toolkit needs for the leader election, and for who may read metrics, is no news.
pub(super) fn described(name: &str, rules: &[Rule]) -> Description {
    let (mut read, mut written) = (Vec::new(), Vec::new());
    let is_toolkits = |rule: &&Rule| rule.api_groups.iter().all(|group| TOOLKIT.contains(&&**group));
    for rule in rules.iter().filter(|rule| !is_toolkits(rule)) {
        let (cached, other): (Vec<String>, Vec<String>) =
            rule.verbs.iter().cloned().partition(|verb| CACHED.contains(&&**verb));
        if cached.len() == CACHED.len() {
            read.push(rule_with(rule, CACHED.map(str::to_owned).to_vec()));
            written.extend((!other.is_empty()).then(|| rule_with(rule, other)));
        } else {
            written.push(rule.clone());
        }
    }
    let mut description = Description::new(name);
    description.rules = read.into_iter().chain(written).collect();
    description
}

fn rule_with(rule: &Rule, verbs: Vec<String>) -> Rule {
    Rule { verbs, ..rule.clone() }
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
                "metadata": { "namespace": (kind == "Role").then_some("shop-system") },
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
        let places: Vec<Option<&str>> = found.iter().map(|rule| rule.namespace.as_deref()).collect();
        assert_eq!(places, [None, Some("shop-system")]);
    }

    #[test]
    fn what_caches_read_is_told_from_what_reconcilers_do() {
        let rules = [
            Rule::new(["apps"], ["deployments"], ["create", "get", "list", "patch", "watch"]),
            Rule::new([""], ["pods"], ["delete", "get"]),
            Rule::new(["coordination.k8s.io"], ["leases"], ["get", "update"]),
        ];
        let described = described("shop", &rules);
        assert_eq!(
            described.rules,
            [
                Rule::new(["apps"], ["deployments"], ["get", "list", "watch"]),
                Rule::new(["apps"], ["deployments"], ["create", "patch"]),
                Rule::new([""], ["pods"], ["delete", "get"]),
            ]
        );
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
