//! The binding of a policy: to what, with which params, and what a failure does (A13).

use kubewright_apimachinery::labels::Selector;
use serde_json::Value;

use super::matching::MatchResources;

/// A `ValidatingAdmissionPolicyBinding` or a `MutatingAdmissionPolicyBinding`, compiled.
#[derive(Debug)]
pub struct Binding {
    /// Its name.
    pub name: String,
    /// The name of the policy.
    pub policy: String,
    /// What a failed validation does, in the order of the binding; none for the binding of a mutating policy.
    pub actions: Vec<Action>,
    /// Where its params are.
    pub param_ref: Option<ParamRef>,
    /// To which of the policy's requests it is bound; all, if it does not say.
    pub matches: Option<MatchResources>,
}

/// What a failed validation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The request is refused.
    Deny,
    /// The client is warned.
    Warn,
    /// The audit event is annotated.
    Audit,
}

/// Where the params of a binding are.
#[derive(Debug)]
pub struct ParamRef {
    /// The name of the object; empty if it is found by labels.
    pub name: String,
    /// Its namespace; empty for that of the request.
    pub namespace: String,
    /// The labels of the objects, or why they cannot be selected by; `None` for params with a name.
    pub selector: Option<Result<Selector, String>>,
    /// Whether requests are refused when there are none.
    pub deny_missing: bool,
}

impl Action {
    /// Its name in a binding.
    pub fn name(self) -> &'static str {
        match self {
            Action::Deny => "Deny",
            Action::Warn => "Warn",
            Action::Audit => "Audit",
        }
    }
}

impl Binding {
    /// Compiles a binding.
    pub fn read(binding: &Value) -> Binding {
        let name = binding.pointer("/metadata/name").and_then(Value::as_str);
        let spec = binding.get("spec").unwrap_or(&Value::Null);
        let present = |key: &str| spec.get(key).filter(|value| !value.is_null());
        let actions = spec.get("validationActions").and_then(Value::as_array);
        Binding {
            name: name.unwrap_or_default().to_owned(),
            policy: spec
                .get("policyName")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            actions: actions
                .into_iter()
                .flatten()
                .filter_map(|action| match action.as_str()? {
                    "Deny" => Some(Action::Deny),
                    "Warn" => Some(Action::Warn),
                    "Audit" => Some(Action::Audit),
                    _ => None,
                })
                .collect(),
            param_ref: present("paramRef").map(ParamRef::read),
            matches: present("matchResources").map(MatchResources::read),
        }
    }
}

impl ParamRef {
    fn read(reference: &Value) -> ParamRef {
        let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
        let selector = reference.get("selector").filter(|selector| !selector.is_null());
        ParamRef {
            name: text("name").to_owned(),
            namespace: text("namespace").to_owned(),
            selector: selector
                .map(|selector| Selector::from_label_selector(selector).map_err(|error| error.to_string())),
            deny_missing: text("parameterNotFoundAction") == "Deny",
        }
    }
}
