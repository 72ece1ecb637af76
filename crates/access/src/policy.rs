//! Roles and bindings, and what they give a user: immutable, so that a fork of a cluster shares them.

use std::collections::HashSet;
use std::sync::Arc;

use kubewright_apimachinery::go::quote;
use rpds::RedBlackTreeMapSync;
use serde_json::Value;

use crate::rule::Rule;
use crate::user::{User, is_account};

/// The four resources of `rbac.authorization.k8s.io`, of which a policy is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RbacResource {
    /// Roles of a namespace.
    Roles,
    /// Roles of the cluster.
    ClusterRoles,
    /// Bindings in a namespace.
    RoleBindings,
    /// Bindings in the whole cluster.
    ClusterRoleBindings,
}

impl RbacResource {
    /// All of them.
    pub const ALL: [RbacResource; 4] = [
        RbacResource::Roles,
        RbacResource::ClusterRoles,
        RbacResource::RoleBindings,
        RbacResource::ClusterRoleBindings,
    ];

    /// The plural name of the resource.
    pub fn resource(self) -> &'static str {
        match self {
            RbacResource::Roles => "roles",
            RbacResource::ClusterRoles => "clusterroles",
            RbacResource::RoleBindings => "rolebindings",
            RbacResource::ClusterRoleBindings => "clusterrolebindings",
        }
    }

    /// The resource with this plural name.
    pub fn of_resource(resource: &str) -> Option<RbacResource> {
        RbacResource::ALL.into_iter().find(|table| table.resource() == resource)
    }
}

/// Roles and bindings. Clones share everything until one of them changes.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// By `namespace/name`, or by name.
    roles: Table<Arc<[Rule]>>,
    cluster_roles: Table<Arc<[Rule]>>,
    bindings: Table<Arc<Binding>>,
    cluster_bindings: Table<Arc<Binding>>,
}

type Table<V> = RedBlackTreeMapSync<Box<str>, Entry<V>>;

/// What is known of an object.
#[derive(Clone, Debug)]
struct Entry<V> {
    value: V,
    /// The resourceVersion of the object that it was read from.
    revision: Option<u64>,
}

/// A role binding or cluster role binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Its name.
    pub name: String,
    /// Its namespace; empty for a cluster role binding.
    pub namespace: String,
    /// The subjects.
    pub subjects: Vec<Subject>,
    /// The role.
    pub role: RoleRef,
}

/// The role that a binding names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleRef {
    /// The API group of the role.
    pub api_group: String,
    /// `Role` or `ClusterRole`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// A subject of a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// `User`, `Group` or `ServiceAccount`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace of a service account.
    pub namespace: String,
}

/// Where a right comes from: `ClusterRoleBinding "a" of ClusterRole "b" to Group "c"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The binding.
    pub binding: Arc<Binding>,
    /// The index of the subject that matches the user.
    pub subject: usize,
}

/// Rules from one binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The role's rules.
    pub rules: Arc<[Rule]>,
    /// The binding.
    pub source: Arc<Source>,
}

/// Where a grant holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// In the whole cluster.
    Cluster,
    /// In one namespace.
    Namespace(&'a str),
}

/// What the bindings of a scope give a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The rules, by binding.
    pub granted: Vec<Grant>,
    /// Why some bindings give nothing.
    pub errors: Vec<Arc<str>>,
}

impl Policy {
    /// Replaces an object; `None` removes it. `key` is `namespace/name`, or the name.
    pub fn set(&mut self, table: RbacResource, key: &str, object: Option<&Value>) {
        match table {
            RbacResource::Roles => put(&mut self.roles, key, object, |_, role| Rule::all_of(role).into()),
            RbacResource::ClusterRoles => put(&mut self.cluster_roles, key, object, |_, role| {
                Rule::all_of(role).into()
            }),
            RbacResource::RoleBindings => put(&mut self.bindings, key, object, Binding::read),
            RbacResource::ClusterRoleBindings => put(&mut self.cluster_bindings, key, object, Binding::read),
        }
    }

