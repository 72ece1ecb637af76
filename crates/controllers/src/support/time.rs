//! Times as the API writes them: whole seconds.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// A moment as it will be read back: without its fraction of a second.
pub(crate) fn whole(moment: Timestamp) -> Time {
    Time(Timestamp::from_second(moment.as_second()).unwrap_or(moment))
}

/// How long after `from` it is, or nothing if that is still to come.
pub(crate) fn since(from: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(from)).unwrap_or_default()
}

/// How long until `then`, or nothing if it has passed.
pub(crate) fn until(then: Timestamp, now: Timestamp) -> Duration {
    since(now, then)
}

/// A moment some seconds later.
pub(crate) fn later(moment: Timestamp, seconds: i64) -> Timestamp {
    moment
        .checked_add(jiff::SignedDuration::from_secs(seconds))
        .unwrap_or(if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX })
}
