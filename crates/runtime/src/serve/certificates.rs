//! The certificate a server shows: from files that may change at any time, or self-signed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_system::certificates;
use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::time::sleep;

use super::files::{FileCheck, Files, cannot_read};
use crate::clock::Clock;
use crate::metrics::CertificateMetrics;
use crate::stop::Stop;

/// How often files are looked at; certificates are replaced long before they end.
const LOOK: Duration = Duration::from_secs(10);
/// How soon they are looked at again when they are not usable: half of them may have been written.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The reason why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not PEM.
    #[error("{path} does not hold what it should")]
    Pem {
        /// Which.
        path: PathBuf,
        /// Why.
        source: pem::Error,
    },
    /// The key does not fit the certificate, or is of an unknown kind.
    #[error("the certificate and its key cannot be used")]
    Key(#[source] rustls::Error),
    /// None could be made.
    #[error("cannot make a certificate")]
    Make(#[source] certificates::Error),
}

/// The certificate a server shows. Cloning shares it.
#[derive(Clone)]
pub struct Certificates {
    shown: Arc<CurrentCertificate>,
    files: Option<Arc<Files>>,
    metrics: Option<CertificateMetrics>,
}

impl Certificates {
    /// From a PEM file with the certificate and its chain, and one with the key. A server that uses them follows the files.
    pub fn from_files(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Self, CertificateError> {
        let files = Files::new(certificate.into(), key.into());
        let shown = match files.look() {
            FileCheck::Changed(pair) => CurrentCertificate::of(pair),
            FileCheck::Same => CurrentCertificate::default(),
            FileCheck::Unusable { error, .. } => return Err(error),
        };
        Ok(Certificates {
            shown: Arc::new(shown),
            files: Some(Arc::new(files)),
            metrics: None,
        })
    }

    /// From PEM texts: the certificate with its chain, and the key. They stay as they are.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, CertificateError> {
        let wrong = |part: &str, source: pem::Error| CertificateError::Pem {
            path: part.into(),
            source,
        };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
        let chain = chain.map_err(|error| wrong("the certificate", error))?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| wrong("the key", error))?;
        Ok(Certificates {
            shown: Arc::new(CurrentCertificate::of(certified(chain, key)?)),
            files: None,
            metrics: None,
        })
    }

    /// From a folder; where it has no such files, one is made. controller-runtime's way for metrics: what counts is that nobody
    /// else can read along.
    pub fn from_folder(folder: &Path, certificate: &str, key: &str) -> Result<Self, CertificateError> {
        let (certificate, key) = (folder.join(certificate), folder.join(key));
        if certificate.exists() && key.exists() {
            Self::from_files(certificate, key)
        } else {
            Self::self_signed(&["localhost", "127.0.0.1"])
        }
    }

    /// A new self-signed certificate for these names and addresses. Clients cannot verify it.
    pub fn self_signed(names: &[&str]) -> Result<Self, CertificateError> {
        let made = certificates::self_signed(names).map_err(CertificateError::Make)?;
        let pair = certified(vec![made.certificate_der()], made.key_der())?;
        Ok(Certificates {
            shown: Arc::new(CurrentCertificate::of(pair)),
            files: None,
            metrics: None,
        })
    }

    /// None yet: handshakes fail until there is something to show.
    pub(crate) fn pending() -> Self {
        Certificates {
            shown: Arc::default(),
            files: None,
            metrics: None,
        }
    }

    /// Shows another one from now on, until its end. Connections that are open stay.
    pub(crate) fn show(&self, pair: Arc<CertifiedKey>, not_after: Option<Timestamp>) {
        let mut state = self.shown.0.write();
        let is_same = state.pair.as_ref().is_some_and(|shown| shown.cert == pair.cert);
        if is_same {
            return;
        }
        state.pair = Some(pair);
        state.not_after = not_after;
        if let Some(metrics) = &self.metrics {
            metrics.reads.with([]).inc();
        }
    }

    /// The clock that says when a certificate has ended.
    pub(crate) fn follow_clock(&self, clock: Clock) {
        self.shown.0.write().clock = Some(clock);
    }

    /// Whether there is something to show.
    pub(crate) fn is_showing(&self) -> bool {
        self.shown.pair().is_some()
    }

    /// Counts reads of the files, as controller-runtime does: each of them.
    pub(crate) fn with_metrics(mut self, metrics: CertificateMetrics) -> Self {
        if self.files.is_some() {
            metrics.reads.with([]).inc();
        }
        self.metrics = Some(metrics);
        self
    }

    /// Whether they come from files.
    #[cfg(test)]
    pub(crate) fn is_from_files(&self) -> bool {
        self.files.is_some()
    }

    /// Follows the files until asked to stop. A pair that cannot be used is reported once, and the last good one stays.
    pub async fn watch(&self, stop: Stop) {
        let follow = async {
            let Some(files) = &self.files else {
                return std::future::pending().await;
            };
            // A server and a manager may both ask for it; one look is enough.
            let _follower = files.follower.lock().await;
            let mut pause = LOOK;
            loop {
                sleep(pause).await;
                pause = if self.look().await { LOOK } else { LOOK_AGAIN };
            }
        };
        tokio::select! {
            biased;
            () = stop.stopped() => {}
            () = follow => {}
        }
    }

    /// Looks at the files once. Whether they can be used.
    pub(super) async fn look(&self) -> bool {
        let Some(files) = self.files.clone() else {
            return true;
        };
        let path = files.certificate.clone();
        let look = tokio::task::spawn_blocking(move || files.look()).await;
        let look = look.unwrap_or_else(|gone| FileCheck::Unusable {
            error: cannot_read(&path, io::Error::other(gone)),
            is_news: true,
        });
        if let Some(metrics) = &self.metrics {
            metrics.reads.with([]).inc();
            if matches!(look, FileCheck::Unusable { .. }) {
                metrics.errors.with([]).inc();
            }
        }
        match look {
            FileCheck::Same => true,
            FileCheck::Changed(pair) => {
                tracing::info!(file = %path.display(), "the serving certificate has changed");
                self.shown.0.write().pair = Some(pair);
                true
            }
            FileCheck::Unusable { error, is_news } => {
                if is_news {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "the serving certificate cannot be read; the last one stays");
                }
                false
            }
        }
    }

    /// What shows it in a handshake, for a server of your own.
    pub fn resolver(&self) -> Arc<dyn ResolvesServerCert> {
        Arc::clone(&self.shown) as Arc<dyn ResolvesServerCert>
    }

    /// How a server speaks TLS with it. HTTP/2 is offered only on request, as kubebuilder's scaffold has it.
    pub(crate) fn server_config(&self, http2: bool) -> Result<ServerConfig, CertificateError> {
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(CertificateError::Key)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&self.shown) as Arc<dyn ResolvesServerCert>);
        if http2 {
            config.alpn_protocols.push(b"h2".to_vec());
        }
        config.alpn_protocols.push(b"http/1.1".to_vec());
        Ok(config)
    }
}

