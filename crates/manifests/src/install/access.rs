//! The rights of the manager: what it needs everywhere, what it needs at home, and who may read its metrics.

use kubewright_runtime::operator::Rule;
use serde_json::{Value, json};

use super::Place;
use crate::rules::minimal;

const API: &str = "rbac.authorization.k8s.io/v1";

pub(super) fn objects(place: &Place<'_>) -> Vec<Value> {
    let operator = place.operator;
    let mut objects = vec![place.namespaced("v1", "ServiceAccount", &account(place))];
    let everywhere: Vec<Rule> = operator
        .rules
        .iter()
        .chain(&operator.certificate_rules)
        .cloned()
        .collect();
    objects.extend(granted(place, "ClusterRole", "manager-role", &everywhere));
    objects.extend(granted(
        place,
        "Role",
        "leader-election-role",
        &operator.leader_election_rules,
    ));
    objects.extend(granted(
        place,
        "Role",
        "certificates-role",
        &operator.certificate_namespace_rules,
    ));
    objects.extend(granted(
        place,
        "ClusterRole",
        "metrics-auth-role",
        &operator.metrics_auth_rules,
    ));
    // Whoever scrapes is given this one; nobody has it from the start.
    objects.extend(role(
        place,
        "ClusterRole",
        "metrics-reader",
        &operator.metrics_reader_rules,
    ));
    objects
}

/// The account the manager runs as.
pub(super) fn account(place: &Place<'_>) -> String {
    place.name("controller-manager")
}

fn role(place: &Place<'_>, kind: &str, part: &str, rules: &[Rule]) -> Option<Value> {
    if rules.is_empty() {
        return None;
    }
    let name = place.name(part);
    let mut role = match kind {
        "Role" => place.namespaced(API, kind, &name),
        _ => place.object(API, kind, &name),
    };
    role["rules"] = json!(minimal(rules));
    Some(role)
}

/// A role and its binding to the manager's account.
fn granted(place: &Place<'_>, kind: &str, part: &str, rules: &[Rule]) -> Vec<Value> {
    let Some(role) = role(place, kind, part, rules) else {
        return Vec::new();
    };
    let binding_name = place.name(&format!("{part}binding"));
    let mut binding = match kind {
        "Role" => place.namespaced(API, "RoleBinding", &binding_name),
        _ => place.object(API, "ClusterRoleBinding", &binding_name),
    };
    binding["roleRef"] =
        json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role["metadata"]["name"] });
    binding["subjects"] = json!([{
        "kind": "ServiceAccount", "name": account(place), "namespace": place.settings.namespace,
    }]);
    vec![role, binding]
}
