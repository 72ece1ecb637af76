//! An operator as data, for tools: versioned JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DefinitionDescription, Operator, Rule};
use crate::controller::Controller;
use crate::conversion::Conversion;
use crate::object::Kind;
use crate::webhook::{Webhook, WebhookDescription};

/// A kind that wakes a controller.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_runtime::controller::Controller;
/// use kubewright_runtime::operator::Operator;
///
/// let operator = Operator::new("shop").controller(Controller::of::<ConfigMap>().owns::<Secret>());
/// assert_eq!(operator.describe().controllers[0].watches[1].wakes, "its controller");
/// ```
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
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::controller::Controller;
/// use kubewright_runtime::operator::Operator;
///
/// let operator = Operator::new("shop").controller(Controller::of::<ConfigMap>());
/// assert_eq!(operator.describe().controllers[0].kind, "ConfigMap");
/// ```
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

/// A kind that is converted between its versions.
///
/// ```
/// assert!(kubewright_runtime::operator::Operator::new("shop").describe().conversions.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversionDescription {
    /// The name of its `CustomResourceDefinition`.
    pub definition: String,
    /// Group and version of the hub, to and from which all others are converted.
    pub hub: String,
    /// Kind.
    pub kind: String,
    /// All its versions.
    pub versions: Vec<String>,
}

/// An operator.
///
/// ```
/// use kubewright_runtime::operator::{Description, Operator};
///
/// let description = Operator::new("shop").describe();
/// let text = serde_json::to_string(&description).unwrap();
/// assert_eq!(serde_json::from_str::<Description>(&text).unwrap(), description);
/// assert_eq!(description.metrics_reader_rules[0].non_resource_urls, ["/metrics"]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The version of this form: 1.
    pub version: u32,
    /// Its name.
    pub name: String,
    /// Its controllers.
    pub controllers: Vec<ControllerDescription>,
    /// Its webhooks.
    #[serde(default)]
    pub webhooks: Vec<WebhookDescription>,
    /// The kinds it converts.
    #[serde(default)]
    pub conversions: Vec<ConversionDescription>,
    /// The kinds it brings with it, one entry per version.
    #[serde(default)]
    pub definitions: Vec<DefinitionDescription>,
    /// What it needs to be allowed everywhere (a `ClusterRole`): to read what it declares, to write events, and what its rules
    /// say.
    pub rules: Vec<Rule>,
    /// What it needs in its own namespace (a `Role`) to elect a leader.
    #[serde(default)]
    pub leader_election_rules: Vec<Rule>,
    /// What it needs everywhere to know who may read its metrics.
    #[serde(default)]
    pub metrics_auth_rules: Vec<Rule>,
    /// What whoever reads its metrics needs.
    #[serde(default)]
    pub metrics_reader_rules: Vec<Rule>,
    /// What it needs everywhere if it makes its own certificates: to tell the API server of them.
    #[serde(default)]
    pub certificate_rules: Vec<Rule>,
    /// What it needs in its own namespace if it makes its own certificates: to keep them.
    #[serde(default)]
    pub certificate_namespace_rules: Vec<Rule>,
}

impl Operator {
    /// The operator as data.
    ///
    /// ```
    /// use kubewright_runtime::operator::Operator;
    ///
    /// assert_eq!(Operator::new("shop").describe().version, 1);
    /// ```
    pub fn describe(&self) -> Description {
        let mut rules = reading(self.declarations.kinds(), &["get", "list", "watch"]);
        rules.extend(reading(self.declarations.live_kinds(), &["get", "list"]));
        if !self.controllers.is_empty() {
            rules.push(Rule::new(["events.k8s.io"], ["events"], ["create", "patch"]));
        }
        rules.extend(self.controllers.iter().flat_map(Controller::rules).cloned());
        rules.extend(self.rules.iter().cloned());
        let (certificate_rules, certificate_namespace_rules) = self.certificate_rules();
        Description {
            version: 1,
            name: self.name.clone(),
            controllers: self.controllers.iter().map(describe).collect(),
            webhooks: self.webhooks.iter().flat_map(Webhook::describe).collect(),
            conversions: self.conversions.iter().map(describe_conversion).collect(),
            definitions: self.definitions.iter().map(|define| define()).collect(),
            rules,
            leader_election_rules: leader_election_rules(),
            metrics_auth_rules: vec![
                Rule::new(["authentication.k8s.io"], ["tokenreviews"], ["create"]),
                Rule::new(["authorization.k8s.io"], ["subjectaccessreviews"], ["create"]),
            ],
            metrics_reader_rules: vec![Rule::urls(["/metrics"], ["get"])],
            certificate_rules,
            certificate_namespace_rules,
        }
    }
}

