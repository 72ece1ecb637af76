//! What a validator or a defaulter says: fine, with warnings, or why not.

use std::error::Error;

use kube::core::Status;

use super::field::ErrorList;
use super::response::AdmissionResponse;
use crate::object::Kind;

/// Texts that the user is shown, whatever becomes of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings(Vec<String>);

impl Warnings {
    /// None.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a warning.
    pub fn push(&mut self, warning: impl Into<String>) {
        self.0.push(warning.into());
    }

    /// The warnings.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        self.0
    }
}

impl<S: Into<String>, const N: usize> From<[S; N]> for Warnings {
    fn from(texts: [S; N]) -> Self {
        Warnings(texts.into_iter().map(Into::into).collect())
    }
}

impl<S: Into<String>> FromIterator<S> for Warnings {
    fn from_iter<I: IntoIterator<Item = S>>(texts: I) -> Self {
        Warnings(texts.into_iter().map(Into::into).collect())
    }
}

/// The verdict of a validator: the object is accepted, perhaps with warnings, or rejected.
///
/// ```
/// use kubewright_runtime::webhook::{Rejection, Verdict, Warnings};
///
/// fn judge(replicas: i32) -> Verdict {
///     match replicas {
///         0 => Ok(Warnings::from(["nobody will answer"])),
///         1..10 => Ok(Warnings::none()),
///         _ => Err(Rejection::denied("too many")),
///     }
/// }
/// assert!(judge(0).is_ok() && judge(11).is_err());
/// ```
pub type Verdict = Result<Warnings, Rejection>;

#[derive(Debug)]
enum RejectionReason {
    Denied(String),
    Invalid(ErrorList),
    Status(Box<Status>),
}

/// Why a request is refused.
///
/// Any error becomes one with `?`: an answer of the server is passed on as it is, everything else is `Forbidden` (403) with
/// the error's text, as controller-runtime has it.
#[derive(Debug)]
pub struct Rejection {
    why: RejectionReason,
    warnings: Warnings,
}

impl Rejection {
    /// Refused with 403 and this text.
    pub fn denied(message: impl Into<String>) -> Self {
        RejectionReason::Denied(message.into()).into()
    }

    /// Refused with an answer of one's own.
    pub fn status(status: Status) -> Self {
        RejectionReason::Status(Box::new(status)).into()
    }

    /// Adds warnings.
    pub fn with_warnings(mut self, warnings: Warnings) -> Self {
        self.warnings.0.extend(warnings.0);
        self
    }

    /// The status of the response for an object of this kind and name.
    pub(super) fn into_response(self, kind: &Kind, name: &str) -> AdmissionResponse {
        let response = match self.why {
            RejectionReason::Denied(message) => AdmissionResponse::denied(message),
            RejectionReason::Invalid(errors) => {
                AdmissionResponse::refused(errors.into_status(kind.group(), kind.kind(), name))
            }
            RejectionReason::Status(status) => AdmissionResponse::refused(*status),
        };
        response.with_warnings(self.warnings.0)
    }
}

impl From<RejectionReason> for Rejection {
    fn from(why: RejectionReason) -> Self {
        Rejection {
            why,
            warnings: Warnings::none(),
        }
    }
}

impl From<ErrorList> for Rejection {
    fn from(errors: ErrorList) -> Self {
        RejectionReason::Invalid(errors).into()
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Rejection {
    fn from(error: E) -> Self {
        match status_of(&error) {
            Some(status) => Rejection::status(status.clone()),
            None => Rejection::denied(error.to_string()),
        }
    }
}

/// The answer of the server that an error comes from, however deep.
fn status_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Status> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(crate::client::Error::Api { status, .. }) = error.downcast_ref() {
            return Some(status);
        }
        if let Some(kube::Error::Api(status)) = error.downcast_ref() {
            return Some(status);
        }
        if let Some(status) = error.downcast_ref::<Status>() {
            return Some(status);
        }
        next = error.source();
    }
    None
}
