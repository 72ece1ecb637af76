//! Why certificates are not in place.

use std::error::Error;

use kubewright_apimachinery::errors::with_sources;

use super::local::rewrite::ANNOTATION;
use super::permission::Permission;
use super::target::Target;

/// Why certificates are not in place, yet. All of it is tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum KeepError {
    /// A right is missing.
    #[error("{message}; the rule that is missing: {rule}")]
    Forbidden {
        /// What the server said.
        message: String,
        /// What would allow it.
        rule: Box<Permission>,
    },
    /// The server said no.
    #[error("cannot {verb} {what}: {message}")]
    Refused {
        /// What was asked.
        verb: &'static str,
        /// Of what.
        what: String,
        /// What the server said.
        message: String,
    },
    /// The server was not reached, or its answer made no sense.
    #[error("cannot {verb} {what}: the API server does not answer")]
    Unreachable {
        /// What was asked.
        verb: &'static str,
        /// Of what.
        what: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The Secret was not created by the runtime.
    #[error("Secret {secret} is not ours: {reason}; name another one, or give its files with --webhook-cert-path")]
    Foreign {
        /// Which.
        secret: String,
        /// How that is known.
        reason: String,
    },
    /// No certificate can be made.
    #[error(transparent)]
    Make(Box<dyn Error + Send + Sync>),
    /// A name that no object can have.
    #[error("{0:?} is no name of an object")]
    Name(String),
    /// Somebody else writes at the same time, again and again.
    #[error("somebody else keeps writing {0}")]
    Contended(String),
    /// What a local run left behind cannot be understood.
    #[error(
        "{what}: the annotation {annotation} cannot be read, so what was there before the local run cannot be restored; apply its manifest again and remove the annotation"
    )]
    Unreadable {
        /// Which object.
        what: String,
        /// The annotation.
        annotation: &'static str,
    },
}

impl KeepError {
    pub(super) fn unreadable(target: &Target) -> Self {
        KeepError::Unreadable {
            what: target.to_string(),
            annotation: ANNOTATION,
        }
    }

    /// The error with its sources, in one line.
    pub(super) fn text(&self) -> String {
        with_sources(self)
    }
}
