//! The signals that end a run: the first asks for it, the second is in a hurry.

use std::io;

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
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Source {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Source {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> bool {
        tokio::select! {
            _ = self.interrupt.recv() => true,
            _ = self.terminate.recv() => false,
            _ = self.hangup.recv() => false,
        }
    }
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
