//! What a webhook configuration says about one webhook.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kubewright_description::{
    AdmissionRule, FailurePolicy, MatchCondition, MatchPolicy, ReinvocationPolicy, Scope, SideEffects,
};

use super::request::Operation;

/// What a webhook configuration says about one webhook. The defaults are kubebuilder's: create and update, `Fail`, no side
/// effects, `v1`.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kubewright_runtime::webhook::{AdmissionRequest, FailurePolicy, Operation, Webhook};
///
/// let webhook = Webhook::of::<Deployment>()
///     .defaulter(|_: &mut Deployment, _: &AdmissionRequest| Ok(()))
///     .mutating(|settings| {
///         settings.name("replicas.shop.example.com").operations([Operation::Create]).failure_policy(FailurePolicy::Ignore)
///     });
/// let description = webhook.describe().remove(0);
/// assert_eq!(description.name, "replicas.shop.example.com");
/// assert_eq!(description.rules[0].operations, ["CREATE"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub(super) name: Option<String>,
    pub(super) path: Option<String>,
    pub(super) rules: Vec<AdmissionRule>,
    pub(super) operations: Vec<Operation>,
    pub(super) scope: Option<Scope>,
    pub(super) failure_policy: FailurePolicy,
    pub(super) side_effects: SideEffects,
    pub(super) timeout_seconds: Option<i32>,
    pub(super) match_policy: Option<MatchPolicy>,
    pub(super) namespace_selector: Option<LabelSelector>,
    pub(super) object_selector: Option<LabelSelector>,
    pub(super) match_conditions: Vec<MatchCondition>,
    pub(super) reinvocation_policy: Option<ReinvocationPolicy>,
    pub(super) review_versions: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            name: None,
            path: None,
            rules: Vec::new(),
            operations: vec![Operation::Create, Operation::Update],
            scope: None,
            failure_policy: FailurePolicy::Fail,
            side_effects: SideEffects::None,
            timeout_seconds: None,
            match_policy: None,
            namespace_selector: None,
            object_selector: None,
            match_conditions: Vec::new(),
            reinvocation_policy: None,
            review_versions: vec!["v1".to_owned()],
        }
    }
}

impl Settings {
    /// Its name: at least three words with dots, unique in the cluster's configuration. Default: `m<kind>.kb.io` or
    /// `v<kind>.kb.io`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Where it is served. Default: `/mutate-<group>-<version>-<kind>` or `/validate-<group>-<version>-<kind>`, with dashes for
    /// the group's dots.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// What it is asked about, instead of the webhook's kind. May be called several times.
    pub fn rule(mut self, rule: AdmissionRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Which operations it is asked about. Default: create and update.
    pub fn operations(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.operations = operations.into_iter().collect();
        self
    }

    /// Whether it is asked about objects in namespaces, of the cluster, or both. Default: both.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// What happens when it cannot be asked. Default: the request fails.
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.failure_policy = policy;
        self
    }

    /// Whether it does anything besides answering. Default: no.
    pub fn side_effects(mut self, side_effects: SideEffects) -> Self {
        self.side_effects = side_effects;
        self
    }

    /// How long the server waits for the answer: 1 to 30. Default: the server's, 10.
    pub fn timeout_seconds(mut self, seconds: i32) -> Self {
        self.timeout_seconds = Some(seconds);
        self
    }

    /// Whether it is asked about other versions of the kind. Default: the server's, it is.
    pub fn match_policy(mut self, policy: MatchPolicy) -> Self {
        self.match_policy = Some(policy);
        self
    }

    /// It is asked only about objects in namespaces with these labels.
    pub fn namespace_selector(mut self, selector: LabelSelector) -> Self {
        self.namespace_selector = Some(selector);
        self
    }

    /// It is asked only about objects with these labels, before or after.
    pub fn object_selector(mut self, selector: LabelSelector) -> Self {
        self.object_selector = Some(selector);
        self
    }

    /// It is asked only where this CEL expression is true. May be called several times.
    pub fn match_condition(mut self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        self.match_conditions.push(MatchCondition::new(name, expression));
        self
    }

    /// Whether it is asked again when a later webhook changed the object; only for mutating ones. Default: the server's, no.
    pub fn reinvocation_policy(mut self, policy: ReinvocationPolicy) -> Self {
        self.reinvocation_policy = Some(policy);
        self
    }

    /// Which versions of `AdmissionReview` the server may send, best first. Default: `v1`.
    pub fn review_versions(mut self, versions: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.review_versions = versions.into_iter().map(Into::into).collect();
        self
    }
}
