//! What an operator says of itself: the versioned JSON that a user's program writes for `describe` and that tools read.
//!
//! `kubewright-runtime` fills these types in, `kubewright-manifests` and the command read them. They are plain data, so that a
//! tool needs neither a Kubernetes client nor the code of the operator.
//!
//! ```
//! use kubewright_description::{Description, Rule, VERSION};
//!
//! let mut shop = Description::new("shop");
//! shop.rules.push(Rule::new(["apps"], ["deployments"], ["get", "list", "watch"]));
//!
//! let text = serde_json::to_string(&shop).unwrap();
//! assert!(text.starts_with(&format!(r#"{{"version":{VERSION},"name":"shop""#)), "{text}");
//! assert_eq!(serde_json::from_str::<Description>(&text).unwrap(), shop);
//! ```

mod controller;
mod definition;
mod policy;
mod rule;
mod webhook;

use serde::{Deserialize, Serialize};

pub use controller::{ControllerDescription, Wakes, WatchDescription};
pub use definition::{ConversionDescription, DefinitionDescription, DefinitionProblem};
pub use policy::{PolicyDescription, PolicyType};
pub use rule::Rule;
pub use webhook::{
    AdmissionRule, FailurePolicy, LabelSelector, LabelSelectorRequirement, MatchCondition, MatchPolicy,
    ReinvocationPolicy, RuleDescription, Scope, SideEffects, WebhookDescription, WebhookType,
};

/// The version of the JSON form. It changes when a tool that reads the form as it was would misread the new one.
pub const VERSION: u32 = 1;

/// An operator: its controllers, webhooks, policies, conversions and kinds, and the permissions each of them needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The version of this form: [`VERSION`].
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
    /// The kinds that its program serves itself, as an aggregated API, one entry per version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregated: Vec<DefinitionDescription>,
    /// The admission policies it brings with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyDescription>,
    /// What it needs to be allowed everywhere (a `ClusterRole`): to read what it declares, to write events, and what its rules
    /// say.
    pub rules: Vec<Rule>,
    /// What it needs in its own namespace (a `Role`) to elect a leader.
    #[serde(default)]
    pub leader_election_rules: Vec<Rule>,
    /// What it needs everywhere to know who may read its metrics.
    #[serde(default)]
    pub metrics_auth_rules: Vec<Rule>,
    /// The rules that readers of its metrics need.
    #[serde(default)]
    pub metrics_reader_rules: Vec<Rule>,
    /// What it needs everywhere if it makes its own certificates: to tell the API server of them.
    #[serde(default)]
    pub certificate_rules: Vec<Rule>,
    /// What it needs in its own namespace if it makes its own certificates: to keep them.
    #[serde(default)]
    pub certificate_namespace_rules: Vec<Rule>,
}

impl Description {
    /// An operator without controllers, webhooks or kinds: it has the rules that every manager needs, and no others.
    pub fn new(name: impl Into<String>) -> Self {
        Description {
            version: VERSION,
            name: name.into(),
            controllers: Vec::new(),
            webhooks: Vec::new(),
            conversions: Vec::new(),
            definitions: Vec::new(),
            aggregated: Vec::new(),
            policies: Vec::new(),
            rules: Vec::new(),
            leader_election_rules: leader_election_rules(),
            metrics_auth_rules: vec![
                Rule::new(["authentication.k8s.io"], ["tokenreviews"], ["create"]),
                Rule::new(["authorization.k8s.io"], ["subjectaccessreviews"], ["create"]),
            ],
            metrics_reader_rules: vec![Rule::urls(["/metrics"], ["get"])],
            certificate_rules: Vec::new(),
            certificate_namespace_rules: Vec::new(),
        }
    }
}

/// kubebuilder's, without `ConfigMaps`, which are no longer used as locks. The second rule is for the events about who leads.
fn leader_election_rules() -> Vec<Rule> {
    let all = ["get", "list", "watch", "create", "update", "patch", "delete"];
    vec![
        Rule::new(vec!["coordination.k8s.io"], vec!["leases"], all.to_vec()),
        Rule::new(["events.k8s.io"], ["events"], ["create", "patch"]),
    ]
}
