//! The queue under client-go's names, for controllers written by hand: plain, delaying and rate-limited.

use std::hash::Hash;
use std::ops::Deref;
use std::time::Duration;

use super::limit::QueueOptions;
use super::shell::{Job, WorkQueue};

/// A plain queue: each key once, in order, never twice at once.
#[derive(Clone, Debug)]
pub struct Queue<K>(WorkQueue<K>);

impl<K: Clone + Eq + Hash> Default for Queue<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// An empty queue.
    pub fn new() -> Self {
        Queue(WorkQueue::default())
    }

    /// Adds a key to the end, unless it is queued already.
    pub fn add(&self, key: K) {
        self.0.add(key);
    }

    /// Waits for the next key; `None` after a shutdown. Dropping the job is client-go's `Done`.
    pub async fn get(&self) -> Option<Job<K>> {
        self.0.get().await
    }

    /// How many keys are ready.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Accepts no more keys; what is ready is still handed out.
    pub fn shut_down(&self) {
        self.0.shut_down();
    }

    /// Shuts down and waits until all that was ready or running is done.
    pub async fn shut_down_with_drain(&self) {
        self.0.shut_down_with_drain().await;
    }

    /// Whether the queue was shut down.
    pub fn is_shutting_down(&self) -> bool {
        self.0.is_shutting_down()
    }
}

/// A [`Queue`] that can also add a key later.
#[derive(Clone, Debug)]
pub struct DelayingQueue<K>(Queue<K>);

impl<K: Clone + Eq + Hash> Default for DelayingQueue<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Clone + Eq + Hash> DelayingQueue<K> {
    /// An empty queue.
    pub fn new() -> Self {
        DelayingQueue(Queue::new())
    }

    /// Adds a key after a delay; an earlier add of the same key wins.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.0.0.add_after(key, delay);
    }
}

impl<K> Deref for DelayingQueue<K> {
    type Target = Queue<K>;

    fn deref(&self) -> &Queue<K> {
        &self.0
    }
}

/// A [`DelayingQueue`] that can also add a key after the delay its failures demand.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use kubewright_runtime::queue::{QueueOptions, RateLimitingQueue};
///
/// let queue = RateLimitingQueue::new(QueueOptions::default());
/// queue.add("default/web");
/// let job = queue.get().await.unwrap();
/// // It failed: try again in 5 ms, then 10 ms, …
/// queue.add_rate_limited(*job.key());
/// drop(job);
/// let job = queue.get().await.unwrap();
/// // It succeeded: the next failure waits 5 ms again.
/// queue.forget(job.key());
/// assert_eq!(queue.num_requeues(job.key()), 0);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RateLimitingQueue<K>(DelayingQueue<K>);

impl<K: Clone + Eq + Hash> RateLimitingQueue<K> {
    /// An empty queue.
    pub fn new(options: QueueOptions) -> Self {
        RateLimitingQueue(DelayingQueue(Queue(WorkQueue::new(options))))
    }

    /// Adds a key after the delay that its failures so far demand, and counts one more.
    pub fn add_rate_limited(&self, key: K) {
        self.0.0.0.add_rate_limited(key);
    }

    /// Forgets the failures of a key.
    pub fn forget(&self, key: &K) {
        self.0.0.0.forget(key);
    }

    /// How many times a key was added rate-limited since it was last forgotten.
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.0.0.0.num_requeues(key)
    }
}

impl<K> Deref for RateLimitingQueue<K> {
    type Target = DelayingQueue<K>;

    fn deref(&self) -> &DelayingQueue<K> {
        &self.0
    }
}
