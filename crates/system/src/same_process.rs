//! Servers and clients in one process.

/// Among the extensions of an HTTP response: it came from a server in this process. Between both there is no connection that could
/// break without a word, and none that a second server would have to be given a share of.
#[derive(Clone, Copy, Debug)]
pub struct SameProcess;
