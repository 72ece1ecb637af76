//! The authority in whose name certificates are signed, as it is handed to the controllers.

use std::fmt;
use std::sync::{Arc, OnceLock};

use kubewright_system::certificates::{self, AuthorityError, CertificateAuthority};

/// The authority that signs certificates for those who ask through the API: that of the API server's clients.
///
/// Its private key stays in this process: it is in no object and no log. kube-controller-manager takes it by
/// `--cluster-signing-cert-file` and `--cluster-signing-key-file`.
#[derive(Clone)]
pub struct SigningAuthority(Arc<OnceLock<Made>>);

/// An authority that is there.
struct Made {
    certificate: String,
    key: String,
    authority: CertificateAuthority,
}

impl Made {
    fn new(certificate: &str, key: &str) -> Result<Self, AuthorityError> {
        Ok(Made {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            authority: CertificateAuthority::new(certificate, key)?,
        })
    }
}

impl SigningAuthority {
    /// From the certificate and the private key of the authority, both as PEM. What does not fit together is refused.
    pub fn new(certificate: &str, key: &str) -> Result<Self, AuthorityError> {
        let made = Made::new(certificate, key)?;
        Ok(SigningAuthority(Arc::new(OnceLock::from(made))))
    }

    /// An authority of its own, made when somebody needs it first. Clones are the same authority.
    ///
    /// ```
    /// use kubewright_controllers::SigningAuthority;
    ///
    /// let authority = SigningAuthority::made_when_needed();
    /// let (certificate, key) = authority.pem()?;
    /// assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----") && !key.is_empty());
    /// assert_eq!(authority.clone().pem()?, (certificate, key));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn made_when_needed() -> Self {
        SigningAuthority(Arc::new(OnceLock::new()))
    }

    /// Its certificate and its private key, as PEM: for a server that is to believe what it signs.
    pub fn pem(&self) -> Result<(&str, &str), MakeError> {
        let made = self.made()?;
        Ok((&made.certificate, &made.key))
    }

    pub(super) fn authority(&self) -> Result<&CertificateAuthority, MakeError> {
        Ok(&self.made()?.authority)
    }

    fn made(&self) -> Result<&Made, MakeError> {
        if let Some(made) = self.0.get() {
            return Ok(made);
        }
        let pair = certificates::authority("kubewright-ca", None).map_err(MakeError::Pair)?;
        let made = Made::new(&pair.certificate_pem(), &pair.key_pem()).map_err(MakeError::Authority)?;
        // Of two who make one at a time the first is right.
        Ok(self.0.get_or_init(|| made))
    }
}

/// Why there is no authority of its own.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MakeError {
    /// No certificate or no key could be made.
    #[error("an authority for certificates cannot be made")]
    Pair(#[source] certificates::Error),
    /// What was made does not sign.
    #[error("an authority for certificates cannot sign")]
    Authority(#[source] AuthorityError),
}

/// The key stays out of logs.
impl fmt::Debug for SigningAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningAuthority").finish_non_exhaustive()
    }
}
