//! Which requests a webhook's rules are about (A6).

use serde_json::Value;

use crate::attributes::{GroupVersionResource, Operation};

/// One rule with its operations.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    /// Resource and subresource; an entry without a slash has no subresource.
    resources: Vec<(String, String)>,
    scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    Cluster,
    Namespaced,
    /// A scope that does not exist, which matches nothing.
    Unknown,
}

impl Rule {
    pub(crate) fn read(rule: &Value) -> Rule {
        let strings = |key: &str| -> Vec<String> {
            let list = rule.get(key).and_then(Value::as_array);
            list.into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        Rule {
            operations: strings("operations"),
            groups: strings("apiGroups"),
            versions: strings("apiVersions"),
            resources: strings("resources")
                .iter()
                .map(|entry| entry.split_once('/').unwrap_or((entry, "")))
                .map(|(resource, part)| (resource.to_owned(), part.to_owned()))
                .collect(),
            scope: match rule.get("scope").and_then(Value::as_str) {
                None | Some("*") => Scope::All,
                Some("Cluster") => Scope::Cluster,
                Some("Namespaced") => Scope::Namespaced,
                Some(_) => Scope::Unknown,
            },
        }
    }

    /// Whether it is about this operation on this resource; `namespace` is that of the request.
    pub(crate) fn matches(
        &self,
        operation: Operation,
        place: &GroupVersionResource,
        subresource: &str,
        namespace: &str,
    ) -> bool {
        self.in_scope(place, namespace)
            && self.is_about(operation, (&place.group, &place.version, &place.resource), subresource)
    }

    /// Whether it is about this operation on this resource (a group, a version and a plural name) in some scope.
    pub(crate) fn is_about(
        &self,
        operation: Operation,
        (group, version, plural): (&str, &str, &str),
        subresource: &str,
    ) -> bool {
        has(&self.operations, operation.name())
            && has(&self.groups, group)
            && has(&self.versions, version)
            && self
                .resources
                .iter()
                .any(|(resource, part)| (resource == "*" || resource == plural) && (part == "*" || part == subresource))
    }

    fn in_scope(&self, place: &GroupVersionResource, namespace: &str) -> bool {
        // Requests for a Namespace name it as their namespace, though it is an object of the cluster.
        let is_namespace = place.group.is_empty() && place.version == "v1" && place.resource == "namespaces";
        let of_cluster = is_namespace || namespace.is_empty();
        match self.scope {
            Scope::All => true,
            Scope::Cluster => of_cluster,
            Scope::Namespaced => !of_cluster,
            Scope::Unknown => false,
        }
    }
}

fn has(items: &[String], wanted: &str) -> bool {
    items.iter().any(|item| item == "*" || item == wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(resources: &[&str], scope: Option<&str>) -> Rule {
        let mut rule =
            json!({"operations": ["CREATE"], "apiGroups": ["", "apps"], "apiVersions": ["*"], "resources": resources});
        if let Some(scope) = scope {
            rule["scope"] = scope.into();
        }
        Rule::read(&rule)
    }

    fn matches(rule: &Rule, resource: &str, part: &str, namespace: &str) -> bool {
        rule.matches(
            Operation::Create,
            &GroupVersionResource::new("", "v1", resource),
            part,
            namespace,
        )
    }

    #[test]
    fn a_resource_without_a_slash_is_the_object_itself() {
        let rule = rule(&["pods"], None);
        assert!(matches(&rule, "pods", "", "a"));
        assert!(!matches(&rule, "pods", "status", "a"));
        assert!(!matches(&rule, "services", "", "a"));
    }

    #[test]
    fn stars_stand_for_every_resource_and_every_part() {
        let cases = [
            (&["*"], [true, false, true, false]),
            (&["*/*"], [true, true, true, true]),
            (&["pods/*"], [true, true, false, false]),
            (&["*/scale"], [false, false, false, true]),
        ];
        for (resources, wanted) in cases {
            let rule = rule(resources, None);
            let found = [
                ("pods", ""),
                ("pods", "status"),
                ("services", ""),
                ("services", "scale"),
            ]
            .map(|(resource, part)| matches(&rule, resource, part, "a"));
            assert_eq!(found, wanted, "{resources:?}");
        }
    }

    #[test]
    fn namespaces_are_objects_of_the_cluster_although_requests_name_them() {
        for (scope, of_cluster, of_namespace) in [
            (None, true, true),
            (Some("*"), true, true),
            (Some("Cluster"), true, false),
            (Some("Namespaced"), false, true),
            (Some("Galaxy"), false, false),
        ] {
            let rule = rule(&["*"], scope);
            assert_eq!(matches(&rule, "namespaces", "", "a"), of_cluster, "{scope:?}");
            assert_eq!(matches(&rule, "nodes", "", ""), of_cluster, "{scope:?}");
            assert_eq!(matches(&rule, "pods", "", "a"), of_namespace, "{scope:?}");
        }
    }

    #[test]
    fn operations_and_groups_must_be_listed() {
        let rule = rule(&["pods"], None);
        assert!(!rule.matches(Operation::Update, &GroupVersionResource::new("", "v1", "pods"), "", "a"));
        assert!(rule.matches(
            Operation::Create,
            &GroupVersionResource::new("apps", "v7", "pods"),
            "",
            "a"
        ));
        assert!(!rule.matches(
            Operation::Create,
            &GroupVersionResource::new("batch", "v1", "pods"),
            "",
            "a"
        ));
    }
}
