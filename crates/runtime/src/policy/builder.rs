//! Builds policies.

use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kubewright_description::{AdmissionRule, FailurePolicy, MatchPolicy, PolicyDescription, PolicyType};
use serde_json::{Map, Value, json};

use crate::object::{Kind, Object};
use crate::webhook::Operation;

/// Marks a policy that refuses: a `ValidatingAdmissionPolicy`.
#[derive(Clone, Copy, Debug)]
pub enum Validating {}

/// Marks a policy that changes: a `MutatingAdmissionPolicy`.
#[derive(Clone, Copy, Debug)]
pub enum Mutating {}

/// What happens where a rule does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// The request is refused.
    Deny,
    /// The client is warned. Not together with [`Deny`](Action::Deny), which says the same.
    Warn,
    /// It is written into the audit log.
    Audit,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Action::Deny => "Deny",
            Action::Warn => "Warn",
            Action::Audit => "Audit",
        }
    }
}

/// Why a request is refused, for programs: the reason of the `Status`, which has a code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The object is wrong: 422.
    Invalid,
    /// Whoever asks may not: 403.
    Forbidden,
    /// There is too much of it: 413.
    RequestEntityTooLarge,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Reason::Invalid => "Invalid",
            Reason::Forbidden => "Forbidden",
            Reason::RequestEntityTooLarge => "RequestEntityTooLarge",
        }
    }
}

/// An admission policy with its binding. See [the module](crate::policy) for an example.
///
/// It is about every object of its kinds, in all namespaces, unless it says otherwise. What is wrong with it, the API server says:
/// `kubewright manifests` and `TestEnv` ask one.
#[derive(Clone, Debug)]
pub struct Policy<T> {
    name: String,
    kinds: Vec<AdmissionRule>,
    exceptions: Vec<AdmissionRule>,
    operations: Vec<String>,
    spec: Map<String, Value>,
    constraints: Map<String, Value>,
    binding: Map<String, Value>,
    /// The reason of the rules that follow.
    reason: Option<Reason>,
    of: PhantomData<T>,
}

impl Policy<Validating> {
    /// A policy that refuses what its rules do not allow.
    ///
    /// Its name is unique among the policies of the operator, whose name an installation puts before it.
    pub fn validating(name: impl Into<String>) -> Self {
        let mut policy = Policy::new(name);
        policy.binding.insert("validationActions".to_owned(), json!(["Deny"]));
        policy
    }

    /// An expression that has to be true, and the message for where it is not.
    pub fn rule(self, expression: impl Into<String>, message: impl Into<String>) -> Self {
        let (expression, message) = (expression.into(), message.into());
        self.validation(json!({ "expression": expression, "message": message }))
    }

    /// An expression that has to be true, and an expression for the message where it is not.
    pub fn rule_saying(self, expression: impl Into<String>, message: impl Into<String>) -> Self {
        let (expression, message) = (expression.into(), message.into());
        self.validation(json!({ "expression": expression, "messageExpression": message }))
    }

    /// Why the rules that are named after this refuse. Default: [`Reason::Invalid`].
    pub fn reason(mut self, reason: Reason) -> Self {
        self.reason = Some(reason);
        self
    }

    fn validation(self, mut validation: Value) -> Self {
        if let Some(reason) = self.reason {
            validation["reason"] = reason.name().into();
        }
        self.add("validations", validation)
    }

    /// What happens where a rule does not hold. Default: [`Action::Deny`].
    pub fn actions(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        let actions: Vec<&str> = actions.into_iter().map(Action::name).collect();
        self.binding.insert("validationActions".to_owned(), json!(actions));
        self
    }

    /// An annotation in the audit log, under `<policy>/<key>`; where the expression is null, there is none.
    pub fn audit_annotation(self, key: impl Into<String>, expression: impl Into<String>) -> Self {
        let (key, expression) = (key.into(), expression.into());
        self.add("auditAnnotations", json!({ "key": key, "valueExpression": expression }))
    }
}

impl Policy<Mutating> {
    /// A policy that changes objects. API servers have the kind from Kubernetes 1.36 on.
    ///
    /// Its name is unique among the policies of the operator, whose name an installation puts before it.
    pub fn mutating(name: impl Into<String>) -> Self {
        let mut policy = Policy::new(name);
        policy.spec.insert("reinvocationPolicy".to_owned(), "Never".into());
        policy
    }

    /// Merges what an expression evaluates to, as in `Object{spec: Object.spec{replicas: 1}}`, as server-side apply does.
    pub fn apply(self, expression: impl Into<String>) -> Self {
        let configuration = json!({ "expression": expression.into() });
        let mutation = json!({ "patchType": "ApplyConfiguration", "applyConfiguration": configuration });
        self.add("mutations", mutation)
    }

    /// Applies the JSON patch that an expression evaluates to, as in `[JSONPatch{op: 'remove', path: '/spec/a'}]`.
    pub fn patch(self, expression: impl Into<String>) -> Self {
        let patch = json!({ "expression": expression.into() });
        self.add("mutations", json!({ "patchType": "JSONPatch", "jsonPatch": patch }))
    }

