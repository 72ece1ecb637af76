//! The authority in whose name certificates are signed, as it is handed to the controllers.

use std::fmt;
use std::sync::Arc;

use kubewright_system::certificates::{AuthorityError, CertificateAuthority};

/// The authority that signs certificates for those who ask through the API: that of the API server's clients.
///
/// Its private key stays in this process: it is in no object and no log. kube-controller-manager takes it by
/// `--cluster-signing-cert-file` and `--cluster-signing-key-file`.
#[derive(Clone)]
pub struct SigningAuthority(pub(super) Arc<CertificateAuthority>);

impl SigningAuthority {
    /// From the certificate and the private key of the authority, both as PEM. What does not fit together is refused.
    pub fn new(certificate: &str, key: &str) -> Result<Self, AuthorityError> {
        CertificateAuthority::new(certificate, key).map(|authority| SigningAuthority(Arc::new(authority)))
    }
}

/// The key stays out of logs.
impl fmt::Debug for SigningAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningAuthority").finish_non_exhaustive()
    }
}
