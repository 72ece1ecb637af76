//! Why an apply was refused.

use super::conflict::Conflicts;

/// Why an apply was refused; the text is what the API server answers.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ApplyError {
    /// Other managers own fields that the configuration would change: 409 `Conflict` with one cause per field.
    #[error("{}", .0.message())]
    Conflict(Conflicts),
    /// The configuration itself is not acceptable: 400 `BadRequest`.
    #[error("{0}")]
    BadRequest(String),
    /// The configuration or the live object does not fit the type: upstream answers 500 with an empty reason.
    #[error("{0}")]
    Failed(String),
}
