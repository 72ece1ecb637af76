//! The kinds that upstream's scheme knows, which are more than those that are served: older and newer versions, lists and options.

use crate::types::Types;

/// One group and version a line, with its kinds: what `conformance/upstream/unserved-kinds` wrote.
static UNSERVED: &str = include_str!("../facts/v1.36/unserved.facts");

/// The kinds that every version of every group has.
const OF_EVERY_VERSION: [&str; 7] = [
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "UpdateOptions",
    "WatchEvent",
];

/// The kinds that have no version, and are known as those of the core group's.
const WITHOUT_VERSION: [&str; 5] = ["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"];

/// The package of the Go type of a kind, if upstream knows the kind at all: the last part of its version.
pub fn go_package<'v>(group: &str, version: &'v str, kind: &str) -> Option<&'v str> {
    let types = Types::builtin();
    let unserved = unserved_kinds(group, version);
    if OF_EVERY_VERSION.contains(&kind) {
        return (unserved.is_some() || types.has_version(group, version)).then_some("v1");
    }
    let is_unserved = |kinds: &str| {
        let is_it = |known: &str| known == kind || kind.strip_suffix("List") == Some(known);
        kinds.split(' ').any(is_it)
    };
    let is_of_core = kind == "List" || WITHOUT_VERSION.contains(&kind);
    let is_known = (group.is_empty() && version == "v1" && is_of_core)
        || types.has_kind_of_its_own(group, version, kind)
        || unserved.is_some_and(is_unserved);
    is_known.then_some(version)
}

fn unserved_kinds(group: &str, version: &str) -> Option<&'static str> {
    UNSERVED.lines().find_map(|line| {
        let (group_version, kinds) = line.split_once(' ')?;
        let (known_group, known_version) = group_version.split_once('/').unwrap_or(("", group_version));
        ((known_group, known_version) == (group, version)).then_some(kinds)
    })
}

/// The group whose internal types those of a kind are converted to: kinds have moved between groups.
pub fn internal_group<'g>(group: &'g str, kind: &str) -> &'g str {
    match (group, kind.strip_suffix("List").unwrap_or(kind)) {
        ("events.k8s.io", _) => "",
        ("extensions", "Ingress" | "NetworkPolicy") => "networking.k8s.io",
        ("extensions" | "apps", "Scale") => "autoscaling",
        ("extensions", _) => "apps",
        _ => group,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unserved_versions_lists_and_options_are_known() {
        assert_eq!(go_package("extensions", "v1beta1", "Deployment"), Some("v1beta1"));
        assert_eq!(go_package("extensions", "v1beta1", "DeploymentList"), Some("v1beta1"));
        assert_eq!(go_package("extensions", "v1beta1", "DeleteOptions"), Some("v1"));
        assert_eq!(go_package("", "v1", "ConfigMapList"), Some("v1"));
        assert_eq!(go_package("", "v1", "Status"), Some("v1"));
        for (group, version, kind) in [
            ("apps", "v1", "Status"),
            ("apps", "v1", "ConfigMap"),
            ("meta.k8s.io", "v1", "Table"),
            ("example.com", "v1", "DeleteOptions"),
            ("extensions", "v1beta1", "Nothing"),
        ] {
            assert_eq!(go_package(group, version, kind), None, "{group}/{version} {kind}");
        }
    }

    #[test]
    fn kinds_that_moved_have_the_internal_types_of_their_new_group() {
        assert_eq!(internal_group("extensions", "Ingress"), "networking.k8s.io");
        assert_eq!(internal_group("extensions", "ReplicaSet"), "apps");
        assert_eq!(internal_group("events.k8s.io", "Event"), "");
    }
}
