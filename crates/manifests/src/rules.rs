//! Rules of roles in their smallest form: nothing twice, nothing that another rule grants already, always in one order.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_runtime::operator::Rule;

/// What anything is.
const ALL: &str = "*";

/// What rules list.
type Texts<'g> = BTreeSet<&'g str>;

/// One thing that a rule grants: a verb on a resource (or on one object of it), or on a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Grant {
    Resource {
        group: String,
        resource: String,
        /// One object; all of them, if empty.
        name: String,
        verb: String,
    },
    Path {
        path: String,
        verb: String,
    },
}

/// The rules that grant exactly what `rules` grant, with nothing said twice: as few as make one rule of the same verbs on
/// resources of one group, and sorted.
///
/// ```
/// use kubewright_manifests::rules::minimal;
/// use kubewright_runtime::operator::Rule;
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
    let grants: BTreeSet<Grant> = rules.iter().flat_map(grants).collect();
    let needed: Vec<&Grant> = grants
        .iter()
        .filter(|grant| !grants.iter().any(|other| other != *grant && covers(other, grant)))
        .collect();
    let mut rules = of_resources(&needed);
    rules.extend(of_paths(&needed));
    rules.sort();
    rules
}

fn grants(rule: &Rule) -> Vec<Grant> {
    let mut grants = Vec::new();
    let everything = [String::new()];
    let names = if rule.resource_names.is_empty() {
        everything.as_slice()
    } else {
        rule.resource_names.as_slice()
    };
    for verb in &rule.verbs {
        for group in &rule.api_groups {
            for resource in &rule.resources {
                grants.extend(names.iter().map(|name| Grant::Resource {
                    group: group.clone(),
                    resource: resource.clone(),
                    name: name.clone(),
                    verb: verb.clone(),
                }));
            }
        }
        grants.extend(rule.non_resource_urls.iter().map(|path| Grant::Path {
            path: path.clone(),
            verb: verb.clone(),
        }));
    }
    grants
}

/// Whether `other` grants all that `grant` does.
fn covers(other: &Grant, grant: &Grant) -> bool {
    let any = |general: &str, special: &str| general == ALL || general == special;
    match (other, grant) {
        (
            Grant::Resource {
                group,
                resource,
                name,
                verb,
            },
            Grant::Resource {
                group: asked_group,
                resource: asked_resource,
                name: asked_name,
                verb: asked_verb,
            },
        ) => {
            any(group, asked_group)
                && covers_resource(resource, asked_resource)
                && (name.is_empty() || name == asked_name)
                && any(verb, asked_verb)
        }
        (
            Grant::Path { path, verb },
            Grant::Path {
                path: asked,
                verb: asked_verb,
            },
        ) => {
            let covered = path
                .strip_suffix(ALL)
                .map_or(path == asked, |start| asked.starts_with(start));
            covered && any(verb, asked_verb)
        }
        _ => false,
    }
}

/// `*` is every resource with all its parts, `*/scale` that part of all.
fn covers_resource(general: &str, special: &str) -> bool {
    if general == ALL || general == special {
        return true;
    }
    match (general.strip_prefix("*/"), special.split_once('/')) {
        (Some(part), Some((_, asked))) => part == asked,
        _ => false,
    }
}

/// Verbs on the same resource, then resources with the same verbs, then groups with the same resources.
fn of_resources(grants: &[&Grant]) -> Vec<Rule> {
    let mut verbs: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    for grant in grants {
        if let Grant::Resource {
            group,
            resource,
            name,
            verb,
        } = grant
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

fn of_paths(grants: &[&Grant]) -> Vec<Rule> {
    let mut verbs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for grant in grants {
        if let Grant::Path { path, verb } = grant {
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
