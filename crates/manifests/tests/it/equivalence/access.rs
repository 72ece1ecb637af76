//! RBAC markers: the same rights from `#[rbac(…)]` above a reconciler.

use kubewright::controller::{Action, Controller, Reconciler, Request, Result};
use kubewright::operator::{Operator, Rule};
use kubewright_manifests::rules::by_namespace;
use serde_json::{Value, json};

use super::compare::{assert_decided, differences};
use super::flat::Facts;
use super::kinds::reference::view::MarkdownView;
use super::recorded;

struct Views;

#[kubewright::rbac(groups = "apps", resources = "deployments", verbs = "get, list, watch")]
#[kubewright::rbac(groups = "apps", resources = "deployments", verbs = "create, update, patch, delete")]
#[kubewright::rbac(groups = "apps", resources = "deployments/status", verbs = "get")]
#[kubewright::rbac(groups = "core", resources = "configmaps, services", verbs = "get, list, watch")]
#[kubewright::rbac(
    groups = "",
    resources = "configmaps",
    names = "settings, more",
    verbs = "get, update"
)]
#[kubewright::rbac(groups = "batch", resources = "jobs", verbs = "*")]
#[kubewright::rbac(groups = "batch", resources = "jobs", verbs = "get")]
#[kubewright::rbac(
    groups = "networking.k8s.io, extensions",
    resources = "ingresses",
    verbs = "get, list"
)]
#[kubewright::rbac(
    groups = "view.zoetrope.github.io",
    resources = "markdownviews",
    verbs = "get, list, watch, create, update, patch, delete"
)]
#[kubewright::rbac(
    groups = "view.zoetrope.github.io",
    resources = "markdownviews/status",
    verbs = "get, update, patch"
)]
#[kubewright::rbac(
    groups = "view.zoetrope.github.io",
    resources = "markdownviews/finalizers",
    verbs = "update"
)]
#[kubewright::rbac(urls = "/metrics, /healthz", verbs = "get")]
#[kubewright::rbac(groups = "core", resources = "nodes", verbs = "get, list")]
#[kubewright::rbac(
    groups = "coordination.k8s.io",
    namespace = "shop",
    resources = "leases",
    verbs = "get, create, update"
)]
#[kubewright::rbac(groups = "core", namespace = "shop", resources = "secrets", verbs = "get")]
impl Reconciler for Views {
    async fn reconcile(&self, _: Request) -> Result {
        Ok(Action::done())
    }
}

/// What a role grants, one line for each verb on each thing.
fn grants(role: &Value, facts: &mut Facts) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| -> Vec<String> { value.as_array().into_iter().flatten().map(text).collect() };
    let place = format!("{} {}", text(&role["kind"]), text(&role["metadata"]["name"]));
    let place = match role["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{place} in {namespace}"),
        None => place,
    };
    for rule in role["rules"].as_array().into_iter().flatten() {
        let mut things = texts(&rule["nonResourceURLs"]);
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                match texts(&rule["resourceNames"]).as_slice() {
                    [] => things.push(format!("{resource}.{group}")),
                    names => things.extend(names.iter().map(|name| format!("{resource}.{group} {name}"))),
                }
            }
        }
        for thing in things {
            for verb in texts(&rule["verbs"]) {
                facts.insert(format!("{place}: {verb} {thing}"), true.into());
            }
        }
    }
}

#[test]
fn rbac_markers_and_attributes_grant_the_same() {
    let mut go = Facts::new();
    for role in recorded::set("access") {
        grants(&role, &mut go);
    }
    let controller = Controller::of::<MarkdownView>().reconcile_with(|_| Views);
    let rules = Operator::new("suite").controller(controller).describe().rules;
    let mut ours = Facts::new();
    for (namespace, rules) in by_namespace(&rules) {
        let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
        let metadata = json!({ "name": "manager-role", "namespace": namespace });
        grants(
            &json!({ "kind": kind, "metadata": metadata, "rules": rules }),
            &mut ours,
        );
    }
    assert_decided("roles", &differences(&go, &ours));
}

/// The rules alone, without what the operator needs by itself: not only the same rights, the same rules.
#[test]
fn rbac_attributes_are_merged_into_the_same_rules() {
    let everywhere = by_namespace(&Views::rules()).remove(&None).unwrap_or_default();
    let ours: Vec<Value> = everywhere.iter().map(|rule| json!(rule)).collect();
    let role = recorded::set("access")
        .into_iter()
        .find(|role| role["kind"] == "ClusterRole" && role["metadata"]["name"] == "manager-role");
    let mut go: Vec<Rule> = serde_json::from_value(role.unwrap()["rules"].clone()).unwrap();
    // Who may get all may get these two; the nodes are in a role of their own there.
    for rule in &mut go {
        if !rule.resource_names.is_empty() {
            rule.verbs.retain(|verb| verb != "get");
        }
    }
    go.push(Rule::new([""], ["nodes"], ["get", "list"]));
    let sorted = |mut rules: Vec<Value>| {
        rules.sort_by_key(Value::to_string);
        rules
    };
    assert_eq!(sorted(ours), sorted(go.iter().map(|rule| json!(rule)).collect()));
}
