//! Keeps webhooks redirected to this machine for as long as a run lasts.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::timeout;

use super::LocalMode;
use super::rewrite::{self, Endpoint, Redirection, Restoration};
use crate::certificates::bundle::base64;
use crate::certificates::error::KeepError;
use crate::certificates::keys::Material;
use crate::certificates::objects::{ObjectRef, Objects, Write, Written};
use crate::certificates::plan::{CertificateTerms, carry_out};
use crate::certificates::retry::{LogOnce, RetryTimer};
use crate::certificates::serving::Progress;
use crate::certificates::target::Target;
use crate::certificates::watches::Watches;
use crate::clock::Clock;
use crate::lease::identity;
use crate::random::Random;
use crate::serve::Certificates;
use crate::stop::Stop;

/// A run of which nothing was heard for that long is over.
const LIVES: Duration = Duration::from_mins(15);
const PROLONGED_AFTER: Duration = Duration::from_mins(5);
/// How long restoring may take at the end.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(10);
const TRIES: usize = 10;
const DAY: Duration = Duration::from_hours(24);

/// Keeps webhooks redirected to this machine.
pub(in crate::certificates) struct LocalKeeper {
    kube: kube::Client,
    clock: Clock,
    local: LocalMode,
    certificates: Certificates,
    random: Random,
    holder: String,
    material: Material,
    /// What this run has redirected.
    held: BTreeSet<Target>,
    retry: RetryTimer,
    said: LogOnce,
}

impl LocalKeeper {
    pub(in crate::certificates) fn new(
        kube: kube::Client,
        clock: Clock,
        local: LocalMode,
        certificates: Certificates,
    ) -> Self {
        let random = Random::from_entropy();
        LocalKeeper {
            kube,
            clock,
            local,
            certificates,
            holder: identity(&random),
            random,
            material: Material::default(),
            held: BTreeSet::new(),
            retry: RetryTimer::default(),
            said: LogOnce::default(),
        }
    }

    /// Keeps them redirected until asked to stop, and restores them then.
    pub(in crate::certificates) async fn run(mut self, progress: &Progress, stop: Stop) {
        let watches = Watches::start(&self.kube, None, &self.local.targets, &self.random);
        loop {
            // A write that is under way is not dropped: it would be unknown whether it has to be undone.
            let pause = match self.pass().await {
                Ok(()) => {
                    self.said.fine();
                    progress.send_modify(|state| *state = Ok(()));
                    self.retry.next(PROLONGED_AFTER)
                }
                Err(error) => {
                    let told = error.text();
                    self.said.trouble(&told);
                    progress.send_modify(|state| *state = Err(told));
                    self.retry.after_failure(&self.random)
                }
            };
            tokio::select! {
                biased;
                () = stop.stopped() => break,
                () = pause.wait(watches.changed()) => {}
            }
        }
        drop(watches);
        if timeout(RESTORE_TIMEOUT, self.restore()).await.is_err() {
            tracing::error!("the webhooks still point to this machine: the API server does not answer");
        }
    }

    async fn pass(&mut self) -> Result<(), KeepError> {
        let now = self.clock.now();
        self.renew(now)?;
        let after = |wait: Duration| now.saturating_add(wait).unwrap_or(Timestamp::MAX);
        let endpoint = Endpoint {
            url: self.local.url(),
            bundle: base64(self.material.bundle().as_bytes()),
            timeout_seconds: self.local.timeout_seconds.clamp(1, 30),
            holder: self.holder.clone(),
            until: after(LIVES),
            prolong: after(LIVES.saturating_sub(PROLONGED_AFTER)),
        };
        let mut done = Ok(());
        for target in self.local.targets.clone() {
            let redirected = self.redirect(&target, &endpoint, now).await;
            done = done.and(redirected);
        }
        done
    }

    /// Its certificate lives as long as the run, and a new one is made in time should the run last that long.
    fn renew(&mut self, now: Timestamp) -> Result<(), KeepError> {
        let terms = CertificateTerms {
            names: self.local.names(),
            lifetime: 30 * DAY,
            authority_lifetime: 365 * DAY,
            overlap: DAY,
        };
        carry_out(&mut self.material, &terms, now, true).map_err(|error| KeepError::Make(error.into()))?;
        if let Some(leaf) = &self.material.leaf {
            self.certificates
                .show(leaf.certified.clone(), Some(leaf.validity.not_after));
        }
        Ok(())
    }

    async fn redirect(&mut self, target: &Target, endpoint: &Endpoint, now: Timestamp) -> Result<(), KeepError> {
        let (objects, place) = (Objects(self.kube.clone()), ObjectRef::target(target)?);
        for _ in 0..TRIES {
            let Some(object) = objects.get(&place).await? else {
                self.said.note(target, "is not there yet");
                return Ok(());
            };
            let other = rewrite::holder(&object).filter(|run| run.holder != self.holder);
            if let Some(other) = &other
                && other.until > now
                && self.held.contains(target)
            {
                self.said
                    .note(target, &format!("was taken over by the local run {}", other.holder));
                return Ok(());
            }
            let patch = match rewrite::redirect(target.kind, &object, endpoint) {
                Redirection::Nothing => {
                    self.held.insert(target.clone());
                    return Ok(());
                }
                Redirection::NoWebhooks => {
                    self.said.note(target, "calls no webhook");
                    return Ok(());
                }
                Redirection::Patch(patch) => patch,
            };
            if let Some(other) = other {
                let run = other.holder;
                tracing::warn!(%target, run, "taking over from another local run; the original stays what it was before that");
            }
            self.retry.record_write();
            if let Written::Done(_) = objects.write(&place, Write::Patch, &patch).await?
                && self.held.insert(target.clone())
            {
                tracing::info!(%target, url = endpoint.url, "webhooks are called at this machine for as long as this run lasts");
            }
        }
        Err(KeepError::Contended(target.to_string()))
    }

    async fn restore(&self) {
        for target in &self.local.targets {
            match self.restore_one(target).await {
                Ok(()) => tracing::debug!(%target, "it is not redirected to this machine"),
                Err(error) => tracing::error!(%target, error = error.text(), "it still points to this machine"),
            }
        }
    }

    async fn restore_one(&self, target: &Target) -> Result<(), KeepError> {
        let (objects, place) = (Objects(self.kube.clone()), ObjectRef::target(target)?);
        for _ in 0..TRIES {
            let Some(object) = objects.get(&place).await? else {
                return Ok(());
            };
            // Another run has redirected the object since; its annotation has the original too.
            if rewrite::holder(&object).is_some_and(|run| run.holder != self.holder) {
                return Ok(());
            }
            let patch = match rewrite::restore(target.kind, &object) {
                Restoration::Nothing => return Ok(()),
                Restoration::Patch(patch) => patch,
                Restoration::Unreadable => return Err(KeepError::unreadable(target)),
            };
            if let Written::Done(_) = objects.write(&place, Write::Patch, &patch).await? {
                tracing::info!(%target, "it is as it was before this run");
            }
        }
        Err(KeepError::Contended(target.to_string()))
    }
}
