//! Signals that ask this process to end.

use std::io;

use tokio::sync::watch;

use crate::stop::{Stop, Stopper};

/// A [`Stop`] for the whole process: the first SIGINT or SIGTERM asks to stop, the second exits with code 1 at once.
pub fn stop_on_signals() -> io::Result<Stop> {
    let signals = Signals::listen()?;
    let (stopper, stop) = Stopper::new();
    tokio::spawn(stop_then_exit(signals, stopper, || std::process::exit(1)));
    Ok(stop)
}

async fn stop_then_exit(mut signals: Signals, stopper: Stopper, exit: impl FnOnce()) {
    signals.more_than(0).await;
    tracing::info!("stopping; a second signal exits at once");
    stopper.stop();
    signals.more_than(1).await;
    exit();
}

/// The signals that arrived so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// How many arrived.
    pub count: u32,
    /// Whether the last was SIGINT (Ctrl-C).
    pub is_interrupt: bool,
}

/// Counts the signals that ask this process to end. Clones see the same count.
#[derive(Clone, Debug)]
pub struct Signals(watch::Receiver<Received>);

impl Signals {
    /// Counts SIGINT and SIGTERM from now on, which then no longer end the process. Elsewhere than on Unix, Ctrl-C.
    pub fn listen() -> io::Result<Self> {
        Ok(Self::count_from(Source::new(false)?))
    }

    /// Counts SIGHUP, too, unless the process ignores it, as `nohup` has it do.
    pub fn listen_with_hangup() -> io::Result<Self> {
        Ok(Self::count_from(Source::new(true)?))
    }

    fn count_from(mut source: Source) -> Self {
        let (sender, receiver) = watch::channel(Received::default());
        tokio::spawn(async move {
            loop {
                let is_interrupt = source.next().await;
                sender.send_modify(|received| {
                    received.count += 1;
                    received.is_interrupt = is_interrupt;
                });
            }
        });
        Signals(receiver)
    }

    /// How many signals arrived so far.
    pub fn count(&self) -> u32 {
        self.0.borrow().count
    }

    /// Returns once more than `known` signals arrived.
    pub async fn more_than(&mut self, known: u32) -> Received {
        let received = self.0.wait_for(|received| received.count > known).await;
        let received = received.ok().map(|received| *received);
        match received {
            Some(received) => received,
            // The task that counts ended with its runtime: no signal will be seen.
            None => std::future::pending().await,
        }
    }
}

#[cfg(unix)]
struct Source {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Source {
    fn new(hangup: bool) -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let is_ignored = || std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup(&status));
        Ok(Source {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (hangup && !is_ignored())
                .then(|| signal(SignalKind::hangup()))
                .transpose()?,
        })
    }

    /// Waits for a signal. Whether it was SIGINT.
    async fn next(&mut self) -> bool {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => true,
            _ = self.terminate.recv() => false,
            _ = hangup => false,
        }
    }
}

/// Whether a process ignores SIGHUP, by its `/proc/<pid>/status` on Linux.
#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    // One bit for each signal; SIGHUP is the first.
    crate::process::status_field(status, "SigIgn")
        .and_then(|mask| u64::from_str_radix(mask, 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

#[cfg(not(unix))]
struct Source;

#[cfg(not(unix))]
impl Source {
    fn new(_hangup: bool) -> io::Result<Self> {
        Ok(Source)
    }

    async fn next(&mut self) -> bool {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        true
    }
}

/// The exit code by which a shell reports how a process ended: its own, or 128 plus the number of the signal that ended it.
pub fn exit_code(status: std::process::ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_hangup_that_is_ignored_is_known() {
        assert!(ignores_hangup(
            "Name:\tkubewright\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n"
        ));
        for status in [
            "SigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n",
            "SigIgn:\tnone\n",
            "",
        ] {
            assert!(!ignores_hangup(status), "{status}");
        }
    }

    #[tokio::test]
    async fn the_first_signal_stops_and_the_second_exits() {
        let (stopper, stop) = Stopper::new();
        let (send, receive) = watch::channel(Received::default());
        let mut exited = false;
        {
            let mut waiting = pin!(stop_then_exit(Signals(receive), stopper, || exited = true));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let mut is_done = || waiting.as_mut().poll(&mut context).is_ready();
            assert!(!is_done() && !stop.is_stopping());
            send.send_modify(|received| received.count += 1);
            assert!(!is_done() && stop.is_stopping());
            send.send_modify(|received| received.count += 1);
            assert!(is_done());
        }
        assert!(exited);
    }
}
