//! Single grants of rules, and which of them covers which other.

use kubewright_description::Rule;

/// The wildcard.
const ALL: &str = "*";

/// One thing that a rule grants, everywhere or in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Grant {
    /// Everywhere, if there is none.
    pub(super) namespace: Option<String>,
    pub(super) right: Right,
}

/// A verb on a resource (or on one object of it), or on a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Right {
    Resource {
        group: String,
        /// With its part: `pods/log`.
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

impl Grant {
    /// The rule that grants it, and nothing else.
    pub(super) fn rule(self) -> Rule {
        let mut rule = match self.right {
            Right::Path { path, verb } => Rule::urls([path], [verb]),
            Right::Resource {
                group,
                resource,
                name,
                verb,
            } => {
                let rule = Rule::new([group], [resource], [verb]);
                if name.is_empty() { rule } else { rule.named([name]) }
            }
        };
        rule.namespace = self.namespace;
        rule
    }
}

/// All that a rule grants.
pub(super) fn grants(rule: &Rule) -> Vec<Grant> {
    let mut rights = Vec::new();
    let everything = [String::new()];
    let names = if rule.resource_names.is_empty() {
        everything.as_slice()
    } else {
        rule.resource_names.as_slice()
    };
    for verb in &rule.verbs {
        for group in &rule.api_groups {
            for resource in &rule.resources {
                rights.extend(names.iter().map(|name| Right::Resource {
                    group: group.clone(),
                    resource: resource.clone(),
                    name: name.clone(),
                    verb: verb.clone(),
                }));
            }
        }
        rights.extend(rule.non_resource_urls.iter().map(|path| Right::Path {
            path: path.clone(),
            verb: verb.clone(),
        }));
    }
    let granted = rights.into_iter().map(|right| Grant {
        namespace: rule.namespace.clone(),
        right,
    });
    granted.collect()
}

/// Whether `other` grants all that `grant` does.
pub(super) fn covers(other: &Grant, grant: &Grant) -> bool {
    let reaches = other.namespace.is_none() || other.namespace == grant.namespace;
    reaches && covers_right(&other.right, &grant.right)
}

fn covers_right(other: &Right, right: &Right) -> bool {
    let any = |general: &str, special: &str| general == ALL || general == special;
    match (other, right) {
        (
            Right::Resource {
                group,
                resource,
                name,
                verb,
            },
            Right::Resource {
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
            Right::Path { path, verb },
            Right::Path {
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
