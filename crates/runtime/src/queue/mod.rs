//! Work queues: who is reconciled next, and when.
//! [`PriorityQueue`] decides and does no I/O; [`WorkQueue`] is its async shell; [`Queue`], [`DelayingQueue`] and
//! [`RateLimitingQueue`] are the same shell under client-go's names.

mod core;
mod lanes;
mod layers;
mod limit;
#[cfg(test)]
mod model;
mod shell;

pub use self::core::{Add, Counts, Moment, Popped, PriorityQueue, When};
pub use layers::{DelayingQueue, Queue, RateLimitingQueue};
pub use limit::{Backoff, QueueOptions, TokenBucket};
pub use shell::{Job, WorkQueue};

/// The priority of objects found by an initial list and of resyncs that change nothing: below everything that happened.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright_runtime::queue::{Add, LOW_PRIORITY, WorkQueue};
///
/// let queue = WorkQueue::default();
/// queue.add_with("found by a list", Add { priority: LOW_PRIORITY, ..Add::default() });
/// queue.add("changed just now");
/// assert_eq!(*queue.get().await.unwrap().key(), "changed just now");
/// # Ok(())
/// # }
/// ```
pub const LOW_PRIORITY: i32 = -100;
