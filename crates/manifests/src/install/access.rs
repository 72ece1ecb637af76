//! RBAC: the roles and bindings of the manager, and the role of those who read its metrics.

use kubewright_description::Rule;
use serde_json::{Value, json};

use super::context::{NAMESPACE, NAMESPACE_ANNOTATION};
use super::file::kustomization;
use super::{GeneratedFile, RenderContext, extension, kinds};
use crate::rules::{by_namespace, by_scope, minimal};

const API: &str = "rbac.authorization.k8s.io/v1";

/// The `ServiceAccount` the manager runs as.
pub(super) const ACCOUNT: &str = "controller-manager";

/// The file that tells kustomize, which puts everything into one namespace, which roles belong into others.
pub(super) const NAMESPACE_REPLACEMENTS: &str = "manager_role_namespaces.yaml";

/// Where a role grants its rules.
#[derive(Clone, PartialEq, Eq)]
enum RoleScope {
    Cluster,
    OperatorNamespace,
    /// In a namespace other than the operator's.
    Namespace(String),
}

impl RoleScope {
    /// The end of a role's name: kustomize takes two roles of one name for the same.
    fn suffix(&self) -> String {
        match self {
            RoleScope::Cluster | RoleScope::OperatorNamespace => String::new(),
            RoleScope::Namespace(namespace) => format!("-{namespace}"),
        }
    }

    fn object(&self, context: &RenderContext<'_>, of_cluster: &str, of_namespace: &str, name: &str) -> Value {
        let name = format!("{name}{}", self.suffix());
        match self {
            RoleScope::Cluster => context.object(API, of_cluster, &name),
            RoleScope::OperatorNamespace => context.namespaced(API, of_namespace, &name),
            RoleScope::Namespace(namespace) => {
                let mut object = context.namespaced(API, of_namespace, &name);
                object["metadata"]["annotations"] = json!({ NAMESPACE_ANNOTATION: namespace });
                object
            }
        }
    }
}

pub(super) fn files(context: &RenderContext<'_>) -> Vec<GeneratedFile> {
    let operator = context.operator;
    let mut files = vec![file(
        "service_account",
        vec![context.namespaced("v1", "ServiceAccount", ACCOUNT)],
    )];
    files.extend(roles_and_bindings(
        context,
        "role",
        "manager-role",
        &manager_rules(context),
    ));
    files.extend(roles_and_bindings(
        context,
        "leader_election_role",
        "leader-election-role",
        &[(RoleScope::OperatorNamespace, operator.leader_election_rules.clone())],
    ));
    // With cert-manager, the manager neither keeps certificates nor writes them into configurations.
    if (context.has_webhooks() || context.has_extension()) && !context.settings.cert_manager {
        files.extend(roles_and_bindings(
            context,
            "certificates_role",
            "certificates-role",
            &[
                (RoleScope::Cluster, operator.certificate_rules.clone()),
                (
                    RoleScope::OperatorNamespace,
                    operator.certificate_namespace_rules.clone(),
                ),
            ],
        ));
    }
    files.extend(roles_and_bindings(
        context,
        "metrics_auth_role",
        "metrics-auth-role",
        &[(RoleScope::Cluster, operator.metrics_auth_rules.clone())],
    ));
    // This role is not bound: users bind it to the account that scrapes the metrics.
    let reader = role(
        context,
        "metrics-reader",
        &RoleScope::Cluster,
        &operator.metrics_reader_rules,
    );
    files.push(file("metrics_reader_role", vec![reader]));
    files.extend(kinds::roles(context));
    files.extend(extension::bindings(context));
    files.push(kustomization(&files, "rbac"));
    files
}

