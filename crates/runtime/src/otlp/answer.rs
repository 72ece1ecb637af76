//! What a collector says of the spans that it was sent.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header};

/// What it says of a request that it took.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// How many spans it did not take.
    pub(super) rejected: u64,
    /// Why, or what else it has to say.
    pub(super) message: String,
}

/// Why spans did not arrive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) why: String,
    /// How many of them; `None`: all.
    pub(super) rejected: Option<u64>,
    pub(super) retry: Retry,
}

/// Whether the same spans may arrive another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    Never,
    /// When it is time for it.
    Later,
    /// The collector said when.
    After(Duration),
}

impl Failure {
    pub(super) fn new(why: impl Into<String>, retry: Retry) -> Self {
        Failure {
            why: why.into(),
            rejected: None,
            retry,
        }
    }
}

impl Retry {
    /// As the protocol has it for answers with this code.
    pub(super) fn of(code: StatusCode, headers: &HeaderMap) -> Self {
        if !matches!(code.as_u16(), 429 | 502..=504) {
            return Retry::Never;
        }
        let after = headers.get(header::RETRY_AFTER).and_then(|after| after.to_str().ok());
        let after = after.and_then(|after| after.trim().parse().ok());
        after.map_or(Retry::Later, |seconds| Retry::After(Duration::from_secs(seconds)))
    }
}
