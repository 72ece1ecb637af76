//! Time and chance as values: every timestamp, uid, generated name and jitter of a server comes from here.

use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::time::Instant;

/// Wall-clock time that follows tokio's clock, so that a paused runtime is a virtual clock.
///
/// ```
/// use kubewright_apiserver::Clock;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
/// tokio::time::sleep(Duration::from_secs(3600)).await; // takes no time: this runtime's clock is paused
/// assert_eq!(clock.stamp(), "2026-01-01T01:00:00Z");
/// assert!(Clock::system().now() > clock.now()); // the machine's time
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Timestamp,
    started: Instant,
}

impl Clock {
    /// A clock that shows `epoch` now.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Clock {
            epoch,
            started: Instant::now(),
        }
    }

    /// A clock that shows the machine's time.
    pub fn system() -> Self {
        Self::starting_at(Timestamp::now())
    }

    /// The time it is.
    pub fn now(&self) -> Timestamp {
        self.epoch
            .saturating_add(self.started.elapsed())
            .unwrap_or(Timestamp::MAX)
    }

    /// The time it is, as `metav1.Time` is written: UTC, whole seconds.
    pub fn stamp(&self) -> String {
        stamp(self.now())
    }
}

/// A time as `metav1.Time` is written: UTC, whole seconds.
pub(crate) fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The one source of randomness of a server. The same seed gives the same uids and names in the same order.
#[derive(Debug)]
pub(crate) struct Chance(Mutex<StdRng>);

impl Chance {
    /// Chance that repeats itself for equal seeds.
    pub(crate) fn seeded(seed: u64) -> Self {
        Chance(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// Chance that differs from run to run.
    pub(crate) fn from_entropy() -> Self {
        Self::seeded(rand::rng().random())
    }

    /// Another source, which repeats itself if this one does.
    pub(crate) fn fork(&self) -> Self {
        let seed = self.0.lock().random();
        Self::seeded(seed)
    }

    /// A version 4 UUID.
    pub(crate) fn uid(&self) -> String {
        let mut bytes: [u8; 16] = self.0.lock().random();
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let mut text = String::with_capacity(36);
        for (at, byte) in bytes.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            text.push(char::from(HEX[usize::from(byte >> 4)]));
            text.push(char::from(HEX[usize::from(byte & 15)]));
        }
        text
    }

    /// Five characters for a generated name (M2): no vowels and nothing that looks like another character.
    pub(crate) fn name_suffix(&self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut random = self.0.lock();
        (0..5)
            .map(|_| char::from(ALPHABET[random.random_range(0..ALPHABET.len())]))
            .collect()
    }

    /// A number below `limit` (0 when `limit` is 0).
    pub(crate) fn below(&self, limit: usize) -> usize {
        if limit == 0 {
            0
        } else {
            self.0.lock().random_range(0..limit)
        }
    }

    /// A duration between `base` and twice `base`.
    pub(crate) fn jittered(&self, base: Duration) -> Duration {
        base + base.mul_f64(self.0.lock().random_range(0.0..1.0))
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_uids() {
        assert_eq!(Chance::seeded(7).uid(), Chance::seeded(7).uid());
        assert_ne!(Chance::seeded(7).uid(), Chance::seeded(8).uid());
    }

    #[test]
    fn a_uid_is_a_version_4_uuid() {
        let uid = Chance::seeded(1).uid();
        assert_eq!(uid.len(), 36);
        assert_eq!(&uid[14..15], "4");
        assert!(matches!(&uid[19..20], "8" | "9" | "a" | "b"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_paused_runtime_is_a_virtual_clock() {
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(clock.stamp(), "1970-01-01T01:00:00Z");
    }
}
