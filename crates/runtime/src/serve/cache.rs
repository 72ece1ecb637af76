//! A cache whose entries expire and whose size is bounded.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The limit of entries.
const MOST: usize = 1024;

/// A cache whose entries expire, and of which there are never too many.
#[derive(Debug)]
pub struct TtlCache<K, V>(Mutex<HashMap<K, (Instant, V)>>);

impl<K: Clone + Eq + Hash, V: Clone> Default for TtlCache<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Clone + Eq + Hash, V: Clone> TtlCache<K, V> {
    /// An empty one.
    pub fn new() -> Self {
        TtlCache(Mutex::new(HashMap::new()))
    }

    /// What was put, until it expires.
    pub fn get(&self, key: &K) -> Option<V> {
        let known = self.0.lock();
        known
            .get(key)
            .filter(|(until, _)| Instant::now() < *until)
            .map(|(_, value)| value.clone())
    }

    /// Keeps a value for a time.
    pub fn put(&self, key: K, value: V, time: Duration) {
        let now = Instant::now();
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.retain(|_, (until, _)| now < *until);
        }
        // Still too many, since a client sends ever new ones: drop the entry that expires first.
        if known.len() >= MOST
            && let Some(first) = known
                .iter()
                .min_by_key(|(_, (until, _))| *until)
                .map(|(key, _)| key.clone())
        {
            known.remove(&first);
        }
        known.insert(key, (now + time, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_forgotten_in_time_and_never_too_much() {
        let known = TtlCache::new();
        known.put(1, "one", Duration::from_mins(1));
        assert_eq!(known.get(&1), Some("one"));
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(known.get(&1), None);
        for key in 0..5000 {
            known.put(key, "many", Duration::from_mins(1));
        }
        assert!(known.0.lock().len() <= MOST);
        assert_eq!(known.get(&4999), Some("many"));
    }
}
