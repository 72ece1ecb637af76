//! Roles for the users of a kind: to administer, to edit and to view its objects. The operator needs none of them.
//! Names, rules and files are kubebuilder's.

use kubewright_description::{DefinitionDescription, Rule};
use serde_json::{Value, json};

/// What the roles are named after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleOptions {
    /// The operator, for the label that says to what the roles belong.
    pub operator: String,
    /// What every name begins with: `forest-` in a cluster, nothing in files to which kustomize adds it.
    pub prefix: String,
    /// The group as the project names it (`view`), where a project has several and names must tell them apart.
    pub group: Option<String>,
    /// The operator works in its own namespace only: Roles in place of `ClusterRoles`.
    pub namespaced: bool,
}

impl RoleOptions {
    /// Those of an operator, without a prefix.
    pub fn new(operator: impl Into<String>) -> Self {
        RoleOptions {
            operator: operator.into(),
            ..RoleOptions::default()
        }
    }
}

/// A role for users of a kind.
#[derive(Clone, Debug, PartialEq)]
pub struct KindRole {
    /// Its file in `config/rbac`.
    pub file_name: String,
    /// What it is for, as a comment may say above it.
    pub purpose: String,
    /// The role.
    pub object: Value,
}

/// The three roles of a kind.
///
/// ```
/// use kube::CustomResource;
/// use kubewright_manifests::roles::{RoleOptions, of_kind};
/// use kubewright_runtime::operator::Operator;
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
/// #[kube(group = "example.com", version = "v1", kind = "Tree", namespaced)]
/// struct TreeSpec {}
///
/// let operator = Operator::new("forest").resource::<Tree>().describe();
/// let roles = of_kind(&operator.definitions[0], &RoleOptions::new("forest"));
/// assert_eq!(roles[2].file_name, "tree_viewer_role.yaml");
/// assert_eq!(roles[2].object["metadata"]["name"], "tree-viewer-role");
/// ```
pub fn of_kind(kind: &DefinitionDescription, options: &RoleOptions) -> Vec<KindRole> {
    let editing = ["create", "delete", "get", "list", "patch", "update", "watch"];
    let roles: [(&str, &[&str], &str); 3] = [
        ("admin", &["*"], "do everything with"),
        ("editor", &editing, "create, change and delete"),
        ("viewer", &["get", "list", "watch"], "read"),
    ];
    roles
        .into_iter()
        .map(|(who, verbs, may)| KindRole {
            file_name: named(kind, options, '_', who) + ".yaml",
            purpose: format!(
                "For users who may {may} {} of {}. {} itself does not need it.",
                kind.plural, kind.group, options.operator
            ),
            object: role(kind, options, who, verbs),
        })
        .collect()
}

fn role(kind: &DefinitionDescription, options: &RoleOptions, who: &str, verbs: &[&str]) -> Value {
    let rules = [
        Rule::new([kind.group.as_str()], [kind.plural.as_str()], verbs.iter().copied()),
        Rule::new(
            [kind.group.as_str()],
            [format!("{}/status", kind.plural).as_str()],
            ["get"],
        ),
    ];
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": if options.namespaced { "Role" } else { "ClusterRole" },
        "metadata": {
            "name": format!("{}{}", options.prefix, named(kind, options, '-', who)),
            "labels": {
                "app.kubernetes.io/managed-by": "kubewright",
                "app.kubernetes.io/name": options.operator,
            },
        },
        "rules": rules,
    })
}

/// `tree-viewer-role`, or `tree_viewer_role` as a file.
fn named(kind: &DefinitionDescription, options: &RoleOptions, between: char, who: &str) -> String {
    let group = options
        .group
        .as_deref()
        .filter(|group| !group.is_empty())
        .map(str::to_lowercase);
    let parts = [
        group,
        Some(kind.kind.to_lowercase()),
        Some(who.to_owned()),
        Some("role".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(&between.to_string())
}
