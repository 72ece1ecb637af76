//! Webhooks as data, for tools and manifests.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

use super::settings::{
    AdmissionRule, FailurePolicy, MatchCondition, MatchPolicy, ReinvocationPolicy, Scope, SideEffects,
};

/// In which configuration a webhook belongs.
///
/// ```
/// use kubewright_runtime::webhook::WebhookType;
///
/// assert_eq!(serde_json::to_value(WebhookType::Mutating).unwrap(), "mutating");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WebhookType {
    /// A `MutatingWebhookConfiguration`.
    Mutating,
    /// A `ValidatingWebhookConfiguration`.
    Validating,
    /// None: it is served, but the server is not told of it.
    Unlisted,
}

/// What a webhook is asked about.
///
/// ```
/// use kubewright_runtime::webhook::RuleDescription;
///
/// let rule: RuleDescription = serde_json::from_value(serde_json::json!({
///     "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"],
/// }))
/// .unwrap();
/// assert_eq!(rule.scope, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleDescription {
    /// Groups, versions and resources.
    #[serde(flatten)]
    pub rule: AdmissionRule,
    /// The operations, as `CREATE`.
    pub operations: Vec<String>,
    /// Objects in namespaces, of the cluster, or, if it is not said, both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
}

/// One webhook as data: what a webhook configuration says about it. What is `None` is left to the server.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::webhook::{AdmissionRequest, Webhook};
/// use serde_json::json;
///
/// let webhook = Webhook::of::<ConfigMap>().defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(()));
/// assert_eq!(
///     serde_json::to_value(&webhook.describe()[0]).unwrap(),
///     json!({
///         "type": "mutating", "name": "mconfigmap.kb.io", "path": "/mutate--v1-configmap",
///         "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"] }],
///         "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
///     })
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDescription {
    /// In which configuration it belongs.
    #[serde(rename = "type")]
    pub role: WebhookType,
    /// Its name in that configuration.
    pub name: String,
    /// Where it is served.
    pub path: String,
    /// What it is asked about.
    pub rules: Vec<RuleDescription>,
    /// What happens when it cannot be asked.
    pub failure_policy: FailurePolicy,
    /// Whether it does anything besides answering.
    pub side_effects: SideEffects,
    /// How long the server waits for its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i32>,
    /// Whether it is asked about other versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_policy: Option<MatchPolicy>,
    /// The labels of namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// The labels of objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_selector: Option<LabelSelector>,
    /// Conditions in CEL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_conditions: Vec<MatchCondition>,
    /// Whether it is asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinvocation_policy: Option<ReinvocationPolicy>,
    /// The versions of `AdmissionReview` it reads.
    #[serde(rename = "admissionReviewVersions")]
    pub review_versions: Vec<String>,
}