    /// Makes a table have exactly the objects that are `present`, by key and resourceVersion. `read` is asked for those that it does not
    /// have at that resourceVersion: a fork of a cluster begins with the policy of the cluster, and reads what differs.
    pub fn catch_up(
        &mut self,
        table: RbacResource,
        present: &[(&str, u64)],
        mut read: impl FnMut(&str) -> Option<Value>,
    ) {
        for (key, revision) in present {
            if self.revision(table, key) != Some(*revision) {
                self.set(table, key, read(key).as_ref());
            }
        }
        let known = self.keys(table);
        if known.len() > present.len() {
            let present: HashSet<&str> = present.iter().map(|(key, _)| *key).collect();
            for key in known.iter().filter(|key| !present.contains(&***key)) {
                self.set(table, key, None);
            }
        }
    }

    fn revision(&self, table: RbacResource, key: &str) -> Option<u64> {
        match table {
            RbacResource::Roles => self.roles.get(key)?.revision,
            RbacResource::ClusterRoles => self.cluster_roles.get(key)?.revision,
            RbacResource::RoleBindings => self.bindings.get(key)?.revision,
            RbacResource::ClusterRoleBindings => self.cluster_bindings.get(key)?.revision,
        }
    }

    fn keys(&self, table: RbacResource) -> Vec<Box<str>> {
        match table {
            RbacResource::Roles => self.roles.keys().cloned().collect(),
            RbacResource::ClusterRoles => self.cluster_roles.keys().cloned().collect(),
            RbacResource::RoleBindings => self.bindings.keys().cloned().collect(),
            RbacResource::ClusterRoleBindings => self.cluster_bindings.keys().cloned().collect(),
        }
    }

    /// What the bindings of one scope give a user, in the order of their names.
    pub fn grants(&self, user: &User, scope: Scope<'_>) -> Grants {
        let mut grants = Grants::default();
        match scope {
            Scope::Cluster => {
                for binding in self.cluster_bindings.values() {
                    self.visit(user, &binding.value, &mut grants);
                }
            }
            Scope::Namespace(namespace) => {
                let prefix = format!("{namespace}/");
                let from: Box<str> = prefix.as_str().into();
                let rest = self
                    .bindings
                    .range(from..)
                    .take_while(|(key, _)| key.starts_with(&prefix));
                for (_, binding) in rest {
                    self.visit(user, &binding.value, &mut grants);
                }
            }
        }
        grants
    }

    /// Every right of a user in a namespace (or, without one, in the cluster), and why some could not be found.
    pub fn rules_for(&self, user: &User, namespace: &str) -> (Vec<Rule>, Vec<Arc<str>>) {
        let mut grants = self.grants(user, Scope::Cluster);
        if !namespace.is_empty() {
            let more = self.grants(user, Scope::Namespace(namespace));
            grants.granted.extend(more.granted);
            grants.errors.extend(more.errors);
        }
        let rules = grants.granted.iter().flat_map(|grant| grant.rules.iter().cloned());
        (rules.collect(), grants.errors)
    }

    fn visit(&self, user: &User, binding: &Arc<Binding>, grants: &mut Grants) {
        let subjects = &binding.subjects;
        let Some(subject) = subjects.iter().position(|subject| subject.is(user, &binding.namespace)) else {
            return;
        };
        match self.role(&binding.role, &binding.namespace) {
            Ok(rules) => grants.granted.push(Grant {
                rules,
                source: Arc::new(Source {
                    binding: Arc::clone(binding),
                    subject,
                }),
            }),
            Err(error) => grants.errors.push(error.into()),
        }
    }

    /// The rules of the role that a binding in `namespace` (empty: of the cluster) names; the error is upstream's
    /// message.
    pub fn role(&self, role: &RoleRef, namespace: &str) -> Result<Arc<[Rule]>, String> {
        let (found, resource) = match role.kind.as_str() {
            "Role" => (self.roles.get(format!("{namespace}/{}", role.name).as_str()), "role"),
            "ClusterRole" => (self.cluster_roles.get(role.name.as_str()), "clusterrole"),
            kind => return Err(format!("unsupported role reference kind: {}", quote(kind))),
        };
        let missing = || format!("{resource}.rbac.authorization.k8s.io {} not found", quote(&role.name));
        found.map(|role| Arc::clone(&role.value)).ok_or_else(missing)
    }
}

