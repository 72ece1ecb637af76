//! Escalation: a user who writes a role or a binding may not grant more than they have (Z4).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kubewright_apimachinery::errors::aggregate;
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::go::quote::quote_list;

use crate::rule::{Rule, has, url_covers};
use crate::user::User;

/// The most rules of a breakdown: beyond that, rights count as not held, so that no request takes unbounded work.
const MOST_PARTS: usize = 200_000;

/// The smallest rules of which `rules` are made that `owner` does not cover; none means all are held.
///
/// As upstream, each of them must be held by one rule of the owner's alone.
pub fn covers(owner: &[Rule], rules: &[Rule]) -> Vec<Rule> {
    let parts = rules.iter().flat_map(break_down).take(MOST_PARTS);
    let mut missing: Vec<Rule> = parts
        .filter(|part| !owner.iter().any(|rule| rule_covers(rule, part)))
        .collect();
    if missing.is_empty() && rules.iter().map(size).fold(0, usize::saturating_add) > MOST_PARTS {
        missing.extend(rules.iter().cloned());
    }
    missing
}

/// How many smallest rules a rule is made of.
fn size(rule: &Rule) -> usize {
    let of_resources = rule.api_groups.len().saturating_mul(rule.resources.len());
    let named = of_resources.saturating_mul(rule.resource_names.len().max(1));
    named
        .saturating_add(rule.non_resource_urls.len())
        .saturating_mul(rule.verbs.len())
}

/// A rule as rules of one group, resource, verb and name (or path and verb) each, in upstream's order.
pub fn break_down(rule: &Rule) -> impl Iterator<Item = Rule> {
    let of_resources = rule.api_groups.iter().flat_map(move |group| {
        rule.resources.iter().flat_map(move |resource| {
            rule.verbs.iter().flat_map(move |verb| {
                let part = Rule {
                    api_groups: vec![group.clone()],
                    resources: vec![resource.clone()],
                    verbs: vec![verb.clone()],
                    ..Rule::default()
                };
                let unnamed = rule.resource_names.is_empty().then(|| part.clone());
                let named = rule.resource_names.iter().map(move |name| Rule {
                    resource_names: vec![name.clone()],
                    ..part.clone()
                });
                unnamed.into_iter().chain(named)
            })
        })
    });
    let of_paths = rule.non_resource_urls.iter().flat_map(move |path| {
        rule.verbs.iter().map(move |verb| Rule {
            non_resource_urls: vec![path.clone()],
            verbs: vec![verb.clone()],
            ..Rule::default()
        })
    });
    of_resources.chain(of_paths)
}

/// Whether a rule holds everything that a smallest rule does.
fn rule_covers(owner: &Rule, part: &Rule) -> bool {
    let all = |held: &[String], wanted: &[String]| wanted.iter().all(|item| has(held, item));
    all(&owner.verbs, &part.verbs)
        && all(&owner.api_groups, &part.api_groups)
        && part
            .resources
            .iter()
            .all(|resource| covers_resource(&owner.resources, resource))
        && covers_names(&owner.resource_names, &part.resource_names)
        && part
            .non_resource_urls
            .iter()
            .all(|path| owner.non_resource_urls.iter().any(|held| url_covers(held, path)))
}

fn covers_resource(held: &[String], resource: &str) -> bool {
    has(held, resource)
        || resource.split_once('/').is_some_and(|(_, part)| {
            held.iter()
                .any(|item| item.strip_prefix("*/").is_some_and(|held| held == part))
        })
}

fn covers_names(held: &[String], wanted: &[String]) -> bool {
    held.is_empty() || (!wanted.is_empty() && wanted.iter().all(|name| held.contains(name)))
}

/// Merges smallest rules of the same resource and name, in the order of their texts.
pub fn compact(rules: &[Rule]) -> Vec<Rule> {
    /// Group, resource and name.
    type Resource<'r> = [&'r [String]; 3];
    let mut merged: BTreeMap<Resource<'_>, Rule> = BTreeMap::new();
    let mut others = Vec::new();
    for rule in rules {
        let is_simple = rule.resource_names.len() <= 1
            && rule.non_resource_urls.is_empty()
            && rule.api_groups.len() == 1
            && rule.resources.len() == 1;
        if !is_simple {
            others.push(rule.clone());
            continue;
        }
        let key = [&*rule.api_groups, &*rule.resources, &*rule.resource_names];
        match merged.get_mut(&key) {
            Some(known) => known.verbs.extend(rule.verbs.iter().cloned()),
            None => {
                merged.insert(key, rule.clone());
            }
        }
    }
    others.extend(merged.into_values());
    others.sort_by_cached_key(Rule::compact_text);
    others
}

/// Whether a user who holds the rules `held` may grant `rules`; `errors` are those that prevented finding more held
/// rules. The error is upstream's message, with what is missing.
pub fn confirm_no_escalation(
    user: &User,
    held: &[Rule],
    errors: &[impl AsRef<str>],
    rules: &[Rule],
) -> Result<(), String> {
    let missing = covers(held, rules);
    if missing.is_empty() {
        return Ok(());
    }
    let mut texts: Vec<String> = compact(&missing).iter().map(Rule::compact_text).collect();
    texts.dedup();
    let mut message = format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        quote(&user.name),
        quote_list(&user.groups),
        texts.join("\n")
    );
    if let Some(errors) = aggregate(errors.iter().map(AsRef::as_ref)) {
        let _ = write!(message, "; resolution errors: [{errors}]");
    }
    Err(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_once_for_each_resource() {
        let owner = [Rule::resources([""], ["pods"], ["get"])];
        let wanted = [
            Rule::resources([""], ["pods", "secrets"], ["get", "list"]),
            Rule::paths(["/metrics"], ["get"]),
        ];
        let missing = compact(&covers(&owner, &wanted));
        let texts: Vec<String> = missing.iter().map(Rule::compact_text).collect();
        assert_eq!(
            texts,
            [
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["list"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}"#,
                r#"{NonResourceURLs:["/metrics"], Verbs:["get"]}"#,
            ]
        );
    }

    #[test]
    fn names_are_covered_by_the_same_names_or_by_none() {
        let named = |names: &[&str]| Rule {
            resource_names: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Rule::resources([""], ["pods"], ["get"])
        };
        assert!(covers(&[named(&[])], &[named(&["a"])]).is_empty());
        assert!(covers(&[named(&["a", "b"])], &[named(&["a"])]).is_empty());
        assert_eq!(covers(&[named(&["a"])], &[named(&[])]).len(), 1);
        assert_eq!(covers(&[named(&["a"])], &[named(&["a", "b"])]).len(), 1);
    }

    #[test]
    fn a_rule_of_millions_of_rights_takes_no_unbounded_work() {
        let many: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
        let rule = Rule {
            api_groups: many.clone(),
            resources: many.clone(),
            verbs: many,
            ..Rule::default()
        };
        assert!(!covers(&[Rule::resources(["*"], ["*"], ["*"])], &[rule]).is_empty());
    }
}
