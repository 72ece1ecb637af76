//! Rules in their smallest form grant what they granted before, no more and no less, as the API server's own evaluation sees it.
#![allow(missing_docs)]

use kubewright_access::{Attributes, Rule as Evaluated};
use kubewright_manifests::rules::minimal;
use kubewright_runtime::operator::Rule;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const GROUPS: [&str; 4] = ["", "apps", "batch", "*"];
const RESOURCES: [&str; 6] = ["pods", "pods/log", "jobs", "jobs/scale", "*/scale", "*"];
const NAMES: [&str; 2] = ["one", "two"];
const VERBS: [&str; 4] = ["get", "list", "delete", "*"];
const PATHS: [&str; 4] = ["/metrics", "/metrics/*", "/metrics/slis", "*"];

fn rule() -> impl Strategy<Value = Rule> {
    let resources = (
        subsequence(GROUPS.to_vec(), 1..3),
        subsequence(RESOURCES.to_vec(), 1..4),
        subsequence(VERBS.to_vec(), 1..3),
        subsequence(NAMES.to_vec(), 0..2),
    )
        .prop_map(|(groups, resources, verbs, names)| Rule::new(groups, resources, verbs).named(names));
    let paths = (subsequence(PATHS.to_vec(), 1..3), subsequence(VERBS.to_vec(), 1..3))
        .prop_map(|(paths, verbs)| Rule::urls(paths, verbs));
    let rule = prop_oneof![4 => resources, 1 => paths];
    (rule, select(vec![None, None, Some("here"), Some("there")])).prop_map(|(mut rule, namespace)| {
        rule.namespace = namespace.map(str::to_owned);
        rule
    })
}

/// Whether rules allow something in a namespace, as the server evaluates the roles there and those of the cluster.
fn allowed(rules: &[Rule], asked: &Attributes<'_>) -> bool {
    let counts = |rule: &&Rule| {
        rule.namespace
            .as_deref()
            .is_none_or(|namespace| namespace == asked.namespace)
    };
    rules.iter().filter(counts).any(|rule| {
        let rule = serde_json::to_value(rule).expect("a rule is JSON");
        Evaluated::from_value(&rule).allows(asked)
    })
}

proptest! {
    #[test]
    fn the_smallest_form_grants_the_same(
        rules in proptest::collection::vec(rule(), 0..6),
        group in select(vec!["", "apps", "batch", "other"]),
        resource in select(vec!["pods", "jobs", "nodes"]),
        part in select(vec!["", "log", "scale"]),
        name in select(vec!["", "one", "two", "three"]),
        verb in select(vec!["get", "list", "delete", "watch"]),
        namespace in select(vec!["", "here", "there"]),
        path in select(vec!["/metrics", "/metrics/slis", "/version"]),
    ) {
        let small = minimal(&rules);
        let mut object = Attributes::resource(verb, group, resource).named(name).part(part);
        object.namespace = namespace.into();
        prop_assert_eq!(allowed(&rules, &object), allowed(&small, &object));
        let page = Attributes::path(verb, path);
        prop_assert_eq!(allowed(&rules, &page), allowed(&small, &page));
        prop_assert_eq!(minimal(&small), small, "once is enough");
    }
}
