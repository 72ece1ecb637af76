//! How long is waited after failures that follow each other.

use std::time::Duration;

/// Doubles from `base` to `max`.
pub(super) struct Backoff {
    base: Duration,
    max: Duration,
    failures: u32,
}

impl Backoff {
    pub(super) fn new(base: Duration, max: Duration) -> Self {
        Backoff { base, max, failures: 0 }
    }

    /// How long to wait after one more failure.
    pub(super) fn next(&mut self) -> Duration {
        let wait = self
            .base
            .saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1);
        wait.min(self.max)
    }

    /// Whether the last attempt failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failures > 0
    }

    /// Begins anew after a success.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_its_limit() {
        let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_secs(30));
        let waits: Vec<u128> = (0..40).map(|_| backoff.next().as_millis()).collect();
        assert_eq!(waits[..4], [5, 10, 20, 40]);
        assert_eq!(waits[39], 30_000);
        backoff.reset();
        assert_eq!(backoff.next(), Duration::from_millis(5));
    }
}
