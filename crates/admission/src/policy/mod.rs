//! Admission policies (A13, A14): compiled once when they are written, evaluated without I/O.
//!
//! A [`ValidatingPolicy`] and its [`Binding`]s are read from their objects. [`MatchResources`] says whether one of them is about a request and
//! in which version of its kind; [`ValidatingPolicy::evaluate`] says what it thinks of it. Whoever calls these finds params and
//! namespaces, and knows what [`reads`](ValidatingPolicy::reads) says is needed at all.
//!
//! ```
//! use kubewright_admission::policy::{Request, RequestVariable, ValidatingPolicy};
//! use serde_json::{Value, json};
//! # use kubewright_admission::{Attributes, GroupVersionKind, GroupVersionResource, Operation, UserInfo};
//! # let attributes = Attributes {
//! #     operation: Operation::Create,
//! #     kind: GroupVersionKind::new("", "v1", "ConfigMap"),
//! #     resource: GroupVersionResource::new("", "v1", "configmaps"),
//! #     subresource: String::new(),
//! #     name: "a".into(),
//! #     namespace: "shop".into(),
//! #     user: UserInfo::default(),
//! #     dry_run: false,
//! #     options: Value::Null,
//! # };
//!
//! let policy = ValidatingPolicy::read(&json!({
//!     "metadata": { "name": "few-keys" },
//!     "spec": {
//!         "matchConstraints": { "resourceRules": [{
//!             "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
//!         }] },
//!         "variables": [{ "name": "keys", "expression": "object.data.size()" }],
//!         "validations": [{
//!             "expression": "variables.keys < 2",
//!             "messageExpression": "'one key is enough, not ' + string(variables.keys)",
//!         }],
//!     },
//! }));
//! let object = json!({ "data": { "a": "1", "b": "2" } });
//! let variable = RequestVariable::default();
//! let request = Request::new(&attributes, &attributes.kind, &attributes.resource, &object, &Value::Null, &variable);
//! assert_eq!(policy.evaluate(&request).failures[0].message, "one key is enough, not 2");
//! ```

mod binding;
mod composition;
mod matching;
mod mutating;
mod published;
mod request;
mod type_check;
mod validating;

pub use binding::{Action, Binding, ParamRef};
pub(crate) use composition::Composition;
pub use composition::PolicyExpressions;
pub use matching::{MatchResources, MatchedVersion};
pub use mutating::{Change, MutatingPolicy};
pub use published::published_type;
pub use request::{Reads, Request, RequestVariable};
pub use type_check::{ExpressionWarning, TypeMistake, check_types, kind_of_params, kinds_to_check, type_mistakes};
pub use validating::{Annotation, Failure, FailureReason, ValidatingPolicy, Verdict};

use crate::attributes::{GroupVersionKind, GroupVersionResource};

/// What all expressions of a policy may cost together, for one request and one binding.
pub const MAX_COST: u64 = kubewright_cel::limits::PER_OBJECT;

/// Whether no policy is evaluated for this resource: for policies themselves, so that none can prevent its own change, and for
/// the reviews that a cluster could not work without.
pub fn is_exempt(resource: &GroupVersionResource) -> bool {
    match resource.group.as_str() {
        "admissionregistration.k8s.io" => matches!(
            resource.resource.as_str(),
            "validatingadmissionpolicies"
                | "validatingadmissionpolicybindings"
                | "mutatingadmissionpolicies"
                | "mutatingadmissionpolicybindings"
        ),
        "authentication.k8s.io" => matches!(resource.resource.as_str(), "selfsubjectreviews" | "tokenreviews"),
        "authorization.k8s.io" => matches!(
            resource.resource.as_str(),
            "localsubjectaccessreviews"
                | "selfsubjectaccessreviews"
                | "selfsubjectrulesreviews"
                | "subjectaccessreviews"
        ),
        _ => false,
    }
}

/// The kind that a `paramKind` names.
fn param_kind(spec: &serde_json::Value) -> Option<GroupVersionKind> {
    let kind = spec.get("paramKind").filter(|kind| !kind.is_null())?;
    let text = |key: &str| kind.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    Some(GroupVersionKind::new(group, version, text("kind")))
}