fn put<V>(table: &mut Table<V>, key: &str, object: Option<&Value>, read: impl Fn(&str, &Value) -> V) {
    match object {
        Some(object) => {
            let revision = object["metadata"]["resourceVersion"].as_str();
            let entry = Entry {
                value: read(key, object),
                revision: revision.and_then(|revision| revision.parse().ok()),
            };
            table.insert_mut(key.into(), entry);
        }
        None => {
            table.remove_mut(key);
        }
    }
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl Binding {
    fn read(key: &str, object: &Value) -> Arc<Binding> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let subjects = object.get("subjects").and_then(Value::as_array).into_iter().flatten();
        Arc::new(Binding {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            subjects: subjects
                .map(|subject| Subject {
                    kind: text(subject, "kind"),
                    name: text(subject, "name"),
                    namespace: text(subject, "namespace"),
                })
                .collect(),
            role: RoleRef::of(object),
        })
    }
}

impl RoleRef {
    /// The role that a binding, as the API writes it, names.
    pub fn of(binding: &Value) -> RoleRef {
        let role = binding.get("roleRef").unwrap_or(&Value::Null);
        RoleRef {
            api_group: text(role, "apiGroup"),
            kind: text(role, "kind"),
            name: text(role, "name"),
        }
    }
}

impl Subject {
    /// Whether the subject is this user; a service account without a namespace is in the binding's.
    fn is(&self, user: &User, binding_namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => user.name == self.name,
            "Group" => user.is_in(&self.name),
            "ServiceAccount" => {
                let namespace = self.namespace_or(binding_namespace);
                !namespace.is_empty() && is_account(&user.name, namespace, &self.name)
            }
            _ => false,
        }
    }

    fn namespace_or<'s>(&'s self, binding_namespace: &'s str) -> &'s str {
        if self.namespace.is_empty() {
            binding_namespace
        } else {
            &self.namespace
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let binding = &*self.binding;
        let role = &binding.role;
        // Upstream's order: the name, then the namespace.
        let (kind, name) = if binding.namespace.is_empty() {
            ("ClusterRoleBinding", quote(&binding.name))
        } else {
            ("RoleBinding", quote(&format!("{}/{}", binding.name, binding.namespace)))
        };
        write!(f, "{kind} {name} of {} {} to ", role.kind, quote(&role.name))?;
        let Some(subject) = binding.subjects.get(self.subject) else {
            return Ok(());
        };
        if subject.kind == "ServiceAccount" {
            let namespace = subject.namespace_or(&binding.namespace);
            write!(
                f,
                "{} {}",
                subject.kind,
                quote(&format!("{}/{namespace}", subject.name))
            )
        } else {
            write!(f, "{} {}", subject.kind, quote(&subject.name))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_that_catches_up_reads_what_differs_and_forgets_what_is_gone() {
        let role = |revision: u64, verb: &str| json!({ "metadata": { "resourceVersion": revision.to_string() }, "rules": [{ "verbs": [verb] }] });
        let table = RbacResource::ClusterRoles;
        let mut policy = Policy::default();
        for (key, revision) in [("same", 1), ("changed", 2), ("gone", 3)] {
            policy.set(table, key, Some(&role(revision, "get")));
        }
        let mut read = Vec::new();
        policy.catch_up(table, &[("changed", 5), ("new", 6), ("same", 1)], |key| {
            read.push(key.to_owned());
            Some(role(if key == "new" { 6 } else { 5 }, "list"))
        });
        assert_eq!(read, ["changed", "new"]);
        let verbs = |name: &str| {
            let role = RoleRef {
                kind: "ClusterRole".to_owned(),
                name: name.to_owned(),
                ..RoleRef::default()
            };
            policy.role(&role, "").map(|rules| rules[0].verbs.clone()).ok()
        };
        let of = |verb: &str| Some(vec![verb.to_owned()]);
        assert_eq!(
            ["same", "changed", "new", "gone"].map(verbs),
            [of("get"), of("list"), of("list"), None]
        );
    }
}
