//! Webhook configurations for a cluster.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_description::{
    MatchCondition, MatchPolicy, ReinvocationPolicy, RuleDescription, Scope, WebhookDescription, WebhookType,
};

use super::selector;

/// The `clientConfig` of an operator's webhooks, without their paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    by: WebhookLocation,
    ca_bundle: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum WebhookLocation {
    Service {
        namespace: String,
        name: String,
        port: Option<i32>,
    },
    Url(String),
}

impl ClientConfig {
    /// The API server calls a Service on port 443. The caBundle is empty, for cert-manager or the runtime to fill in.
    pub fn service(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        ClientConfig {
            by: WebhookLocation::Service {
                namespace: namespace.into(),
                name: name.into(),
                port: None,
            },
            ca_bundle: None,
        }
    }

    /// The API server calls a URL such as `https://127.0.0.1:9443`, and trusts these certificates in PEM.
    pub fn url(base: impl Into<String>, ca_bundle: impl Into<Vec<u8>>) -> Self {
        ClientConfig {
            by: WebhookLocation::Url(base.into().trim_end_matches('/').to_owned()),
            ca_bundle: Some(ca_bundle.into()),
        }
    }

    /// Sets another port of the Service.
    pub fn port(mut self, number: i32) -> Self {
        if let WebhookLocation::Service { port, .. } = &mut self.by {
            *port = Some(number);
        }
        self
    }

    /// Sets the certificates to trust, in PEM.
    pub fn ca_bundle(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca_bundle = Some(pem.into());
        self
    }

    fn client_config(&self, path: &str) -> api::WebhookClientConfig {
        let ca_bundle = self.ca_bundle.clone().map(ByteString);
        match &self.by {
            WebhookLocation::Url(base) => api::WebhookClientConfig {
                ca_bundle,
                service: None,
                url: Some(format!("{base}{path}")),
            },
            WebhookLocation::Service { namespace, name, port } => api::WebhookClientConfig {
                ca_bundle,
                service: Some(api::ServiceReference {
                    name: name.clone(),
                    namespace: namespace.clone(),
                    path: Some(path.to_owned()),
                    port: *port,
                }),
                url: None,
            },
        }
    }
}

/// The webhook configurations of an operator; none of a type that has no webhooks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configurations {
    /// The mutating webhooks.
    pub mutating: Option<api::MutatingWebhookConfiguration>,
    /// The validating webhooks.
    pub validating: Option<api::ValidatingWebhookConfiguration>,
}

impl Configurations {
    /// Renders what webhooks say of themselves; the names begin with the operator's, as kubebuilder's do.
    pub fn render(operator: &str, webhooks: &[WebhookDescription], config: &ClientConfig) -> Self {
        let of = |role| webhooks.iter().filter(move |webhook| webhook.role == role);
        let metadata = |name| ObjectMeta {
            name: Some(name),
            ..ObjectMeta::default()
        };
        let mutating: Vec<_> = of(WebhookType::Mutating)
            .map(|webhook| mutating(webhook, config))
            .collect();
        let validating: Vec<_> = of(WebhookType::Validating)
            .map(|webhook| validating(webhook, config))
            .collect();
        Configurations {
            mutating: (!mutating.is_empty()).then(|| api::MutatingWebhookConfiguration {
                metadata: metadata(Self::mutating_name(operator)),
                webhooks: Some(mutating),
            }),
            validating: (!validating.is_empty()).then(|| api::ValidatingWebhookConfiguration {
                metadata: metadata(Self::validating_name(operator)),
                webhooks: Some(validating),
            }),
        }
    }

    /// What the mutating configuration of an operator is called.
    pub(crate) fn mutating_name(operator: &str) -> String {
        format!("{operator}-mutating-webhook-configuration")
    }

    /// What the validating configuration of an operator is called.
    pub(crate) fn validating_name(operator: &str) -> String {
        format!("{operator}-validating-webhook-configuration")
    }
}

fn mutating(webhook: &WebhookDescription, config: &ClientConfig) -> api::MutatingWebhook {
    api::MutatingWebhook {
        admission_review_versions: webhook.review_versions.clone(),
        client_config: config.client_config(&webhook.path),
        failure_policy: Some(webhook.failure_policy.as_str().to_owned()),
        match_conditions: conditions(&webhook.match_conditions),
        match_policy: webhook.match_policy.map(MatchPolicy::as_str).map(str::to_owned),
        name: webhook.name.clone(),
        namespace_selector: webhook.namespace_selector.as_ref().map(selector::configured),
        object_selector: webhook.object_selector.as_ref().map(selector::configured),
        reinvocation_policy: webhook
            .reinvocation_policy
            .map(ReinvocationPolicy::as_str)
            .map(str::to_owned),
        rules: Some(rules(&webhook.rules)),
        side_effects: webhook.side_effects.as_str().to_owned(),
        timeout_seconds: webhook.timeout_seconds,
    }
}

fn validating(webhook: &WebhookDescription, config: &ClientConfig) -> api::ValidatingWebhook {
    api::ValidatingWebhook {
        admission_review_versions: webhook.review_versions.clone(),
        client_config: config.client_config(&webhook.path),
        failure_policy: Some(webhook.failure_policy.as_str().to_owned()),
        match_conditions: conditions(&webhook.match_conditions),
        match_policy: webhook.match_policy.map(MatchPolicy::as_str).map(str::to_owned),
        name: webhook.name.clone(),
        namespace_selector: webhook.namespace_selector.as_ref().map(selector::configured),
        object_selector: webhook.object_selector.as_ref().map(selector::configured),
        rules: Some(rules(&webhook.rules)),
        side_effects: webhook.side_effects.as_str().to_owned(),
        timeout_seconds: webhook.timeout_seconds,
    }
}

fn conditions(conditions: &[MatchCondition]) -> Option<Vec<api::MatchCondition>> {
    let condition = |condition: &MatchCondition| api::MatchCondition {
        name: condition.name.clone(),
        expression: condition.expression.clone(),
    };
    (!conditions.is_empty()).then(|| conditions.iter().map(condition).collect())
}

fn rules(rules: &[RuleDescription]) -> Vec<api::RuleWithOperations> {
    let rule = |rule: &RuleDescription| api::RuleWithOperations {
        api_groups: Some(rule.rule.api_groups.clone()),
        api_versions: Some(rule.rule.api_versions.clone()),
        operations: Some(rule.operations.clone()),
        resources: Some(rule.rule.resources.clone()),
        scope: rule.scope.map(Scope::as_str).map(str::to_owned),
    };
    rules.iter().map(rule).collect()
}
