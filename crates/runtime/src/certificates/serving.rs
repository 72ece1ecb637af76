//! Certificates of any source, as a server and a manager need them.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use super::keeper::Keeper;
use super::local::{LocalKeeper, Restorer};
use super::source::{CertificateFiles, Source};
use super::target::Target;
use crate::clock::Clock;
use crate::metrics::CertificateMetrics;
use crate::serve::{CertificateError, Certificates};
use crate::stop::Stop;

/// How far keeping certificates has come; `Ok` once all is in place.
pub(super) type Progress = watch::Sender<Result<(), String>>;

const NOTHING_YET: &str = "there is no certificate yet";

/// Certificates of any source. Cloning shares them.
///
/// Give [`certificates`](Self::certificates) to the server, [`check`](Self::check) to the readiness probe, and run it on every
/// replica: it is a [`Runnable`](crate::manager::Runnable).
///
/// ```no_run
/// # async fn example(kube: kube::Client, stop: kubewright_runtime::stop::Stop) -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright_runtime::certificates::{ManagedOptions, Source, Target};
/// use kubewright_runtime::manager::Manager;
/// use kubewright_runtime::serve::{BindAddress, HttpServer, Router};
///
/// let options = ManagedOptions::new("shop", "shop-webhook-service").target(Target::mutating("shop"));
/// let certificates = Source::Managed(options).open()?;
/// let server = HttpServer::bind(&":9443".parse::<BindAddress>()?, Router::new()).await?.unwrap();
/// tokio::spawn(server.with_tls(certificates.certificates(), false)?.run(stop.clone()));
/// let manager = Manager::new().runnable_everywhere("certificates", certificates.clone());
/// let ready = certificates.clone();
/// manager.ready().add("certificates", move || std::future::ready(ready.check()));
/// manager.run(kube, stop).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ServingCertificates {
    certificates: Certificates,
    source: Arc<Source>,
    progress: Arc<Progress>,
    clock: Option<Clock>,
    restored: Vec<Target>,
}

impl ServingCertificates {
    pub(super) fn new(source: Source) -> Result<Self, CertificateError> {
        let (certificates, progress) = match &source {
            Source::Files(files) => {
                let read = Certificates::from_files(&files.certificate, &files.key)?;
                (read, Ok(()))
            }
            Source::Managed(_) | Source::Local(_) => (Certificates::pending(), Err(NOTHING_YET.to_owned())),
        };
        Ok(ServingCertificates {
            certificates,
            source: Arc::new(source),
            progress: Arc::new(watch::Sender::new(progress)),
            clock: None,
            restored: Vec::new(),
        })
    }

    /// Certificates that stay as they are, for a run on this machine.
    pub(crate) fn fixed(certificates: Certificates) -> Self {
        ServingCertificates {
            certificates,
            // There are no files to follow.
            source: Arc::new(Source::Files(CertificateFiles::in_folder("", "", ""))),
            progress: Arc::new(watch::Sender::new(Ok(()))),
            clock: None,
            restored: Vec::new(),
        }
    }

    /// What a server shows, for [`HttpServer::with_tls`](crate::serve::HttpServer::with_tls). Until there is a certificate,
    /// handshakes fail.
    pub fn certificates(&self) -> Certificates {
        self.certificates.clone()
    }

    /// Counts how often certificates are read.
    pub(crate) fn with_metrics(mut self, metrics: CertificateMetrics) -> Self {
        self.certificates = self.certificates.with_metrics(metrics);
        self
    }

    /// Uses this clock instead of the manager's.
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// What local runs left behind in these objects is taken back. Needed for certificates from files only: those that are
    /// managed, and local runs, know their targets. The manager needs `get`, `list`, `watch` and `patch` on them.
    pub fn restoring(mut self, targets: impl IntoIterator<Item = Target>) -> Self {
        self.restored.extend(targets);
        self
    }

    /// Whether everything is in place: a certificate is shown, and the API server knows whom to trust. Else what is missing.
    pub fn check(&self) -> Result<(), String> {
        self.progress.borrow().clone()
    }

    /// Waits until everything is in place.
    pub async fn ready(&self) {
        // The sender is ours, so it is not gone.
        let _ = self.progress.subscribe().wait_for(Result::is_ok).await;
    }

    /// Maintains the certificates until asked to stop. Failures are logged, reported by [`check`](Self::check), and retried.
    pub async fn keep(&self, kube: kube::Client, clock: Clock, stop: Stop) {
        let clock = self.clock.unwrap_or(clock);
        self.certificates.follow_clock(clock);
        if !matches!(*self.source, Source::Files(_)) {
            self.progress.send_modify(|state| *state = Err(NOTHING_YET.to_owned()));
        }
        match &*self.source {
            Source::Files(_) => {
                let restorer = Restorer::new(kube, clock, self.restored.clone());
                tokio::join!(self.certificates.watch(stop.clone()), restorer.run(stop));
            }
            Source::Managed(options) => {
                let keeper = Keeper::new(kube, clock, options.clone(), self.certificates.clone());
                keeper.run(&self.progress, stop).await;
            }
            Source::Local(local) => {
                let keeper = LocalKeeper::new(kube, clock, local.clone(), self.certificates.clone());
                keeper.run(&self.progress, stop).await;
            }
        }
    }
}

impl fmt::Debug for ServingCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingCertificates")
            .field("source", &self.source)
            .field("progress", &self.check())
            .finish_non_exhaustive()
    }
}
