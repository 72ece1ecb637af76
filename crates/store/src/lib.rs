//! A versioned object store: one structure serves lists, pages, watches, forks and reads of past revisions.
//! [`Store`] reads and writes the present state; [`Snapshot`] reads a revision, [`Watcher`] follows the revisions after it.
//!
//! A resource is a persistent ordered map from key to [`Record`] plus a log of the events that led to it. Every
//! event keeps the map as it was then, so that a list at a past revision is a lookup and a fork copies pointers.
//! The history is bounded in bytes; what falls out of it answers [`Compacted`].
//!
//! The crate knows neither JSON nor randomness, and of time only what its user says ([`TimeSource`]); the only things it ever waits
//! for are [`Watcher::ready`] and [`Store::written_after`].
//!
//! ```
//! use kubewright_store::{EventKind, Limits, RecordDraft, ResourceId, Store};
//!
//! let store = Store::new(Limits::default());
//! let settings = ResourceId(1);
//! let draft = |text: &str| RecordDraft { body: text.to_owned().into(), ..RecordDraft::default() };
//!
//! let first = store.create(settings, "shop/app", draft("blue")).unwrap();
//! let (snapshot, mut watcher) = store.snapshot_and_watch(settings, Some("shop"));
//! assert_eq!((snapshot.len(), first.namespace(), first.name()), (1, Some("shop"), "app"));
//!
//! // A write names the revision it has seen; one that is too late fails with the record as it is now.
//! let second = store.update(settings, "shop/app", first.revision, draft("green")).unwrap();
//! assert!(store.update(settings, "shop/app", first.revision, draft("red")).is_err());
//! let events = watcher.try_next(10).unwrap().events;
//! assert_eq!((events.len(), events[0].kind, events[0].key()), (1, EventKind::Modified, "shop/app"));
//!
//! // The past is a lookup, and a fork is a copy that costs nothing.
//! assert_eq!(store.snapshot_at(settings, first.revision).unwrap().get("shop/app").unwrap().body, "blue");
//! let fork = store.fork();
//! fork.delete(settings, "shop/app", second.revision).unwrap();
//! assert!(fork.snapshot(settings).is_empty() && store.get(settings, "shop/app").is_some());
//!
//! // The past is also a fork, in which nothing of what came later has happened.
//! let then = store.fork_at(first.revision).unwrap();
//! assert_eq!(then.get(settings, "shop/app").unwrap().body, "blue");
//! assert_eq!(then.revision(), first.revision);
//!
//! store.compact(second.revision);
//! assert!(store.snapshot_at(settings, first.revision).is_err() && store.fork_at(first.revision).is_err());
//! ```

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
pub use record::{Record, RecordDraft, ResourceId, Revision};
pub use snapshot::{Records, Snapshot};
pub use store::{Deleted, History, Limits, Store, TimeSource};
pub use watch::{Batch, Event, EventKind, Watcher};
