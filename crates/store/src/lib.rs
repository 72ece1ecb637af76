//! A versioned object store: one structure serves lists, pages, watches, forks and time travel.
//! [`Store`] is the door; [`Snapshot`] reads a revision, [`Watcher`] follows the revisions after it.
//!
//! A resource is a persistent ordered map from key to [`Record`] plus a log of the events that led to it. Every
//! event keeps the map as it was then, so that a list at a past revision is a lookup and a fork copies pointers.
//! The history is bounded in bytes; what falls out of it answers [`Compacted`].
//!
//! The crate knows neither JSON nor time nor chance, and the only thing it ever waits for is [`Watcher::ready`].

mod error;
mod log;
mod record;
mod snapshot;
mod state;
mod store;
mod table;
mod topic;
mod watch;

pub use error::{CommitError, Compacted, SnapshotError, WatchEnd};
pub use record::{Draft, Record, ResourceId, Revision};
pub use snapshot::{Records, Snapshot};
pub use store::{Deleted, Limits, Store};
pub use watch::{Batch, Event, EventKind, Watcher};
