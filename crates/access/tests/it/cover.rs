//! What `covers` promises: who may give a role away could do everything in it already.

use kubewright_access::{Attributes, Rule, compact, covers};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

fn some(words: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<String>> {
    let most = most.min(words.len());
    subsequence(words.to_vec(), 0..=most).prop_map(|words| words.into_iter().map(str::to_owned).collect())
}

const GROUPS: &[&str] = &["", "apps", "*"];
const RESOURCES: &[&str] = &["pods", "pods/log", "*/log", "*/scale", "secrets", "*"];
const NAMES: &[&str] = &["one", "two"];
const PATHS: &[&str] = &["/a", "/a/*", "/a*", "/b/c", "*"];
const VERBS: &[&str] = &["get", "list", "*"];

/// A rule is about resources or about paths: validation refuses both at once.
fn rule() -> impl Strategy<Value = Rule> {
    let of_resources = (some(GROUPS, 2), some(RESOURCES, 3), some(NAMES, 2), some(VERBS, 2));
    let of_resources = of_resources.prop_map(|(api_groups, resources, resource_names, verbs)| Rule {
        api_groups,
        resources,
        resource_names,
        verbs,
        ..Rule::default()
    });
    let of_paths = (some(PATHS, 2), some(VERBS, 2)).prop_map(|(non_resource_urls, verbs)| Rule {
        non_resource_urls,
        verbs,
        ..Rule::default()
    });
    prop_oneof![3 => of_resources, 1 => of_paths]
}

fn asked() -> impl Strategy<Value = Attributes<'static>> {
    let resource = (
        select(&["get", "list", "use"][..]),
        select(&["", "apps", "batch"][..]),
        select(&["pods", "secrets", "nodes"][..]),
        select(&["", "log", "scale"][..]),
        select(&["", "one", "two", "three"][..]),
    );
    let resource = resource.prop_map(|(verb, group, resource, part, name)| {
        Attributes::resource(verb, group, resource).part(part).named(name)
    });
    let path = (
        select(&["get", "list"][..]),
        select(&["/a", "/a/b", "/ab", "/b/c", "/"][..]),
    );
    prop_oneof![3 => resource, 1 => path.prop_map(|(verb, path)| Attributes::path(verb, path))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn covered_rules_allow_nothing_new(
        owner in prop::collection::vec(rule(), 0..4),
        rules in prop::collection::vec(rule(), 0..3),
        questions in prop::collection::vec(asked(), 1..40),
    ) {
        let missing = covers(&owner, &rules);
        for asked in &questions {
            let allows = |rules: &[Rule]| rules.iter().any(|rule| rule.allows(asked));
            // What the rules allow, the owner has or is told to miss.
            if allows(&rules) {
                prop_assert!(allows(&owner) || allows(&missing), "{asked:?}");
            }
        }
        // Nothing is told to be missing that the rules do not give.
        prop_assert!(covers(&rules, &missing).is_empty());
    }

    #[test]
    fn compact_rules_mean_the_same(rules in prop::collection::vec(rule(), 0..4)) {
        let parts = covers(&[], &rules);
        let compact = compact(&parts);
        prop_assert!(covers(&compact, &parts).is_empty());
        prop_assert!(covers(&parts, &compact).is_empty());
        prop_assert!(compact.len() <= parts.len());
    }
}
