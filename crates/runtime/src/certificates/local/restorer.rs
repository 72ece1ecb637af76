//! Restores objects that local runs changed, for a manager whose certificates come from files.

use super::rewrite::{LeftBehind, left_behind};
use crate::certificates::error::KeepError;
use crate::certificates::objects::{ObjectRef, Objects, Write, Written};
use crate::certificates::retry::{LogOnce, RetryTimer};
use crate::certificates::target::Target;
use crate::certificates::watches::Watches;
use crate::clock::Clock;
use crate::random::Random;
use crate::stop::Stop;

const TRIES: usize = 10;
/// How often the restorer looks whether a run is over. A run counts as over when it was silent for a quarter of an hour.
const LOOK: std::time::Duration = std::time::Duration::from_mins(5);

/// Takes back what local runs left behind.
pub(in crate::certificates) struct Restorer {
    kube: kube::Client,
    clock: Clock,
    targets: Vec<Target>,
    /// Those that were looked at once.
    known: Vec<Target>,
    random: Random,
    retry: RetryTimer,
    said: LogOnce,
}

impl Restorer {
    pub(in crate::certificates) fn new(kube: kube::Client, clock: Clock, targets: Vec<Target>) -> Self {
        Restorer {
            kube,
            clock,
            targets,
            known: Vec::new(),
            random: Random::from_entropy(),
            retry: RetryTimer::default(),
            said: LogOnce::default(),
        }
    }

    /// Looks after the targets until asked to stop.
    pub(in crate::certificates) async fn run(mut self, stop: Stop) {
        if self.targets.is_empty() {
            return stop.stopped().await;
        }
        let watches = Watches::start(&self.kube, None, &self.targets, &self.random);
        loop {
            let passed = tokio::select! {
                biased;
                () = stop.stopped() => return,
                passed = self.pass() => passed,
            };
            let pause = match passed {
                Ok(()) => self.retry.next(LOOK),
                Err(error) => {
                    // Most managers never meet a local run, and many have no permission to look for one.
                    self.said.aside(&error.text());
                    self.retry.after_failure(&self.random)
                }
            };
            tokio::select! {
                biased;
                () = stop.stopped() => return,
                () = pause.wait(watches.changed()) => {}
            }
        }
    }

    async fn pass(&mut self) -> Result<(), KeepError> {
        let mut done = Ok(());
        for target in self.targets.clone() {
            let restored = self.restore(&target).await;
            if restored.is_ok() && !self.known.contains(&target) {
                self.known.push(target);
            }
            done = done.and(restored);
        }
        done
    }

    async fn restore(&mut self, target: &Target) -> Result<(), KeepError> {
        let (objects, place) = (Objects(self.kube.clone()), ObjectRef::target(target)?);
        let starts = !self.known.contains(target);
        for _ in 0..TRIES {
            let Some(object) = objects.get(&place).await? else {
                return Ok(());
            };
            let (patch, run) = match left_behind(target.kind, &object, self.clock.now(), starts) {
                LeftBehind::Nothing => return Ok(()),
                LeftBehind::Alive(run) => {
                    self.said
                        .note(target, &format!("is used by the local run {}", run.holder));
                    return Ok(());
                }
                LeftBehind::Patch(patch, run) => (patch, run),
                LeftBehind::Unreadable => return Err(KeepError::unreadable(target)),
            };
            self.retry.record_write();
            if let Written::Done(_) = objects.write(&place, Write::Patch, &patch).await? {
                tracing::warn!(%target, run = run.holder, "it is as before a local run that is over");
                return Ok(());
            }
        }
        Err(KeepError::Contended(target.to_string()))
    }
}
