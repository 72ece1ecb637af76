//! Which requests a policy or a binding is about: `matchConstraints` and `matchResources` (A13).

use std::borrow::Borrow;

use serde_json::Value;

use crate::attributes::{Attributes, GroupVersionKind, GroupVersionResource, Operation};
use crate::rules::Rule;
use crate::selectors::{Selectors, Undecided};

/// `matchConstraints` of a policy or `matchResources` of a binding, compiled.
#[derive(Debug)]
pub struct MatchResources {
    rules: Vec<NamedRule>,
    excluded: Vec<NamedRule>,
    equivalent: bool,
    selectors: Selectors,
}

/// A rule that may be about some names only.
#[derive(Debug)]
struct NamedRule {
    rule: Rule,
    names: Vec<String>,
}

/// The version of a resource that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchedVersion {
    /// The one that was requested.
    Requested,
    /// One of its equivalents, by its index.
    Equivalent(usize),
}

impl MatchResources {
    /// Compiles them.
    pub fn read(constraints: &Value) -> MatchResources {
        let rules = |field: &str| -> Vec<NamedRule> {
            let list = constraints.get(field).and_then(Value::as_array);
            list.into_iter().flatten().map(NamedRule::read).collect()
        };
        MatchResources {
            rules: rules("resourceRules"),
            excluded: rules("excludeResourceRules"),
            equivalent: constraints.get("matchPolicy").and_then(Value::as_str) == Some("Equivalent"),
            selectors: Selectors::read(constraints),
        }
    }

    /// Whether they are about a request, and about which version of its resource. Without rules they are about every request that
    /// is selected and not excluded.
    ///
    /// `equivalents` and `namespace_labels` are as for [`Webhook::invocation`](crate::Webhook::invocation).
    pub fn find<E, L: Borrow<Value>>(
        &self,
        attributes: &Attributes,
        object: &Value,
        old: &Value,
        equivalents: &[(GroupVersionResource, GroupVersionKind)],
        namespace_labels: impl FnOnce() -> Result<L, E>,
    ) -> Result<Option<MatchedVersion>, Undecided<E>> {
        if self.by_rules(&self.excluded, attributes, equivalents).is_some() {
            return Ok(None);
        }
        let matched = if self.rules.is_empty() {
            Some(MatchedVersion::Requested)
        } else {
            self.by_rules(&self.rules, attributes, equivalents)
        };
        let Some(matched) = matched else {
            return Ok(None);
        };
        let selected = self.selectors.select(attributes, object, old, namespace_labels)?;
        Ok(selected.then_some(matched))
    }

    /// Whether [`find`](MatchResources::find) has to be asked about an operation on a resource: a group, a version and a plural name. It finds nothing for a
    /// request if this is `false` for its resource and for each equivalent. Allocates nothing.
    pub fn may_find(&self, operation: Operation, resource: (&str, &str, &str), subresource: &str) -> bool {
        let mut rules = self.rules.iter();
        self.rules.is_empty() || rules.any(|named| named.rule.is_about(operation, resource, subresource))
    }

    fn by_rules(
        &self,
        rules: &[NamedRule],
        attributes: &Attributes,
        equivalents: &[(GroupVersionResource, GroupVersionKind)],
    ) -> Option<MatchedVersion> {
        if rules.iter().any(|rule| rule.matches(attributes, &attributes.resource)) {
            return Some(MatchedVersion::Requested);
        }
        if !self.equivalent {
            return None;
        }
        rules.iter().find_map(|rule| {
            let found = equivalents
                .iter()
                .position(|(resource, _)| rule.matches(attributes, resource));
            found.map(MatchedVersion::Equivalent)
        })
    }
}

impl NamedRule {
    fn read(rule: &Value) -> NamedRule {
        let names = rule.get("resourceNames").and_then(Value::as_array);
        NamedRule {
            rule: Rule::read(rule),
            names: names
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        }
    }

    fn matches(&self, attributes: &Attributes, resource: &GroupVersionResource) -> bool {
        self.rule.matches(
            attributes.operation,
            resource,
            &attributes.subresource,
            &attributes.namespace,
        ) && (self.names.is_empty() || self.names.contains(&attributes.name))
    }
}
