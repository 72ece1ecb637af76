//! Asking tasks to end: one side asks, any number of others wait for it.
//!
//! `tokio_util`'s `CancellationToken` differs in two points that matter here: whoever holds a token can cancel it, and
//! dropping the last holder that could cancel does not cancel.

use std::future::Future;

use tokio::sync::watch;

/// Asks others to stop. Dropping it asks too.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright_system::stop::Stopper;
///
/// let (stopper, stop) = Stopper::new();
/// let task = tokio::spawn({
///     let stop = stop.clone();
///     async move { stop.stopped().await }
/// });
/// assert!(!stop.is_stopping());
/// stopper.stop(); // `drop(stopper)` does the same
/// task.await?;
/// assert!(stop.is_stopping());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Learns that it is time to stop. Clones learn it too.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stopper {
    /// A stopper and the [`Stop`] that it triggers.
    pub fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(false);
        (Stopper(sender), Stop(receiver))
    }

    /// Asks everybody to stop.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Waits until the [`Stopper`] asks to stop or is dropped.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut receiver = self.0.clone();
        async move {
            // An error means that the stopper was dropped, which asks to stop too.
            let _ = receiver.wait_for(|stopping| *stopping).await;
        }
    }

    /// Whether the [`Stopper`] asked to stop or was dropped.
    pub fn is_stopping(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn dropping_the_stopper_asks_to_stop() {
        let (stopper, stop) = Stopper::new();
        assert!(!stop.is_stopping());
        drop(stopper);
        stop.stopped().await;
        assert!(stop.is_stopping());
    }
}
