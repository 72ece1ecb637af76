//! What a webhook answers.

use std::collections::BTreeMap;

use kube::core::Status;

use super::patch::PatchOperation;

/// What a webhook answers. The call's uid is added on the way out.
///
/// ```
/// use kubewright_runtime::webhook::{AdmissionResponse, PatchOperation};
///
/// let fine = AdmissionResponse::allowed().with_warnings(["this version goes away"]);
/// assert!(fine.allowed && fine.warnings.len() == 1);
/// let no = AdmissionResponse::denied("not on a Friday");
/// assert_eq!((no.status.code, no.status.reason.as_str()), (403, "Forbidden"));
/// let changed = AdmissionResponse::patched([PatchOperation::add("/metadata/labels/team", "red")]);
/// assert!(changed.allowed && changed.patch.len() == 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionResponse {
    /// Whether the request may go on.
    pub allowed: bool,
    /// Code, message and the rest; what the user reads when it may not.
    pub status: Status,
    /// How the object is changed; only mutating webhooks may.
    pub patch: Vec<PatchOperation>,
    /// Added to the server's audit log, below the webhook's name.
    pub audit_annotations: BTreeMap<String, String>,
    /// What the user is shown in any case.
    pub warnings: Vec<String>,
}

impl AdmissionResponse {
    fn of(allowed: bool, status: Status) -> Self {
        AdmissionResponse {
            allowed,
            status,
            patch: Vec::new(),
            audit_annotations: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    /// The request may go on.
    pub fn allowed() -> Self {
        Self::of(true, code(200))
    }

    /// The request is refused with 403.
    pub fn denied(message: impl Into<String>) -> Self {
        let status = Status {
            reason: "Forbidden".to_owned(),
            message: message.into(),
            ..code(403)
        };
        Self::of(false, status)
    }

    /// The request could not be judged: 400 for what cannot be read, 500 for what went wrong here.
    pub fn errored(number: u16, message: impl Into<String>) -> Self {
        let status = Status {
            message: message.into(),
            ..code(number)
        };
        Self::of(false, status)
    }

    /// The request is refused with an answer of one's own.
    pub fn refused(status: Status) -> Self {
        Self::of(false, status)
    }

    /// The request may go on with a changed object.
    pub fn patched(operations: impl IntoIterator<Item = PatchOperation>) -> Self {
        AdmissionResponse {
            patch: operations.into_iter().collect(),
            ..Self::allowed()
        }
    }

    /// Sets the message; users see it only when the request is refused.
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.status.message = message.into();
        self
    }

    /// Adds warnings.
    pub fn with_warnings<S: Into<String>>(mut self, warnings: impl IntoIterator<Item = S>) -> Self {
        self.warnings.extend(warnings.into_iter().map(Into::into));
        self
    }

    /// Adds an annotation to the server's audit log.
    pub fn with_audit_annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.audit_annotations.insert(key.into(), value.into());
        self
    }
}

fn code(code: u16) -> Status {
    Status {
        code,
        ..Status::default()
    }
}
