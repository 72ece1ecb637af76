//! How long is waited for what has no time of its own: 10 s, or as many seconds as `KUBEWRIGHT_TEST_DEADLINE` says, for slow machines.

use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(10);

/// How long a test waits for what it expects.
pub(crate) fn of_tests() -> Duration {
    said(std::env::var("KUBEWRIGHT_TEST_DEADLINE").ok().as_deref())
}

/// How long a cluster and an operator may take to be ready for a test. Who wants tests to fail soon does not want them to start sooner.
pub(crate) fn of_starts() -> Duration {
    of_tests().max(DEADLINE)
}

fn said(seconds: Option<&str>) -> Duration {
    let seconds = seconds.and_then(|text| text.parse().ok());
    seconds.map_or(DEADLINE, Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_ten_seconds_unless_a_number_of_them_is_said() {
        for (seconds, deadline) in [(None, 10), (Some("60"), 60), (Some("1"), 1), (Some("long"), 10)] {
            assert_eq!(said(seconds), Duration::from_secs(deadline), "{seconds:?}");
        }
    }
}
