//! The flag by which commands that start an API server choose how far back it remembers.

use kubewright_apiserver::Options;

/// About as much is kept of what objects were, unless somebody says otherwise.
pub(crate) const HISTORY_BYTES: usize = 64 << 20;

/// How much past there is.
#[derive(clap::Args)]
pub(crate) struct HistoryArguments {
    /// About how many bytes the embedded API server keeps of what was written before: as far back as they reach, watches can begin, and
    /// the cluster can be looked at as it was. A page that shows what happens keeps as many.
    #[arg(long, value_name = "BYTES", default_value_t = HISTORY_BYTES)]
    history_bytes: usize,
}

impl HistoryArguments {
    pub(crate) fn bytes(&self) -> usize {
        self.history_bytes
    }

    pub(crate) fn apply(&self, options: Options) -> Options {
        options.history_bytes(self.history_bytes)
    }
}
