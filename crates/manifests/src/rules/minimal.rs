//! The smallest form of rules: without duplicates and without what another rule grants already, in a fixed order.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_description::Rule;

use super::grant::{Grant, Right, covers, grants};

/// Values of one list of a rule.
type Texts<'g> = BTreeSet<&'g str>;

/// The rules that grant exactly what `rules` grant, with nothing said twice: as few as make one rule of the same verbs on
/// resources of one group, and sorted.
///
/// ```
/// use kubewright_manifests::rules::minimal;
/// use kubewright_description::Rule;
///
/// let rules = [
///     Rule::new(["apps"], ["deployments"], ["get", "list", "watch"]),
///     Rule::new([""], ["pods", "configmaps"], ["watch", "get", "list"]),
///     Rule::new(["apps"], ["deployments"], ["patch", "get"]),
/// ];
/// assert_eq!(
///     minimal(&rules),
///     [
///         Rule::new([""], ["configmaps", "pods"], ["get", "list", "watch"]),
///         Rule::new(["apps"], ["deployments"], ["get", "list", "patch", "watch"]),
///     ]
/// );
/// ```
pub fn minimal(rules: &[Rule]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = by_namespace(rules)
        .into_iter()
        .flat_map(|(namespace, rules)| {
            rules.into_iter().map(move |rule| Rule {
                namespace: namespace.clone(),
                ..rule
            })
        })
        .collect();
    rules.sort();
    rules
}

/// Rules in their smallest form, by the namespace they are for: those for none are for everywhere. The rules themselves no
/// longer name it, as the roles that hold them say where they are.
pub fn by_namespace(rules: &[Rule]) -> BTreeMap<Option<String>, Vec<Rule>> {
    let grants: BTreeSet<Grant> = rules.iter().flat_map(grants).collect();
    let mut needed: BTreeMap<Option<String>, Vec<&Right>> = BTreeMap::new();
    for grant in &grants {
        if !grants.iter().any(|other| other != grant && covers(other, grant)) {
            needed.entry(grant.namespace.clone()).or_default().push(&grant.right);
        }
    }
    let split = needed.into_iter().map(|(namespace, rights)| {
        let mut rules = of_resources(&rights);
        rules.extend(of_paths(&rights));
        rules.sort();
        (namespace, rules)
    });
    split.collect()
}

/// Verbs on the same resource, then resources with the same verbs, then groups with the same resources.
fn of_resources(rights: &[&Right]) -> Vec<Rule> {
    let mut verbs: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    for right in rights {
        if let Right::Resource {
            group,
            resource,
            name,
            verb,
        } = right
        {
            verbs.entry((group, resource, name)).or_default().insert(verb);
        }
    }
    let mut names: BTreeMap<(&str, &str, BTreeSet<&str>), BTreeSet<&str>> = BTreeMap::new();
    let mut unnamed: BTreeMap<(&str, Texts<'_>, Texts<'_>), Texts<'_>> = BTreeMap::new();
    for ((group, resource, name), verbs) in verbs {
        if name.is_empty() {
            unnamed
                .entry((group, BTreeSet::new(), verbs))
                .or_default()
                .insert(resource);
        } else {
            names.entry((group, resource, verbs)).or_default().insert(name);
        }
    }
    for ((group, resource, verbs), names) in names {
        unnamed.entry((group, names, verbs)).or_default().insert(resource);
    }
    let mut groups: BTreeMap<[Texts<'_>; 3], Texts<'_>> = BTreeMap::new();
    for ((group, names, verbs), resources) in unnamed {
        groups.entry([resources, names, verbs]).or_default().insert(group);
    }
    groups
        .into_iter()
        .map(|([resources, names, verbs], groups)| Rule::new(groups, resources, verbs).named(names))
        .collect()
}

fn of_paths(rights: &[&Right]) -> Vec<Rule> {
    let mut verbs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for right in rights {
        if let Right::Path { path, verb } = right {
            verbs.entry(path).or_default().insert(verb);
        }
    }
    let mut paths: BTreeMap<BTreeSet<&str>, BTreeSet<&str>> = BTreeMap::new();
    for (path, verbs) in verbs {
        paths.entry(verbs).or_default().insert(path);
    }
    paths
        .into_iter()
        .map(|(verbs, paths)| Rule::urls(paths, verbs))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_wildcard_grants_is_not_said_again() {
        let rules = [
            Rule::new(["apps"], ["*"], ["get"]),
            Rule::new(["apps"], ["deployments", "deployments/scale"], ["get", "patch"]),
            Rule::new(["batch"], ["jobs"], ["*"]),
            Rule::new(["batch"], ["jobs"], ["delete"]).named(["old"]),
            Rule::urls(["/metrics/*"], ["get"]),
            Rule::urls(["/metrics/slis"], ["get"]),
        ];
        assert_eq!(
            minimal(&rules),
            [
                Rule::urls(["/metrics/*"], ["get"]),
                Rule::new(["apps"], ["*"], ["get"]),
                Rule::new(["apps"], ["deployments", "deployments/scale"], ["patch"]),
                Rule::new(["batch"], ["jobs"], ["*"]),
            ]
        );
    }

    #[test]
    fn names_restrict_only_what_they_name() {
        let rules = [
            Rule::new([""], ["secrets"], ["get"]).named(["b"]),
            Rule::new([""], ["secrets"], ["get", "update"]).named(["a"]),
            Rule::new([""], ["secrets"], ["update"]).named(["b"]),
            Rule::new([""], ["configmaps"], ["get"]),
        ];
        assert_eq!(
            minimal(&rules),
            [
                Rule::new([""], ["configmaps"], ["get"]),
                Rule::new([""], ["secrets"], ["get", "update"]).named(["a", "b"]),
            ]
        );
    }

    #[test]
    fn namespaces_are_kept_apart_and_everywhere_is_each_of_them() {
        let rules = [
            Rule::new([""], ["pods"], ["get"]),
            Rule::new([""], ["pods"], ["get", "delete"]).in_namespace("one"),
            Rule::new([""], ["pods"], ["delete"]).in_namespace("two"),
        ];
        assert_eq!(
            minimal(&rules),
            [
                Rule::new([""], ["pods"], ["delete"]).in_namespace("one"),
                Rule::new([""], ["pods"], ["delete"]).in_namespace("two"),
                Rule::new([""], ["pods"], ["get"]),
            ]
        );
    }

    #[test]
    fn groups_with_the_same_resources_share_a_rule() {
        let rules = [
            Rule::new(["apps"], ["deployments"], ["get"]),
            Rule::new(["extensions"], ["deployments"], ["get"]),
        ];
        assert_eq!(
            minimal(&rules),
            [Rule::new(["apps", "extensions"], ["deployments"], ["get"])]
        );
    }
}
