//! The certificate by which other servers know that a request was authenticated by this one, and who issued it.

use std::sync::OnceLock;

use kubewright_system::certificates::{self, KeyedCertificate, Leaf, Signer};

/// The common name of the client certificate, the only one that is allowed to name users.
pub(super) const CLIENT: &str = "front-proxy-client";
const AUTHORITY: &str = "front-proxy-ca";

/// The front proxy's authority and client certificate.
pub(super) struct FrontProxy {
    /// The authority's certificate, as PEM.
    pub(super) authority: String,
    pub(super) client: KeyedCertificate,
}

/// The front proxy of this process: all its servers, and forks of them, are the same party. `None` if the system has no randomness for
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
