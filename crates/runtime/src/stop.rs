//! Asking tasks to end: one side asks, any number of others hear.

use std::future::Future;

use tokio::sync::watch;

/// Asks others to stop. Dropping it asks too.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright_runtime::stop::Stopper;
///
/// let (stopper, stop) = Stopper::new();
/// let task = tokio::spawn({
///     let stop = stop.clone();
///     async move { stop.stopped().await }
/// });
/// assert!(!stop.is_stopping());
/// stopper.stop();
/// task.await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Hears when it is time to stop. Cloning shares it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright_runtime::stop::Stopper;
///
/// let (stopper, stop) = Stopper::new();
/// let task = tokio::spawn({
///     let stop = stop.clone();
///     async move { stop.stopped().await }
/// });
/// assert!(!stop.is_stopping());
/// drop(stopper); // nobody can ask any more, so it is time
/// task.await?;
/// assert!(stop.is_stopping());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stopper {
    /// A pair of asker and listener.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (stopper, stop) = kubewright_runtime::stop::Stopper::new();
    /// assert!(!stop.is_stopping());
    /// stopper.stop();
    /// stop.stopped().await;
    /// # }
    /// ```
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
    /// Waits until it is time to stop.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut receiver = self.0.clone();
        async move {
            // The asker is gone: nobody will ask any more, so it is time.
            let _ = receiver.wait_for(|stopping| *stopping).await;
        }
    }

    /// Whether it is time to stop.
    pub fn is_stopping(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}
