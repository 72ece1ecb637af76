//! The server as it was: how far back it knows, when revisions were written, and forks of the past.

use std::sync::Arc;

use jiff::Timestamp;
use kubewright_store::{Revision, SnapshotError, TimeSource};
use kubewright_system::clock::Clock;

use super::ApiServer;

/// Why there is nothing to be had of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevisionError {
    /// The history does not reach back to it any more.
    #[error("revision {revision} is no longer in the history, which begins at {oldest}")]
    Compacted {
        /// The revision that was asked for.
        revision: u64,
        /// The oldest revision that is still known.
        oldest: u64,
    },
    /// Nothing has been written at it yet.
    #[error("revision {revision} is still to come, the newest is {newest}")]
    Future {
        /// The revision that was asked for.
        revision: u64,
        /// The revision of the newest write.
        newest: u64,
    },
}

impl RevisionError {
    fn of(revision: u64, error: SnapshotError) -> RevisionError {
        match error {
            SnapshotError::Compacted(compacted) => RevisionError::Compacted {
                revision,
                oldest: compacted.oldest.0,
            },
            SnapshotError::Future { current } => RevisionError::Future {
                revision,
                newest: current.0,
            },
        }
    }
}

/// The times of a store's writes: the microseconds that a clock shows.
pub(super) fn times_of(clock: Clock) -> TimeSource {
    Arc::new(move || clock.now().as_microsecond())
}

/// A time that [`times_of`] gave.
pub(super) fn timestamp(time: i64) -> Timestamp {
    Timestamp::from_microsecond(time).unwrap_or_default()
}

impl ApiServer {
    /// The oldest revision that is still known: lists and watches can begin there, and so can a [fork](Self::fork_at_revision). How far back
    /// that is follows from [`Options::history_bytes`](crate::Options::history_bytes).
    pub fn oldest_revision(&self) -> u64 {
        self.server.store.compacted().0
    }

    /// When a revision was written, by the server's clock; for the revision that the history begins with, when its newest write was made.
    pub fn time_of_revision(&self, revision: u64) -> Result<Timestamp, RevisionError> {
        let time = self.server.store.time_at(Revision(revision));
        time.map(timestamp).map_err(|error| RevisionError::of(revision, error))
    }

    /// Waits until something was written after a revision. Returns the revision of the newest write.
    pub async fn written_after(&self, revision: u64) -> u64 {
        self.server.store.written_after(Revision(revision)).await;
        self.revision()
    }

    /// An independent server as this one was at a revision of the past: its objects, and all that follows from them, such as the kinds
    /// that were defined, who may do what, which addresses are taken, and which webhooks and policies see a write. It goes on from there
    /// with the same clock, and its next write has the next revision. If the server was in the middle of something at that revision, such
    /// as making a definition known, the fork completes it. Logs of containers have the lines that were written until then, if the Pods
    /// are still there.
    ///
    /// Costs what was written since, not what is stored.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, Options, RevisionError};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::new(Options::new());
    /// let before = server.revision();
    /// let made = http::Request::post("/api/v1/namespaces").body(r#"{"metadata":{"name":"shop"}}"#.into()).unwrap();
    /// assert_eq!(server.handle(made).await.status(), 201);
    ///
    /// let then = server.fork_at_revision(before).unwrap();
    /// let get = || http::Request::get("/api/v1/namespaces/shop").body(Default::default()).unwrap();
    /// assert_eq!(then.handle(get()).await.status(), 404);
    /// assert_eq!(server.handle(get()).await.status(), 200);
    ///
    /// server.compact();
    /// assert!(matches!(server.fork_at_revision(before), Err(RevisionError::Compacted { .. })));
    /// # }
    /// ```
    pub fn fork_at_revision(&self, revision: u64) -> Result<ApiServer, RevisionError> {
        let server = &self.server;
        let refused = |error| RevisionError::of(revision, error);
        let store = server.store.fork_at(Revision(revision)).map_err(refused)?;
        let time = timestamp(store.time_at(Revision(revision)).map_err(refused)?);
        let fork = self.fork_over(store, server.access.fork_of_past(), server.clock, server.random.fork());
        fork.server.logs.forget_after(time);
        Ok(fork)
    }
}
