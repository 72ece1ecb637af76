//! Cluster roles that aggregate the rules of others, by their `aggregationRule` (Z4, Z5).

use kubewright_apimachinery::{labels::selects, rbac};
use serde_json::{Map, Value};

use crate::rule::Rule;

/// The label selectors of a cluster role's `aggregationRule`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterRoleSelectors(Vec<Value>);

impl ClusterRoleSelectors {
    /// Those of a cluster role, if it has any.
    pub fn of(role: &Value) -> Option<Self> {
        let selectors = role.pointer("/aggregationRule/clusterRoleSelectors")?.as_array()?;
        (!selectors.is_empty()).then(|| ClusterRoleSelectors(selectors.clone()))
    }

    /// Whether one of the selectors selects a role with these labels.
    pub fn select(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.0.iter().any(|selector| selects(selector, &labels))
    }
}

/// The rules that the `aggregationRule` of `role` gathers from all cluster roles, given in the order of their names.
pub fn aggregated<'r>(role: &Value, all: &(impl Iterator<Item = &'r Value> + Clone)) -> Option<Vec<Rule>> {
    let selectors = ClusterRoleSelectors::of(role)?;
    let selected = selectors.0.iter().flat_map(|selector| {
        all.clone().filter(move |other| {
            let labels = other.pointer("/metadata/labels").and_then(Value::as_object);
            selects(selector, &labels)
        })
    });
    let rules = selected.map(|other| (name(other), Rule::all_of(other)));
    Some(rbac::aggregate(name(role), rules))
}

fn name(role: &Value) -> &str {
    role.pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_role_gathers_the_rules_of_those_it_selects_each_once() {
        let role = |name: &str, label: &str, verb: &str| {
            json!({
                "metadata": { "name": name, "labels": { "into": label } },
                "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": [verb] }],
            })
        };
        let whole = json!({
            "metadata": { "name": "whole", "labels": { "into": "whole" } },
            "aggregationRule": { "clusterRoleSelectors": [
                { "matchLabels": { "into": "whole" } },
                { "matchExpressions": [{ "key": "into", "operator": "In", "values": ["extra"] }] },
            ] },
            "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }],
        });
        let all = [
            role("a", "whole", "get"),
            role("b", "other", "delete"),
            role("c", "whole", "get"),
            role("d", "extra", "list"),
            whole.clone(),
        ];
        let rules = aggregated(&whole, &all.iter()).unwrap();
        let verbs: Vec<&str> = rules.iter().map(|rule| rule.verbs[0].as_str()).collect();
        assert_eq!(verbs, ["get", "list"]);
        assert_eq!(aggregated(&all[0], &all.iter()), None);
    }
}
