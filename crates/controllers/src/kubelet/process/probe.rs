//! Probes of a container: whether it has started, lives, and is ready.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Probe};
use tokio::time::sleep;

use super::action::{Action, Launch};
use super::guard::GuardHandle;
use super::images::Image;

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeKind {
    Startup,
    Liveness,
    Readiness,
}

impl ProbeKind {
    fn as_str(self) -> &'static str {
        match self {
            ProbeKind::Startup => "Startup",
            ProbeKind::Liveness => "Liveness",
            ProbeKind::Readiness => "Readiness",
        }
    }
}

/// What a probe found, where it changes something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProbeResult {
    /// The container has started.
    Started,
    /// It is ready, or no longer.
    Ready(bool),
    /// It failed once; an event reports it.
    Unhealthy(String),
    /// It failed so often that the container is restarted.
    Failed(String),
}

/// A probe with its numbers.
#[derive(Clone, Debug)]
pub(super) struct Prober {
    kind: ProbeKind,
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
        let prober = |kind: ProbeKind, field: &str, probe: Option<&Probe>| {
            let made = probe.map(|probe| {
                let action = Action::of_probe(probe, container, image, own)?;
                Ok(Prober::new(kind, action, probe))
            });
            made.transpose().map_err(|why: String| format!("{field}: {why}"))
        };
        Ok(Probers {
            startup: prober(ProbeKind::Startup, "startupProbe", container.startup_probe.as_ref())?,
            liveness: prober(ProbeKind::Liveness, "livenessProbe", container.liveness_probe.as_ref())?,
            readiness: prober(
                ProbeKind::Readiness,
                "readinessProbe",
                container.readiness_probe.as_ref(),
            )?,
        })
    }

    /// Probes until the container ends, and reports what changes.
    pub(super) async fn run(self, guard: &GuardHandle, report: impl Fn(ProbeResult)) {
        let report = &report;
        if let Some(startup) = self.startup {
            startup.run(guard, report).await;
        }
        let forever = async |prober: Option<Prober>| {
            if let Some(prober) = prober {
                prober.run(guard, report).await;
            }
        };
        tokio::join!(forever(self.liveness), forever(self.readiness));
    }
}

impl Prober {
    fn new(kind: ProbeKind, action: Action, probe: &Probe) -> Self {
        let seconds = |value: Option<i32>, default: u64| {
            let value = value.and_then(|value| u64::try_from(value).ok()).unwrap_or(default);
            Duration::from_secs(value)
        };
        let times =
            |value: Option<i32>, default: u32| value.and_then(|value| u32::try_from(value).ok()).unwrap_or(default);
        Prober {
            kind,
            action,
            delay: seconds(probe.initial_delay_seconds, 0),
            period: seconds(probe.period_seconds, 10).max(Duration::from_secs(1)),
            timeout: seconds(probe.timeout_seconds, 1).max(Duration::from_secs(1)),
            successes: times(probe.success_threshold, 1).max(1),
            failures: times(probe.failure_threshold, 3).max(1),
        }
    }

    /// Probes until it has failed for good or, if it is a startup probe, succeeded.
    async fn run(self, guard: &GuardHandle, report: &impl Fn(ProbeResult)) {
        sleep(self.delay).await;
        let mut count = ConsecutiveResults::default();
        loop {
            let result = self.action.perform(self.timeout, guard).await;
            let failure = result.err();
            if let Some(why) = &failure {
                report(ProbeResult::Unhealthy(format!(
                    "{} probe failed: {why}",
                    self.kind.as_str()
                )));
            }
            let Some(is_good) = count.add(failure.is_none(), self.successes, self.failures) else {
                sleep(self.period).await;
                continue;
            };
            match (self.kind, is_good) {
                (ProbeKind::Readiness, ready) => report(ProbeResult::Ready(ready)),
                (ProbeKind::Startup, true) => return report(ProbeResult::Started),
                (ProbeKind::Liveness, true) => {}
                (ProbeKind::Startup | ProbeKind::Liveness, false) => {
                    return report(ProbeResult::Failed(self.kind.as_str().to_ascii_lowercase()));
                }
            }
            sleep(self.period).await;
        }
    }
}

/// How often in a row a probe has succeeded, or failed.
#[derive(Debug, Default)]
struct ConsecutiveResults {
    is_good: bool,
    times: u32,
}

impl ConsecutiveResults {
    /// Counts one more result. The new verdict, if this result reached its threshold.
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
        let mut count = ConsecutiveResults::default();
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
