//! What stands in the way of a definition: all of it at once, each with the type, the place and what to write instead.

use std::fmt;

use crate::schema::Mistake;

/// Something that keeps a kind from having a definition.
///
/// ```
/// use kubewright_manifests::definitions::Problem;
///
/// let problem = Problem {
///     ty: "shop::Cart".into(),
///     source: Some("src/cart.rs:3".into()),
///     field: Some("spec.size".into()),
///     field_ty: Some("CartSpec".into()),
///     problem: "a tuple has no structural schema".into(),
///     hint: "use a struct with named fields".into(),
/// };
/// assert_eq!(
///     problem.to_string(),
///     "src/cart.rs:3: shop::Cart: spec.size (type CartSpec): a tuple has no structural schema; use a struct with named fields"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The Rust type of the kind.
    pub ty: String,
    /// File and line, where they are known.
    pub source: Option<String>,
    /// The field, if it is one that is wrong.
    pub field: Option<String>,
    /// The Rust type that is nearest to the field.
    pub field_ty: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub hint: String,
}

impl Problem {
    pub(super) fn new(ty: &str, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Problem {
            ty: ty.to_owned(),
            source: None,
            field: None,
            field_ty: None,
            problem: problem.into(),
            hint: hint.into(),
        }
    }

    pub(super) fn of(ty: &str, mistake: Mistake) -> Self {
        Problem {
            ty: ty.to_owned(),
            source: mistake.source,
            field: Some(mistake.field),
            field_ty: mistake.ty,
            problem: mistake.problem,
            hint: mistake.hint,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(source) = &self.source {
            write!(f, "{source}: ")?;
        }
        write!(f, "{}: ", self.ty)?;
        if let Some(field) = &self.field {
            write!(f, "{field}")?;
            if let Some(ty) = &self.field_ty {
                write!(f, " (type {ty})")?;
            }
            write!(f, ": ")?;
        }
        write!(f, "{}; {}", self.problem, self.hint)
    }
}

/// All that stands in the way, one line each.
///
/// ```
/// use kubewright_manifests::definitions::Problems;
///
/// assert_eq!(Problems(Vec::new()).to_string(), "");
/// ```
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
