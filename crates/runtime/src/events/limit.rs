//! How many requests one controller may cause about one object.

use std::collections::HashMap;
use std::time::Duration;

use super::series::Moment;

/// client-go's: so many at once,
const BURST: f64 = 25.0;
/// and one more each time this has passed.
const REFILL: Duration = Duration::from_mins(5);
/// So many objects are remembered.
const MOST_OBJECTS: usize = 4096;

/// A controller and the object that its events are about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LimitKey {
    pub(super) controller: String,
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) event_type: &'static str,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Moment,
}

#[derive(Debug, Default)]
pub(super) struct Limits(HashMap<LimitKey, Bucket>);

impl Limits {
    /// Takes a token, if there is one.
    pub(super) fn admit(&mut self, key: LimitKey, now: Moment) -> bool {
        if self.0.len() >= MOST_OBJECTS && !self.0.contains_key(&key) {
            self.forget(now);
        }
        let bucket = self.0.entry(key).or_insert(Bucket { tokens: BURST, at: now });
        bucket.tokens = bucket.tokens_at(now);
        bucket.at = now;
        let admitted = bucket.tokens >= 1.0;
        if admitted {
            bucket.tokens -= 1.0;
        }
        admitted
    }

    /// Forgets buckets that are full again, or else the one that was not used for longest.
    fn forget(&mut self, now: Moment) {
        self.0.retain(|_, bucket| bucket.tokens_at(now) < BURST);
        if self.0.len() >= MOST_OBJECTS
            && let Some(oldest) = self
                .0
                .iter()
                .min_by_key(|(_, bucket)| bucket.at)
                .map(|(key, _)| key.clone())
        {
            self.0.remove(&oldest);
        }
    }
}

impl Bucket {
    fn tokens_at(&self, now: Moment) -> f64 {
        let passed = now.saturating_sub(self.at);
        (self.tokens + passed.as_secs_f64() / REFILL.as_secs_f64()).min(BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> LimitKey {
        LimitKey {
            controller: "c".to_owned(),
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            namespace: None,
            name: name.to_owned(),
            uid: String::new(),
            event_type: "Normal",
        }
    }

    #[test]
    fn twenty_five_pass_at_once_and_one_more_every_five_minutes() {
        let mut limits = Limits::default();
        let passed = (0..100).filter(|_| limits.admit(key("a"), Moment::ZERO)).count();
        assert_eq!(passed, 25);
        assert!(limits.admit(key("b"), Moment::ZERO));
        assert!(!limits.admit(key("a"), Moment::from_secs(299)));
        assert!(limits.admit(key("a"), Moment::from_secs(301)));
        assert!(!limits.admit(key("a"), Moment::from_secs(301)));
    }

    #[test]
    fn memory_is_bounded_however_many_objects_there_are() {
        let mut limits = Limits::default();
        for number in 0..10_000 {
            assert!(limits.admit(key(&number.to_string()), Moment::from_millis(number)));
        }
        assert!(limits.0.len() <= MOST_OBJECTS);
    }
}
