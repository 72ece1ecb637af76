//! A webhook of a configuration, compiled, and whether it is called for a request (A6).

use serde_json::Value;

use crate::attributes::{Attributes, GroupVersionKind, GroupVersionResource};
use crate::client_config::ClientConfig;
use crate::conditions::Conditions;
use crate::rules::Rule;
use crate::selectors::{Selectors, Undecided};

/// When webhooks are called: while the object may still change, or when it is final (A1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// `MutatingWebhookConfiguration`
    Mutating,
    /// `ValidatingWebhookConfiguration`
    Validating,
}

/// What a failed call means (A7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The request fails.
    Fail,
    /// The request goes on without the webhook.
    Ignore,
}

impl FailurePolicy {
    /// The `failurePolicy` of a webhook or of the spec of a policy.
    pub(crate) fn read(owner: &Value) -> FailurePolicy {
        match owner.get("failurePolicy").and_then(Value::as_str) {
            Some("Ignore") => FailurePolicy::Ignore,
            _ => FailurePolicy::Fail,
        }
    }
}

/// Which side effects a webhook declares (A9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideEffects {
    /// It declares nothing.
    Unstated,
    /// `None` or `NoneOnDryRun`.
    NoneOnDryRun,
    /// `Some` or `Unknown`.
    Some,
}

/// A webhook of a configuration.
#[derive(Debug)]
pub struct Webhook {
    /// The name of the configuration.
    pub configuration: String,
    /// The webhook's name.
    pub name: String,
    /// Unique among the webhooks of its phase.
    pub id: String,
    /// Where it is; `None` when the configuration does not say.
    pub client: Option<ClientConfig>,
    /// What a failed call means.
    pub failure_policy: FailurePolicy,
    /// Which side effects it declares.
    pub side_effects: SideEffects,
    /// How long it may take, in seconds.
    pub timeout_seconds: Option<u64>,
    /// The versions of reviews it understands, in order of preference.
    pub review_versions: Vec<String>,
    /// Whether it is called again when another changed the object after it (A8).
    pub reinvoke: bool,
    /// Its match conditions.
    pub conditions: Conditions,
    equivalent: bool,
    rules: Vec<Rule>,
    selectors: Selectors,
}

/// A call to be made: the version of resource and kind in which the webhook gets the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The resource the rule is about, which may be another version of the requested one.
    pub resource: GroupVersionResource,
    /// The kind in which the objects are shown.
    pub kind: GroupVersionKind,
}

impl Webhook {
    /// Compiles the webhooks of a configuration, in their order.
    pub fn read(configuration: &Value) -> Vec<Webhook> {
        let name = configuration.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        let hooks = configuration.get("webhooks").and_then(Value::as_array);
        let mut read: Vec<Webhook> = Vec::new();
        for hook in hooks.into_iter().flatten() {
            let own = hook.get("name").and_then(Value::as_str).unwrap_or_default();
            let namesakes = read.iter().filter(|other| other.name == own).count();
            read.push(Webhook::compile(name, own, namesakes, hook));
        }
        read
    }

    fn compile(configuration: &str, name: &str, namesakes: usize, hook: &Value) -> Webhook {
        let text = |key: &str| hook.get(key).and_then(Value::as_str);
        let list = |key: &str| hook.get(key).and_then(Value::as_array).into_iter().flatten();
        let failure_policy = FailurePolicy::read(hook);
        Webhook {
            configuration: configuration.to_owned(),
            name: name.to_owned(),
            id: format!("{configuration}/{name}/{namesakes}"),
            client: hook.get("clientConfig").and_then(ClientConfig::read),
            failure_policy,
            side_effects: match text("sideEffects") {
                None => SideEffects::Unstated,
                Some("None" | "NoneOnDryRun") => SideEffects::NoneOnDryRun,
                Some(_) => SideEffects::Some,
            },
            timeout_seconds: hook.get("timeoutSeconds").and_then(Value::as_u64),
            review_versions: list("admissionReviewVersions")
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            reinvoke: text("reinvocationPolicy") == Some("IfNeeded"),
            conditions: Conditions::read(list("matchConditions"), failure_policy),
            equivalent: text("matchPolicy") == Some("Equivalent"),
            rules: list("rules").map(Rule::read).collect(),
            selectors: Selectors::read(hook),
        }
    }

    /// In which version, if at all, this webhook gets a request, its match conditions aside.
    ///
    /// `equivalents` are the other resources and kinds under which the same objects are served, in discovery's order.
    /// `namespace_labels` is called only when the answer depends on it; its error counts only for a request that matches
    /// otherwise.
    pub fn invocation<E>(
        &self,
        attributes: &Attributes,
        object: &Value,
        old: &Value,
        equivalents: &[(GroupVersionResource, GroupVersionKind)],
        namespace_labels: impl FnOnce() -> Result<Value, E>,
    ) -> Result<Option<Invocation>, Undecided<E>> {
        let Some(invocation) = self.by_rules(attributes, equivalents) else {
            return Ok(None);
        };
        let selected = self.selectors.select(attributes, object, old, namespace_labels)?;
        Ok(selected.then_some(invocation))
    }