    /// Is evaluated again if the object is changed after it. Default: once.
    pub fn reinvoked(mut self) -> Self {
        self.spec.insert("reinvocationPolicy".to_owned(), "IfNeeded".into());
        self
    }
}

impl<T> Policy<T> {
    fn new(name: impl Into<String>) -> Self {
        Policy {
            name: name.into(),
            kinds: Vec::new(),
            exceptions: Vec::new(),
            operations: vec!["CREATE".to_owned(), "UPDATE".to_owned()],
            spec: Map::new(),
            constraints: Map::new(),
            binding: Map::new(),
            reason: None,
            of: PhantomData,
        }
    }

    fn add(mut self, list: &str, item: Value) -> Self {
        let list = self.spec.entry(list).or_insert_with(|| json!([]));
        if let Some(items) = list.as_array_mut() {
            items.push(item);
        }
        self
    }

    /// It is about objects of this kind, and, if others were named, about these, too.
    pub fn of<K: Object>(self) -> Self {
        let kind = Kind::of::<K>();
        self.resources(AdmissionRule::new([kind.group()], [kind.version()], [kind.plural()]))
    }

    /// It is about these resources, and, if others were named, about these, too.
    pub fn resources(mut self, rule: AdmissionRule) -> Self {
        self.kinds.push(rule);
        self
    }

    /// It is not about these resources, though they are among those that were named.
    pub fn except(mut self, rule: AdmissionRule) -> Self {
        self.exceptions.push(rule);
        self
    }

    /// Whether it is about other versions of what was named, too. Default: it is, and sees them in the version that was named.
    pub fn match_policy(mut self, policy: MatchPolicy) -> Self {
        self.constraints.insert("matchPolicy".to_owned(), json!(policy));
        self
    }

    /// Which operations it is about. Default: create and update. For a deletion, `object` is null.
    pub fn operations(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.operations = operations
            .into_iter()
            .map(|operation| operation.as_str().to_owned())
            .collect();
        self
    }

    /// It is about objects in namespaces with these labels only.
    pub fn namespace_selector(mut self, selector: LabelSelector) -> Self {
        let selector = serde_json::to_value(selector).unwrap_or_default();
        self.constraints.insert("namespaceSelector".to_owned(), selector);
        self
    }

    /// It is about objects with these labels only.
    pub fn object_selector(mut self, selector: LabelSelector) -> Self {
        let selector = serde_json::to_value(selector).unwrap_or_default();
        self.constraints.insert("objectSelector".to_owned(), selector);
        self
    }

    /// A condition in CEL for requests that it is about; it cannot read variables.
    pub fn condition(self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        let (name, expression) = (name.into(), expression.into());
        self.add("matchConditions", json!({ "name": name, "expression": expression }))
    }

    /// Names an expression, which all later ones read as `variables.<name>`. It is evaluated when it is first read, and once.
    pub fn variable(self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        let (name, expression) = (name.into(), expression.into());
        self.add("variables", json!({ "name": name, "expression": expression }))
    }

    /// Lets expressions read an object of this kind and name as `params`. If the kind has namespaces, it is looked for in that of the
    /// request's object; [`params_namespace`](Self::params_namespace) names another one. Requests are refused while it is not there.
    ///
    /// Who installs the policy has to be allowed to read it.
    pub fn params<K: Object>(self, name: impl Into<String>) -> Self {
        self.params_by::<K>("name", name.into().into())
    }

    /// Like [`params`](Self::params), but all objects of this kind with these labels: everything has to hold for each of them.
    pub fn params_selected<K: Object>(self, selector: LabelSelector) -> Self {
        let selector = serde_json::to_value(selector).unwrap_or_default();
        self.params_by::<K>("selector", selector)
    }

    /// The policy is not in effect while there are no [`params`](Self::params), instead of refusing everything.
    pub fn params_may_be_missing(self) -> Self {
        self.params_reference("parameterNotFoundAction", "Allow".into())
    }

    fn params_by<K: Object>(mut self, how: &str, value: Value) -> Self {
        let kind = Kind::of::<K>();
        let param_kind = json!({ "apiVersion": kind.api_version(), "kind": kind.kind() });
        self.spec.insert("paramKind".to_owned(), param_kind);
        let reference = self.binding.entry("paramRef").or_insert_with(|| json!({}));
        if reference.get("parameterNotFoundAction").is_none() {
            reference["parameterNotFoundAction"] = "Deny".into();
        }
        self.params_reference(how, value)
    }

    fn params_reference(mut self, field: &str, value: Value) -> Self {
        let reference = self.binding.entry("paramRef").or_insert_with(|| json!({}));
        reference[field] = value;
        self
    }

    /// The namespace of the object that [`params`](Self::params) names.
    pub fn params_namespace(self, namespace: impl Into<String>) -> Self {
        self.params_reference("namespace", namespace.into().into())
    }

