//! How a server is set up.

use jiff::Timestamp;

/// How a server is set up. The default is right for tests.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) seed: Option<u64>,
    pub(crate) epoch: Option<Timestamp>,
}

impl Options {
    /// The default: the machine's clock, and uids that differ from run to run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes uids, generated names and jitter repeat themselves.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// What the server's clock shows when it starts (the machine's time by default).
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.epoch = Some(epoch);
        self
    }
}
