//! Wall-clock time that follows tokio's clock, so that a paused runtime is a virtual clock.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A wall clock that tokio's clock drives.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use kubewright_system::clock::Clock;
/// use std::time::Duration;
///
/// let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
/// tokio::time::sleep(Duration::from_secs(3600)).await; // takes no time: this runtime's clock is paused
/// assert_eq!(clock.stamp(), "2026-01-01T01:00:00Z");
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Timestamp,
    started: Instant,
    /// By how much it is off, from a time on.
    jump: Option<(Instant, SignedDuration)>,
}

impl Clock {
    /// A clock that shows `epoch` now.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Clock {
            epoch,
            started: Instant::now(),
            jump: None,
        }
    }

    /// The same clock, which is set forward or back by so much after a while, as one that somebody corrects. A second jump replaces
    /// the first.
    #[must_use]
    pub fn jumping(self, after: Duration, by: SignedDuration) -> Self {
        Clock {
            jump: Some((Instant::now() + after, by)),
            ..self
        }
    }

    /// A clock that shows the machine's time.
    pub fn system() -> Self {
        Self::starting_at(Timestamp::now())
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        let right = self
            .epoch
            .saturating_add(self.started.elapsed())
            .unwrap_or(Timestamp::MAX);
        match self.jump {
            Some((at, by)) if Instant::now() >= at => right.checked_add(by).unwrap_or(right),
            _ => right,
        }
    }

    /// The current time as [`stamp`] writes it.
    pub fn stamp(&self) -> String {
        stamp(self.now())
    }
}

/// A time as `metav1.Time` is written: RFC 3339 in UTC with whole seconds.
pub fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_paused_runtime_is_a_virtual_clock() {
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(clock.stamp(), "1970-01-01T01:00:00Z");
    }
    #[tokio::test(start_paused = true)]
    async fn a_clock_that_jumps_is_right_until_then() {
        let clock =
            Clock::starting_at(Timestamp::UNIX_EPOCH).jumping(Duration::from_secs(30), -SignedDuration::from_secs(20));
        tokio::time::sleep(Duration::from_secs(29)).await;
        assert_eq!(clock.stamp(), "1970-01-01T00:00:29Z");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(clock.stamp(), "1970-01-01T00:00:10Z");
    }
}
