//! The ready keys: one lane per priority, each in order of arrival, and a rule that lets lower lanes have a turn.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// Where a key stands within all lanes; sequence numbers only grow.
pub(super) type Sequence = u64;

#[derive(Debug)]
pub(super) struct Lanes<K> {
    by_priority: BTreeMap<i32, BTreeMap<Sequence, K>>,
    /// The first of each lane, oldest first: finds the longest-waiting key of the lower lanes without a scan.
    heads: BTreeSet<(Sequence, i32)>,
    /// How many keys in a row were popped from the highest lane while keys of lower lanes were ready.
    passed_over: u32,
    relief: NonZeroU32,
    len: usize,
}

impl<K> Lanes<K> {
    pub(super) fn new(relief: NonZeroU32) -> Self {
        Lanes {
            by_priority: BTreeMap::new(),
            heads: BTreeSet::new(),
            passed_over: 0,
            relief,
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Puts a key at the end of its lane.
    pub(super) fn push(&mut self, priority: i32, sequence: Sequence, key: K) {
        let lane = self.by_priority.entry(priority).or_default();
        if lane.is_empty() {
            self.heads.insert((sequence, priority));
        }
        lane.insert(sequence, key);
        self.len += 1;
    }

    /// Takes out one key, wherever in its lane it stands.
    pub(super) fn remove(&mut self, priority: i32, sequence: Sequence) -> Option<K> {
        let lane = self.by_priority.get_mut(&priority)?;
        let key = lane.remove(&sequence)?;
        self.len -= 1;
        let next = lane.keys().next().copied();
        if self.heads.remove(&(sequence, priority)) {
            match next {
                Some(next) => _ = self.heads.insert((next, priority)),
                None => _ = self.by_priority.remove(&priority),
            }
        }
        Some(key)
    }

    /// The next key: the first of the highest lane, or, once in a while, the longest-waiting of the others.
    pub(super) fn pop(&mut self) -> Option<(i32, K)> {
        let highest = *self.by_priority.last_key_value()?.0;
        let lower = self.heads.iter().find(|(_, priority)| *priority != highest).copied();
        let (sequence, priority) = match lower {
            Some(head) if self.passed_over + 1 >= self.relief.get() => {
                self.passed_over = 0;
                head
            }
            _ => {
                self.passed_over = if lower.is_some() { self.passed_over + 1 } else { 0 };
                let lane = self.by_priority.get(&highest)?;
                (*lane.first_key_value()?.0, highest)
            }
        };
        Some((priority, self.remove(priority, sequence)?))
    }

    /// All keys, highest lane first, each lane in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i32, &K)> {
        self.by_priority
            .iter()
            .rev()
            .flat_map(|(priority, lane)| lane.values().map(|key| (*priority, key)))
    }
}