    /// Tries the rules in their order, each for the requested resource before its equivalents.
    fn by_rules(
        &self,
        attributes: &Attributes,
        equivalents: &[(GroupVersionResource, GroupVersionKind)],
    ) -> Option<Invocation> {
        let matches = |rule: &Rule, place: &GroupVersionResource| {
            rule.matches(
                attributes.operation,
                place,
                &attributes.subresource,
                &attributes.namespace,
            )
        };
        if self.rules.iter().any(|rule| matches(rule, &attributes.resource)) {
            return Some(Invocation {
                resource: attributes.resource.clone(),
                kind: attributes.kind.clone(),
            });
        }
        if !self.equivalent {
            return None;
        }
        self.rules.iter().find_map(|rule| {
            let (place, kind) = equivalents.iter().find(|(place, _)| matches(rule, place))?;
            Some(Invocation {
                resource: place.clone(),
                kind: kind.clone(),
            })
        })
    }
}

/// Whether no webhook is called for this kind, so that none can prevent changes of its own configuration (A10).
pub fn is_exempt(kind: &GroupVersionKind) -> bool {
    kind.group == "admissionregistration.k8s.io"
        && matches!(
            kind.kind.as_str(),
            "ValidatingWebhookConfiguration"
                | "MutatingWebhookConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
                | "MutatingAdmissionPolicy"
                | "MutatingAdmissionPolicyBinding"
        )
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::json;

    use super::*;
    use crate::attributes::{Operation, UserInfo};

    fn hook(extra: &Value) -> Webhook {
        let mut hook = json!({
            "name": "a.example.com",
            "rules": [{"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["things"]}],
        });
        for (key, value) in extra.as_object().unwrap() {
            hook[key] = value.clone();
        }
        Webhook::read(&json!({"metadata": {"name": "c"}, "webhooks": [hook]})).remove(0)
    }

    fn attributes(version: &str) -> Attributes {
        Attributes {
            operation: Operation::Create,
            kind: GroupVersionKind::new("apps", version, "Thing"),
            resource: GroupVersionResource::new("apps", version, "things"),
            subresource: String::new(),
            name: "x".into(),
            namespace: "n".into(),
            user: UserInfo::default(),
            dry_run: false,
            options: Value::Null,
        }
    }

    fn shown(hook: &Webhook, version: &str, object: &Value, old: &Value, labels: &Value) -> Option<String> {
        let equivalents = ["v1", "v2"].map(|version| {
            (
                GroupVersionResource::new("apps", version, "things"),
                GroupVersionKind::new("apps", version, "Thing"),
            )
        });
        hook.invocation(&attributes(version), object, old, &equivalents, || {
            Ok::<_, Infallible>(labels.clone())
        })
        .unwrap()
        .map(|invocation| invocation.kind.version)
    }

    #[test]
    fn an_equivalent_version_is_sent_in_the_version_the_rule_names() {
        let nothing = &Value::Null;
        let exact = hook(&json!({"matchPolicy": "Exact"}));
        assert_eq!(shown(&exact, "v2", nothing, nothing, nothing), None);
        assert_eq!(shown(&exact, "v1", nothing, nothing, nothing).as_deref(), Some("v1"));
        let equivalent = hook(&json!({"matchPolicy": "Equivalent"}));
        assert_eq!(
            shown(&equivalent, "v2", nothing, nothing, nothing).as_deref(),
            Some("v1")
        );
    }

    #[test]
    fn an_object_is_selected_by_its_old_or_its_new_labels() {
        let hook = hook(&json!({"objectSelector": {"matchLabels": {"a": "b"}}}));
        let (with, without) = (
            json!({"metadata": {"labels": {"a": "b"}}}),
            json!({"metadata": {"name": "x"}}),
        );
        for (object, old, wanted) in [
            (&with, &without, true),
            (&without, &with, true),
            (&without, &without, false),
            (&Value::Null, &with, true),
            (&Value::Null, &Value::Null, false),
        ] {
            let found = shown(&hook, "v1", object, old, &Value::Null).is_some();
            assert_eq!(found, wanted, "{object} {old}");
        }
    }

    #[test]
    fn a_missing_namespace_matters_only_to_a_request_that_matches_otherwise() {
        let hook = hook(&json!({"namespaceSelector": {"matchLabels": {"a": "b"}}}));
        let missing = || Err::<Value, _>("gone");
        let nothing = &Value::Null;
        let found = hook.invocation(&attributes("v1"), nothing, nothing, &[], missing);
        assert_eq!(found, Err(Undecided::Namespace("gone")));
        let found = hook.invocation(&attributes("v9"), nothing, nothing, &[], missing);
        assert_eq!(found, Ok(None));
    }

    #[test]
    fn webhooks_of_one_name_have_different_ids() {
        let hooks = json!({"metadata": {"name": "c"}, "webhooks": [{"name": "a"}, {"name": "b"}, {"name": "a"}]});
        let ids: Vec<String> = Webhook::read(&hooks).into_iter().map(|hook| hook.id).collect();
        assert_eq!(ids, ["c/a/0", "c/b/0", "c/a/1"]);
    }
}
