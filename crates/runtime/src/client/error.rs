//! What can go wrong between a reconciler and the cluster.

use kube::core::Status;

use super::fence::Fenced;
use crate::cache::{BarrierTimeout, ReadError, UnknownIndex};
use crate::object::{DecodeError, ObjectKey};
use crate::trace::REDACTED;

/// Why a read or a write failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A cached read of a kind that was not declared.
    #[error(
        "{kind} is read from the cache, but nobody declares it: add `.owns::<{kind}>()`, `.watches::<{kind}>(…)` or \
         `.reads::<{kind}>()` to a controller, or read it with `client.live()`"
    )]
    Undeclared {
        /// The kind.
        kind: String,
    },
    /// A cached read of a whole object of which only metadata is cached.
    #[error(
        "only the metadata of {kind} is cached: add `.reads::<{kind}>()` to a controller, read it with \
         `client.metadata_of::<{kind}>()` or with `client.live()`"
    )]
    MetadataOnly {
        /// The kind.
        kind: String,
    },
    /// The cache has not seen the state of the cluster yet.
    #[error("the cache of {kind} is not filled yet{trouble}")]
    NotSynced {
        /// The kind.
        kind: String,
        /// Why, if that is known; begins with a colon.
        trouble: String,
    },
    /// The object is not in the cache.
    #[error("{kind} {key} not found")]
    NotFound {
        /// The kind.
        kind: String,
        /// The object.
        key: ObjectKey,
    },
    /// The cache did not catch up with this client's own write.
    #[error(transparent)]
    Stale(#[from] BarrierTimeout),
    /// An object does not fit its type.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// There is no such index.
    #[error(transparent)]
    UnknownIndex(#[from] UnknownIndex),
    /// The server said no.
    #[error("{verb} {what}: {}{}", status.message, crate::permission::hint(status))]
    Api {
        /// What was asked, as `update`.
        verb: &'static str,
        /// Of what, as `Deployment.apps shop/web`.
        what: String,
        /// The answer.
        status: Box<Status>,
        /// Whether it is about a Secret or a token: its message may repeat what is to be kept from traces and debug pages.
        is_confidential: bool,
    },
    /// The server was not reached, or its answer made no sense.
    #[error("{verb} {what}")]
    Transport {
        /// What was asked.
        verb: &'static str,
        /// Of what.
        what: String,
        /// What happened.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The object cannot be sent: it has no name, or no namespace, or does not serialize.
    #[error("{kind}: {problem}")]
    Invalid {
        /// The kind.
        kind: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An apply without a field owner; [`Client::field_owner`](super::Client::field_owner) sets it.
    #[error("apply needs an owner for the fields: use `client.field_owner(\"my-controller\")`")]
    NoFieldOwner,
    /// This process may not write.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// The owner reference cannot be set.
    #[error(transparent)]
    Owner(#[from] super::helpers::OwnerError),
}

impl Error {
    /// The code of the server's answer; 404 for what the cache does not have.
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::Api { status, .. } => Some(status.code),
            Error::NotFound { .. } => Some(404),
            _ => None,
        }
    }

    /// The reason of the server's answer, as `AlreadyExists`.
    pub fn reason(&self) -> &str {
        match self {
            Error::Api { status, .. } => &status.reason,
            Error::NotFound { .. } => "NotFound",
            _ => "",
        }
    }

    /// What may be said of it where contents of Secrets and tokens must not stand; `None` if that is all of it. A right that is missing is
    /// named: an authorizer knows no contents.
    pub(crate) fn redacted(&self) -> Option<String> {
        match self {
            Error::Api {
                verb,
                what,
                status,
                is_confidential: true,
            } if crate::permission::missing(status).is_none() => {
                Some(format!("{verb} {what}: {} {} {REDACTED}", status.code, status.reason))
            }
            _ => None,
        }
    }

    /// Whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Whether the object exists already.
    pub fn is_already_exists(&self) -> bool {
        self.reason() == "AlreadyExists"
    }

    /// Whether the object was changed since it was read, or another field manager owns its fields.
    pub fn is_conflict(&self) -> bool {
        self.reason() == "Conflict"
    }

    /// Whether the object was refused by validation.
    pub fn is_invalid(&self) -> bool {
        self.reason() == "Invalid"
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Decode(error) => Error::Decode(error),
            ReadError::UnknownIndex(error) => Error::UnknownIndex(error),
        }
    }
}
