//! Randomness from a source that can be seeded, so that a seed repeats a run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// A source of random numbers, UUIDs and jitter. Clones draw from the same sequence; equal seeds give equal sequences.
///
/// ```
/// use kubewright_system::random::Random;
/// use std::time::Duration;
///
/// assert_eq!(Random::seeded(7).uuid(), Random::seeded(7).uuid());
/// assert_ne!(Random::from_entropy().uuid(), Random::from_entropy().uuid());
/// let pause = Random::seeded(7).jittered(Duration::from_secs(10), 0.5);
/// assert!((10..15).contains(&pause.as_secs()));
/// ```
#[derive(Clone)]
pub struct Random(Arc<Mutex<StdRng>>);

impl Random {
    /// A source whose sequence the seed determines.
    pub fn seeded(seed: u64) -> Self {
        Random(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    /// A source that differs from run to run.
    pub fn from_entropy() -> Self {
        Self::seeded(rand::rng().random())
    }

    /// A source with a sequence of its own, seeded from this one.
    pub fn fork(&self) -> Self {
        let seed = self.0.lock().random();
        Self::seeded(seed)
    }

    /// A number below `limit` (0 when `limit` is 0).
    pub fn below(&self, limit: usize) -> usize {
        if limit == 0 {
            0
        } else {
            self.0.lock().random_range(0..limit)
        }
    }

    /// A duration between `base` and `base` times `1 + spread`.
    pub fn jittered(&self, base: Duration, spread: f64) -> Duration {
        let factor = 1.0 + spread * self.0.lock().random_range(0.0..1.0);
        Duration::try_from_secs_f64(base.as_secs_f64() * factor).unwrap_or(base)
    }

    /// A version 4 UUID.
    pub fn uuid(&self) -> String {
        const HEX: &[u8; 16] = b"0123456789abcdef";
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

    /// Five characters for a generated name: no vowels and nothing that looks like another character.
    pub fn name_suffix(&self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut random = self.0.lock();
        (0..5)
            .map(|_| char::from(ALPHABET[random.random_range(0..ALPHABET.len())]))
            .collect()
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_uuids() {
        assert_eq!(Random::seeded(7).uuid(), Random::seeded(7).uuid());
        assert_ne!(Random::seeded(7).uuid(), Random::seeded(8).uuid());
    }

    #[test]
    fn a_uuid_is_of_version_4() {
        let uuid = Random::seeded(1).uuid();
        assert_eq!(uuid.len(), 36);
        assert_eq!(&uuid[14..15], "4");
        assert!(matches!(&uuid[19..20], "8" | "9" | "a" | "b"));
    }

    #[test]
    fn jitter_stays_within_its_spread() {
        let random = Random::seeded(1);
        for _ in 0..100 {
            let jittered = random.jittered(Duration::from_secs(10), 0.5);
            assert!((10.0..15.0).contains(&jittered.as_secs_f64()));
        }
    }
}
