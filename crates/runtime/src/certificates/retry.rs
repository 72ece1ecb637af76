//! When certificates are looked at again, and log lines that are written once.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::target::Target;
use crate::random::Random;

/// The first pause after a failure, doubled by each further one up to the longest.
const SHORTEST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_mins(1);
/// This many writes in [`WHILE`] are normal. More of them mean that another writer undoes ours: then each write waits longer.
const WRITES: usize = 30;
const WHILE: Duration = Duration::from_mins(10);

/// Decides how long to wait before the next pass: longer after each failure, and while another writer keeps undoing ours.
#[derive(Debug, Default)]
pub(super) struct RetryTimer {
    failures: u32,
    writes: VecDeque<Instant>,
}

/// A pause: at least so long, at most so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    at_least: Duration,
    at_most: Duration,
}

impl Pause {
    /// Waits for a change, but neither shorter nor longer than the pause.
    pub(super) async fn wait(self, change: impl Future<Output = ()>) {
        sleep(self.at_least).await;
        let _ = timeout(self.at_most.saturating_sub(self.at_least), change).await;
    }
}

impl RetryTimer {
    /// Counts a write.
    pub(super) fn record_write(&mut self) {
        let now = Instant::now();
        while self.writes.front().is_some_and(|first| *first + WHILE < now) {
            self.writes.pop_front();
        }
        self.writes.push_back(now);
        // The pause no longer grows beyond this.
        if self.writes.len() > WRITES + 16 {
            self.writes.pop_front();
        }
    }

    /// The pause when all is well.
    pub(super) fn next(&mut self, until: Duration) -> Pause {
        self.failures = 0;
        let at_least = self.contention_pause();
        Pause {
            at_least,
            at_most: until.max(at_least).max(SHORTEST),
        }
    }

    /// The pause when something failed. A change ends it early.
    pub(super) fn after_failure(&mut self, random: &Random) -> Pause {
        let pause = doubled(self.failures);
        self.failures = self.failures.saturating_add(1);
        let at_least = self.contention_pause();
        Pause {
            at_least,
            at_most: random.jittered(pause, 0.2).max(at_least),
        }
    }

    fn contention_pause(&self) -> Duration {
        let recent = self.writes.iter().filter(|at| at.elapsed() < WHILE).count();
        match recent.checked_sub(WRITES) {
            None => Duration::ZERO,
            Some(many) => doubled(many as u32),
        }
    }
}

fn doubled(times: u32) -> Duration {
    SHORTEST.saturating_mul(2_u32.saturating_pow(times)).min(LONGEST)
}

/// Writes a log line only when it differs from the last one.
#[derive(Debug, Default)]
pub(super) struct LogOnce {
    trouble: Option<String>,
    notes: BTreeMap<Target, String>,
}

impl LogOnce {
    /// Logs that the certificates are not in place.
    pub(super) fn trouble(&mut self, text: &str) {
        if self.trouble.as_deref() != Some(text) {
            tracing::error!(error = text, "the webhook certificates are not in place; trying again");
            self.trouble = Some(text.to_owned());
        }
    }

    /// Logs, for debugging, that what a local run left behind cannot be restored.
    pub(super) fn aside(&mut self, text: &str) {
        if self.trouble.as_deref() != Some(text) {
            tracing::debug!(error = text, "what local runs left behind cannot be restored");
            self.trouble = Some(text.to_owned());
        }
    }

    /// Logs that the certificates are in place again.
    pub(super) fn fine(&mut self) {
        if self.trouble.take().is_some() {
            tracing::info!("the webhook certificates are in place");
        }
    }

    /// Logs something about a target.
    pub(super) fn note(&mut self, target: &Target, text: &str) {
        if self.notes.get(target).map(String::as_str) != Some(text) {
            tracing::info!(%target, "it {text}");
            self.notes.insert(target.clone(), text.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failures_are_tried_again_ever_more_slowly() {
        let (mut retry, random) = (RetryTimer::default(), Random::seeded(1));
        let pauses: Vec<_> = (0..10).map(|_| retry.after_failure(&random).at_most).collect();
        assert!(pauses[0] < Duration::from_secs(1) && pauses[9] >= LONGEST);
        assert!(pauses.iter().all(|pause| *pause <= LONGEST.mul_f64(1.2)));
        retry.next(LONGEST);
        assert!(retry.after_failure(&random).at_most < Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn who_quarrels_becomes_quiet_and_forgets_in_a_while() {
        let mut retry = RetryTimer::default();
        for _ in 0..WRITES - 1 {
            retry.record_write();
        }
        assert_eq!(retry.next(LONGEST).at_least, Duration::ZERO);
        for _ in 0..50 {
            retry.record_write();
        }
        assert_eq!(retry.next(LONGEST).at_least, LONGEST);
        sleep(WHILE).await;
        assert_eq!(retry.next(LONGEST).at_least, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_ends_with_a_change_but_not_before_its_time() {
        let start = Instant::now();
        let pause = Pause {
            at_least: Duration::from_secs(2),
            at_most: Duration::from_secs(9),
        };
        pause.wait(std::future::ready(())).await;
        assert_eq!(start.elapsed(), Duration::from_secs(2));
        pause.wait(std::future::pending()).await;
        assert_eq!(start.elapsed(), Duration::from_secs(11));
    }
}
