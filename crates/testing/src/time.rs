//! Virtual time: whether the clock stands still, and a runtime for tests whose clock does.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// Whether the clock of this runtime is paused. Tokio does not say, but its clock shows it: a paused one does not move.
pub(crate) fn is_paused() -> bool {
    let virtual_now = tokio::time::Instant::now();
    let real = std::time::Instant::now();
    while real.elapsed() < Duration::from_micros(2) {
        std::hint::spin_loop();
    }
    tokio::time::Instant::now() == virtual_now
}

/// How a test runs. `#[kubewright::test]` makes one.
///
/// ```
/// use kubewright_testing::TestRuntime;
///
/// let slept = TestRuntime::new().virtual_time().run(async {
///     let began = tokio::time::Instant::now();
///     tokio::time::sleep(std::time::Duration::from_secs(3600)).await; // takes no time at all
///     began.elapsed()
/// });
/// assert_eq!(slept.as_secs(), 3600);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestRuntime {
    virtual_time: bool,
    workers: Option<usize>,
}

impl TestRuntime {
    /// One thread, real time.
    pub fn new() -> Self {
        Self::default()
    }

    /// A clock that moves only when nothing is left to do, and then at once to the next timer.
    pub fn virtual_time(mut self) -> Self {
        self.virtual_time = true;
        self
    }

    /// That many threads.
    pub fn workers(mut self, threads: usize) -> Self {
        self.workers = Some(threads.max(1));
        self
    }

    /// Runs a test to its end.
    pub fn run<F: Future>(self, test: F) -> F::Output {
        let runtime = self.build();
        let answer = runtime.block_on(test);
        // What a test left behind, such as a watch, is not waited for.
        runtime.shutdown_background();
        answer
    }

    fn build(self) -> Runtime {
        let mut builder = match self.workers {
            // Only a runtime of one thread can stop its clock.
            Some(threads) if !self.virtual_time => {
                let mut builder = Builder::new_multi_thread();
                builder.worker_threads(threads);
                builder
            }
            _ => Builder::new_current_thread(),
        };
        let built = builder.enable_all().start_paused(self.virtual_time).build();
        built.unwrap_or_else(|error| panic!("the system has no runtime for this test: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_clock_is_told_from_one_that_moves() {
        assert!(TestRuntime::new().virtual_time().run(async { is_paused() }));
        assert!(!TestRuntime::new().run(async { is_paused() }));
        assert!(!TestRuntime::new().workers(2).run(async { is_paused() }));
    }
}
