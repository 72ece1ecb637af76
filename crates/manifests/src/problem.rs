//! What keeps a type from having a definition: where it is in the program, what is wrong with it, and what to do about it.
//! All messages about types are printed here.

use std::fmt;

/// A part of a program: a type, a field of it, or a keyword of the field's schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// File and line, where the type tells them.
    pub source: Option<String>,
    /// The Rust type of the kind; `None` where a schema is looked at without its kind.
    pub ty: Option<String>,
    /// The version of the kind, where it matters.
    pub version: Option<String>,
    /// The field, if it is about one: `spec.rules[].port`.
    pub field: Option<String>,
    /// The part of the field's schema: `x-kubernetes-validations[0].rule`.
    pub keyword: Option<String>,
    /// The Rust type that is nearest to the field.
    pub field_ty: Option<String>,
}

impl Location {
    /// The Rust type of a kind, as a whole.
    pub(crate) fn of_type(ty: &str) -> Self {
        Location {
            ty: Some(ty.to_owned()),
            ..Location::default()
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(source) = &self.source {
            write!(f, "{source}: ")?;
        }
        let parts = [self.field.as_deref(), self.keyword.as_deref()];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        if let Some(ty) = &self.ty {
            write!(f, "{ty}")?;
            if let Some(version) = &self.version {
                write!(f, " ({version})")?;
            }
            if !parts.is_empty() {
                write!(f, ": ")?;
            }
        }
        write!(f, "{}", parts.join(", "))?;
        match &self.field_ty {
            Some(ty) => write!(f, " (type {ty})"),
            None => Ok(()),
        }
    }
}

/// Something that keeps a type from having a definition.
///
/// ```
/// use kubewright_manifests::schema::structural;
/// use serde_json::json;
///
/// let unit = json!({ "type": "null", "x-kubewright-source": "src/tree.rs:7" });
/// let problem = &structural(&unit, "spec").unwrap_err()[0];
/// assert_eq!(problem.message, "a field that is always null says nothing");
/// assert!(problem.hint.starts_with("leave the field out"));
/// assert_eq!(problem.to_string(), format!("src/tree.rs:7: spec: {}; {}", problem.message, problem.hint));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it is.
    pub location: Location,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Problem {
    /// A problem of a kind's type as a whole.
    pub(crate) fn of_type(ty: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Problem {
            location: Location::of_type(ty),
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.location, self.message, self.hint)
    }
}

impl std::error::Error for Problem {}

/// All problems of an operator's types, one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n" };
            write!(f, "{line}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
