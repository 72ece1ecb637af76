//! The certificate a server shows: from files that may change at any time, or made for the occasion.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::time::sleep;

use crate::metrics::CertificateMetrics;
use crate::stop::Stop;

/// How often files are looked at; certificates are replaced long before they end.
const LOOK: Duration = Duration::from_secs(10);

/// Why there is no certificate.
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
    Make(#[source] rcgen::Error),
}

/// The certificate a server shows. Cloning shares it.
///
/// ```
/// use kubewright_runtime::serve::Certificates;
///
/// let made = Certificates::self_signed(&["localhost"]).unwrap();
/// assert!(!made.is_from_files());
/// let missing = std::path::Path::new("/no/such/folder");
/// assert!(Certificates::from_files(missing.join("tls.crt"), missing.join("tls.key")).is_err());
/// ```
#[derive(Clone)]
pub struct Certificates {
    shown: Arc<Shown>,
    files: Option<Arc<Files>>,
    metrics: Option<CertificateMetrics>,
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Certificates {
    /// From a PEM file with the certificate and its chain, and one with the key.
    pub fn from_files(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Self, CertificateError> {
        let files = Files {
            certificate: certificate.into(),
            key: key.into(),
        };
        let (text, shown) = files.read()?;
        Ok(Certificates {
            shown: Arc::new(Shown(RwLock::new((text, shown)))),
            files: Some(Arc::new(files)),
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

    /// Made for the occasion, for these names and addresses. Who connects cannot tell it from any other.
    pub fn self_signed(names: &[&str]) -> Result<Self, CertificateError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names).map_err(CertificateError::Make)?;
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let shown = certified(vec![made.cert.der().clone()], key)?;
        Ok(Certificates {
            shown: Arc::new(Shown(RwLock::new((Vec::new(), shown)))),
            files: None,
            metrics: None,
        })
    }

    /// Counts reads of the files.
    pub fn with_metrics(mut self, metrics: CertificateMetrics) -> Self {
        if self.files.is_some() {
            metrics.reads.with([]).inc();
        }
        self.metrics = Some(metrics);
        self
    }

    /// Whether they come from files.
    pub fn is_from_files(&self) -> bool {
        self.files.is_some()
    }

    /// Follows the files until asked to stop. A pair that cannot be used is reported, and the last good one stays.
    pub async fn watch(&self, stop: Stop) {
        if self.files.is_none() {
            return stop.stopped().await;
        }
        loop {
            tokio::select! {
                biased;
                () = stop.stopped() => return,
                () = sleep(LOOK) => self.look().await,
            }
        }
    }

    /// Looks at the files once.
    pub(super) async fn look(&self) {
        let Some(files) = self.files.clone() else {
            return;
        };
        let path = files.certificate.clone();
        let read = tokio::task::spawn_blocking(move || files.read()).await;
        self.take(read.unwrap_or_else(|gone| {
            Err(CertificateError::Read {
                path,
                source: io::Error::other(gone),
            })
        }));
    }

    fn take(&self, read: Result<(Vec<u8>, Arc<CertifiedKey>), CertificateError>) {
        match read {
            Ok((text, _)) if text == self.shown.0.read().0 => {}
            Ok(changed) => {
                tracing::info!("the serving certificate has changed");
                *self.shown.0.write() = changed;
                if let Some(metrics) = &self.metrics {
                    metrics.reads.with([]).inc();
                }
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the serving certificate cannot be read"
                );
                if let Some(metrics) = &self.metrics {
                    metrics.errors.with([]).inc();
                }
            }
        }
    }

    /// How a server speaks TLS with it. HTTP/2 is offered only on request, as kubebuilder's scaffold has it.
    pub fn server_config(&self, http2: bool) -> Result<ServerConfig, CertificateError> {
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

impl Files {
    /// The texts, to see whether they changed, and what they mean.
    fn read(&self) -> Result<(Vec<u8>, Arc<CertifiedKey>), CertificateError> {
        let read = |path: &Path| {
            fs::read(path).map_err(|source| CertificateError::Read {
                path: path.to_owned(),
                source,
            })
        };
        let (certificate, key) = (read(&self.certificate)?, read(&self.key)?);
        let pem = |path: &Path| {
            let path = path.to_owned();
            move |source| CertificateError::Pem { path, source }
        };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificate).collect();
        let chain = chain.map_err(pem(&self.certificate))?;
        let private = PrivateKeyDer::from_pem_slice(&key).map_err(pem(&self.key))?;
        let shown = certified(chain, private)?;
        Ok(([certificate, key].concat(), shown))
    }
}

fn certified(
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

/// What is shown now, with the text it came from.
struct Shown(RwLock<(Vec<u8>, Arc<CertifiedKey>)>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().1))
    }
}

impl fmt::Debug for Shown {
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
