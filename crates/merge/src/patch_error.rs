//! The errors of patches, with upstream's HTTP status for each (W3).

/// A patch that cannot be read or applied. The text is that of the `Status` message, which each variant says how to make.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself is malformed: `BadRequest`, 400, with this message.
    #[error("{0}")]
    Malformed(String),
    /// Too many operations: `RequestEntityTooLarge`, 413, with this message.
    #[error("Request entity too large: {0}")]
    TooLarge(String),
    /// The patch does not fit the object: `Invalid`, 422. Upstream does not report the reason and answers with one
    /// sentence and empty details; the reason is kept here for diagnostics.
    #[error("the server rejected our request due to an error in our request")]
    DoesNotApply {
        /// What failed.
        reason: String,
    },
    /// The patch does not fit the object in a way upstream did not foresee: an error without a status, 500.
    #[error("{0}")]
    Unforeseen(String),
}

impl PatchError {
    /// The HTTP status.
    pub fn code(&self) -> u16 {
        match self {
            Self::Malformed(_) => 400,
            Self::TooLarge(_) => 413,
            Self::DoesNotApply { .. } => 422,
            Self::Unforeseen(_) => 500,
        }
    }

    pub(crate) fn does_not_apply(reason: impl Into<String>) -> Self {
        Self::DoesNotApply { reason: reason.into() }
    }
}
