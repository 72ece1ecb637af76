//! The pause after failures, before the next Pod: it doubles with each of them, and a success ends it. Pure.

use std::time::Duration;

use jiff::Timestamp;

use super::member::JobPod;
use crate::support::time::{later, until};

/// The pause after the first failure; it doubles,
const FIRST: Duration = Duration::from_secs(10);
/// up to this.
const LONGEST: Duration = Duration::from_mins(10);

/// What is remembered of a Job's failures: its Pods may be gone while they still matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    /// Since the last success.
    failures: i32,
    last: Option<Timestamp>,
}

impl Backoff {
    /// Takes account of Pods that have ended since.
    pub(super) fn after(self, succeeded: &[JobPod<'_>], failed: &[JobPod<'_>]) -> Self {
        let success = succeeded.iter().map(JobPod::ended).max();
        let later_ones = failed
            .iter()
            .map(JobPod::ended)
            .filter(|end| success.is_none_or(|success| *end > success));
        let ends: Vec<Timestamp> = later_ones.collect();
        let before = if success.is_some() { Backoff::default() } else { self };
        Backoff {
            failures: before
                .failures
                .saturating_add(i32::try_from(ends.len()).unwrap_or(i32::MAX)),
            last: ends.into_iter().max().or(before.last),
        }
    }

    /// How long it is until the next Pod may be made.
    pub(super) fn left(self, now: Timestamp) -> Duration {
        self.last.map_or(Duration::ZERO, |last| left(self.failures, last, now))
    }
}

/// How long it is until the next Pod may be made after so many failures.
pub(super) fn left(failures: i32, last: Timestamp, now: Timestamp) -> Duration {
    let Ok(failures @ 1..) = u32::try_from(failures) else {
        return Duration::ZERO;
    };
    let pause = FIRST.saturating_mul(2_u32.saturating_pow(failures - 1)).min(LONGEST);
    until(later(last, i64::try_from(pause.as_secs()).unwrap_or(i64::MAX)), now)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    fn pod(deleted: &str) -> Pod {
        serde_json::from_value(json!({ "metadata": { "name": deleted, "deletionTimestamp": deleted } })).unwrap()
    }

    #[test]
    fn pauses_double_and_a_success_ends_them() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let pods = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"].map(pod);
        let [one, two, three] = [&pods[0], &pods[1], &pods[2]].map(JobPod::of);
        let first = Backoff::default().after(&[], &[one]);
        assert_eq!(first.left(at("2026-01-01T00:00:04Z")), Duration::from_secs(6));
        let second = first.after(&[], &[two]);
        assert_eq!(second.left(at("2026-01-01T00:00:10Z")), Duration::from_secs(20));
        assert_eq!(second.after(&[three], &[]), Backoff::default());
        let late = second.after(&[one], &[three]);
        assert_eq!(late.left(at("2026-01-01T00:00:20Z")), Duration::from_secs(10));
        assert_eq!(
            left(i32::MAX, at("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z")),
            LONGEST
        );
    }
}