    /// What happens if it cannot be evaluated: because an expression fails, or reads a field that is not there. Default: the request is
    /// refused.
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.spec.insert("failurePolicy".to_owned(), json!(policy));
        self
    }

    fn described(mut self, role: PolicyType) -> PolicyDescription {
        let operations = &self.operations;
        let rules_of = |kinds: &[AdmissionRule]| -> Value {
            let rules = kinds.iter().map(|kind| {
                let mut resource = json!(kind);
                resource["operations"] = json!(operations);
                resource
            });
            rules.collect()
        };
        if !self.exceptions.is_empty() {
            let exceptions = rules_of(&self.exceptions);
            self.constraints.insert("excludeResourceRules".to_owned(), exceptions);
        }
        let rules = rules_of(&self.kinds);
        self.constraints.insert("resourceRules".to_owned(), rules);
        self.spec
            .insert("matchConstraints".to_owned(), Value::Object(self.constraints));
        PolicyDescription {
            role,
            name: self.name,
            spec: Value::Object(self.spec),
            binding: Value::Object(self.binding),
        }
    }
}

impl From<Policy<Validating>> for PolicyDescription {
    fn from(policy: Policy<Validating>) -> Self {
        policy.described(PolicyType::Validating)
    }
}

impl From<Policy<Mutating>> for PolicyDescription {
    fn from(policy: Policy<Mutating>) -> Self {
        policy.described(PolicyType::Mutating)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};

    use super::*;

    #[test]
    fn a_policy_is_described_in_the_words_of_its_objects() {
        let selector = LabelSelector {
            match_labels: Some([("tier".to_owned(), "production".to_owned())].into()),
            ..LabelSelector::default()
        };
        let policy = Policy::validating("images")
            .of::<Pod>()
            .resources(AdmissionRule::new([""], ["v1"], ["pods/ephemeralcontainers"]))
            .operations([Operation::Create])
            .namespace_selector(selector)
            .params::<ConfigMap>("images")
            .params_namespace("platform")
            .failure_policy(FailurePolicy::Ignore)
            .audit_annotation("image", "params.data.image")
            .rule("true", "never");
        let description = PolicyDescription::from(policy);
        assert_eq!(description.role, PolicyType::Validating);
        assert_eq!(
            description.spec,
            json!({
                "failurePolicy": "Ignore",
                "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
                "matchConstraints": {
                    "namespaceSelector": { "matchLabels": { "tier": "production" } },
                    "resourceRules": [
                        { "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"] },
                        {
                            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/ephemeralcontainers"],
                            "operations": ["CREATE"],
                        },
                    ],
                },
                "validations": [{ "expression": "true", "message": "never" }],
                "auditAnnotations": [{ "key": "image", "valueExpression": "params.data.image" }],
            })
        );
        assert_eq!(
            description.binding,
            json!({
                "validationActions": ["Deny"],
                "paramRef": { "name": "images", "namespace": "platform", "parameterNotFoundAction": "Deny" },
            })
        );
    }

    #[test]
    fn rules_have_the_reason_that_was_said_before_them_and_params_may_be_many_or_missing() {
        let selector = LabelSelector {
            match_labels: Some([("limits".to_owned(), "yes".to_owned())].into()),
            ..LabelSelector::default()
        };
        let policy = Policy::validating("limits")
            .resources(AdmissionRule::new(["*"], ["*"], ["*"]))
            .except(AdmissionRule::new([""], ["v1"], ["pods"]))
            .operations([Operation::Delete])
            .match_policy(MatchPolicy::Exact)
            .params_may_be_missing()
            .params_selected::<ConfigMap>(selector)
            .rule("true", "invalid")
            .reason(Reason::Forbidden)
            .rule("true", "forbidden")
            .rule_saying("true", "'forbidden'")
            .reason(Reason::RequestEntityTooLarge)
            .rule("true", "large");
        let description = PolicyDescription::from(policy);
        assert_eq!(
            description.spec["validations"],
            json!([
                { "expression": "true", "message": "invalid" },
                { "expression": "true", "message": "forbidden", "reason": "Forbidden" },
                { "expression": "true", "messageExpression": "'forbidden'", "reason": "Forbidden" },
                { "expression": "true", "message": "large", "reason": "RequestEntityTooLarge" },
            ])
        );
        let constraints = &description.spec["matchConstraints"];
        assert_eq!(constraints["matchPolicy"], "Exact");
        assert_eq!(
            constraints["excludeResourceRules"],
            json!([{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["DELETE"] }])
        );
        assert_eq!(
            description.binding["paramRef"],
            json!({ "selector": { "matchLabels": { "limits": "yes" } }, "parameterNotFoundAction": "Allow" })
        );
    }

    #[test]
    fn a_mutating_policy_has_its_mutations_in_order() {
        let policy = Policy::mutating("labels")
            .of::<Pod>()
            .patch("[]")
            .apply("Object{}")
            .reinvoked();
        let spec = PolicyDescription::from(policy).spec;
        assert_eq!(spec["reinvocationPolicy"], "IfNeeded");
        assert_eq!(
            spec["mutations"],
            json!([
                { "patchType": "JSONPatch", "jsonPatch": { "expression": "[]" } },
                { "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": "Object{}" } },
            ])
        );
    }
}
