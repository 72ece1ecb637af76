//! What the machine needs of a server; a test is one too.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;

use super::failure::Failure;

/// The server ends a watch after 290 s; one that says nothing for longer is dead.
pub(super) const DEAD_AFTER: Duration = Duration::from_secs(305);

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListRequest {
    /// How many objects at most. `None`: all at once.
    pub(super) limit: Option<u32>,
    /// Where the last page ended; empty for the first.
    pub(super) continue_token: String,
}

/// Where a watch begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WatchRequest {
    /// With the state, then its changes (`WatchList`, KEP-3157).
    State,
    /// With the changes after a resourceVersion.
    After(String),
}

pub(super) trait Source: Send + Sync {
    type Frames: Frames;

    /// The text of a list.
    fn list(&self, request: &ListRequest) -> impl Future<Output = Result<Bytes, Failure>> + Send;

    /// Whether discovery knows the resource: a question that costs the server little.
    fn is_served(&self) -> impl Future<Output = Result<bool, Failure>> + Send;

    /// An open watch.
    fn watch(&self, request: &WatchRequest) -> impl Future<Output = Result<Self::Frames, Failure>> + Send;
}

pub(super) trait Frames: Send {
    /// How long such a watch may say nothing and still be alive. `None`: for ever.
    fn longest_silence(&self) -> Option<Duration> {
        Some(DEAD_AFTER)
    }

    /// The next frame of a watch; `None` when the server has closed it.
    fn next(&mut self) -> impl Future<Output = Option<Result<Bytes, Failure>>> + Send;
}
