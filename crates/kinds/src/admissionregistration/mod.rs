//! The kinds of `admissionregistration.k8s.io`: admission webhooks and policies.

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

/// The suffix that upstream reserves for configurations that are read from files.
const RESERVED_SUFFIX: &str = ".static.k8s.io";

/// The warning about a reserved name.
fn reserved_name_warning(object: &Value) -> Vec<String> {
    if !str_at(object, &["metadata", "name"]).ends_with(RESERVED_SUFFIX) {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: names ending with \"{RESERVED_SUFFIX}\" are reserved for static manifest-based configurations and cannot be managed via the API"
    )]
}
