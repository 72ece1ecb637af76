//! The queue as a value, without I/O and without a clock: callers pass the time. Every operation is `O(log n)`.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use super::lanes::{Lanes, Sequence};
use super::limit::QueueOptions;

/// A point in time, as the duration since the queue's own beginning.
pub type Moment = Duration;

/// When an added key becomes ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// At once.
    #[default]
    Now,
    /// After a delay.
    After(Duration),
    /// After the delay that the key's own back-off and the bucket demand; counts as one more failure of the key.
    RateLimited,
}

/// How a key is added. The default: at once, with priority 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Add {
    /// Higher goes first.
    pub priority: i32,
    /// When the key becomes ready.
    pub when: When,
}

/// A key that was handed out. It is running until [`PriorityQueue::done`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popped<K> {
    /// The key.
    pub key: K,
    /// The priority it had.
    pub priority: i32,
    /// How long it was ready before it was handed out.
    pub waited: Duration,
}

/// What happened since the queue was made, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Keys that became queued (adds that met a queued key are not counted).
    pub adds: u64,
    /// Rate-limited adds.
    pub retries: u64,
}

#[derive(Debug)]
struct KeyState {
    queued: Option<Queued>,
    running_since: Option<Moment>,
    failures: u32,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    priority: i32,
    state: EntryState,
}

#[derive(Clone, Copy, Debug)]
enum EntryState {
    Ready {
        sequence: Sequence,
        since: Moment,
    },
    Waiting {
        due: Moment,
        sequence: Sequence,
    },
    /// The key is running; it comes back when it is done and due.
    Parked {
        due: Moment,
    },
}

/// A work queue with priorities.
///
/// - First in, first out within a priority; higher priorities first; of [`QueueOptions::relief`] pops at least one goes to a
///   lower priority, so that no key starves.
/// - A key is queued once: adding it again takes the higher priority and the earlier time. A key whose priority rises goes to
///   the end of its new lane.
/// - A key is never handed out while it is running. Added meanwhile, it comes back when it is done.
/// - After [`shut_down`](Self::shut_down) adds are ignored and delays never end; what is ready is still handed out.
///
/// ```
/// use kubewright_runtime::queue::{Add, PriorityQueue, When};
/// use std::time::Duration;
///
/// let mut queue = PriorityQueue::default();
/// let start = Duration::ZERO;
/// queue.add("slow", Add { when: When::After(Duration::from_secs(5)), ..Add::default() }, start);
/// queue.add("background", Add { priority: -100, ..Add::default() }, start);
/// queue.add("urgent", Add::default(), start);
///
/// assert_eq!(queue.pop(start).unwrap().key, "urgent");
/// assert_eq!(queue.pop(start).unwrap().key, "background");
/// assert_eq!(queue.pop(start), None);
/// assert_eq!(queue.pop(Duration::from_secs(5)).unwrap().key, "slow");
///
/// queue.shut_down();
/// assert!(queue.is_shutting_down());
/// ```
#[derive(Debug)]
pub struct PriorityQueue<K> {
    options: QueueOptions,
    slots: HashMap<K, KeyState>,
    ready: Lanes<K>,
    waiting: BTreeMap<(Moment, Sequence), K>,
    running: usize,
    sequence: Sequence,
    shutting_down: bool,
    counts: Counts,
}

impl<K: Clone + Eq + Hash> Default for PriorityQueue<K> {
    fn default() -> Self {
        Self::new(QueueOptions::default())
    }
}

impl<K: Clone + Eq + Hash> PriorityQueue<K> {
    /// An empty queue.
    pub fn new(options: QueueOptions) -> Self {
        PriorityQueue {
            ready: Lanes::new(options.relief),
            options,
            slots: HashMap::new(),
            waiting: BTreeMap::new(),
            running: 0,
            sequence: 0,
            shutting_down: false,
            counts: Counts::default(),
        }
    }

