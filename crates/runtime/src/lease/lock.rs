//! What an election needs of a server; tests implement it in memory.

use std::future::Future;

use super::record::Record;

/// A request did not do what it should; what it did is unknown unless the server refused it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Problem(pub(super) String);

pub(super) trait Lock: Send {
    /// The lease, if there is one.
    fn read(&mut self) -> impl Future<Output = Result<Option<Record>, Problem>> + Send;

    /// Creates it, or fails if there is one.
    fn create(&mut self, record: &Record) -> impl Future<Output = Result<(), Problem>> + Send;

    /// Replaces what was last read or written through this lock, or fails if it has changed since.
    fn update(&mut self, record: &Record) -> impl Future<Output = Result<(), Problem>> + Send;
}
