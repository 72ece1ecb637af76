//! The queue on tokio's clock: many adders, many workers, and a guard that gives its key back however a worker ends.

use std::fmt;
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::core::{Add, Counts, Moment, Popped, PriorityQueue, When};
use super::limit::QueueOptions;

struct Shared<K> {
    core: Mutex<PriorityQueue<K>>,
    changed: Notify,
    drained: Notify,
    epoch: Instant,
}

/// A [`PriorityQueue`] that workers can wait on. Cloning shares it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use kubewright_runtime::queue::WorkQueue;
/// use std::time::Duration;
///
/// let queue = WorkQueue::default();
/// queue.add_after("later", Duration::from_mins(1));
/// queue.add("now");
///
/// let job = queue.get().await.unwrap();
/// assert_eq!(*job.key(), "now");
/// drop(job); // the key is done and may be handed out again
/// assert_eq!(*queue.get().await.unwrap().key(), "later");
///
/// queue.shut_down();
/// assert!(queue.get().await.is_none());
/// assert!(queue.is_shutting_down());
/// # }
/// ```
pub struct WorkQueue<K> {
    shared: Arc<Shared<K>>,
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        WorkQueue {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K: Clone + Eq + Hash> Default for WorkQueue<K> {
    fn default() -> Self {
        Self::new(QueueOptions::default())
    }
}

impl<K: fmt::Debug> fmt::Debug for WorkQueue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WorkQueue").field(&*self.shared.core.lock()).finish()
    }
}

impl<K: Clone + Eq + Hash> WorkQueue<K> {
    /// An empty queue whose time begins now.
    pub fn new(options: QueueOptions) -> Self {
        WorkQueue {
            shared: Arc::new(Shared {
                core: Mutex::new(PriorityQueue::new(options)),
                changed: Notify::new(),
                drained: Notify::new(),
                epoch: Instant::now(),
            }),
        }
    }

    /// Adds a key with priority 0, ready at once.
    pub fn add(&self, key: K) {
        self.add_with(key, Add::default());
    }

    /// Adds a key with priority 0 that becomes ready after `delay`.
    pub fn add_after(&self, key: K, delay: Duration) {
        let when = When::After(delay);
        self.add_with(key, Add { when, ..Add::default() });
    }

    /// Adds a key after the delay that its failures so far demand, and counts one more.
    pub fn add_rate_limited(&self, key: K) {
        let when = When::RateLimited;
        self.add_with(key, Add { when, ..Add::default() });
    }

    /// Adds a key. Returns what [`PriorityQueue::add`] does.
    pub fn add_with(&self, key: K, add: Add) -> Option<Duration> {
        self.add_at(key, add, Instant::now())
    }

    /// The same for who knows what time it is.
    pub(crate) fn add_at(&self, key: K, add: Add, now: Instant) -> Option<Duration> {
        let now = now.duration_since(self.shared.epoch);
        let delay = self.shared.core.lock().add(key, add, now);
        // A delayed key may be due before what the sleepers sleep for, so they are woken either way.
        self.shared.changed.notify_one();
        delay
    }

    /// Waits for the next key. `None`: the queue was shut down and nothing is ready any more.
    ///
    /// Dropping this future loses no key.
    pub async fn get(&self) -> Option<Job<K>> {
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            // From here on a wake-up is not missed, so the look below may come first.
            changed.as_mut().enable();
            let due = {
                let mut core = self.shared.core.lock();
                if let Some(popped) = core.pop(self.now()) {
                    if core.ready_len() > 0 || core.next_due().is_some() {
                        self.shared.changed.notify_one();
                    }
                    return Some(Job {
                        popped,
                        queue: self.clone(),
                    });
                }
                // A running key that was added again will be ready once it is done.
                if core.is_drained() {
                    self.shared.changed.notify_one();
                    return None;
                }
                core.next_due()
            };
            match due.and_then(|due| self.shared.epoch.checked_add(due)) {
                Some(due) => tokio::select! {
                    biased;
                    () = changed => {}
                    () = tokio::time::sleep_until(due) => {}
                },
                None => changed.await,
            }
        }
    }

    /// Forgets the failures of a key.
    pub fn forget(&self, key: &K) {
        self.shared.core.lock().forget(key);
    }

    /// How many times a key was added rate-limited since it was last forgotten.
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.shared.core.lock().failures(key)
    }

    /// How many keys are ready.
    pub fn len(&self) -> usize {
        self.shared.core.lock().ready_len()
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.shared.core.lock().counts()
    }

    /// Looks at the queue as a value, under its lock.
    pub(crate) fn inspect<T>(&self, look: impl FnOnce(&PriorityQueue<K>, Moment) -> T) -> T {
        let now = self.now();
        look(&self.shared.core.lock(), now)
    }

    /// Accepts no more keys, drops the delayed ones, and lets [`get`](Self::get) return `None` once the ready ones are handed
    /// out and the running ones are done.
    pub fn shut_down(&self) {
        let mut core = self.shared.core.lock();
        core.shut_down();
        let drained = core.is_drained();
        drop(core);
        self.shared.changed.notify_one();
        if drained {
            self.shared.drained.notify_waiters();
        }
    }

    /// Shuts down and waits until every key that was ready or running is done.
    pub async fn shut_down_with_drain(&self) {
        self.shut_down();
        let mut drained = pin!(self.shared.drained.notified());
        drained.as_mut().enable();
        if !self.shared.core.lock().is_drained() {
            drained.await;
        }
    }

    /// Whether the queue was shut down.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.core.lock().is_shutting_down()
    }

    fn now(&self) -> Moment {
        self.shared.epoch.elapsed()
    }

    pub(super) fn done(&self, key: &K) {
        let now = self.now();
        let mut core = self.shared.core.lock();
        core.done(key, now);
        let drained = core.is_drained();
        drop(core);
        self.shared.changed.notify_one();
        if drained {
            self.shared.drained.notify_waiters();
        }
    }
}

