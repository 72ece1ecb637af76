//! Where a certificate comes from.

use std::path::{Path, PathBuf};

use super::local::LocalMode;
use super::options::ManagedOptions;
use super::permission::Permission;
use super::serving::ServingCertificates;
use crate::serve::CertificateError;

/// Files that others maintain, such as cert-manager through a mounted Secret, or a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// PEM: the certificate, then its chain.
    pub certificate: PathBuf,
    /// PEM: the key.
    pub key: PathBuf,
}

impl CertificateFiles {
    /// Two files of one folder.
    pub fn in_folder(folder: impl AsRef<Path>, certificate: &str, key: &str) -> Self {
        let folder = folder.as_ref();
        CertificateFiles {
            certificate: folder.join(certificate),
            key: folder.join(key),
        }
    }
}

/// Where a certificate comes from.
///
/// ```
/// use kubewright_runtime::certificates::{ManagedOptions, Source, Target};
///
/// let options = ManagedOptions::new("shop", "shop-webhook-service").target(Target::mutating("shop"));
/// let source = Source::Managed(options);
/// assert_eq!(source.permissions().len(), 2);
/// let certificates = source.open().unwrap();
/// assert!(certificates.check().unwrap_err().contains("no certificate yet"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Files that others maintain. The runtime reads them again when they change.
    Files(CertificateFiles),
    /// The manager makes its own and keeps it in a Secret.
    Managed(ManagedOptions),
    /// A run outside the cluster: webhook configurations point to this machine for as long as it lasts.
    Local(LocalMode),
}

impl Source {
    /// What the manager needs to be allowed for it.
    pub fn permissions(&self) -> Vec<Permission> {
        match self {
            Source::Files(_) => Vec::new(),
            Source::Managed(options) => options.permissions(),
            Source::Local(local) => local.permissions(),
        }
    }

    /// The certificates, ready to be given to a server. Files are read now; everything else happens when they run.
    pub fn open(self) -> Result<ServingCertificates, CertificateError> {
        ServingCertificates::new(self)
    }
}
