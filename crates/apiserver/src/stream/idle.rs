//! How long a connection to containers may last over which nothing is said.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

/// As upstream's nodes have it by default (`--streaming-connection-idle-timeout`). Pings of the server do not count: they are its own.
pub(super) const IDLE: Duration = Duration::from_hours(4);

/// When something was last said over a connection.
pub(super) struct Activity(Mutex<Instant>);

impl Activity {
    /// A connection that begins now.
    pub(super) fn begun() -> Self {
        Activity(Mutex::new(Instant::now()))
    }

    /// Notes that something was said.
    pub(super) fn note(&self) {
        *self.0.lock() = Instant::now();
    }

    /// Waits until nothing was said for as long as a connection may be idle.
    pub(super) async fn idle(&self) {
        loop {
            let end = *self.0.lock() + IDLE;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_said_puts_the_end_off() {
        let (activity, begun) = (Activity::begun(), Instant::now());
        let said = async {
            tokio::time::sleep(IDLE / 2).await;
            activity.note();
        };
        tokio::join!(said, activity.idle());
        // A timer is exact to a millisecond.
        assert_eq!(begun.elapsed().as_secs(), (IDLE + IDLE / 2).as_secs());
    }
}
