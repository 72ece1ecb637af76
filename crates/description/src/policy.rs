//! Admission policies that an operator brings with it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which kind of policy it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PolicyType {
    /// A `ValidatingAdmissionPolicy`.
    Validating,
    /// A `MutatingAdmissionPolicy`.
    Mutating,
}

/// A policy with its binding, in the words of their objects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDescription {
    /// Which kind of policy it is.
    #[serde(rename = "type")]
    pub role: PolicyType,
    /// The name of the policy and of its binding, which an installation puts the operator's before.
    pub name: String,
    /// `spec` of the policy.
    pub spec: Value,
    /// `spec` of the binding, without the name of the policy.
    pub binding: Value,
}
