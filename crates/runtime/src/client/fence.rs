//! A fence before all writes: a process that may have lost its lease must not write.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The write was not sent: this process is not, or may no longer be, the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the leader: the write was not sent")]
pub struct Fenced;

#[derive(Clone, Copy, Debug)]
enum State {
    Open,
    OpenUntil(Instant),
    Closed,
}

/// Lets writes pass or stops them. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Fence(Arc<Mutex<State>>);

impl Fence {
    /// A fence that lets everything pass.
    pub fn open() -> Self {
        Fence(Arc::new(Mutex::new(State::Open)))
    }

    /// A fence that stops everything.
    pub fn closed() -> Self {
        Fence(Arc::new(Mutex::new(State::Closed)))
    }

    /// Lets writes pass until a moment.
    pub(crate) fn open_until(&self, moment: Instant) {
        *self.0.lock() = State::OpenUntil(moment);
    }

    /// Stops writes from now on.
    pub fn close(&self) {
        *self.0.lock() = State::Closed;
    }

    /// Whether a write may be sent at this moment.
    pub fn check(&self) -> Result<(), Fenced> {
        match *self.0.lock() {
            State::Open => Ok(()),
            State::OpenUntil(moment) if Instant::now() < moment => Ok(()),
            State::OpenUntil(_) | State::Closed => Err(Fenced),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_fence_is_open_as_long_as_it_was_told() {
        let fence = Fence::closed();
        assert!(fence.check().is_err());
        fence.open_until(Instant::now() + Duration::from_secs(10));
        assert!(fence.check().is_ok());
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert!(fence.check().is_err());

        let fence = Fence::open();
        assert!(fence.check().is_ok());
        fence.close();
        assert!(fence.check().is_err());
    }
}
