//! Webhook markers: the same configurations from the settings of webhooks.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kubewright::operator::Operator;
use kubewright::webhook::{
    AdmissionRequest, AdmissionResponse, AdmissionRule, ClientConfig, Configurations, FailurePolicy, MatchPolicy,
    Operation, ReinvocationPolicy, SideEffects, Validator, Webhook,
};
use kubewright_manifests::install::{RenderedManifests, Settings};
use serde_json::{Value, json};

use super::compare::{assert_decided, differences};
use super::flat::{Facts, leaves};
use super::kinds::reference::view::MarkdownView;
use super::recorded;

struct Content;
impl Validator<MarkdownView> for Content {}
impl Validator<Deployment> for Content {}
impl Validator<ConfigMap> for Content {}

fn views() -> Webhook<MarkdownView> {
    Webhook::of::<MarkdownView>()
        .defaulter(|_: &mut MarkdownView, _: &AdmissionRequest| Ok(()))
        .validator(Content)
}

fn pods() -> Webhook<Pod> {
    Webhook::of::<Pod>()
        .defaulter(|_: &mut Pod, _: &AdmissionRequest| Ok(()))
        .mutating(|settings| {
            settings
                .name("pods.example.com")
                .rule(AdmissionRule::new([""], ["v1"], ["pods", "pods/ephemeralcontainers"]))
                .failure_policy(FailurePolicy::Ignore)
                .match_policy(MatchPolicy::Exact)
                .side_effects(SideEffects::NoneOnDryRun)
                .timeout_seconds(5)
                .reinvocation_policy(ReinvocationPolicy::IfNeeded)
                .review_versions(["v1", "v1beta1"])
        })
}

fn deployments() -> Webhook<Deployment> {
    let selector = |value: Value| -> LabelSelector { serde_json::from_value(value).unwrap() };
    let tiers = json!({ "matchExpressions": [{ "key": "tier", "operator": "In", "values": ["front", "back"] }] });
    Webhook::of::<Deployment>()
        .validator(Content)
        .validating(move |settings| {
            settings
                .name("deployments.example.com")
                .path("/validate-deployment")
                .rule(AdmissionRule::new(
                    ["apps", "extensions"],
                    ["v1", "v1beta1"],
                    ["deployments"],
                ))
                .operations([Operation::Delete, Operation::Connect])
                .match_policy(MatchPolicy::Equivalent)
                .namespace_selector(selector(json!({ "matchLabels": { "watched": "true" } })))
                .object_selector(selector(tiers))
                .match_condition("not-ours", "request.userInfo.username != 'system:manager'")
        })
}

fn everything() -> Webhook {
    Webhook::raw("/validate-everything", |_: AdmissionRequest| async {
        AdmissionResponse::allowed()
    })
    .validates(AdmissionRule::new(["*"], ["*"], ["*"]))
    .validating(|settings| {
        settings
            .name("everything.example.com")
            .operations([Operation::all()])
            .failure_policy(FailurePolicy::Ignore)
    })
}

/// A configuration by its name, and each webhook by its own.
fn facts(objects: &[Value]) -> Facts {
    let mut facts = Facts::new();
    for object in objects {
        let kind = object["kind"].as_str().unwrap_or_default();
        leaves(&mut facts, &format!("{kind} metadata"), &object["metadata"]);
        for webhook in object["webhooks"].as_array().into_iter().flatten() {
            let name = webhook["name"].as_str().unwrap_or_default();
            leaves(&mut facts, &format!("{kind} {name}"), webhook);
        }
    }
    facts
}

fn ours(operator: &Operator, prefix: &str, mutating: &ClientConfig, validating: &ClientConfig) -> Facts {
    let webhooks = operator.describe().webhooks;
    let mutating = Configurations::render(prefix, &webhooks, mutating).mutating;
    let validating = Configurations::render(prefix, &webhooks, validating).validating;
    facts(&[json!(mutating), json!(validating)])
}

#[test]
fn webhook_markers_and_settings_give_the_same_configurations() {
    let operator = Operator::new("suite")
        .webhook(views())
        .webhook(pods())
        .webhook(deployments())
        .webhook(everything());
    let config = ClientConfig::service("system", "webhook-service");
    let found = differences(
        &facts(&recorded::set("hooks")),
        &ours(&operator, "suite", &config, &config),
    );
    assert_decided("webhook configurations", &found);
}

#[test]
fn configurations_have_names_services_have_ports_and_webhooks_can_be_elsewhere() {
    let webhook = Webhook::of::<ConfigMap>()
        .defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(()))
        .validator(Content);
    let service = ClientConfig::service("shop-system", "shop-webhook-service").port(8443);
    let address = ClientConfig::url("https://hooks.example.com:8443", "-----BEGIN CERTIFICATE-----\n");
    let ours = ours(&Operator::new("shop").webhook(webhook), "shop", &service, &address);
    let found = differences(&facts(&recorded::set("hooks-named")), &ours);
    assert_decided("named webhook configurations", &found);
}

/// The runtime renders configurations as typed objects for clients, the installation renders them as files.
#[test]
fn files_and_the_runtime_have_the_same_webhooks() {
    let operator = Operator::new("suite")
        .webhook(views())
        .webhook(pods())
        .webhook(deployments())
        .webhook(everything());
    let settings = Settings::new("suite", "suite:1.0");
    let manifests = RenderedManifests::with_definitions(&operator.describe(), Vec::new(), &settings);
    let mut files = manifests.files.iter();
    let written = &files
        .find(|file| file.path == "config/webhook/manifests.yaml")
        .unwrap()
        .documents;
    let rendered = operator.webhook_configurations(&ClientConfig::service("system", "webhook-service"));
    let rendered = [json!(rendered.mutating), json!(rendered.validating)];
    assert_eq!(written.len(), rendered.len());
    for (written, rendered) in written.iter().zip(&rendered) {
        assert_eq!(written["kind"], rendered["kind"]);
        assert_eq!(written["webhooks"], rendered["webhooks"]);
    }
}
