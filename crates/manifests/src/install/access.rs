//! The rights of the manager: what it needs everywhere, what it needs at home, and who may read its metrics.

use kubewright_description::Rule;
use serde_json::{Value, json};

use super::file::kustomization;
use super::place::{ELSEWHERE, NAMESPACE};
use super::{GeneratedFile, Place, kinds};
use crate::rules::{by_namespace, by_scope, minimal};

const API: &str = "rbac.authorization.k8s.io/v1";

/// The account the manager runs as.
pub(super) const ACCOUNT: &str = "controller-manager";

/// What tells kustomize, which puts everything into one namespace, where roles for other namespaces belong.
pub(super) const PUT_BACK: &str = "manager_role_namespaces.yaml";

/// How far a role reaches.
#[derive(Clone, PartialEq, Eq)]
enum Reach {
    Everywhere,
    AtHome,
    /// In a namespace that is none of the operator's.
    In(String),
}

impl Reach {
    /// What the name of a role has at its end: two roles of one name would be one to kustomize.
    fn suffix(&self) -> String {
        match self {
            Reach::Everywhere | Reach::AtHome => String::new(),
            Reach::In(namespace) => format!("-{namespace}"),
        }
    }

    fn object(&self, place: &Place<'_>, of_cluster: &str, of_namespace: &str, name: &str) -> Value {
        let name = format!("{name}{}", self.suffix());
        match self {
            Reach::Everywhere => place.object(API, of_cluster, &name),
            Reach::AtHome => place.namespaced(API, of_namespace, &name),
            Reach::In(namespace) => {
                let mut object = place.namespaced(API, of_namespace, &name);
                object["metadata"]["annotations"] = json!({ ELSEWHERE: namespace });
                object
            }
        }
    }
}

pub(super) fn files(place: &Place<'_>) -> Vec<GeneratedFile> {
    let operator = place.operator;
    let mut files = vec![file(
        "service_account",
        vec![place.namespaced("v1", "ServiceAccount", ACCOUNT)],
    )];
    files.extend(granted(place, "role", "manager-role", &manager_rules(place)));
    files.extend(granted(
        place,
        "leader_election_role",
        "leader-election-role",
        &[(Reach::AtHome, operator.leader_election_rules.clone())],
    ));
    // cert-manager keeps certificates and tells the API server of them; the manager then needs no right to.
    if place.has_webhooks() && !place.settings.cert_manager {
        files.extend(granted(
            place,
            "certificates_role",
            "certificates-role",
            &[
                (Reach::Everywhere, operator.certificate_rules.clone()),
                (Reach::AtHome, operator.certificate_namespace_rules.clone()),
            ],
        ));
    }
    files.extend(granted(
        place,
        "metrics_auth_role",
        "metrics-auth-role",
        &[(Reach::Everywhere, operator.metrics_auth_rules.clone())],
    ));
    // Whoever scrapes is given this one; nobody has it from the start.
    let reader = role(
        place,
        "metrics-reader",
        &Reach::Everywhere,
        &operator.metrics_reader_rules,
    );
    files.push(file("metrics_reader_role", vec![reader]));
    files.extend(kinds::roles(place));
    files.push(kustomization(&files, "rbac"));
    files
}

/// What the manager needs for its work: in its own namespace, if it is to see nothing else, as far as a Role can grant it; and
/// in namespaces that rules name.
fn manager_rules(place: &Place<'_>) -> Vec<(Reach, Vec<Rule>)> {
    let rules = &place.operator.rules;
    if place.settings.namespaced {
        let split = by_scope(rules, place.operator);
        let mut granted = vec![(Reach::AtHome, split.namespace)];
        if !split.cluster.is_empty() {
            granted.push((Reach::Everywhere, split.cluster));
        }
        let elsewhere = split.elsewhere.into_iter();
        granted.extend(elsewhere.map(|(namespace, rules)| (Reach::In(namespace), rules)));
        return granted;
    }
    let mut split = by_namespace(rules);
    let mut granted = vec![(Reach::Everywhere, split.remove(&None).unwrap_or_default())];
    let elsewhere = split
        .into_iter()
        .filter_map(|(namespace, rules)| Some((namespace?, rules)));
    granted.extend(elsewhere.map(|(namespace, rules)| (Reach::In(namespace), rules)));
    granted
}

/// Puts roles for other namespaces back there, once kustomize has put them into the operator's.
pub(super) fn put_back(place: &Place<'_>) -> Option<GeneratedFile> {
    let replacements: Vec<Value> = manager_rules(place)
        .iter()
        .filter(|(reach, _)| matches!(reach, Reach::In(_)))
        .map(|(reach, _)| {
            let role = format!("manager-role{}", reach.suffix());
            let binding = format!("manager-rolebinding{}", reach.suffix());
            let field = |kind: &str, name: &str| {
                json!({ "select": { "kind": kind, "name": name }, "fieldPaths": ["metadata.namespace"] })
            };
            json!({
                "source": {
                    "kind": "Role", "name": role, "fieldPath": format!("metadata.annotations.[{ELSEWHERE}]"),
                },
                "targets": [field("Role", &role), field("RoleBinding", &binding)],
            })
        })
        .collect();
    (!replacements.is_empty()).then(|| GeneratedFile::of(format!("default/{PUT_BACK}"), json!(replacements)))
}

fn file(name: &str, objects: Vec<Value>) -> GeneratedFile {
    GeneratedFile::of_all(format!("rbac/{name}.yaml"), objects)
}

fn role(place: &Place<'_>, name: &str, reach: &Reach, rules: &[Rule]) -> Value {
    let mut role = reach.object(place, "ClusterRole", "Role", name);
    role["rules"] = json!(minimal(rules));
    role
}

/// Roles of one name, and their bindings to the manager's account, in two files.
fn granted(place: &Place<'_>, file_name: &str, name: &str, grants: &[(Reach, Vec<Rule>)]) -> [GeneratedFile; 2] {
    let roles: Vec<Value> = grants
        .iter()
        .map(|(reach, rules)| role(place, name, reach, rules))
        .collect();
    let bindings: Vec<Value> = grants.iter().map(|(reach, _)| binding(place, name, reach)).collect();
    [file(file_name, roles), file(&format!("{file_name}_binding"), bindings)]
}

fn binding(place: &Place<'_>, role: &str, reach: &Reach) -> Value {
    let mut binding = reach.object(place, "ClusterRoleBinding", "RoleBinding", &format!("{role}binding"));
    let kind = if *reach == Reach::Everywhere {
        "ClusterRole"
    } else {
        "Role"
    };
    let role = format!("{role}{}", reach.suffix());
    binding["roleRef"] = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role });
    let (account, namespace) = match reach {
        Reach::Everywhere | Reach::AtHome => (ACCOUNT.to_owned(), NAMESPACE),
        // kustomize would not find the account from another namespace.
        Reach::In(_) => (place.full_name(ACCOUNT), place.settings.namespace.as_str()),
    };
    binding["subjects"] = json!([{ "kind": "ServiceAccount", "name": account, "namespace": namespace }]);
    binding
}