    /// Adds a key, or changes the place of one that is queued already. Returns the delay that was asked for or that a limit demands; a key
    /// that was queued before may be ready earlier. `None`: the queue is shut down, and the key was not added.
    pub fn add(&mut self, key: K, add: Add, now: Moment) -> Option<Duration> {
        if self.shutting_down {
            return None;
        }
        self.promote(now);
        let delay = match add.when {
            When::Now => Duration::ZERO,
            When::After(delay) => delay,
            When::RateLimited => self.limit(&key, now),
        };
        let due = now.saturating_add(delay);
        let slot = self.slots.entry(key.clone()).or_insert(KeyState {
            queued: None,
            running_since: None,
            failures: 0,
        });
        match slot.queued {
            None => {
                self.counts.adds += 1;
                let running = slot.running_since.is_some();
                self.place(key, add.priority, due, running, now);
            }
            Some(queued) => self.move_queued(key, queued, add.priority, due, now),
        }
        Some(delay)
    }

    /// Hands out the next ready key, which runs from now on.
    pub fn pop(&mut self, now: Moment) -> Option<Popped<K>> {
        self.promote(now);
        let (priority, key) = self.ready.pop()?;
        let slot = self.slots.get_mut(&key)?;
        let since = match slot.queued.take() {
            Some(Queued {
                state: EntryState::Ready { since, .. },
                ..
            }) => since,
            _ => now,
        };
        slot.running_since = Some(now);
        self.running += 1;
        Some(Popped {
            key,
            priority,
            waited: now.saturating_sub(since),
        })
    }

    /// Says that a key handed out by [`pop`](Self::pop) runs no longer. Returns whether it was running.
    pub fn done(&mut self, key: &K, now: Moment) -> bool {
        let Some(slot) = self.slots.get_mut(key) else {
            return false;
        };
        if slot.running_since.take().is_none() {
            return false;
        }
        self.running -= 1;
        match slot.queued {
            Some(Queued {
                priority,
                state: EntryState::Parked { due },
            }) => {
                slot.queued = None;
                self.place(key.clone(), priority, due, false, now);
            }
            _ => self.drop_if_idle(key),
        }
        true
    }

