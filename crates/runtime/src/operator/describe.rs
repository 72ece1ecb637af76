//! An operator as data, for tools: versioned JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Operator;
use crate::controller::Controller;
use crate::object::Kind;

/// What an operator may do to resources: a rule of a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The API groups; the core group is empty.
    pub api_groups: Vec<String>,
    /// The resources in them, as `deployments` or `deployments/status`.
    pub resources: Vec<String>,
    /// The verbs.
    pub verbs: Vec<String>,
}

impl Rule {
    /// A rule.
    pub fn new<S: Into<String>>(
        groups: impl IntoIterator<Item = S>,
        resources: impl IntoIterator<Item = S>,
        verbs: impl IntoIterator<Item = S>,
    ) -> Self {
        let texts = |texts: Vec<S>| texts.into_iter().map(Into::into).collect();
        Rule {
            api_groups: texts(groups.into_iter().collect()),
            resources: texts(resources.into_iter().collect()),
            verbs: texts(verbs.into_iter().collect()),
        }
    }
}

/// A kind that wakes a controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchDescription {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Whom it wakes: `itself`, `its controller`, `its owners` or `a function`.
    pub wakes: String,
}

/// A controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ControllerDescription {
    /// Its name.
    pub name: String,
    /// Group and version of what it reconciles.
    pub api_version: String,
    /// Kind of what it reconciles.
    pub kind: String,
    /// What wakes it.
    pub watches: Vec<WatchDescription>,
}

/// An operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The version of this form: 1.
    pub version: u32,
    /// Its name.
    pub name: String,
    /// Its controllers.
    pub controllers: Vec<ControllerDescription>,
    /// What it needs to be allowed: to read what it declares, and what its rules say.
    pub rules: Vec<Rule>,
}

impl Operator {
    /// The operator as data.
    pub fn describe(&self) -> Description {
        // One rule per group reads better than one per kind.
        let mut reads: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for kind in self.declarations.kinds() {
            reads.entry(kind.group()).or_default().push(kind.plural());
        }
        let mut rules: Vec<Rule> = reads
            .into_iter()
            .map(|(group, mut resources)| {
                resources.sort_unstable();
                resources.dedup();
                Rule::new(vec![group], resources, vec!["get", "list", "watch"])
            })
            .collect();
        rules.extend(self.rules.iter().cloned());
        Description {
            version: 1,
            name: self.name.clone(),
            controllers: self.controllers.iter().map(describe).collect(),
            rules,
        }
    }
}

fn describe(controller: &Controller) -> ControllerDescription {
    let kind: &Kind = controller.kind();
    ControllerDescription {
        name: controller.name().to_owned(),
        api_version: kind.api_version(),
        kind: kind.kind().to_owned(),
        watches: controller
            .watched()
            .map(|(kind, wakes)| WatchDescription {
                api_version: kind.api_version(),
                kind: kind.kind().to_owned(),
                wakes,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};

    use super::*;

    #[test]
    fn a_description_is_versioned_json_and_reads_follow_from_declarations() {
        let operator = Operator::new("shop")
            .controller(
                Controller::of::<Deployment>()
                    .owns::<ConfigMap>()
                    .watches::<Secret>(|_| Vec::new()),
            )
            .rule(Rule::new(["apps"], ["deployments/status"], ["patch"]));
        assert_eq!(
            serde_json::to_value(operator.describe()).unwrap(),
            serde_json::json!({
                "version": 1,
                "name": "shop",
                "controllers": [{
                    "name": "deployment", "apiVersion": "apps/v1", "kind": "Deployment",
                    "watches": [
                        { "apiVersion": "apps/v1", "kind": "Deployment", "wakes": "itself" },
                        { "apiVersion": "v1", "kind": "ConfigMap", "wakes": "its controller" },
                        { "apiVersion": "v1", "kind": "Secret", "wakes": "a function" },
                    ],
                }],
                "rules": [
                    { "apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get", "list", "watch"] },
                    { "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch"] },
                    { "apiGroups": ["apps"], "resources": ["deployments/status"], "verbs": ["patch"] },
                ],
            })
        );
    }
}
