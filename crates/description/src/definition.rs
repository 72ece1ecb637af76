//! The kinds an operator brings with it, and how they are converted: from these a tool makes `CustomResourceDefinition`s.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One version of a kind that an operator brings with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionDescription {
    /// The API group.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The resource's name in paths.
    pub plural: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// The Rust type, for messages.
    pub ty: String,
    /// The `CustomResourceDefinition` of this version alone, without a schema.
    pub definition: Value,
    /// The JSON Schema of the type as `schemars` writes it, with its definitions; not yet a structural one.
    pub schema: Value,
    /// Why the definition is not whole, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<DefinitionProblem>,
}

/// Why a program could not describe one of its kinds in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionProblem {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// A kind that is converted between its versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversionDescription {
    /// The name of its `CustomResourceDefinition`.
    pub definition: String,
    /// Group and version of the hub, to and from which all others are converted.
    pub hub: String,
    /// Kind.
    pub kind: String,
    /// All its versions.
    pub versions: Vec<String>,
}
