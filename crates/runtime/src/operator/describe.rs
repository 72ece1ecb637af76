//! An operator as data, for tools: versioned JSON.

use std::collections::BTreeMap;

use kubewright_description::{ControllerDescription, ConversionDescription, Description, Rule, WatchDescription};

use super::Operator;
use crate::controller::Controller;
use crate::conversion::Conversion;
use crate::object::Kind;
use crate::webhook::Webhook;

impl Operator {
    /// The operator as data.
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
            controllers: self.controllers.iter().map(describe).collect(),
            webhooks: self.webhooks.iter().flat_map(Webhook::describe).collect(),
            conversions: self.conversions.iter().map(describe_conversion).collect(),
            definitions: self.definitions.iter().map(|define| define()).collect(),
            aggregated: self
                .extension
                .iter()
                .flat_map(|extension| extension.definitions())
                .collect(),
            policies: self.policies.clone(),
            rules,
            certificate_rules,
            certificate_namespace_rules,
            ..Description::new(&self.name)
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
