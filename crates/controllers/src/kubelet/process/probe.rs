//! Probes of a container: whether it has started, lives, and is ready.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Probe};
use tokio::time::sleep;

use super::action::{Action, Launch};
use super::guard::Guarding;
use super::images::Image;

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Startup,
    Liveness,
    Readiness,
}

impl Sort {
    fn as_str(self) -> &'static str {
        match self {
            Sort::Startup => "Startup",
            Sort::Liveness => "Liveness",
            Sort::Readiness => "Readiness",
        }
    }
}

/// What a probe found, where it changes something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The container has started.
    Started,
    /// It is ready, or no longer.
    Ready(bool),
    /// It failed once; people are told.
    Unhealthy(String),
    /// It has failed so often that the container is ended.
    Hopeless(String),
}

/// A probe with its numbers.
#[derive(Clone, Debug)]
pub(super) struct Prober {
    sort: Sort,
    action: Action,
    delay: Duration,
    period: Duration,
    timeout: Duration,
    successes: u32,
    failures: u32,
}

/// The probes of a container.
#[derive(Clone, Debug, Default)]
pub(super) struct Probers {
    pub(super) startup: Option<Prober>,
    pub(super) liveness: Option<Prober>,
    pub(super) readiness: Option<Prober>,
}

impl Probers {
    pub(super) fn of(container: &Container, image: &Image, own: &Launch) -> Result<Self, String> {
        let prober = |sort: Sort, field: &str, probe: Option<&Probe>| {
            let made = probe.map(|probe| {
                let action = Action::of_probe(probe, container, image, own)?;
                Ok(Prober::new(sort, action, probe))
            });
            made.transpose().map_err(|why: String| format!("{field}: {why}"))
        };
        Ok(Probers {
            startup: prober(Sort::Startup, "startupProbe", container.startup_probe.as_ref())?,
            liveness: prober(Sort::Liveness, "livenessProbe", container.liveness_probe.as_ref())?,
            readiness: prober(Sort::Readiness, "readinessProbe", container.readiness_probe.as_ref())?,
        })
    }

    /// Probes until the container ends, telling what is found.
    pub(super) async fn run(self, guarding: &Guarding, tell: impl Fn(Finding)) {
        let tell = &tell;
        if let Some(startup) = self.startup {
            startup.run(guarding, tell).await;
        }
        let forever = async |prober: Option<Prober>| {
            if let Some(prober) = prober {
                prober.run(guarding, tell).await;
            }
        };
        tokio::join!(forever(self.liveness), forever(self.readiness));
    }
}

impl Prober {
    fn new(sort: Sort, action: Action, probe: &Probe) -> Self {
        let seconds = |value: Option<i32>, default: u64| {
            let value = value.and_then(|value| u64::try_from(value).ok()).unwrap_or(default);
            Duration::from_secs(value)
        };
        let times =
            |value: Option<i32>, default: u32| value.and_then(|value| u32::try_from(value).ok()).unwrap_or(default);
        Prober {
            sort,
            action,
            delay: seconds(probe.initial_delay_seconds, 0),
            period: seconds(probe.period_seconds, 10).max(Duration::from_secs(1)),
            timeout: seconds(probe.timeout_seconds, 1).max(Duration::from_secs(1)),
            successes: times(probe.success_threshold, 1).max(1),
            failures: times(probe.failure_threshold, 3).max(1),
        }
    }

    /// Probes until it is hopeless, or in the case of a start, done.
    async fn run(self, guarding: &Guarding, tell: &impl Fn(Finding)) {
        sleep(self.delay).await;
        let mut count = Count::default();
        loop {
            let result = self.action.perform(self.timeout, guarding).await;
            let failure = result.err();
            if let Some(why) = &failure {
                tell(Finding::Unhealthy(format!(
                    "{} probe failed: {why}",
                    self.sort.as_str()
                )));
            }
            let Some(is_good) = count.add(failure.is_none(), self.successes, self.failures) else {
                sleep(self.period).await;
                continue;
            };
            match (self.sort, is_good) {
                (Sort::Readiness, ready) => tell(Finding::Ready(ready)),
                (Sort::Startup, true) => return tell(Finding::Started),
                (Sort::Liveness, true) => {}
                (Sort::Startup | Sort::Liveness, false) => {
                    return tell(Finding::Hopeless(self.sort.as_str().to_ascii_lowercase()));
                }
            }
            sleep(self.period).await;
        }
    }
}

/// How often in a row a probe has succeeded, or failed.
#[derive(Debug, Default)]
struct Count {
    is_good: bool,
    times: u32,
}

impl Count {
    /// What is to be believed after one more result, if that has just been reached.
    fn add(&mut self, is_good: bool, successes: u32, failures: u32) -> Option<bool> {
        if self.is_good != is_good {
            self.times = 0;
        }
        self.is_good = is_good;
        self.times = self.times.saturating_add(1);
        let enough = if is_good { successes } else { failures };
        (self.times == enough).then_some(is_good)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_believed_when_it_came_often_enough() {
        let mut count = Count::default();
        let told: Vec<_> = [false, false, true, false, false, false, false, true, true]
            .into_iter()
            .map(|is_good| count.add(is_good, 2, 3))
            .collect();
        assert_eq!(
            told,
            [None, None, None, None, None, Some(false), None, None, Some(true)]
        );
    }
}
