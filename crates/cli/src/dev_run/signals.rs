//! The signals that end a run: the first asks for it, the second is in a hurry.

use std::io;

#[cfg(unix)]
use futures_util::future::OptionFuture;
use tokio::sync::watch;

/// How often and how the end was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) times: u32,
    /// Whether the last was Ctrl-C.
    pub(crate) is_interrupt: bool,
}

/// Tells of signals from when it is made.
#[derive(Clone)]
pub(crate) struct Signals(watch::Receiver<Asked>);

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        let (sender, receiver) = watch::channel(Asked::default());
        let mut source = Source::new()?;
        tokio::spawn(async move {
            loop {
                let is_interrupt = source.next().await;
                sender.send_modify(|asked| {
                    asked.times += 1;
                    asked.is_interrupt = is_interrupt;
                });
            }
        });
        Ok(Signals(receiver))
    }

    /// How often the end was asked for so far.
    pub(crate) fn times(&self) -> u32 {
        self.0.borrow().times
    }

    /// Returns once the end was asked for more often than `known` times.
    pub(crate) async fn more_than(&mut self, known: u32) -> Asked {
        match self.0.wait_for(|asked| asked.times > known).await {
            Ok(asked) => *asked,
            // Without a source nobody asks.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(unix)]
struct Source {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` where it is ignored.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Source {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        // Whoever says nohup wants it to go on without its terminal.
        let is_ignored = std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup(&status));
        Ok(Source {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (!is_ignored).then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    async fn next(&mut self) -> bool {
        let hangup = self.hangup.as_mut().map(tokio::signal::unix::Signal::recv);
        tokio::select! {
            _ = self.interrupt.recv() => true,
            _ = self.terminate.recv() => false,
            Some(_) = OptionFuture::from(hangup) => false,
        }
    }
}

/// Whether a process ignores that its terminal is gone, by what Linux says of it. Elsewhere nobody says so.
#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // One bit for each signal, of which this is the first.
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

#[cfg(not(unix))]
struct Source;

#[cfg(not(unix))]
impl Source {
    fn new() -> io::Result<Self> {
        Ok(Source)
    }

    async fn next(&mut self) -> bool {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        true
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

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
}
