//! Admission webhooks, in the words of a webhook configuration.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// In which configuration a webhook belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WebhookType {
    /// A `MutatingWebhookConfiguration`.
    Mutating,
    /// A `ValidatingWebhookConfiguration`.
    Validating,
    /// None: it is served, but has no webhook configuration.
    Unlisted,
}

/// One webhook: what a webhook configuration says about it. What is `None` is left to the API server.
///
/// ```
/// use kubewright_description::{WebhookDescription, WebhookType};
/// use serde_json::json;
///
/// let webhook: WebhookDescription = serde_json::from_value(json!({
///     "type": "mutating", "name": "mpod.kb.io", "path": "/mutate--v1-pod",
///     "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"] }],
///     "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
/// }))
/// .unwrap();
/// assert_eq!((webhook.role, webhook.rules[0].scope), (WebhookType::Mutating, None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// How long the API server waits for its answer.
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

/// What a webhook is asked about.
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

/// What a webhook is asked about: resources of groups in versions; `*` stands for all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionRule {
    /// The API groups; the core group is empty.
    pub api_groups: Vec<String>,
    /// The versions.
    pub api_versions: Vec<String>,
    /// The resources, as `pods`, `pods/status` or `pods/*`.
    pub resources: Vec<String>,
}

impl AdmissionRule {
    /// A rule for these resources of these groups in these versions.
    pub fn new<S: Into<String>>(
        groups: impl IntoIterator<Item = S>,
        versions: impl IntoIterator<Item = S>,
        resources: impl IntoIterator<Item = S>,
    ) -> Self {
        AdmissionRule {
            api_groups: groups.into_iter().map(Into::into).collect(),
            api_versions: versions.into_iter().map(Into::into).collect(),
            resources: resources.into_iter().map(Into::into).collect(),
        }
    }
}

/// A condition in CEL that must hold for the webhook to be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchCondition {
    /// Its name.
    pub name: String,
    /// The expression.
    pub expression: String,
}

impl MatchCondition {
    /// A condition of this name.
    pub fn new(name: impl Into<String>, expression: impl Into<String>) -> Self {
        MatchCondition {
            name: name.into(),
            expression: expression.into(),
        }
    }
}

/// Labels that objects must have, as `meta/v1` writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels with these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Further requirements; all must hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<LabelSelectorRequirement>>,
}

/// One requirement of a [`LabelSelector`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelSelectorRequirement {
    /// The label's key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values that `In` and `NotIn` compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// An enum whose variants have a word each in webhook configurations.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$what])* #[serde(rename = $text)] $word,)*
        }

        impl $name {
            /// The word in a webhook configuration.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$word => $text,)*
                }
            }
        }
    };
}

words! {
    /// What happens when the webhook cannot be asked.
    FailurePolicy {
        /// The request fails.
        Fail = "Fail",
        /// The request goes on as if there were no webhook.
        Ignore = "Ignore",
    }
}

words! {
    /// Whether the webhook does anything besides answering.
    SideEffects {
        /// It does not.
        None = "None",
        /// It does, but not when the request is a dry run.
        NoneOnDryRun = "NoneOnDryRun",
    }
}

words! {
    /// Whether the webhook is asked about other versions of what its rules name.
    MatchPolicy {
        /// Only what the rules name.
        Exact = "Exact",
        /// Also what the API server can convert to what the rules name.
        Equivalent = "Equivalent",
    }
}

words! {
    /// Whether a mutating webhook is asked again when a later one changed the object.
    ReinvocationPolicy {
        /// Once is enough.
        Never = "Never",
        /// Once more.
        IfNeeded = "IfNeeded",
    }
}

words! {
    /// Which objects a rule is about.
    Scope {
        /// Those of the cluster.
        Cluster = "Cluster",
        /// Those in namespaces.
        Namespaced = "Namespaced",
        /// All.
        All = "*",
    }
}
