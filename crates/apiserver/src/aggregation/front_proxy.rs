//! The certificate by which other servers know that a request was authenticated by this one, and who issued it.

use std::sync::{Arc, OnceLock};

use kubewright_system::certificates::{self, KeyedCertificate, Leaf, Signer};
use kubewright_x509::pem;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::transport::certificates::key_of;

/// The common name of the client certificate, the only one that is allowed to name users.
pub(super) const CLIENT: &str = "front-proxy-client";
const AUTHORITY: &str = "front-proxy-ca";

/// The front proxy's authority and client certificate.
pub(super) struct FrontProxy {
    /// The authority's certificate, as PEM.
    pub(super) authority: String,
    pub(super) client: KeyedCertificate,
}

/// Why a certificate and a key are not those of a front proxy.
#[derive(Debug, thiserror::Error)]
pub enum FrontProxyError {
    /// There is no certificate in the PEM.
    #[error("the PEM of the front proxy's certificate has no certificate")]
    NoCertificate,
    /// There is no key in the PEM.
    #[error("the PEM of the front proxy's key has no private key that can be read")]
    NoKey,
    /// They cannot be used together, or at all.
    #[error("the certificate of the front proxy cannot be used with its key")]
    Unusable(#[from] rustls::Error),
}

/// A certificate, with those between it and its authority, and its key.
#[derive(Clone)]
pub(crate) struct ClientCertificate {
    chain: Vec<CertificateDer<'static>>,
    key: Arc<PrivateKeyDer<'static>>,
}

impl ClientCertificate {
    /// Reads both as PEM.
    pub(crate) fn of(chain: &str, key: &str) -> Result<Self, FrontProxyError> {
        let chain: Vec<CertificateDer<'static>> = pem::blocks(chain.as_bytes())
            .filter(|block| block.kind == "CERTIFICATE")
            .map(|block| block.bytes.into())
            .collect();
        if chain.is_empty() {
            return Err(FrontProxyError::NoCertificate);
        }
        let key = key_of(key).ok_or(FrontProxyError::NoKey)?;
        CertifiedKey::from_der(chain.clone(), key.clone_key(), &ring::default_provider())?;
        Ok(ClientCertificate {
            chain,
            key: Arc::new(key),
        })
    }

    pub(super) fn identity(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (self.chain.clone(), self.key.clone_key())
    }
}

/// The front proxy of this process: all its servers that are given no other certificate, and forks of them, are the same party.
/// `None` if the system has no randomness for
/// keys; other servers are then asked without a certificate.
pub(super) fn front_proxy() -> Option<&'static FrontProxy> {
    static MADE: OnceLock<Option<FrontProxy>> = OnceLock::new();
    MADE.get_or_init(|| FrontProxy::generate().ok()).as_ref()
}

impl FrontProxy {
    fn generate() -> Result<FrontProxy, certificates::Error> {
        let authority = certificates::authority(AUTHORITY, None)?;
        let signer = Signer::new(AUTHORITY, &authority.key_pem())?;
        Ok(FrontProxy {
            client: signer.sign(&Leaf::client(CLIENT, &[] as &[&str]))?,
            authority: authority.certificate_pem(),
        })
    }
}
