//! Time as a value: wall-clock time that follows tokio's clock, so that a paused runtime is a virtual clock.

use jiff::Timestamp;
use tokio::time::Instant;

/// A wall clock that tokio's clock drives.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use kubewright_runtime::clock::Clock;
/// use std::time::Duration;
///
/// let clock = Clock::system();
/// let before = clock.now();
/// tokio::time::sleep(Duration::from_hours(1)).await;
/// assert_eq!(clock.now().duration_since(before).as_secs(), 3600);
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Timestamp,
    started: Instant,
}

impl Clock {
    /// A clock that shows `epoch` now.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use kubewright_runtime::clock::Clock;
    ///
    /// let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    /// assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00Z");
    /// # }
    /// ```
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
}
