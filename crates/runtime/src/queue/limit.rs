//! How often: exponential back-off per key, an optional token bucket for all keys, and the options that hold them.

use std::num::NonZeroU32;
use std::time::Duration;

use super::core::Moment;

/// Exponential back-off: `base`, twice `base`, four times `base`, … up to `max`.
///
/// ```
/// use kubewright_runtime::queue::Backoff;
/// use std::time::Duration;
///
/// let backoff = Backoff::default();
/// assert_eq!(backoff.delay(0), Duration::from_millis(5));
/// assert_eq!(backoff.delay(3), Duration::from_millis(40));
/// assert_eq!(backoff.delay(60), Duration::from_secs(1000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failure. Default: 5 ms.
    pub base: Duration,
    /// No delay is longer than this. Default: 1000 s.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            base: Duration::from_millis(5),
            max: Duration::from_secs(1000),
        }
    }
}

impl Backoff {
    /// The delay after `failures` earlier failures.
    pub fn delay(&self, failures: u32) -> Duration {
        2_u32
            .checked_pow(failures)
            .and_then(|factor| self.base.checked_mul(factor))
            .map_or(self.max, |delay| delay.min(self.max))
    }
}

/// A token bucket shared by all keys: `burst` at once, then one per `interval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    interval: Duration,
    burst: NonZeroU32,
    /// When the bucket will be full again (the generic cell rate algorithm's one variable).
    full_at: Moment,
}

impl TokenBucket {
    /// A full bucket that gains one token per `interval` and holds `burst` of them.
    pub fn new(interval: Duration, burst: NonZeroU32) -> Self {
        TokenBucket {
            interval,
            burst,
            full_at: Moment::ZERO,
        }
    }

    /// Takes a token and says how long its taker has to wait for it.
    pub fn take(&mut self, now: Moment) -> Duration {
        self.full_at = self.full_at.max(now).saturating_add(self.interval);
        let capacity = self.interval.saturating_mul(self.burst.get());
        self.full_at.saturating_sub(capacity).saturating_sub(now)
    }
}

impl Default for TokenBucket {
    /// Ten per second, a hundred at once: controller-runtime's classic queue.
    fn default() -> Self {
        TokenBucket::new(
            Duration::from_millis(100),
            NonZeroU32::new(100).unwrap_or(NonZeroU32::MIN),
        )
    }
}

/// How a queue behaves. The default is controller-runtime's: back-off per key from 5 ms to 1000 s, no global limit.
#[derive(Clone, Copy, Debug)]
pub struct QueueOptions {
    /// The delay of rate-limited adds, per key.
    pub backoff: Backoff,
    /// A limit on rate-limited adds of all keys together. Default: none.
    pub bucket: Option<TokenBucket>,
    /// Of this many consecutive pops at least one goes to a key of lower priority, if there is one. Default: 10.
    pub relief: NonZeroU32,
}

impl Default for QueueOptions {
    fn default() -> Self {
        QueueOptions {
            backoff: Backoff::default(),
            bucket: None,
            relief: NonZeroU32::new(10).unwrap_or(NonZeroU32::MIN),
        }
    }
}
