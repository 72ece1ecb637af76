//! Maintains a managed certificate: reads the Secret, does what is due, serves the certificate, and writes the caBundles of webhook
//! configurations. Every replica does all of it; the second one finds it done.

use std::time::Duration;

use jiff::Timestamp;

use super::bundle::base64;
use super::error::KeepError;
use super::inject::{Injection, Service, inject};
use super::keys::Material;
use super::local::rewrite::{LeftBehind, left_behind};
use super::objects::{ObjectRef, Objects, Write, Written};
use super::options::ManagedOptions;
use super::plan::{CertificateTerms, carry_out};
use super::retry::{LogOnce, RetryTimer};
use super::secret::SharedSecret;
use super::serving::Progress;
use super::target::Target;
use super::watches::Watches;
use crate::clock::Clock;
use crate::random::Random;
use crate::serve::Certificates;
use crate::stop::Stop;

/// How often an object is read again after a conflict, before that is an error.
const TRIES: usize = 10;

/// Keeps a managed certificate.
pub(super) struct Keeper {
    kube: kube::Client,
    clock: Clock,
    options: ManagedOptions,
    terms: CertificateTerms,
    service: Service,
    certificates: Certificates,
    random: Random,
    /// The last valid content, used if the Secret is damaged later.
    memory: Option<Material>,
    /// Whether everything was in place once.
    settled: bool,
    retry: RetryTimer,
    said: LogOnce,
}

impl Keeper {
    pub(super) fn new(kube: kube::Client, clock: Clock, options: ManagedOptions, certificates: Certificates) -> Self {
        Keeper {
            kube,
            clock,
            terms: CertificateTerms::of(&options),
            service: Service {
                namespace: options.namespace.clone(),
                name: options.service.clone(),
            },
            options,
            certificates,
            random: Random::from_entropy(),
            memory: None,
            settled: false,
            retry: RetryTimer::default(),
            said: LogOnce::default(),
        }
    }

    /// Keeps it until asked to stop.
    pub(super) async fn run(mut self, progress: &Progress, stop: Stop) {
        let secret = (self.options.namespace.as_str(), self.options.secret.as_str());
        let watches = Watches::start(&self.kube, Some(secret), &self.options.targets, &self.random);
        loop {
            let passed = tokio::select! {
                biased;
                () = stop.stopped() => return,
                passed = self.pass() => passed,
            };
            let pause = match passed {
                Ok(next) => {
                    self.said.fine();
                    self.settled = true;
                    progress.send_modify(|state| *state = Ok(()));
                    let now = self.clock.now();
                    let until = Duration::try_from(next.duration_since(now)).unwrap_or_default();
                    self.retry.next(until.min(self.options.resync))
                }
                Err(error) => {
                    let told = error.text();
                    self.said.trouble(&told);
                    // A replica that has a certificate stays ready while the API server cannot be reached.
                    if !self.settled || !self.certificates.is_showing() {
                        progress.send_modify(|state| *state = Err(told));
                    }
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

    /// Puts everything in place. Says when something will be due.
    pub(super) async fn pass(&mut self) -> Result<Timestamp, KeepError> {
        let (namespace, name) = (&self.options.namespace, &self.options.secret);
        let secret = SharedSecret::new(Objects(self.kube.clone()), namespace, name)?;
        let mut announced = false;
        for _ in 0..TRIES {
            let Some(found) = secret.read().await? else {
                continue;
            };
            let now = self.clock.now();
            let mut material = found.material.clone();
            let mut changed = false;
            let is_sound = |material: &Material| material.is_sound(self.terms.name(), now);
            let remembered = self.memory.clone().filter(is_sound);
            if let Some(memory) = remembered.filter(|_| !is_sound(&material)) {
                tracing::warn!(secret = secret.what(), "restoring certificates that somebody removed");
                (material, changed) = (memory, true);
            }
            let made = carry_out(&mut material, &self.terms, now, announced);
            let (made, next) = made.map_err(|error| KeepError::Make(error.into()))?;
            if made || changed {
                self.retry.record_write();
                let broken = found.broken();
                if secret.write(found, &material).await? {
                    let until = material.leaf.as_ref().map(|leaf| leaf.validity.not_after.to_string());
                    tracing::info!(secret = secret.what(), broken, until, "certificates were made");
                }
                continue;
            }
            self.show(material.clone());
            if announced {
                return Ok(next);
            }
            self.announce(&material).await?;
            announced = true;
        }
        Err(KeepError::Contended(secret.what().to_owned()))
    }

    fn show(&mut self, material: Material) {
        if let Some(leaf) = &material.leaf {
            self.certificates
                .show(leaf.certified.clone(), Some(leaf.validity.not_after));
        }
        self.memory = Some(material);
    }

    /// Has everybody trust all authorities. What fails for one target does not keep it from the others.
    async fn announce(&mut self, material: &Material) -> Result<(), KeepError> {
        let bundle = base64(material.bundle().as_bytes());
        let mut announced = Ok(());
        for target in self.options.targets.clone() {
            let told = self.tell(&target, &bundle).await;
            announced = announced.and(told);
        }
        announced
    }

    async fn tell(&mut self, target: &Target, bundle: &str) -> Result<(), KeepError> {
        let (objects, place) = (Objects(self.kube.clone()), ObjectRef::target(target)?);
        for _ in 0..TRIES {
            let Some(object) = objects.get(&place).await? else {
                // It is not installed; the watch wakes this task when it is.
                self.said.note(target, "is not there yet");
                return Ok(());
            };
            let patch = match left_behind(target.kind, &object, self.clock.now(), !self.settled) {
                LeftBehind::Patch(patch, run) => {
                    tracing::warn!(%target, run = run.holder, "restoring what a local run left behind");
                    patch
                }
                LeftBehind::Alive(run) => {
                    self.said
                        .note(target, &format!("is used by the local run {}", run.holder));
                    return Ok(());
                }
                LeftBehind::Unreadable => return Err(KeepError::unreadable(target)),
                LeftBehind::Nothing => match inject(target.kind, &object, &self.service, bundle) {
                    Injection::Nothing => return Ok(()),
                    Injection::Patch(patch) => patch,
                    Injection::Others => {
                        self.said.note(
                            target,
                            "gets its caBundle from cert-manager: give its certificate with --webhook-cert-path",
                        );
                        return Ok(());
                    }
                    Injection::NotOurs => {
                        let Service { namespace, name } = &self.service;
                        let note = format!("has no webhook behind the Service {namespace}/{name}");
                        self.said.note(target, &note);
                        return Ok(());
                    }
                },
            };
            self.retry.record_write();
            if let Written::Done(_) = objects.write(&place, Write::Patch, &patch).await? {
                tracing::info!(%target, "it was written");
            }
        }
        Err(KeepError::Contended(target.to_string()))
    }
}