/// The rules of the manager by where they are granted. An operator that works in its own namespace has a Role there, a
/// `ClusterRole` for what no Role can grant, and Roles in the namespaces that rules name.
fn manager_rules(context: &RenderContext<'_>) -> Vec<(RoleScope, Vec<Rule>)> {
    let rules = &context.operator.rules;
    if context.settings.namespaced {
        let split = by_scope(rules, context.operator);
        let mut granted = vec![(RoleScope::OperatorNamespace, split.namespace)];
        if !split.cluster.is_empty() {
            granted.push((RoleScope::Cluster, split.cluster));
        }
        let other_namespaces = split.other_namespaces.into_iter();
        granted.extend(other_namespaces.map(|(namespace, rules)| (RoleScope::Namespace(namespace), rules)));
        return granted;
    }
    let mut split = by_namespace(rules);
    let mut granted = vec![(RoleScope::Cluster, split.remove(&None).unwrap_or_default())];
    let other_namespaces = split
        .into_iter()
        .filter_map(|(namespace, rules)| Some((namespace?, rules)));
    granted.extend(other_namespaces.map(|(namespace, rules)| (RoleScope::Namespace(namespace), rules)));
    granted
}

/// The replacements that move roles for other namespaces there after kustomize has put them into the operator's.
pub(super) fn namespace_replacements(context: &RenderContext<'_>) -> Option<GeneratedFile> {
    let mut replacements: Vec<Value> = manager_rules(context)
        .iter()
        .filter(|(scope, _)| matches!(scope, RoleScope::Namespace(_)))
        .map(|(scope, _)| {
            let role = format!("manager-role{}", scope.suffix());
            let binding = format!("manager-rolebinding{}", scope.suffix());
            let field = |kind: &str, name: &str| {
                json!({ "select": { "kind": kind, "name": name }, "fieldPaths": ["metadata.namespace"] })
            };
            json!({
                "source": {
                    "kind": "Role", "name": role, "fieldPath": format!("metadata.annotations.[{NAMESPACE_ANNOTATION}]"),
                },
                "targets": [field("Role", &role), field("RoleBinding", &binding)],
            })
        })
        .collect();
    if context.has_extension() {
        let reader = extension::READER;
        replacements.push(json!({
            "source": {
                "kind": "RoleBinding", "name": reader, "fieldPath": format!("metadata.annotations.[{NAMESPACE_ANNOTATION}]"),
            },
            "targets": [{ "select": { "kind": "RoleBinding", "name": reader }, "fieldPaths": ["metadata.namespace"] }],
        }));
    }
    (!replacements.is_empty())
        .then(|| GeneratedFile::of(format!("default/{NAMESPACE_REPLACEMENTS}"), json!(replacements)))
}

fn file(name: &str, objects: Vec<Value>) -> GeneratedFile {
    GeneratedFile::of_all(format!("rbac/{name}.yaml"), objects)
}

fn role(context: &RenderContext<'_>, name: &str, scope: &RoleScope, rules: &[Rule]) -> Value {
    let mut role = scope.object(context, "ClusterRole", "Role", name);
    role["rules"] = json!(minimal(rules));
    role
}

/// Roles of one name, and their bindings to the manager's account, in two files.
fn roles_and_bindings(
    context: &RenderContext<'_>,
    file_name: &str,
    name: &str,
    grants: &[(RoleScope, Vec<Rule>)],
) -> [GeneratedFile; 2] {
    let roles: Vec<Value> = grants
        .iter()
        .map(|(scope, rules)| role(context, name, scope, rules))
        .collect();
    let bindings: Vec<Value> = grants.iter().map(|(scope, _)| binding(context, name, scope)).collect();
    [file(file_name, roles), file(&format!("{file_name}_binding"), bindings)]
}

fn binding(context: &RenderContext<'_>, role: &str, scope: &RoleScope) -> Value {
    let mut binding = scope.object(context, "ClusterRoleBinding", "RoleBinding", &format!("{role}binding"));
    let kind = if *scope == RoleScope::Cluster {
        "ClusterRole"
    } else {
        "Role"
    };
    let role = format!("{role}{}", scope.suffix());
    binding["roleRef"] = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role });
    let (account, namespace) = match scope {
        RoleScope::Cluster | RoleScope::OperatorNamespace => (ACCOUNT.to_owned(), NAMESPACE),
        // kustomize does not rename the account in a binding of another namespace.
        RoleScope::Namespace(_) => (context.full_name(ACCOUNT), context.settings.namespace.as_str()),
    };
    binding["subjects"] = json!([{ "kind": "ServiceAccount", "name": account, "namespace": namespace }]);
    binding
}