    /// Forgets the failures of a key: its next rate-limited add waits the shortest time again.
    pub fn forget(&mut self, key: &K) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.failures = 0;
            self.drop_if_idle(key);
        }
    }

    /// How many times a key was added rate-limited since it was last forgotten.
    pub fn failures(&self, key: &K) -> u32 {
        self.slots.get(key).map_or(0, |slot| slot.failures)
    }

    /// When the next delayed key becomes ready. `None`: nothing is delayed.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    /// How many keys are ready, not counting delays that have ended since the last operation.
    pub(crate) fn ready_len(&self) -> usize {
        self.ready.len()
    }

    /// How many keys are delayed.
    pub(crate) fn waiting_len(&self) -> usize {
        self.waiting.len()
    }

    /// The ready keys with their priorities, in the order they stand, highest priority first.
    pub(crate) fn ready(&self) -> impl Iterator<Item = (i32, &K)> {
        self.ready.iter()
    }

    /// The delayed keys and when they are due, soonest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (Moment, &K)> {
        self.waiting.iter().map(|((due, _), key)| (*due, key))
    }

    /// The running keys, in no order: since when they run, and whether they were added again meanwhile.
    pub(crate) fn running(&self) -> impl Iterator<Item = (Moment, bool, &K)> {
        let running = self
            .slots
            .iter()
            .filter_map(|(key, slot)| Some((slot.running_since?, slot.queued.is_some(), key)));
        // The keys that are not running are not looked at once all that are were found.
        running.take(self.running)
    }

    /// Since when the key that is ready for longest is. Costs a look at each key, if one is ready.
    pub(crate) fn oldest_ready(&self) -> Option<Moment> {
        if self.ready.len() == 0 {
            return None;
        }
        let ready = self.slots.values().filter_map(|slot| match slot.queued?.state {
            EntryState::Ready { since, .. } => Some(since),
            _ => None,
        });
        ready.min()
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Accepts no more keys and drops the delayed ones. Ready keys, and running ones that were added again, are still handed out.
    pub fn shut_down(&mut self) {
        self.shutting_down = true;
        for key in std::mem::take(&mut self.waiting).into_values() {
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.queued = None;
            }
            self.drop_if_idle(&key);
        }
    }

    /// Whether the queue was shut down.
    pub fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// Whether the queue was shut down and neither hands out nor waits for anything any more.
    pub(crate) fn is_drained(&self) -> bool {
        self.shutting_down && self.ready.len() == 0 && self.running == 0
    }

    fn limit(&mut self, key: &K, now: Moment) -> Duration {
        self.counts.retries += 1;
        let backoff = self.options.backoff;
        let slot = self.slots.entry(key.clone()).or_insert(KeyState {
            queued: None,
            running_since: None,
            failures: 0,
        });
        let own = backoff.delay(slot.failures);
        slot.failures = slot.failures.saturating_add(1);
        let all = self
            .options
            .bucket
            .as_mut()
            .map_or(Duration::ZERO, |bucket| bucket.take(now));
        own.max(all)
    }

    /// Moves every delayed key that is due to the end of its lane, in the order in which they fell due.
    fn promote(&mut self, now: Moment) {
        while let Some(entry) = self.waiting.first_entry() {
            let (due, _) = *entry.key();
            if due > now {
                break;
            }
            let key = entry.remove();
            let Some(priority) = self
                .slots
                .get(&key)
                .and_then(|slot| slot.queued)
                .map(|queued| queued.priority)
            else {
                continue;
            };
            self.make_ready(key, priority, due);
        }
    }

    fn place(&mut self, key: K, priority: i32, due: Moment, running: bool, now: Moment) {
        if running {
            self.set_state(&key, priority, EntryState::Parked { due });
        } else if due <= now {
            self.make_ready(key, priority, now);
        } else if self.shutting_down {
            self.drop_if_idle(&key);
        } else {
            let sequence = self.next_sequence();
            self.set_state(&key, priority, EntryState::Waiting { due, sequence });
            self.waiting.insert((due, sequence), key);
        }
    }

    fn make_ready(&mut self, key: K, priority: i32, since: Moment) {
        let sequence = self.next_sequence();
        self.set_state(&key, priority, EntryState::Ready { sequence, since });
        self.ready.push(priority, sequence, key);
    }

    fn move_queued(&mut self, key: K, queued: Queued, priority: i32, due: Moment, now: Moment) {
        let highest = queued.priority.max(priority);
        match queued.state {
            EntryState::Ready { sequence, since } => {
                if highest > queued.priority {
                    self.ready.remove(queued.priority, sequence);
                    self.make_ready(key, highest, since);
                }
            }
            EntryState::Waiting { due: old_due, sequence } => {
                if due < old_due {
                    self.waiting.remove(&(old_due, sequence));
                    self.place(key, highest, due, false, now);
                } else {
                    self.set_state(&key, highest, queued.state);
                }
            }
            EntryState::Parked { due: old_due } => {
                self.set_state(&key, highest, EntryState::Parked { due: due.min(old_due) });
            }
        }
    }

    fn set_state(&mut self, key: &K, priority: i32, state: EntryState) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.queued = Some(Queued { priority, state });
        }
    }

    fn next_sequence(&mut self) -> Sequence {
        self.sequence += 1;
        self.sequence
    }

    fn drop_if_idle(&mut self, key: &K) {
        if let Some(slot) = self.slots.get(key)
            && slot.queued.is_none()
            && slot.running_since.is_none()
            && slot.failures == 0
        {
            self.slots.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Moment = Moment::ZERO;

    fn at(priority: i32) -> Add {
        Add {
            priority,
            when: When::Now,
        }
    }

    fn after(seconds: u64) -> Add {
        Add {
            priority: 0,
            when: When::After(Duration::from_secs(seconds)),
        }
    }

    fn drain(queue: &mut PriorityQueue<u32>, now: Moment) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop(now).map(|popped| popped.key)).collect()
    }

    #[test]
    fn keys_of_one_priority_come_out_in_the_order_they_went_in() {
        let mut queue = PriorityQueue::default();
        for key in 0..12 {
            queue.add(key, Add::default(), START);
        }
        assert_eq!(drain(&mut queue, START), (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn a_key_added_twice_is_handed_out_once_with_the_higher_priority() {
        let mut queue = PriorityQueue::default();
        queue.add(1, at(-100), START);
        queue.add(2, at(-100), START);
        queue.add(2, at(5), START);
        assert_eq!(
            queue.pop(START).map(|popped| (popped.key, popped.priority)),
            Some((2, 5))
        );
        assert_eq!(drain(&mut queue, START), [1]);
        assert_eq!(queue.counts().adds, 2);
    }

    #[test]
    fn a_key_added_while_it_runs_comes_back_when_it_is_done_and_not_before() {
        let mut queue = PriorityQueue::default();
        queue.add(1, Add::default(), START);
        assert!(queue.pop(START).is_some());
        queue.add(1, Add::default(), START);
        assert_eq!(queue.pop(START), None);
        assert!(queue.done(&1, START));
        assert_eq!(drain(&mut queue, START), [1]);
        assert!(queue.done(&1, START));
        assert!(!queue.done(&1, START));
    }

    #[test]
    fn an_earlier_add_brings_a_delayed_key_forward() {
        let mut queue = PriorityQueue::default();
        queue.add(1, after(60), START);
        queue.add(1, after(90), START);
        assert_eq!(queue.next_due(), Some(Duration::from_mins(1)));
        queue.add(1, after(5), START);
        assert_eq!(queue.next_due(), Some(Duration::from_secs(5)));
        assert_eq!(drain(&mut queue, Duration::from_secs(4)), [] as [u32; 0]);
        assert_eq!(drain(&mut queue, Duration::from_secs(5)), [1]);
    }

    #[test]
    fn failures_double_the_delay_until_they_are_forgotten() {
        let mut queue = PriorityQueue::default();
        let limited = Add {
            priority: 0,
            when: When::RateLimited,
        };
        let mut now = START;
        let mut delays = Vec::new();
        for _ in 0..4 {
            queue.add(1, limited, now);
            let due = queue.next_due().unwrap();
            delays.push(due.saturating_sub(now).as_millis());
            now = due;
            queue.pop(now).unwrap();
            queue.done(&1, now);
        }
        assert_eq!(delays, [5, 10, 20, 40]);
        assert_eq!((queue.failures(&1), queue.counts().retries), (4, 4));
        queue.forget(&1);
        queue.add(1, limited, now);
        assert_eq!(queue.next_due(), Some(now + Duration::from_millis(5)));
    }

    #[test]
    fn the_bucket_slows_all_keys_together() {
        let mut queue = PriorityQueue::new(QueueOptions {
            bucket: Some(super::super::TokenBucket::default()),
            ..QueueOptions::default()
        });
        let limited = Add {
            priority: 0,
            when: When::RateLimited,
        };
        for key in 0..102 {
            queue.add(key, limited, START);
        }
        let dues: Vec<_> = queue.waiting().map(|(due, _)| due.as_millis()).collect();
        assert_eq!(dues[99..], [5, 100, 200]);
    }

    #[test]
    fn a_steady_stream_of_urgent_keys_does_not_starve_the_background() {
        let mut queue = PriorityQueue::default();
        for key in 1000..1003 {
            queue.add(key, at(-100), START);
        }
        let mut served = Vec::new();
        for key in 0..30 {
            queue.add(key, at(0), START);
            queue.add(key + 100, at(0), START);
            served.push(queue.pop(START).unwrap().key);
        }
        let background: Vec<_> = served.iter().copied().filter(|key| *key >= 1000).collect();
        assert_eq!(background, [1000, 1001, 1002]);
        assert_eq!(served.iter().position(|key| *key == 1000), Some(9));
    }

    #[test]
    fn a_shut_down_queue_hands_out_what_is_ready_and_drops_what_is_delayed() {
        let mut queue = PriorityQueue::default();
        queue.add(1, Add::default(), START);
        queue.add(2, Add::default(), START);
        queue.add(3, after(1), START);
        queue.pop(START).unwrap();
        queue.add(1, Add::default(), START);
        queue.shut_down();
        queue.add(4, Add::default(), START);
        assert!(!queue.is_drained());
        queue.done(&1, START);
        assert_eq!(drain(&mut queue, Duration::from_secs(9)), [2, 1]);
        queue.done(&1, START);
        queue.done(&2, START);
        assert!(queue.is_drained());
    }

    #[test]
    fn nothing_is_remembered_about_a_key_that_succeeded() {
        let mut queue = PriorityQueue::default();
        for key in 0..100 {
            queue.add(
                key,
                Add {
                    priority: 0,
                    when: When::RateLimited,
                },
                START,
            );
        }
        let later = Duration::from_secs(1);
        while let Some(popped) = queue.pop(later) {
            queue.forget(&popped.key);
            queue.done(&popped.key, later);
        }
        assert!(queue.slots.is_empty());
    }
}
