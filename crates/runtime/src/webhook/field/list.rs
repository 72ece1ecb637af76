//! Mistakes collected into one refusal.

use kube::core::Status;
use kube::core::response::{StatusCause, StatusDetails, StatusSummary};
use kubewright_apimachinery::field::aggregate;
use kubewright_apimachinery::go::quote;

use super::FieldError;
use crate::webhook::{Rejection, Verdict, Warnings};

/// Everything that is wrong with an object. A webhook makes one `Invalid` of it, with a cause for each.
///
/// ```
/// use kubewright_runtime::webhook::field::{ErrorList, FieldError, Path};
///
/// let mut errors = ErrorList::new();
/// errors.push(FieldError::invalid(&Path::new("spec").child("replicas"), 0, "must be in the range of 1 to 5"));
/// errors.push(FieldError::required(&Path::new("spec").child("markdowns"), "must have SUMMARY.md"));
/// let status = errors.into_status("view.example.com", "MarkdownView", "docs");
/// assert_eq!(
///     status.message,
///     "MarkdownView.view.example.com \"docs\" is invalid: [spec.replicas: Invalid value: 0: must be in the range of 1 to 5, \
///      spec.markdowns: Required value: must have SUMMARY.md]"
/// );
/// assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorList(Vec<FieldError>);

impl ErrorList {
    /// Nothing is wrong yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a mistake.
    pub fn push(&mut self, error: FieldError) {
        self.0.push(error);
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The mistakes.
    pub fn iter(&self) -> std::slice::Iter<'_, FieldError> {
        self.0.iter()
    }

    /// What a validator returns: fine if nothing is wrong, else one refusal with all causes.
    pub fn verdict(self) -> Verdict {
        self.verdict_with(Warnings::none())
    }

    /// The same with warnings, which the user sees in both cases.
    pub fn verdict_with(self, warnings: Warnings) -> Verdict {
        if self.is_empty() {
            Ok(warnings)
        } else {
            Err(Rejection::from(self).with_warnings(warnings))
        }
    }

    /// What the server answers: `Invalid` (422) with a cause for each mistake.
    pub fn into_status(self, group: &str, kind: &str, name: &str) -> Status {
        let qualified = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        let mut message = format!("{qualified} {} is invalid", quote(name));
        if let Some(sentences) = aggregate(&self.0) {
            message = format!("{message}: {sentences}");
        }
        let causes = self.0.into_iter().map(|error| StatusCause {
            reason: error.kind.reason().to_owned(),
            message: error.body(),
            field: error.field,
        });
        Status {
            status: Some(StatusSummary::Failure),
            code: 422,
            message,
            metadata: None,
            reason: "Invalid".to_owned(),
            details: Some(StatusDetails {
                name: name.to_owned(),
                group: group.to_owned(),
                kind: kind.to_owned(),
                uid: String::new(),
                causes: causes.collect(),
                retry_after_seconds: 0,
            }),
        }
    }
}

impl FromIterator<FieldError> for ErrorList {
    fn from_iter<I: IntoIterator<Item = FieldError>>(errors: I) -> Self {
        ErrorList(errors.into_iter().collect())
    }
}

impl Extend<FieldError> for ErrorList {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        self.0.extend(errors);
    }
}

impl IntoIterator for ErrorList {
    type Item = FieldError;
    type IntoIter = std::vec::IntoIter<FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a ErrorList {
    type Item = &'a FieldError;
    type IntoIter = std::slice::Iter<'a, FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