/// A key that was handed out. Dropping it says that the key is done, so that a worker that panics or is cancelled gives its
/// key back too.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright_runtime::queue::WorkQueue;
///
/// let queue = WorkQueue::default();
/// queue.add("web");
/// let job = queue.get().await.unwrap();
/// queue.add("web"); // it is wanted again, but not while it is worked on
/// assert_eq!(queue.len(), 0);
/// drop(job);
/// assert_eq!(queue.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct Job<K: Clone + Eq + Hash> {
    popped: Popped<K>,
    queue: WorkQueue<K>,
}

impl<K: Clone + Eq + Hash> Job<K> {
    /// The key to work on.
    pub fn key(&self) -> &K {
        &self.popped.key
    }

    /// The priority it was queued with.
    pub fn priority(&self) -> i32 {
        self.popped.priority
    }

    /// How long it was ready before it was handed out.
    pub fn waited(&self) -> Duration {
        self.popped.waited
    }

    /// The queue it came from.
    pub fn queue(&self) -> &WorkQueue<K> {
        &self.queue
    }
}

impl<K: Clone + Eq + Hash> Drop for Job<K> {
    fn drop(&mut self) {
        self.queue.done(&self.popped.key);
    }
}

impl<K: Clone + Eq + Hash + fmt::Debug> fmt::Debug for Job<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Job").field(&self.popped).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_worker_sleeps_until_a_delay_ends() {
        let queue = WorkQueue::default();
        let start = Instant::now();
        queue.add_after(1, Duration::from_secs(1000));
        queue.add_after(2, Duration::from_secs(10));
        assert_eq!(*queue.get().await.unwrap().key(), 2);
        assert_eq!(start.elapsed().as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sleeping_worker_is_woken_by_an_earlier_key() {
        let queue = WorkQueue::default();
        queue.add_after(1, Duration::from_secs(1000));
        let worker = tokio::spawn({
            let queue = queue.clone();
            async move { *queue.get().await.unwrap().key() }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        queue.add_after(2, Duration::from_secs(1));
        assert_eq!(worker.await.unwrap(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn every_idle_worker_gets_one_of_many_keys_that_fall_due_together() {
        let queue = WorkQueue::default();
        let workers: Vec<_> = (0..4)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move {
                    let job = queue.get().await.unwrap();
                    // Holding the job proves that each worker was woken, not one worker four times.
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    *job.key()
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(1)).await;
        for key in 0..4 {
            queue.add_after(key, Duration::from_secs(5));
        }
        let start = Instant::now();
        let mut keys = Vec::new();
        for worker in workers {
            keys.push(worker.await.unwrap());
        }
        keys.sort_unstable();
        assert_eq!(keys, [0, 1, 2, 3]);
        assert_eq!(start.elapsed().as_secs(), 6);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panicking_worker_gives_its_key_back() {
        let queue = WorkQueue::default();
        queue.add(1);
        let worker = tokio::spawn({
            let queue = queue.clone();
            async move {
                let _job = queue.get().await.unwrap();
                queue.add(1);
                panic!("on purpose");
            }
        });
        assert!(worker.await.unwrap_err().is_panic());
        assert_eq!(*queue.get().await.unwrap().key(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn draining_waits_for_what_runs_and_then_every_worker_ends() {
        let queue = WorkQueue::default();
        queue.add(1);
        let job = queue.get().await.unwrap();
        let idle: Vec<_> = (0..3)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move { queue.get().await.is_none() })
            })
            .collect();
        let draining = tokio::spawn({
            let queue = queue.clone();
            async move { queue.shut_down_with_drain().await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!draining.is_finished());
        drop(job);
        draining.await.unwrap();
        for worker in idle {
            assert!(worker.await.unwrap());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_wait_loses_no_key() {
        let queue = WorkQueue::default();
        assert!(tokio::time::timeout(Duration::from_secs(1), queue.get()).await.is_err());
        queue.add(1);
        assert_eq!(*queue.get().await.unwrap().key(), 1);
    }
}
