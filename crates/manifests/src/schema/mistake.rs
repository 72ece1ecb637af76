//! What is wrong with a type, where, and what to do about it.

use std::fmt;

/// A part of a type that no `CustomResourceDefinition` can describe.
///
/// ```
/// use kubewright_manifests::schema::structural;
/// use serde_json::json;
///
/// let unit = json!({ "type": "null", "x-kubewright-source": "src/tree.rs:7" });
/// let mistake = &structural(&unit, "spec").unwrap_err()[0];
/// assert!(mistake.to_string().starts_with("src/tree.rs:7: spec: "), "{mistake}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The field: `spec.rules[].port`.
    pub field: String,
    /// The Rust type the field is of, where its name is known.
    pub ty: Option<String>,
    /// File and line of the field or its type, where the schema tells them.
    pub source: Option<String>,
    /// What is wrong with it.
    pub problem: String,
    /// What to do instead.
    pub hint: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(source) = &self.source {
            write!(f, "{source}: ")?;
        }
        write!(f, "{}", self.field)?;
        if let Some(ty) = &self.ty {
            write!(f, " (type {ty})")?;
        }
        write!(f, ": {}; {}", self.problem, self.hint)
    }
}

impl std::error::Error for Mistake {}
