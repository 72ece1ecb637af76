//! Work queues: who is reconciled next, and when.
//! [`PriorityQueue`] decides and does no I/O; [`WorkQueue`] is its async shell, with the methods of client-go's plain, delaying and
//! rate-limiting queues.

mod core;
mod lanes;
mod limit;
#[cfg(test)]
mod model;
mod shell;

pub use self::core::{Add, Counts, Moment, Popped, PriorityQueue, When};
pub use limit::{Backoff, QueueOptions, TokenBucket};
pub use shell::{Job, WorkQueue};

/// The priority of objects found by an initial list and of resyncs that change nothing: below everything that happened.
pub const LOW_PRIORITY: i32 = -100;
