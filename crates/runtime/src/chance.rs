//! Chance as a value: every jitter and id comes from here, so that a seed repeats a run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// A source of randomness. Cloning shares it; equal seeds give equal sequences.
///
/// ```
/// use kubewright_runtime::chance::Chance;
/// use std::time::Duration;
///
/// assert_eq!(Chance::seeded(7).uuid(), Chance::seeded(7).uuid());
/// assert_ne!(Chance::from_entropy().uuid(), Chance::from_entropy().uuid());
/// let pause = Chance::seeded(7).jittered(Duration::from_secs(10), 0.5);
/// assert!((10..15).contains(&pause.as_secs()));
/// ```
#[derive(Clone)]
pub struct Chance(Arc<Mutex<StdRng>>);

impl Chance {
    /// Chance that repeats itself for equal seeds.
    pub fn seeded(seed: u64) -> Self {
        Chance(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    /// Chance that differs from run to run.
    pub fn from_entropy() -> Self {
        Self::seeded(rand::rng().random())
    }

    /// A duration between `base` and `base` times `1 + spread`.
    pub fn jittered(&self, base: Duration, spread: f64) -> Duration {
        let factor = 1.0 + spread * self.0.lock().random_range(0.0..1.0);
        Duration::try_from_secs_f64(base.as_secs_f64() * factor).unwrap_or(base)
    }

    /// A version 4 UUID.
    pub fn uuid(&self) -> String {
        let mut bytes: [u8; 16] = self.0.lock().random();
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let number = format!("{:032x}", u128::from_be_bytes(bytes));
        let parts = [
            &number[..8],
            &number[8..12],
            &number[12..16],
            &number[16..20],
            &number[20..],
        ];
        parts.join("-")
    }
}

impl fmt::Debug for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chance")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_ids_of_version_4() {
        let id = Chance::seeded(7).uuid();
        assert_eq!(id, Chance::seeded(7).uuid());
        assert_ne!(id, Chance::seeded(8).uuid());
        assert_eq!((id.len(), &id[14..15]), (36, "4"));
    }

    #[test]
    fn jitter_stays_within_its_spread() {
        let chance = Chance::seeded(1);
        for _ in 0..100 {
            let jittered = chance.jittered(Duration::from_secs(10), 0.5);
            assert!((10.0..15.0).contains(&jittered.as_secs_f64()));
        }
    }
}
