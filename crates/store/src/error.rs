//! Why the store refuses: a lost compare-and-swap, a revision it no longer or not yet has, a watch that ended.

use std::sync::Arc;

use crate::{Record, Revision};

/// Why a write changed nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// A create found the key taken; carries the record that holds it.
    #[error("the key exists already, at revision {}", .0.revision)]
    Exists(Arc<Record>),
    /// The record was written since the expected revision; carries the record as it is now.
    #[error("the record has changed since, it is at revision {}", .0.revision)]
    Changed(Arc<Record>),
    /// The record is not there (any more).
    #[error("the record does not exist")]
    Gone,
}

/// The revision asked for is older than the retained history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revisions before {oldest} are compacted")]
pub struct Compacted {
    /// The oldest revision that can still be read, and from which a watch can still start.
    pub oldest: Revision,
}

/// The reason why there is no snapshot at a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The revision is older than the retained history.
    #[error(transparent)]
    Compacted(#[from] Compacted),
    /// The revision has not been written yet.
    #[error("the revision lies in the future, the store is at {current}")]
    Future {
        /// The store's revision when it was asked.
        current: Revision,
    },
}

/// Why a watch delivers nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchEnd {
    /// An event the watcher had not read yet fell out of the history.
    #[error(transparent)]
    Compacted(#[from] Compacted),
    /// The resource was dropped, or its watches were ended, and everything before that was delivered.
    #[error("the resource's watches were ended")]
    Closed,
}
