//! What can go wrong between us and the server, and what follows from it.

use std::fmt;
use std::time::Duration;

use kube::core::Status;

/// Why a list or a watch failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The server answered with an error.
    Status(Box<Status>),
    /// The server was not reached, the connection broke, or the answer made no sense.
    Transport(String),
}

impl Failure {
    /// The HTTP code, where the server answered.
    pub fn code(&self) -> Option<u16> {
        match self {
            Failure::Status(status) => Some(status.code),
            Failure::Transport(_) => None,
        }
    }

    /// Whether the requested revision was compacted, so that a new list is needed.
    pub(super) fn is_expired(&self) -> bool {
        match self {
            Failure::Status(status) => status.code == 410 || matches!(status.reason.as_str(), "Expired" | "Gone"),
            Failure::Transport(_) => false,
        }
    }

    /// The kind is not served: its CRD is not installed.
    pub(super) fn is_missing(&self) -> bool {
        self.code() == Some(404)
    }

    /// What a server answers that does not have a kind.
    pub(super) fn not_served() -> Self {
        let message = "the server could not find the requested resource";
        Failure::Status(Status::failure(message, "NotFound").with_code(404).boxed())
    }

    /// The server does not know how to begin a watch with the state (`WatchList`, KEP-3157).
    pub(super) fn refuses_streaming(&self) -> bool {
        matches!(self.code(), Some(400 | 405 | 415 | 422))
    }

    /// How long the server asks us to wait.
    pub(super) fn retry_after(&self) -> Duration {
        match self {
            Failure::Status(status) => {
                let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
                Duration::from_secs(seconds.into())
            }
            Failure::Transport(_) => Duration::ZERO,
        }
    }

    pub(super) fn transport(error: impl fmt::Display) -> Self {
        Failure::Transport(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Status(status) => {
                let hint = crate::permission::hint(status);
                write!(f, "{} ({}){hint}", status.message, status.code)
            }
            Failure::Transport(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}
