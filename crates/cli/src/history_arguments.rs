//! The flag by which commands that start an API server choose how far back it remembers.

use kubewright_apiserver::Options;

/// How much past there is.
#[derive(clap::Args)]
pub(crate) struct HistoryArguments {
    /// About how many bytes the embedded API server keeps of what was written before: as far back as they reach, watches can begin, and
    /// the cluster can be looked at as it was.
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    history_bytes: usize,
}

impl HistoryArguments {
    pub(crate) fn apply(&self, options: Options) -> Options {
        options.history_bytes(self.history_bytes)
    }
}