/// What it takes to read kinds. One rule per group reads better than one per kind.
fn reading<'a>(kinds: impl Iterator<Item = &'a Kind>, verbs: &[&str]) -> Vec<Rule> {
    let mut reads: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for kind in kinds {
        reads.entry(kind.group()).or_default().push(kind.plural());
    }
    reads
        .into_iter()
        .map(|(group, mut resources)| {
            resources.sort_unstable();
            resources.dedup();
            Rule::new(vec![group], resources, verbs.to_vec())
        })
        .collect()
}

/// kubebuilder's, without `ConfigMaps`, which are no locks any more. The second is for the events about who leads.
fn leader_election_rules() -> Vec<Rule> {
    let all = ["get", "list", "watch", "create", "update", "patch", "delete"];
    vec![
        Rule::new(vec!["coordination.k8s.io"], vec!["leases"], all.to_vec()),
        Rule::new(["events.k8s.io"], ["events"], ["create", "patch"]),
    ]
}

fn describe_conversion(conversion: &Conversion) -> ConversionDescription {
    let kind = conversion.kind();
    ConversionDescription {
        definition: format!("{}.{}", kind.plural(), kind.group()),
        hub: kind.api_version(),
        kind: kind.kind().to_owned(),
        versions: conversion.versions().map(str::to_owned).collect(),
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
    use crate::webhook::AdmissionRequest;

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
                "webhooks": [],
                "conversions": [],
                "definitions": [],
                "rules": [
                    { "apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get", "list", "watch"] },
                    { "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch"] },
                    { "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] },
                    { "apiGroups": ["apps"], "resources": ["deployments/status"], "verbs": ["patch"] },
                ],
                "leaderElectionRules": [
                    {
                        "apiGroups": ["coordination.k8s.io"],
                        "resources": ["leases"],
                        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
                    },
                    { "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] },
                ],
                "metricsAuthRules": [
                    { "apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"] },
                    { "apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"] },
                ],
                "metricsReaderRules": [{ "nonResourceURLs": ["/metrics"], "verbs": ["get"] }],
                "certificateRules": [],
                "certificateNamespaceRules": [],
            })
        );
    }
    #[test]
    fn webhooks_of_kinds_of_one_name_are_told_apart() {
        use k8s_openapi::api::{autoscaling, core, events};

        fn names(operator: &Operator) -> Vec<String> {
            let webhooks = operator.describe().webhooks.into_iter();
            webhooks.map(|webhook| webhook.name).collect()
        }
        let none = |_: &AdmissionRequest| Ok(());
        let one = Operator::new("shop").webhook(Webhook::of::<autoscaling::v2::HorizontalPodAutoscaler>().defaulter(
            move |_: &mut autoscaling::v2::HorizontalPodAutoscaler, request: &AdmissionRequest| none(request),
        ));
        assert_eq!(names(&one), ["mhorizontalpodautoscaler.kb.io"]);
        let versions = one.webhook(Webhook::of::<autoscaling::v1::HorizontalPodAutoscaler>().defaulter(
            move |_: &mut autoscaling::v1::HorizontalPodAutoscaler, request: &AdmissionRequest| none(request),
        ));
        assert_eq!(
            names(&versions),
            ["mhorizontalpodautoscaler-v2.kb.io", "mhorizontalpodautoscaler-v1.kb.io"]
        );
        let groups = Operator::new("shop")
            .webhook(Webhook::of::<core::v1::Event>().defaulter(|_: &mut core::v1::Event, _: &AdmissionRequest| Ok(())))
            .webhook(
                Webhook::of::<events::v1::Event>().defaulter(|_: &mut events::v1::Event, _: &AdmissionRequest| Ok(())),
            );
        assert_eq!(
            names(&groups),
            ["mevent-v1.core.kb.io", "mevent-v1.events.k8s.io.kb.io"]
        );
    }

    #[test]
    fn webhooks_are_described_with_what_their_certificates_need() {
        let webhook = Webhook::of::<ConfigMap>().defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(()));
        let description = Operator::new("shop").webhook(webhook).describe();
        assert_eq!(description.webhooks[0].name, "mconfigmap.kb.io");
        assert_eq!(
            serde_json::to_value((&description.certificate_rules, &description.certificate_namespace_rules)).unwrap(),
            serde_json::json!([
                [{
                    "apiGroups": ["admissionregistration.k8s.io"],
                    "resources": ["mutatingwebhookconfigurations"],
                    "resourceNames": ["shop-mutating-webhook-configuration"],
                    "verbs": ["get", "list", "watch", "patch"],
                }],
                [{
                    "apiGroups": [""],
                    "resources": ["secrets"],
                    "resourceNames": ["shop-webhook-service-cert"],
                    "verbs": ["get", "list", "watch", "create", "update", "patch"],
                }],
            ])
        );
        let text = serde_json::to_string(&description).unwrap();
        assert_eq!(serde_json::from_str::<Description>(&text).unwrap(), description);
    }
}
