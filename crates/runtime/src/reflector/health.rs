//! The state of a reflector, for readiness, diagnostics and people.

use std::fmt;
use std::time::Duration;

use super::failure::Failure;

/// The state of a reflector.
#[derive(Clone, Debug, PartialEq)]
pub enum Health {
    /// The first list is under way.
    Starting,
    /// The store follows the server.
    Watching,
    /// Something failed and is being retried; the store keeps what it knows.
    Failing(Trouble),
    /// Discovery does not know the kind: its CRD is not installed, or was deleted. Nothing is listed or watched, the store is
    /// empty, and discovery is asked now and then. Everything begins again when the kind appears.
    Missing(Trouble),
}

impl Health {
    /// What is wrong, if something is.
    pub fn trouble(&self) -> Option<&Trouble> {
        match self {
            Health::Failing(trouble) | Health::Missing(trouble) => Some(trouble),
            Health::Starting | Health::Watching => None,
        }
    }

    /// Whether the server does not have the kind, so that there is nothing to watch.
    pub fn is_missing(&self) -> bool {
        matches!(self, Health::Missing(_))
    }
}

/// What is wrong with a reflector.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// What is listed and watched, as `Deployment.apps in namespace shop`.
    pub target: String,
    /// The last failure.
    pub failure: Failure,
    /// How many attempts failed in a row.
    pub attempts: u32,
    /// When the next one will be made, from the failure on.
    pub retry_in: Duration,
    /// Whether the kind is not served at all: its CRD is not installed.
    pub missing: bool,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trouble { target, failure, .. } = self;
        match failure.code() {
            Some(404) => write!(f, "{target} is not served; waiting for its CustomResourceDefinition"),
            Some(401 | 403) => write!(f, "watching {target} is refused: {failure}"),
            _ => write!(f, "watching {target} fails: {failure}"),
        }
    }
}