pub(super) fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<CertifiedKey>, CertificateError> {
    if chain.is_empty() {
        return Err(CertificateError::Key(rustls::Error::NoCertificatesPresented));
    }
    CertifiedKey::from_der(chain, key, &ring::default_provider())
        .map(Arc::new)
        .map_err(CertificateError::Key)
}

/// The certificate that is served now.
#[derive(Default)]
struct CurrentCertificate(RwLock<State>);

#[derive(Default)]
struct State {
    pair: Option<Arc<CertifiedKey>>,
    /// The certificate is not served after that. A certificate from files is served in any case, since the client's error says what is
    /// wrong with it.
    not_after: Option<Timestamp>,
    clock: Option<Clock>,
}

impl CurrentCertificate {
    fn of(pair: Arc<CertifiedKey>) -> Self {
        CurrentCertificate(RwLock::new(State {
            pair: Some(pair),
            ..State::default()
        }))
    }

    fn pair(&self) -> Option<Arc<CertifiedKey>> {
        let state = self.0.read();
        let has_ended = |(clock, not_after): (Clock, Timestamp)| clock.now() > not_after;
        if state.clock.zip(state.not_after).is_some_and(has_ended) {
            return None;
        }
        state.pair.clone()
    }
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.pair()
    }
}

impl fmt::Debug for CurrentCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown")
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.files.as_ref().map(|files| &files.certificate);
        f.debug_struct("Certificates")
            .field("file", &files)
            .finish_non_exhaustive()
    }
}
