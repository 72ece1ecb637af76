//! The kinds of `admissionregistration.k8s.io`: webhooks and policies that have a say in writes. Expressions of policies
//! are not compiled here; everything around them is checked.

mod policy;
mod rule;
pub mod url;
mod webhook;

use serde_json::Value;

use crate::rules::access::str_at;
pub(crate) use policy::{
    MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
};
pub(crate) use webhook::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};

/// Names that configurations read from files will have one day.
const RESERVED_SUFFIX: &str = ".static.k8s.io";

/// What a client should hear about a name that is reserved.
fn reserved_name_warning(object: &Value) -> Vec<String> {
    if !str_at(object, &["metadata", "name"]).ends_with(RESERVED_SUFFIX) {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: names ending with \"{RESERVED_SUFFIX}\" are reserved for static manifest-based configurations and cannot be managed via the API"
    )]
}
